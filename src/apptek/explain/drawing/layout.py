"""The parts of a drawing: entities and lines with their places on a sheet."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

Role = Literal["subject", "object", "meeting", "bystander"]
Kind = Literal["question", "path", "bystander"]
Curve = tuple[float, float, float, float, float, float, float, float]  # a cubic: four points

RADIUS, SMALL_RADIUS = 12.0, 7.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An entity and where its centre is."""

    id: int
    name: str
    role: Role
    x: float
    y: float
    named: bool  # whether the name is written; else it shows when pointed at
    side: str = ""  # of the entity on which its name stands: left, right, below, above-...

    @property
    def radius(self) -> float:
        """Bystanders are small."""
        return SMALL_RADIUS if self.role == "bystander" else RADIUS


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnEdge:
    """A fact from node to node, or the query itself.

    fact   its index among the facts of the graph; -1: the query
    more   facts between the same two entities that are not drawn
    group  of its predicate, empty for none
    facts, reasons
           all facts that it stands for, and the numbers of the reasons that cite them
    distance
           of the nearest of them to the query's time
    curve  from the rim of the source to the rim of the target
    label  where the middle of its text is; bystanders carry theirs beside the node
    room   letters that the label may have; 0: it has no free place, and shows when pointed at
    """

    source: int
    target: int
    fact: int
    kind: Kind
    predicate: str
    date: str
    side: str
    reason: int
    on_path: bool
    more: int
    curve: Curve
    label: tuple[float, float]
    group: str = ""
    facts: tuple[int, ...] = ()
    reasons: tuple[int, ...] = ()
    distance: int | None = None
    room: int = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Nodes and edges on a sheet of some size; `note` says what is not drawn."""

    number: int
    title: str
    width: float
    height: float
    nodes: tuple[Node, ...]
    edges: tuple[DrawnEdge, ...]
    note: str

    def as_json(self) -> dict[str, Any]:
        """The fields by their names, curves and places as lists of numbers."""
        content = asdict(self)
        for edge in content["edges"]:
            for key in ("curve", "label", "facts", "reasons"):
                edge[key] = list(edge[key])
        return content | {"nodes": list(content["nodes"]), "edges": list(content["edges"])}


def at_rims(edge: DrawnEdge, nodes: Sequence[Node]) -> DrawnEdge:
    """The edge, cut at the rims of its nodes."""
    x1, y1, *controls, x2, y2 = edge.curve
    start = _rim(x1, y1, controls[0], controls[1], nodes[edge.source].radius + 1)
    end = _rim(x2, y2, controls[2], controls[3], nodes[edge.target].radius + 4)  # the arrow's head
    curve = tuple(round(value, 1) for value in (*start, *controls, *end))
    return replace(edge, curve=curve)  # type: ignore[arg-type]


def _rim(
    x: float, y: float, toward_x: float, toward_y: float, radius: float
) -> tuple[float, float]:
    length = max(((toward_x - x) ** 2 + (toward_y - y) ** 2) ** 0.5, 1e-9)
    return x + (toward_x - x) * radius / length, y + (toward_y - y) * radius / length
