"""What is written in a drawing, and how much room it takes."""

import textwrap
import unicodedata
from dataclasses import dataclass

from apptek.explain.drawing.layout import Drawing, DrawnEdge, Node
from apptek.safe_text import printable

LETTER = 6.6  # width of one in a label, a little more than it takes
NAME_LINE, NAME_LINES = 16, 3  # characters of a line of a name; lines
FULL_ROOM = 48  # letters of the label of a line
SIDE_NAME = 36  # characters of a bystander's name, and of its fact
LEAST_WORDS = 12  # letters of a predicate beside which its date is told
NAME_LETTER, BOLD_LETTER, SMALL_LETTER = 8.2, 7.4, 6.5  # widths: names above, below, and dates
NAME_SIZE, BOLD_SIZE, SMALL_SIZE = 14, 12, 11  # heights of the same
BETWEEN = 60.0  # from a line to the entities at its ends, of what its label leaves free
Box = tuple[float, float, float, float]  # x, y, width, height


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text in a drawing. kind: name or when (smaller); anchor: start, middle or end."""

    x: float
    y: float
    words: str
    kind: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Label:
    """The two lines on an edge, and the rectangle behind them: x, y, width, height."""

    pill: Box
    texts: tuple[Text, ...]


def letters(words: str) -> int:
    """How many letters wide a text is: one of Chinese, Japanese or Korean counts as two."""
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in words)


def fitting(words: str, room: int) -> str:
    """A text of at most so many letters, with an ellipsis where some were cut."""
    if letters(words) <= room:
        return words
    kept = max(min(len(words), room), 0)  # no letter is narrower than one
    while kept and letters(words[:kept]) >= room:
        kept -= 1
    return words[:kept].rstrip() + "…"


def how_many(edge: DrawnEdge) -> str:
    """What follows a predicate: how many facts a line stands for, or are not drawn beside it."""
    if not edge.facts:
        return f" (+{edge.more} more)" if edge.more else ""
    own = len(edge.facts) - edge.more
    other = f" +{edge.more}" if edge.more else ""
    return (f" \N{MULTIPLICATION SIGN}{own}" if own > 1 else "") + other


def edge_label(edge: DrawnEdge) -> Label:
    """The predicate and the date of an edge, where its label is."""
    more = how_many(edge)
    free = max(abs(edge.curve[6] - edge.curve[0]) - BETWEEN, 15 * LETTER)
    room = min(int(free / LETTER), edge.room or FULL_ROOM)
    words = fitting(printable(edge.predicate), room - len(more)) + more
    date = printable(edge.date)
    if letters(date) * SMALL_LETTER > room * LETTER:  # the day alone
        date = fitting(date.removeprefix("nearest ").split(" · ")[0], room)
    x, y = edge.label
    wide = round(max(letters(words) * LETTER, letters(date) * SMALL_LETTER) + 10, 1)
    if not date:
        pill = (round(x - wide / 2, 1), round(y - 10, 1), wide, 20.0)
        return Label(pill, (Text(x, round(y + 4, 1), words, "", "middle"),))
    return Label(
        (round(x - wide / 2, 1), round(y - 15, 1), wide, 30.0),
        (Text(x, y - 2, words, "", "middle"), Text(x, y + 11, date, "when", "middle")),
    )


def text_box(text: Text, node: Node) -> Box:
    """The box around a text beside an entity."""
    letter, size = BOLD_LETTER, BOLD_SIZE
    if node.role == "bystander":
        letter, size = SMALL_LETTER, SMALL_SIZE
    elif node.side.startswith("above"):
        letter, size = NAME_LETTER, NAME_SIZE
    wide = letters(text.words) * letter
    left = {"start": 0.0, "middle": wide / 2, "end": wide}[text.anchor]
    return text.x - left, text.y - 0.85 * size, wide, 1.05 * size


def node_texts(node: Node, drawing: Drawing) -> list[Text]:
    """The name of an entity, and beside a bystander its fact."""
    if node.role == "bystander":
        return _beside(node, drawing) if node.named else []
    if node.side.startswith("above"):
        return [_above(node, drawing)]
    x = node.x + {"subject": node.radius, "object": -node.radius}.get(node.role, 0.0)
    anchor = {"subject": "end", "object": "start"}.get(node.role, "middle")
    y = node.y + node.radius + 14
    lines = name_lines(node.name)
    return [Text(x, round(y + 13 * row, 1), line, "name", anchor) for row, line in enumerate(lines)]


def _above(node: Node, drawing: Drawing) -> Text:
    """The name of subject or object: centred, else from its edge of the sheet, or inwards."""
    at_start = node.side == "above-start"
    y = round(node.y - node.radius - 10, 1)
    middle = drawing.width / 2
    if any(e.kind == "question" and e.curve[3] < node.y - 4 for e in drawing.edges):
        middle -= 9 * LETTER  # the question is written at the same height
    words = fitting(printable(node.name), int((middle - 8) / NAME_LETTER))
    half = letters(words) * NAME_LETTER / 2
    if half > _free_outside(node, drawing):
        x = node.x - node.radius if at_start else node.x + node.radius
        inner = middle - x if at_start else x - drawing.width + middle
        words = fitting(words, int(inner / NAME_LETTER))
        return Text(round(x, 1), y, words, "name", "start" if at_start else "end")
    if half < min(node.x, drawing.width - node.x) - 8:
        return Text(node.x, y, words, "name", "middle")
    if at_start:
        return Text(8.0, y, words, "name", "start")
    return Text(drawing.width - 8.0, y, words, "name", "end")


def _free_outside(node: Node, drawing: Drawing) -> float:
    """How far the name above an entity may reach towards its own periphery."""
    sign = 1 if node.side == "above-start" else -1
    beside = [
        sign * (node.x - other.x) - other.radius - 4
        for other in drawing.nodes
        if other.role == "bystander" and abs(other.y - node.y) < NAME_SIZE * 4
    ]
    return min((far for far in beside if far > 0), default=drawing.width)


def _beside(node: Node, drawing: Drawing) -> list[Text]:
    """A bystander's name and its fact, on the side that it says, or away from its entity."""
    edge = next(e for e in drawing.edges if node.id in (e.source, e.target))
    if node.side == "below":
        return _below(node, edge, drawing)
    on_left = node.x < drawing.nodes[edge.source + edge.target - node.id].x
    if node.side:
        on_left = node.side == "left"
    x = node.x + (-node.radius - 5 if on_left else node.radius + 5)
    free = node.x if on_left else drawing.width - node.x
    if node.side and free > drawing.width / 2:
        free -= drawing.width / 2  # the other half is for the other entity's
    room = min(SIDE_NAME, int((free - node.radius - 8) / SMALL_LETTER))
    many = how_many(edge).replace(" more)", ")")
    date = f" {edge.date.split(' · ')[0].removeprefix('nearest ')}" if edge.date else ""
    end = many + date if room - len(many + date) >= LEAST_WORDS or not node.side else many
    lines = (
        fitting(printable(node.name), room),
        fitting(printable(edge.predicate), max(room - len(end), 9)) + end,
    )
    anchor = "end" if on_left else "start"
    return [
        Text(round(x, 1), round(node.y + shift, 1), line, kind, anchor)
        for line, kind, shift in zip(lines, ("name", "when"), (-1, 12), strict=True)
    ]


def _below(node: Node, edge: DrawnEdge, drawing: Drawing) -> list[Text]:
    """The same in the middle below it, as far as its neighbours in the row leave room."""
    others = [other.x for other in drawing.nodes if other.y == node.y and other is not node]
    free = min([2 * node.x, 2 * (drawing.width - node.x), *(abs(x - node.x) for x in others)])
    room, many = max(int(free / SMALL_LETTER) - 1, 4), how_many(edge).replace(" more)", ")")
    lines = (
        fitting(printable(node.name), room),
        fitting(printable(edge.predicate), max(room - len(many), 4)) + many,
    )
    return [
        Text(node.x, round(node.y + node.radius + shift, 1), line, kind, "middle")
        for line, kind, shift in zip(lines, ("name", "when"), (13, 26), strict=True)
    ]


def name_lines(name: str) -> list[str]:
    """A name in a few short lines; the end is cut where it is too long."""
    narrow = NAME_LINE * max(len(name), 1) // max(letters(name), 1)
    lines = textwrap.wrap(printable(name), max(narrow, 1)) or [""]
    if len(lines) > NAME_LINES:
        lines[NAME_LINES - 1] = fitting(" ".join(lines[NAME_LINES - 1 :]), NAME_LINE)
    return lines[:NAME_LINES]
