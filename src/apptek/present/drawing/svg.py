"""A drawing as SVG text that needs nothing else; its colours follow light and dark."""

from html import escape

from apptek.present.drawing.labels import Drawing, DrawnEdge, Node, Text
from apptek.safe_text import printable

NAMESPACE = "http://www.w3.org/2000/svg"
# The colours of the paper's figure: query entities orange, what they meet in blue, bystanders
# lavender. Lines have the colour of their predicate's group: conflict is warm, cooperation cool.
# Contrast of all texts with the paper is at least 4.5 in light and in dark.
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


def draw_svg(drawing: Drawing) -> str:
    """The drawing as one <svg> element: lines, then entities, then labels on top of all."""
    size = f"{drawing.width:g} {drawing.height:g}"
    parts = [
        f'<svg xmlns="{NAMESPACE}" class="apptek" viewBox="0 0 {size}" role="img"',
        f'width="{drawing.width:g}" height="{drawing.height:g}">',
        f"<title>{_text(drawing.title)}</title><style>{STYLE}</style>",
        '<defs><marker id="apptek-head" viewBox="0 0 8 8" refX="5" refY="4" markerWidth="7"',
        'markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">',
        '<path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
        '<rect class="sheet" width="100%" height="100%"/>',
        *(_line(edge, drawing) for edge in drawing.edges),
        *map(_node, drawing.nodes),
        *(_label(edge) for edge in drawing.edges if edge.room),
    ]
    if drawing.note:
        x, y = drawing.width / 2, drawing.height - 8
        parts.append(f'<text class="note" x="{x:g}" y="{y:g}">{_text(drawing.note)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _text(text: str) -> str:
    return escape(printable(text), quote=True)


def _line(edge: DrawnEdge, drawing: Drawing) -> str:
    x1, y1, *controls, x2, y2 = (f"{value:g}" for value in edge.curve)
    names = [drawing.nodes[place].name for place in (edge.source, edge.target)]
    words = _text(f"{names[0]} | {edge.predicate} | {names[1]} | {edge.date}")
    kind = f"{edge.kind} {edge.tone}".strip()
    return (
        f'<path class="{kind}" '
        f'd="M{x1} {y1}C{" ".join(controls)} {x2} {y2}" stroke-width="{edge.thickness:g}" '
        f'marker-end="url(#apptek-head)"><title>{words}</title></path>'
    )


def _label(edge: DrawnEdge) -> str:
    question = "question-label" if edge.kind == "question" else ""
    kind = " ".join(filter(None, ("label", question, edge.tone)))
    assert edge.pill is not None
    x, y, width, height = edge.pill
    return (
        f'<g class="{kind}"><rect class="pill" x="{x:g}" y="{y:g}" '
        f'width="{width:g}" height="{height:g}" rx="8"/>{"".join(map(_written, edge.texts))}</g>'
    )


def _written(text: Text) -> str:
    kind = f"{text.kind} at-{text.anchor}".strip()
    return f'<text class="{kind}" x="{text.x:g}" y="{text.y:g}">{escape(text.words)}</text>'


def _node(node: Node) -> str:
    circle = f'<circle cx="{node.x:g}" cy="{node.y:g}" r="{node.radius:g}"/>'
    texts = "".join(map(_written, node.texts))
    title = f"<title>{_text(node.name)}</title>"
    return f'<g class="{node.role} {node.side}">{title}{circle}{texts}</g>'
