"""The paper's figure of topologies: a column for each predicate, its topologies below."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from apptek.research.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, ROW, HEAD = 6.9, 1.25, 0.75  # inches: both columns of a page, and the heights of its rows
SHOWN = 3  # topologies of each predicate
BETWEEN = 2  # entities drawn between subject and object
FAN = 3  # bystanders drawn on a side
QUERY, MEETING, OTHER = "#E69F00", "#56B4E9", "#CC79A7"
SUBJECT, OBJECT = (0.25, 0.5), (0.75, 0.5)
Point = tuple[float, float]


def topologies_figure(results: Sequence[Result]) -> "Figure":
    """For each predicate the mined topologies with the largest weights, each on an example."""
    from matplotlib.figure import Figure

    topologies_of = results[0].topologies
    rows = max(min(len(topologies), SHOWN) for topologies in topologies_of.values())
    figure = Figure(figsize=(WIDTH, HEAD + ROW * rows), layout="constrained")
    heights = [HEAD, *[ROW] * rows]
    axes = figure.subplots(rows + 1, len(topologies_of), squeeze=False, height_ratios=heights)
    for panel in axes.flat:
        panel.set(xlim=(0, 1), ylim=(0, 1))
        panel.axis("off")
    for column, (predicate, topologies) in enumerate(topologies_of.items()):
        _draw_query(axes[0, column], predicate)
        heaviest = sorted(topologies, key=lambda mined: -mined["weight"])[:SHOWN]
        for panel, mined in zip(axes[1:, column], heaviest, strict=False):
            _draw_topology(panel, mined)
    return figure


def _draw_query(panel: "Axes", predicate: str) -> None:
    subject, object_ = (SUBJECT[0], 0.3), (OBJECT[0], 0.3)
    _arrow(panel, subject, object_, -0.25)
    panel.text(0.5, 0.68, _wrapped(predicate, 26), ha="center", va="bottom", weight="bold")
    for at in (subject, object_):
        _entity(panel, at, QUERY, 9)
    panel.axhline(0, color="#888888", linewidth=0.6, linestyle="--")


def _draw_topology(panel: "Axes", mined: dict[str, Any]) -> None:
    """One topology: the facts that connect its example, and other reached entities outside."""
    steps = ", then ".join(mined["topology"])
    share = f"{mined['share']:.1%} of its episodes, weight {mined['weight']:+.2f}"
    panel.text(0.5, 0.0, f"{_wrapped(steps, 44)}\n{share}", ha="center", va="bottom", size=6.5)
    example = mined["example"]
    if example is None:
        return
    points = {example["subject"]: SUBJECT, example["object"]: OBJECT}
    between = [
        name
        for name in dict.fromkeys(f[end] for f in example["facts"] for end in ("subject", "object"))
        if name not in points
    ][:BETWEEN]
    points |= {name: (0.5, 0.86 - 0.22 * row) for row, name in enumerate(between)}
    _draw_bystanders(panel, example["bystanders"])
    _draw_facts(panel, example["facts"], points)
    for name, at in points.items():
        _entity(panel, at, MEETING if name in between else QUERY, 7)
        side = {SUBJECT: "left", OBJECT: "right"}.get(at, "center")
        below = 0.1 if side != "center" else -0.07
        x = {"left": 0.02, "right": 0.98}.get(side, at[0])
        panel.text(
            x, at[1] - below, _wrapped(name, 20), ha=side, va="top" if below > 0 else "bottom",
            size=6,
        )  # fmt: skip


def _draw_facts(panel: "Axes", facts: Sequence[dict[str, Any]], points: dict[str, Point]) -> None:
    """One arrow for each ordered pair of drawn entities that a fact connects."""
    pairs = dict.fromkeys(
        (fact["subject"], fact["object"])
        for fact in facts
        if fact["subject"] in points and fact["object"] in points
    )
    for subject, object_ in pairs:
        _arrow(panel, points[subject], points[object_], -0.12)


def _draw_bystanders(panel: "Axes", counts: dict[str, int]) -> None:
    for side, at, outwards in (("subject", SUBJECT, -0.14), ("object", OBJECT, 0.14)):
        number = min(counts[side], FAN)
        for index in range(number):
            end = (at[0] + outwards, at[1] + 0.14 * (index - (number - 1) / 2) + 0.1)
            panel.plot(*zip(at, end, strict=True), color="#999999", linewidth=0.6, zorder=1)
            _entity(panel, end, OTHER, 3.5)


def _entity(panel: "Axes", at: Point, colour: str, size: float) -> None:
    panel.plot(*at, marker="o", markersize=size, color=colour, markeredgecolor="black",
               markeredgewidth=0.5, zorder=3)  # fmt: skip


def _arrow(panel: "Axes", start: Point, end: Point, bend: float) -> None:
    panel.annotate(
        "", end, start,
        arrowprops={
            "arrowstyle": "-|>", "connectionstyle": f"arc3,rad={bend}", "shrinkA": 5, "shrinkB": 5,
            "linewidth": 0.9, "color": "black", "mutation_scale": 7,
        },
    )  # fmt: skip


def _wrapped(text: str, width: int) -> str:
    """The text in at most two lines, the second one cut where it is too long."""
    lines = textwrap.wrap(text, width)
    return "\n".join(lines if len(lines) <= 2 else [lines[0], f"{lines[1][: width - 3]} ..."])
