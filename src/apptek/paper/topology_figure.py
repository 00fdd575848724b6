"""The paper's figure of topologies: a model's mined topologies, each with an example query."""

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from apptek.explain.reasons import cited_fact
from apptek.facts.queries import Queries, training_queries
from apptek.models.model import Model
from apptek.paper.connection import connect
from apptek.paper.features import Topologies, mined_topologies, topologies_of
from apptek.paper.topologies import MinedTopology
from apptek.present.drawing import RADIUS, Asked, draw_topology
from apptek.present.drawing_parts import Drawing
from apptek.research.result import Result
from apptek.results import CitedFact

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN_OF_FACT = ("subject", "predicate", "object", "date", "side", "step")
SHOWN = 2  # topologies per predicate, side by side as in the paper
WIDTH, SHEET = 6.9, 440.0  # page width in inches, drawing width in points
SCALE = WIDTH / (SHOWN * 1.03 * SHEET)  # inches per point
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
    figure = Figure(figsize=(WIDTH, SCALE * (sum(heights) + 45 * len(rows))), layout="constrained")
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
