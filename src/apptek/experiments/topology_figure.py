"""The paper's figure of topologies: a column for each predicate, below it what speaks for it."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from apptek.experiments.experiment import Experiment, results_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, ROW, HEAD = 6.9, 1.25, 0.75  # inches: both columns of a page, and the heights of its rows
SHOWN = 3  # topologies of each predicate
BETWEEN = 2  # entities drawn between subject and object
FAN = 3  # bystanders drawn on a side
QUERY, MEETING, OTHER = "#E69F00", "#56B4E9", "#CC79A7"
SUBJECT, OBJECT = (0.25, 0.5), (0.75, 0.5)
Place = tuple[float, float]


def topologies_figure(
    experiments: Sequence[Experiment], results: Sequence[dict[str, Any]]
) -> "Figure | None":
    """For each predicate the mined topologies with the largest weights, each on an example."""
    found = [result for experiment in experiments for result in results_of(experiment, results)][:1]
    if not found:
        return None
    from matplotlib.figure import Figure

    columns = found[0]["topologies"]
    rows = max(min(len(mined), SHOWN) for mined in columns.values())
    figure = Figure(figsize=(WIDTH, HEAD + ROW * rows), layout="constrained")
    heights = [HEAD, *[ROW] * rows]
    axes = figure.subplots(rows + 1, len(columns), squeeze=False, height_ratios=heights)
    for panel in axes.flat:
        panel.set(xlim=(0, 1), ylim=(0, 1))
        panel.axis("off")
    for place, (predicate, mined) in enumerate(columns.items()):
        _draw_query(axes[0, place], predicate)
        best = sorted(mined, key=lambda one: -one["weight"])[:SHOWN]
        for panel, one in zip(axes[1:, place], best, strict=False):
            _draw_topology(panel, one)
    return figure


def _draw_query(panel: "Axes", predicate: str) -> None:
    subject, object_ = (SUBJECT[0], 0.3), (OBJECT[0], 0.3)
    _arrow(panel, subject, object_, -0.25)
    panel.text(0.5, 0.68, _wrapped(predicate, 26), ha="center", va="bottom", weight="bold")
    for at in (subject, object_):
        _entity(panel, at, QUERY, 9)
    panel.axhline(0, color="#888888", linewidth=0.6, linestyle="--")


def _draw_topology(panel: "Axes", one: dict[str, Any]) -> None:
    """One topology: the facts that connect the example, and bystanders on the outer sides."""
    steps = ", then ".join(one["topology"])
    share = f"{one['share']:.1%} of its episodes, weight {one['weight']:+.2f}"
    panel.text(0.5, 0.0, f"{_wrapped(steps, 44)}\n{share}", ha="center", va="bottom", size=6.5)
    example = one["example"]
    if example is None:
        return
    places = {example["subject"]: SUBJECT, example["object"]: OBJECT}
    between = [
        name
        for name in dict.fromkeys(f[end] for f in example["facts"] for end in ("subject", "object"))
        if name not in places
    ][:BETWEEN]
    places |= {name: (0.5, 0.86 - 0.22 * row) for row, name in enumerate(between)}
    _draw_bystanders(panel, example["bystanders"])
    _draw_facts(panel, example["facts"], places)
    for name, at in places.items():
        _entity(panel, at, MEETING if name in between else QUERY, 7)
        side = {SUBJECT: "left", OBJECT: "right"}.get(at, "center")
        below = 0.1 if side != "center" else -0.07
        x = {"left": 0.02, "right": 0.98}.get(side, at[0])
        panel.text(
            x, at[1] - below, _wrapped(name, 20), ha=side, va="top" if below > 0 else "bottom",
            size=6,
        )  # fmt: skip


def _draw_facts(panel: "Axes", facts: Sequence[dict[str, Any]], places: dict[str, Place]) -> None:
    """An arrow for each predicate between two drawn entities, bent apart."""
    drawn = dict.fromkeys(
        (fact["subject"], fact["object"])
        for fact in facts
        if fact["subject"] in places and fact["object"] in places
    )
    for subject, object_ in drawn:
        _arrow(panel, places[subject], places[object_], -0.12)


def _draw_bystanders(panel: "Axes", counts: dict[str, int]) -> None:
    for side, at, outwards in (("subject", SUBJECT, -0.14), ("object", OBJECT, 0.14)):
        number = min(counts[side], FAN)
        for place in range(number):
            end = (at[0] + outwards, at[1] + 0.14 * (place - (number - 1) / 2) + 0.1)
            panel.plot(*zip(at, end, strict=True), color="#999999", linewidth=0.6, zorder=1)
            _entity(panel, end, OTHER, 3.5)


def _entity(panel: "Axes", at: Place, colour: str, size: float) -> None:
    panel.plot(*at, marker="o", markersize=size, color=colour, markeredgecolor="black",
               markeredgewidth=0.5, zorder=3)  # fmt: skip


def _arrow(panel: "Axes", start: Place, end: Place, bend: float) -> None:
    panel.annotate(
        "", end, start,
        arrowprops={
            "arrowstyle": "-|>", "connectionstyle": f"arc3,rad={bend}", "shrinkA": 5, "shrinkB": 5,
            "linewidth": 0.9, "color": "black", "mutation_scale": 7,
        },
    )  # fmt: skip


def _wrapped(text: str, width: int) -> str:
    """At most two lines."""
    lines = textwrap.wrap(text, width)
    return "\n".join(lines if len(lines) <= 2 else [lines[0], f"{lines[1][: width - 3]} ..."])
