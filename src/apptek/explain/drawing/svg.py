"""A drawing as SVG text that needs nothing else; its colours follow light and dark."""

import math
import textwrap
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from apptek.explain.drawing.layout import Drawing, DrawnEdge, Node
from apptek.explain.wording import shortened
from apptek.safe_text import printable

NAMESPACE = "http://www.w3.org/2000/svg"
LETTER = 6.6  # width of one in a label, a little more than it takes
NAME_LINE, NAME_LINES = 16, 3  # characters of a line of a name; lines
SIDE_NAME = 36  # characters of a bystander's name, and of its fact
LEAST_WORDS = 12  # letters of a predicate beside which its date is told
NAME_LETTER, SMALL_LETTER = 8.2, 6.5  # widths of letters of names above, and of dates
# The colours of the paper's figure: query entities orange, what they meet in blue, bystanders
# lavender. Lines have the colour of their predicate's group: conflict is warm, cooperation cool.
# Contrast of all texts with the paper is at least 4.5 in light and in dark.
TONES = ("material-conflict", "verbal-conflict", "verbal-cooperation", "material-cooperation")
STYLE = """
.apptek { --paper: #ffffff; --ink: #1d2330; --muted: #5a6372; --line: #6f7a8c; --faint: #b9b4cc;
  --query: #f2a33a; --query-rim: #b86a00; --meeting: #7db4ec; --meeting-rim: #2563a8;
  --bystander: #e9d9f5; --bystander-rim: #a586c0;
  --asked: #b85c00; --material-conflict: #c13a32; --verbal-conflict: #e08a4b;
  --verbal-cooperation: #5b9fd4; --material-cooperation: #1f7a6d; }
@media (prefers-color-scheme: dark) { .apptek { --paper: #171a21; --ink: #e8ebf1;
  --muted: #a3adbd; --line: #8d99ac; --faint: #5d5670; --query: #c9781a; --query-rim: #f5b562;
  --meeting: #2f6fb3; --meeting-rim: #8fc2f5;
  --bystander: #4b3d5c; --bystander-rim: #b99cd3; --asked: #f5b562;
  --material-conflict: #ef6a5f; --verbal-conflict: #f0a56c; --verbal-cooperation: #6fb2e8;
  --material-cooperation: #45b8a3; } }
.apptek .sheet { fill: var(--paper); }
.apptek text { font: 12px system-ui, sans-serif; fill: var(--ink); text-anchor: middle;
  stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; paint-order: stroke; }
.apptek .when { font-size: 11px; fill: var(--muted); }
.apptek .name { font-weight: 600; }
.apptek .bystander .name, .apptek .note { font-weight: 400; font-size: 11px; fill: var(--muted); }
.apptek .above-start .name, .apptek .above-end .name { font-size: 14px; }
.apptek text.at-start { text-anchor: start; }
.apptek text.at-end { text-anchor: end; }
.apptek text.at-middle { text-anchor: middle; }
.apptek path { fill: none; stroke: var(--line); }
.apptek path.question { stroke: var(--asked); stroke-width: 2; stroke-dasharray: 6 5; }
.apptek .head { fill: context-stroke; stroke: none; }
.apptek .pill { fill: var(--paper); opacity: 0.93; }
.apptek .tone-material-conflict { --tone: var(--material-conflict); }
.apptek .tone-verbal-conflict { --tone: var(--verbal-conflict); }
.apptek .tone-verbal-cooperation { --tone: var(--verbal-cooperation); }
.apptek .tone-material-cooperation { --tone: var(--material-cooperation); }
.apptek path.path, .apptek path.bystander { stroke: var(--tone, var(--line)); }
.apptek path.bystander { opacity: 0.75; }
.apptek .dot { fill: var(--tone, var(--line)); }
.apptek .question-label text { fill: var(--asked); font-weight: 600; }
.apptek circle { stroke-width: 1.6; }
.apptek .subject circle, .apptek .object circle { fill: var(--query); stroke: var(--query-rim); }
.apptek .meeting circle { fill: var(--meeting); stroke: var(--meeting-rim); }
.apptek .bystander circle { fill: var(--bystander); stroke: var(--bystander-rim); }
"""


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

    pill: tuple[float, float, float, float]
    texts: tuple[Text, ...]


def draw_svg(drawing: Drawing) -> str:
    """The drawing as one <svg> element: lines, then entities, then labels on top of all."""
    marker = f"apptek-head-{drawing.width:g}"  # another one for each size of the same drawing
    size = f"{drawing.width:g} {drawing.height:g}"
    parts = [
        f'<svg xmlns="{NAMESPACE}" class="apptek" viewBox="0 0 {size}" role="img"',
        f'width="{drawing.width:g}" height="{drawing.height:g}">',
        f"<title>{_text(drawing.title)}</title><style>{STYLE}</style>",
        f'<defs><marker id="{marker}" viewBox="0 0 8 8" refX="5" refY="4" markerWidth="7"',
        'markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">',
        '<path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
        '<rect class="sheet" width="100%" height="100%"/>',
        *(_line(edge, drawing, marker) for edge in drawing.edges),
        *(_node(node, drawing) for node in drawing.nodes),
        *(_label(edge) for edge in drawing.edges if edge.kind != "bystander"),
    ]
    if drawing.note:
        x, y = drawing.width / 2, drawing.height - 8
        parts.append(f'<text class="note" x="{x:g}" y="{y:g}">{_text(drawing.note)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def drawing_json(drawing: Drawing) -> dict[str, Any]:
    """The drawing for a page: every text and its place, so that it looks as in a file."""
    content = drawing.as_json()
    for node, written in zip(drawing.nodes, content["nodes"], strict=True):
        texts = [asdict(text) for text in node_texts(node, drawing)]
        written |= {"radius": node.radius, "texts": texts}
    for edge, written in zip(drawing.edges, content["edges"], strict=True):
        label = None if edge.kind == "bystander" else edge_label(edge)
        written |= {
            "thickness": line_width(edge),
            "tone": tone_class(edge.group).strip(),
            "pill": None if label is None else list(label.pill),
            "texts": [] if label is None else [asdict(text) for text in label.texts],
        }
    return content


def _text(text: str) -> str:
    return escape(printable(text), quote=True)


def tone_class(group: str) -> str:
    """The class of the group of a predicate, by which it is coloured."""
    tone = group.replace(" ", "-")
    return f" tone-{tone}" if tone in TONES else ""


def _line(edge: DrawnEdge, drawing: Drawing, marker: str) -> str:
    x1, y1, *controls, x2, y2 = (f"{value:g}" for value in edge.curve)
    names = [drawing.nodes[place].name for place in (edge.source, edge.target)]
    words = _text(f"{names[0]} | {edge.predicate} | {names[1]} | {edge.date}")
    return (
        f'<path class="{edge.kind}{tone_class(edge.group)}" '
        f'd="M{x1} {y1}C{" ".join(controls)} {x2} {y2}" stroke-width="{line_width(edge):g}" '
        f'marker-end="url(#{marker})"><title>{words}</title></path>'
    )


def line_width(edge: DrawnEdge) -> float:
    """Lines that stand for many facts are thick."""
    return round(min(1.6 + 0.7 * math.log2(max(len(edge.facts), 1)), 5.0), 2)


def how_many(edge: DrawnEdge) -> str:
    """What follows a predicate: how many facts a line stands for, or are not drawn beside it."""
    if not edge.facts:
        return f" (+{edge.more} more)" if edge.more else ""
    own = len(edge.facts) - edge.more
    other = f" +{edge.more}" if edge.more else ""
    return (f" \N{MULTIPLICATION SIGN}{own}" if own > 1 else "") + other


def edge_label(edge: DrawnEdge) -> Label:
    """The predicate and the date of an edge, at its middle."""
    more = how_many(edge)
    length = max(abs(edge.curve[6] - edge.curve[0]) - 8, 16 * LETTER)
    words = shortened(printable(edge.predicate), int(length / LETTER) - len(more)) + more
    date = shortened(printable(edge.date), int(length / SMALL_LETTER))
    x, y = edge.label
    wide = round(max(len(words) * LETTER, len(date) * SMALL_LETTER) + 10, 1)
    return Label(
        (round(x - wide / 2, 1), round(y - 15, 1), wide, 30.0),
        (Text(x, y - 2, words, "", "middle"), Text(x, y + 11, date, "when", "middle")),
    )


def _label(edge: DrawnEdge) -> str:
    label = edge_label(edge)
    kind = " question-label" if edge.kind == "question" else ""
    x, y, width, height = label.pill
    return (
        f'<g class="label{kind}{tone_class(edge.group)}"><rect class="pill" x="{x:g}" y="{y:g}" '
        f'width="{width:g}" height="{height:g}" rx="8"/>{"".join(map(_written, label.texts))}</g>'
    )


def _written(text: Text) -> str:
    kind = f"{text.kind} at-{text.anchor}".strip()
    return f'<text class="{kind}" x="{text.x:g}" y="{text.y:g}">{escape(text.words)}</text>'


def _node(node: Node, drawing: Drawing) -> str:
    circle = f'<circle cx="{node.x:g}" cy="{node.y:g}" r="{node.radius:g}"/>'
    title = f"<title>{_text(node.name)}</title>"
    texts = "".join(map(_written, node_texts(node, drawing)))
    side = f" {node.side}" if node.side else ""
    return f'<g class="{node.role}{side}">{title}{circle}{texts}</g>'


def node_texts(node: Node, drawing: Drawing) -> list[Text]:
    """The name of an entity, and beside a bystander its fact."""
    if node.role == "bystander":
        return _beside(node, drawing) if node.named else []
    if node.side.startswith("above"):
        return [_above(node, drawing)]
    x = node.x + {"subject": node.radius, "object": -node.radius}.get(node.role, 0.0)
    anchor = {"subject": "end", "object": "start"}.get(node.role, "middle")
    y = node.y + node.radius + 14
    lines = _wrapped(node.name)
    return [Text(x, round(y + 13 * row, 1), line, "name", anchor) for row, line in enumerate(lines)]


def _above(node: Node, drawing: Drawing) -> Text:
    words = shortened(printable(node.name), int(drawing.width / 2 / NAME_LETTER))
    y = round(node.y - node.radius - 10, 1)
    if len(words) * NAME_LETTER / 2 < min(node.x, drawing.width - node.x) - 8:
        return Text(node.x, y, words, "name", "middle")
    if node.side == "above-start":
        return Text(8.0, y, words, "name", "start")
    return Text(drawing.width - 8.0, y, words, "name", "end")


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
    date = f" {edge.date.split(' · ')[0].removeprefix('nearest ')}"
    end = many + date if room - len(many + date) >= LEAST_WORDS or not node.side else many
    lines = (
        shortened(printable(node.name), room),
        shortened(printable(edge.predicate), max(room - len(end), 9)) + end,
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
        shortened(printable(node.name), room),
        shortened(printable(edge.predicate), max(room - len(many), 4)) + many,
    )
    return [
        Text(node.x, round(node.y + node.radius + shift, 1), line, kind, "middle")
        for line, kind, shift in zip(lines, ("name", "when"), (13, 26), strict=True)
    ]


def _wrapped(name: str) -> list[str]:
    """A name in a few short lines; the end is cut where it is too long."""
    lines = textwrap.wrap(printable(name), NAME_LINE) or [""]
    if len(lines) > NAME_LINES:
        lines[NAME_LINES - 1] = shortened(" ".join(lines[NAME_LINES - 1 :]), NAME_LINE)
    return lines[:NAME_LINES]
