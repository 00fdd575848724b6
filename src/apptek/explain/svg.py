"""A drawing as SVG text that needs nothing else; its colours follow light and dark."""

import textwrap
from html import escape

from apptek.explain.layout import Drawing, DrawnEdge, Node
from apptek.explain.wording import shortened
from apptek.safe_text import printable

NAMESPACE = "http://www.w3.org/2000/svg"
LETTER = 6.6  # width of one in a label, a little more than it takes
NAME_LINE, NAME_LINES = 16, 3  # characters of a line of a name; lines
SIDE_NAME = 36  # characters of a bystander's name, and of its fact
# The colours of the paper's figure: query entities orange, what they meet in blue, bystanders
# lavender. Contrast of all texts with the paper is at least 4.5 in light and in dark.
STYLE = """
.apptek { --paper: #ffffff; --ink: #1d2330; --muted: #5a6372; --line: #6f7a8c; --faint: #b9b4cc;
  --query: #f2a33a; --query-rim: #b86a00; --meeting: #7db4ec; --meeting-rim: #2563a8;
  --connecting: #dfe4ec; --connecting-rim: #6f7a8c; --bystander: #e9d9f5; --bystander-rim: #a586c0;
  --asked: #b85c00; }
@media (prefers-color-scheme: dark) { .apptek { --paper: #171a21; --ink: #e8ebf1;
  --muted: #a3adbd; --line: #8d99ac; --faint: #5d5670; --query: #c9781a; --query-rim: #f5b562;
  --meeting: #2f6fb3; --meeting-rim: #8fc2f5; --connecting: #3a4252; --connecting-rim: #98a3b5;
  --bystander: #4b3d5c; --bystander-rim: #b99cd3; --asked: #f5b562; } }
.apptek .sheet { fill: var(--paper); }
.apptek text { font: 12px system-ui, sans-serif; fill: var(--ink); text-anchor: middle;
  stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; paint-order: stroke; }
.apptek .when { font-size: 11px; fill: var(--muted); }
.apptek .name { font-weight: 600; }
.apptek .bystander .name, .apptek .note { font-weight: 400; font-size: 11px; fill: var(--muted); }
.apptek .subject text { text-anchor: end; }
.apptek .object text { text-anchor: start; }
.apptek .left text { text-anchor: end; }
.apptek .right text { text-anchor: start; }
.apptek path { fill: none; stroke: var(--line); stroke-width: 1.6; }
.apptek path.bystander { stroke: var(--faint); stroke-width: 1.2; }
.apptek path.question { stroke: var(--asked); stroke-width: 2; stroke-dasharray: 6 5; }
.apptek .head { fill: var(--line); stroke: none; }
.apptek .question-label text { fill: var(--asked); font-weight: 600; }
.apptek circle { stroke-width: 1.6; }
.apptek .subject circle, .apptek .object circle { fill: var(--query); stroke: var(--query-rim); }
.apptek .meeting circle { fill: var(--meeting); stroke: var(--meeting-rim); }
.apptek .connecting circle { fill: var(--connecting); stroke: var(--connecting-rim); }
.apptek .bystander circle { fill: var(--bystander); stroke: var(--bystander-rim); }
"""


def draw_svg(drawing: Drawing) -> str:
    """The drawing as one <svg> element: lines, then entities, then labels on top of all."""
    marker = f"apptek-head-{drawing.number}"
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


def _text(text: str) -> str:
    return escape(printable(text), quote=True)


def _line(edge: DrawnEdge, drawing: Drawing, marker: str) -> str:
    x1, y1, *controls, x2, y2 = (f"{value:g}" for value in edge.curve)
    names = [drawing.nodes[place].name for place in (edge.source, edge.target)]
    words = _text(f"{names[0]} | {edge.predicate} | {names[1]} | {edge.date}")
    return (
        f'<path class="{edge.kind}" d="M{x1} {y1}C{" ".join(controls)} {x2} {y2}" '
        f'marker-end="url(#{marker})"><title>{words}</title></path>'
    )


def _label(edge: DrawnEdge) -> str:
    more = f" (+{edge.more} more)" if edge.more else ""
    room = max(int(abs(edge.curve[6] - edge.curve[0]) / LETTER), 20) - len(more)
    words = shortened(printable(edge.predicate), room) + more
    kind = ' class="question-label"' if edge.kind == "question" else ""
    x, y = edge.label
    return (
        f'<g{kind}><text x="{x:g}" y="{y - 2:g}">{escape(words)}</text>'
        f'<text class="when" x="{x:g}" y="{y + 11:g}">{_text(edge.date)}</text></g>'
    )


def _node(node: Node, drawing: Drawing) -> str:
    circle = f'<circle cx="{node.x:g}" cy="{node.y:g}" r="{node.radius:g}"/>'
    title = f"<title>{_text(node.name)}</title>"
    if node.role == "bystander":
        return f"{_bystander(node, drawing)}{title}{circle}</g>"
    lines = _wrapped(node.name)
    x = node.x + {"subject": node.radius, "object": -node.radius}.get(node.role, 0.0)
    spans = "".join(
        f'<tspan x="{x:g}" dy="{13 if place else 0}">{escape(line)}</tspan>'
        for place, line in enumerate(lines)
    )
    name = f'<text class="name" y="{node.y + node.radius + 14:g}">{spans}</text>'
    return f'<g class="{node.role}">{title}{circle}{name}</g>'


def _bystander(node: Node, drawing: Drawing) -> str:
    """A bystander's group, open, with its name and its fact on the outer side."""
    edge = next(e for e in drawing.edges if node.id in (e.source, e.target))
    more = f" (+{edge.more})" if edge.more else ""
    on_left = node.x < drawing.nodes[edge.source + edge.target - node.id].x
    x = node.x + (-node.radius - 5 if on_left else node.radius + 5)
    end = f" {edge.date.split(' · ')[0]}{more}"
    lines = (
        shortened(printable(node.name), SIDE_NAME),
        shortened(printable(edge.predicate), max(SIDE_NAME - len(end), 9)) + end,
    )
    texts = "".join(
        f'<text class="{kind}" x="{x:g}" y="{node.y + shift:g}">{escape(line)}</text>'
        for line, kind, shift in zip(lines, ("name", "when"), (-1, 12), strict=True)
    )
    return f'<g class="bystander {"left" if on_left else "right"}">{texts if node.named else ""}'


def _wrapped(name: str) -> list[str]:
    """A name in a few short lines; the end is cut where it is too long."""
    lines = textwrap.wrap(printable(name), NAME_LINE) or [""]
    if len(lines) > NAME_LINES:
        lines[NAME_LINES - 1] = shortened(" ".join(lines[NAME_LINES - 1 :]), NAME_LINE)
    return lines[:NAME_LINES]
