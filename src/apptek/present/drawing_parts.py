"""The parts of a drawing, and places for its texts: none lies over an entity or another text."""

import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from apptek.safe_text import printable

Role = Literal["subject", "object", "meeting", "bystander"]
Kind = Literal["question", "path", "bystander"]
Point = tuple[float, float]
Curve = tuple[float, float, float, float, float, float, float, float]  # a cubic: four points
Box = tuple[float, float, float, float]  # x, y, width, height

LETTER, NAME_LETTER, SMALL_LETTER = 6.6, 8.2, 6.5  # widths of a letter: labels, names, small texts
LINE = 13.0  # height of a line of text
MAX_LETTERS = 48  # of a label
TONES = ("material-conflict", "verbal-conflict", "verbal-cooperation", "material-cooperation")
STOPS = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)  # along a line, the best first


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text in a drawing. kind: name or when (smaller); anchor: start, middle or end."""

    x: float
    y: float
    words: str
    kind: str
    anchor: str

    def box(self) -> Box:
        """Return the box around it, a little larger than the text."""
        wide = letters(self.words) * (SMALL_LETTER if self.kind == "when" else NAME_LETTER)
        left = {"start": 0.0, "middle": wide / 2, "end": wide}[self.anchor]
        return self.x - left, self.y - 11, wide, LINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An entity, where its centre is, and what is written beside it."""

    id: int
    name: str
    role: Role
    x: float
    y: float
    radius: float
    side: str
    texts: tuple[Text, ...]

    def boxes(self) -> list[Box]:
        """Return the boxes around the entity and its texts."""
        size = 2 * self.radius
        own = (self.x - self.radius, self.y - self.radius, size, size)
        return [own, *(text.box() for text in self.texts)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnEdge:
    """A line from node to node: facts with the same ends, or the query itself.

    facts, reasons  all its facts, and the numbers of the reasons that cite them
    more            those of the facts that have another predicate than the one on its label
    distance        of the nearest of them to the query's time
    tone, thickness the class of its colour, by the group of its predicate; the width of the line
    pill, texts     the label and the rectangle behind it; lines at the edge have it at the node
    """

    source: int
    target: int
    kind: Kind
    predicate: str
    date: str
    group: str
    facts: tuple[int, ...]
    reasons: tuple[int, ...]
    more: int
    distance: int | None
    curve: Curve
    label: Point
    tone: str
    thickness: float
    room: int = 0  # letters of its label; 0: no free place, so the label is below the picture
    pill: Box | None = None
    texts: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Nodes and edges on a sheet of some size; `note` says what is not drawn."""

    title: str
    width: float
    height: float
    nodes: tuple[Node, ...]
    edges: tuple[DrawnEdge, ...]
    note: str

    def unplaced(self) -> list[str]:
        """Return the labels without a place in the picture, as facts in words."""
        names = [node.name for node in self.nodes]
        return [
            " | ".join((names[edge.source], edge.predicate, names[edge.target], edge.date))
            for edge in self.edges
            if edge.pill is not None and not edge.room
        ]


def letters(words: str) -> int:
    """Return the width of a text in letters: one of Chinese, Japanese or Korean counts as two."""
    if words.isascii():
        return len(words)
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in words)


def fitting(words: str, room: int) -> str:
    """Return a text of at most so many letters, with an ellipsis where some were cut."""
    words = printable(words)
    if letters(words) <= room:
        return words
    kept = max(min(len(words), room), 0)  # no letter is narrower than one
    while kept and letters(words[:kept]) >= room:
        kept -= 1
    return words[:kept].rstrip() + "…"


def tone_of(group: str) -> str:
    """Return the class of the group of a predicate, by which a line is coloured."""
    tone = group.replace(" ", "-")
    return f"tone-{tone}" if tone in TONES else ""


def thickness_of(facts: int) -> float:
    """Return how thick a line is: the more facts, the thicker."""
    return round(min(1.6 + 0.7 * math.log2(max(facts, 1)), 5.0), 2)


def how_many(edge: DrawnEdge) -> str:
    """Return what follows a predicate: the number of facts of a line."""
    own = len(edge.facts) - edge.more
    other = f" +{edge.more}" if edge.more else ""
    return (f" \N{MULTIPLICATION SIGN}{own}" if own > 1 else "") + other


def with_labels(drawing: Drawing) -> Drawing:
    """Return the drawing with each label where it is free.

    Labels that come first choose first, and the question's comes before all others.
    """
    taken = [box for node in drawing.nodes for box in node.boxes()]
    if drawing.note:
        taken.append((0.0, drawing.height - 20, drawing.width, 20.0))
    edges = []
    for edge in drawing.edges:
        if edge.kind == "bystander":
            edges.append(edge)
            continue
        places = (_labelled(edge, point) for point in _points(edge))
        first = next(places)
        free = (e for e in chain([first], places) if _is_free(e.pill, taken, drawing))
        edges.append(next(free, replace(first, room=0)))
        taken += [e.pill for e in edges[-1:] if e.room and e.pill is not None]
    return replace(drawing, edges=tuple(edges))


def _labelled(edge: DrawnEdge, point: Point) -> DrawnEdge:
    """Return the edge with its predicate and its date written around a point."""
    x, y = point
    free = max(abs(edge.curve[6] - edge.curve[0]) - 60, 15 * LETTER)
    room, more = min(int(free / LETTER), MAX_LETTERS), how_many(edge)
    words = fitting(edge.predicate, room - len(more)) + more
    date = fitting(edge.date, room)
    wide = round(max(letters(words) * LETTER, letters(date) * SMALL_LETTER) + 10, 1)
    texts = [Text(x, round(y - 2 if date else y + 4, 1), words, "", "middle")]
    if date:
        texts.append(Text(x, round(y + 11, 1), date, "when", "middle"))
    high = 30.0 if date else 20.0
    pill = (round(x - wide / 2, 1), round(y - high / 2, 1), wide, high)
    return replace(edge, label=point, room=room, pill=pill, texts=tuple(texts))


def _points(edge: DrawnEdge) -> Iterator[Point]:
    yield edge.label
    for at in STOPS:  # points of a cubic
        shares = ((1 - at) ** 3, 3 * (1 - at) ** 2 * at, 3 * (1 - at) * at**2, at**3)
        x = sum(share * value for share, value in zip(shares, edge.curve[::2], strict=True))
        y = sum(share * value for share, value in zip(shares, edge.curve[1::2], strict=True))
        yield round(x, 1), round(y, 1)


def _is_free(pill: Box | None, taken: list[Box], drawing: Drawing) -> bool:
    assert pill is not None
    x, y, wide, high = pill
    if x < 0 or y < 0 or x + wide > drawing.width or y + high > drawing.height:
        return False
    return not any(
        x < left + across and left < x + wide and y < top + down and top < y + high
        for left, top, across, down in taken
    )
