"""The paper's figures, redrawn from results as SVG and PNG; each topology has an example query.

A figure is exactly as wide as a printed column, so that text keeps its size of 7 or 8 points. The
colours are from Okabe and Ito's palette; lines that differ in colour also differ in their markers.
"""

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from apptek.explain.reasons import cited_fact
from apptek.extras import require_matplotlib
from apptek.facts.queries import Queries, training_queries
from apptek.files import make_folder, writing
from apptek.models.model import Model
from apptek.paper.connection import connect
from apptek.paper.features import Topologies, mined_topologies, topologies_of
from apptek.paper.topologies import MinedTopology
from apptek.present.drawing import RADIUS, Asked, Drawing, draw_topology
from apptek.research.printed import TITLES
from apptek.research.result import Result
from apptek.results import CitedFact

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Results = Sequence[Result]
WIDTH, PANEL = 3.35, 1.75  # inches: the width of a column, and the height of a panel
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
PURPLE, GREY = "#CC79A7", "#595959"
STYLES = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PURPLE, "D"), (GREY, "v"))
COURSE_WINDOW = 10  # success is averaged over this many hundredths of training
LEAST_EPISODES = 5  # windows with fewer episodes are not drawn
STYLE = Path(__file__).with_name("figures.mplstyle")
SHOWN_OF_FACT = ("subject", "predicate", "object", "date", "side", "step")
SHOWN = 2  # topologies per predicate, side by side as in the paper
PAGE, SHEET = 6.9, 440.0  # page width in inches, drawing width in points
SCALE = PAGE / (SHOWN * 1.03 * SHEET)  # inches per point
COLOURS = {"subject": "#E69F00", "object": "#E69F00", "meeting": "#56B4E9", "bystander": "#CC79A7"}
PREDICATES = ("Protest violently, riot", "Reduce or break diplomatic relations", "Reject")
TOP = 10  # topologies per predicate
FACTS = 8  # maximum number of facts on an example's path


def drawn_topologies(model: Model) -> dict[str, list[dict[str, Any]]]:
    """Return the mined topologies of the figure's predicates, or of the data's first ones.

    Each has an example: one connected query, and the facts that connect it.
    """
    names, part = list(model.dataset.predicates), topologies_of(model)
    drawn = [names.index(name) for name in PREDICATES if name in names] or range(len(PREDICATES))
    queries, found = training_queries(model.dataset.train), mined_topologies(model, drawn, TOP)
    assert part is not None
    for predicate, entries in zip(drawn, found.values(), strict=True):
        for entry, mined in zip(entries, part.mined.of_predicate(predicate), strict=False):
            entry["example"] = _example(model, part, queries, mined)
    return found


def _example(
    model: Model, part: Topologies, queries: Queries, mined: MinedTopology
) -> dict[str, Any] | None:
    """Return the example with the fewest facts on its path; None if every replay fails."""
    paths = [
        ([fact for fact in connection.core if fact.on_path], row, connection.meeting)
        for row in mined.examples
        if (connection := connect(part.process, queries, mined.sequence, row)) is not None
    ]
    if not paths:
        return None
    path, row, meeting = min(paths, key=lambda found: (len(found[0]), found[1]))
    data, train, names = model.dataset, model.dataset.train, model.dataset.entities
    moment = int(model.graph.axis.positions(queries.times[row : row + 1])[0])
    return {
        "subject": names[int(train.subjects[row])],
        "object": names[int(train.objects[row])],
        "time": model.dataset.axis.format(int(queries.times[row])),
        "meeting": [names[entity] for entity in meeting],
        "facts": [
            {
                key: getattr(cited_fact(data, model.graph, moment, fact), key)
                for key in SHOWN_OF_FACT
            }
            for fact in path[:FACTS]
        ],
    }


def topologies_figure(results: Sequence[Result]) -> "Figure":
    """For each predicate, draw the mined topologies with the largest weights, with examples."""
    from matplotlib.figure import Figure

    rows = [
        [
            (mined, drawn)
            for mined in sorted(topologies, key=lambda mined: -mined["weight"])
            if (drawn := _drawn(predicate, mined["example"]))
        ][:SHOWN]
        for predicate, topologies in results[0].topologies.items()
    ]
    heights = [max([90.0, *(drawing.height for _, drawing in row)]) for row in rows]
    figure = Figure(figsize=(PAGE, SCALE * (sum(heights) + 45 * len(rows))), layout="constrained")
    axes = figure.subplots(len(rows), SHOWN, squeeze=False, height_ratios=heights)
    for panel in axes.flat:
        panel.axis("off")
    for panels, row, height in zip(axes, rows, heights, strict=True):
        for panel, (mined, drawing) in zip(panels, row, strict=False):
            draw_panel(panel, drawing, height)
            steps = textwrap.fill(", then ".join(mined["topology"]), 60)
            share = f"{mined['share']:.1%} of its episodes, weight {mined['weight']:+.2f}"
            panel.set_title(f"{steps}\n{share}", fontsize=6.5)
    return figure


def _drawn(predicate: str, example: dict[str, Any] | None) -> Drawing | None:
    """Lay out the facts that connect an example; return None without an example."""
    if example is None:
        return None
    facts = [
        CitedFact(
            **fact, fact=number, since=fact["date"], until=fact["date"], distance=number,
            apart="", expanded_by="", on_path=True,
        )
        for number, fact in enumerate(example["facts"])
    ]  # fmt: skip
    title = f"{example['subject']}, {predicate}, {example['object']}"
    asked = Asked(example["subject"], example["object"], title, f"{predicate}?", example["time"])
    return draw_topology(asked, facts, width=SHEET)


def draw_panel(panel: "Axes", drawing: Drawing, height: float) -> None:
    """Draw the lines, entities and texts of a layout from `present`."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    panel.set(xlim=(0, drawing.width), ylim=(height, 0), aspect="equal")
    for edge in drawing.edges:
        points = list(zip(edge.curve[::2], edge.curve[1::2], strict=True))
        (x, y), (end_x, end_y) = points[-2:]  # the arrow ends at the border of the entity
        share = 0.9 * RADIUS / math.dist((x, y), (end_x, end_y))
        points[-1] = (end_x + share * (x - end_x), end_y + share * (y - end_y))
        line = Path(points, [Path.MOVETO, Path.CURVE3, Path.CURVE3])
        dashed = "--" if edge.kind == "question" else "-"
        panel.add_patch(FancyArrowPatch(
            path=line, arrowstyle="-|>", mutation_scale=6, linewidth=0.8, linestyle=dashed,
            color="#555555",
        ))  # fmt: skip
    for node in drawing.nodes:
        panel.plot(
            node.x, node.y, "o", markersize=1.8 * node.radius * SCALE * 72,
            color=COLOURS[node.role], markeredgecolor="black", markeredgewidth=0.5,
        )  # fmt: skip
    of_edges = [text for edge in drawing.edges for text in edge.texts]
    for text in (*of_edges, *drawing.texts, *(t for node in drawing.nodes for t in node.texts)):
        aligned = {"start": "left", "middle": "center", "end": "right"}[text.anchor]
        panel.text(
            text.x, text.y, text.words, ha=aligned, va="baseline",
            size=(11 if text.kind == "when" else 12) * SCALE * 72,
            weight="bold" if text.kind == "name" else "normal",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
        )  # fmt: skip


def write_figure(name: str, results: Results, folder: Path) -> list[Path]:
    """Write NAME.svg and NAME.png and return their paths; write nothing without results."""
    if not results:
        return []
    require_matplotlib()
    from matplotlib import style

    with style.context(STYLE):
        figure = FIGURES[name](results)
        paths = [folder / f"{name}.svg", folder / f"{name}.png"]
        with writing(folder):
            make_folder(folder)
            # Omit dates and versions, so that an unchanged figure is identical byte by byte.
            figure.savefig(paths[0], metadata={"Date": None, "Creator": None})
            figure.savefig(paths[1], metadata={"Software": None})
    return paths


def _by_panel(recorded: Results) -> dict[str, list[Result]]:
    """Group results by panel: data sets in the paper's order, each by ascending tknn.

    Runs in which a query can see its own fact have a separate panel.
    """
    order, panels = [*TITLES, *(result.dataset for result in recorded)], dict[str, list[Result]]()
    by_tknn = sorted(recorded, key=_tknn)
    for result in sorted(by_tknn, key=lambda each: (order.index(each.dataset), _ending(each))):
        title = TITLES.get(result.dataset, result.dataset) + _ending(result)
        panels.setdefault(title, []).append(result)
    return panels


def _ending(result: Result) -> str:
    return "" if result.settings["agent"]["hide_query"] else ", own fact left in"


def _tknn(result: Result) -> int:
    return int(result.settings["agent"]["tknn"])


def agent_figure(
    results: Results, draw: "Callable[[Axes, Results], None]", xlabel: str
) -> "Figure":
    """Draw one panel per data set and setting of `hide_query`, with one colour per tknn."""
    from matplotlib.figure import Figure

    panels = _by_panel(results)
    figure = Figure(figsize=(WIDTH, PANEL * len(panels) + 0.3), layout="constrained")
    axes = figure.subplots(len(panels), squeeze=False)[:, 0]
    for panel, (title, recorded) in zip(axes, panels.items(), strict=True):
        panel.set_title(title)
        draw(panel, recorded)
    if axes[0].get_legend() is None:  # otherwise each panel has its own
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    axes[-1].set_xlabel(xlabel)
    return figure


def _styled(results: Results) -> Iterator[tuple[Result, dict[str, Any]]]:
    """Yield each result with the style of its line."""
    for result, (colour, marker) in zip(results, STYLES, strict=False):
        yield result, {"color": colour, "marker": marker, "label": f"tknn {_tknn(result)}"}


def _draw_actions(panel: "Axes", results: Results) -> None:
    """Draw the mean number of legal actions before each step."""
    for result, style in _styled(results):
        means = np.asarray(result.extras["legal_actions"], np.float64)  # nan: no episode went on
        panel.plot(np.arange(len(means)) + 1, means, **style)
    longest = max(len(result.extras["legal_actions"]) for result in results)
    panel.set(ylabel="legal actions", ylim=(0, None))
    panel.set_xticks(range(1, longest + 1))


def _draw_rewards(panel: "Axes", results: Results) -> None:
    """Draw the mean reward of the last 500 and the last 10,000 episodes during training."""
    for result, style in _styled(results):
        curve = result.extras["rewards"]
        episodes = curve["episodes"]
        panel.plot(episodes, curve["mean_500"], color=style["color"], linewidth=0.5, alpha=0.5)
        # Markers distinguish the lines without colour; a few are enough.
        markevery = max(len(episodes) // 6, 1)
        panel.plot(episodes, curve["mean_10000"], markevery=markevery, **style)
    panel.set(ylabel="mean reward")
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    panel.locator_params(axis="x", nbins=5)


def _draw_success(panel: "Axes", results: Results) -> None:
    """Draw the proportion of connected episodes during training, for five predicates."""
    for (predicate, course), (colour, marker) in zip(
        results[0].extras["success"].items(), STYLES, strict=False
    ):
        episodes, connected = (
            np.convolve(course[key], np.ones(COURSE_WINDOW), "valid")
            for key in ("episodes", "connected")
        )
        shown = episodes >= LEAST_EPISODES
        share = np.arange(len(episodes)) + COURSE_WINDOW
        panel.plot(
            share[shown], connected[shown] / episodes[shown], color=colour, marker=marker,
            markevery=max(int(shown.sum()) // 6, 1),
            label=f"{predicate} ({sum(course['episodes']):,})",
        )  # fmt: skip
    panel.set(ylabel="share connected", ylim=(-0.03, 1.03))
    panel.legend(loc="lower right", fontsize=6)


FIGURES: "dict[str, Callable[[Results], Figure]]" = {
    "figure-actions": partial(agent_figure, draw=_draw_actions, xlabel="step of the episode"),
    "figure-rewards": partial(
        agent_figure,
        draw=_draw_rewards,
        xlabel="episodes\nthin: last 500; thick: last 10,000, or all so far",
    ),
    "figure-success": partial(
        agent_figure, draw=_draw_success, xlabel="% of the training (mean of the last tenth)"
    ),
    "figure-topologies": topologies_figure,
}
