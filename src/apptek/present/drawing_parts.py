"""The parts of a drawing as data, and its texts: labels, shortened if they are too long."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rich.cells import cell_len, set_cell_size

from apptek.safe_text import printable

Role = Literal["subject", "object", "meeting", "bystander"]
Kind = Literal["question", "path", "bystander"]
Point = tuple[float, float]
Box = tuple[float, float, float, float]  # x, y, width, height
LETTER, NAME_LETTER = 6.6, 8.2  # widths of a letter in texts and in names


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text in a drawing. kind: name or when (smaller); anchor: start, middle or end."""

    x: float
    y: float
    words: str
    kind: str
    anchor: str

    def box(self) -> Box:
        """Return the text's bounding box, with a small margin."""
        wide = cell_len(self.words) * (NAME_LETTER if self.kind == "name" else LETTER)
        left = {"start": 0.0, "middle": wide / 2, "end": wide}[self.anchor]
        return self.x - left, self.y - 11, wide, 13.0


@dataclass(frozen=True, slots=True)
class Node:
    """An entity, with the position of its centre and the texts next to it."""

    id: int
    name: str
    role: Role
    x: float
    y: float
    radius: float
    texts: tuple[Text, ...]

    def boxes(self) -> list[Box]:
        """Return the boxes around the entity and its texts."""
        size = 2 * self.radius
        own = (self.x - self.radius, self.y - self.radius, size, size)
        return [own, *(text.box() for text in self.texts)]


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """A line between two nodes: facts with the same ends, or the query itself.

    facts, reasons   all its facts, and the numbers of the reasons that cite them
    curve            a quadratic curve: start, control and end; start and end are the nodes' centres
    tone, thickness  the colour class, from the group of its predicate, and the width of the line
    pill, texts      the rectangle behind the label, and the label or its number in the legend; a
                     line at the edge has neither, because its label is at the node
    """

    source: int
    target: int
    kind: Kind
    predicate: str
    date: str
    facts: tuple[int, ...]
    reasons: tuple[int, ...]
    curve: tuple[float, float, float, float, float, float]
    tone: str
    thickness: float
    pill: Box | None = None
    texts: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """Nodes and edges on a sheet; `texts` are below it: the legend, and what is not drawn."""

    title: str
    width: float
    height: float
    nodes: tuple[Node, ...]
    edges: tuple[DrawnEdge, ...]
    texts: tuple[Text, ...]


def fitting(words: str, room: int) -> str:
    """Shorten a text to a number of letters, with an ellipsis if it was cut."""
    words = printable(words)
    return words if cell_len(words) <= room else set_cell_size(words, room - 1).rstrip() + "…"


def with_label(edge: DrawnEdge, words: str, date: str, point: Point) -> DrawnEdge:
    """Return the edge with its predicate and date written around a point."""
    x, y = point
    wide, high = max(cell_len(words), cell_len(date)) * LETTER + 10, 30.0 if date else 18.0
    texts = [Text(x, y - 2 if date else y + 4, words, "", "middle")]
    texts += [Text(x, y + 11, date, "when", "middle")] * bool(date)
    return replace(edge, pill=(x - wide / 2, y - high / 2, wide, high), texts=tuple(texts))


def point_of(curve: Sequence[float], at: float) -> Point:
    """Return a point on a quadratic curve; at: 0 is the start, 1 the end."""
    shares = ((1 - at) ** 2, 2 * at * (1 - at), at**2)
    x, y = (sum(s * v for s, v in zip(shares, curve[axis::2], strict=True)) for axis in (0, 1))
    return round(x, 1), round(y, 1)
