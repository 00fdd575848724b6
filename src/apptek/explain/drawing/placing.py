"""Places for the labels of lines: none lies over an entity, a name or another label."""

from collections.abc import Iterator
from dataclasses import replace

from apptek.explain.drawing.layout import Curve, Drawing, DrawnEdge
from apptek.explain.drawing.texts import (
    SMALL_LETTER,
    SMALL_SIZE,
    Box,
    edge_label,
    node_texts,
    text_box,
)

STOPS = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)  # along a line, the best first
ROOMS = (48, 26, 15)  # letters of a label, the best first


def with_labels_placed(drawing: Drawing) -> Drawing:
    """The drawing with each label where it is free, shortened if need be.

    A label without a free place has room for no letters: it is shown when its line is pointed at.
    Labels that come first choose first, and the question's comes before all others.
    """
    taken = fixed_boxes(drawing)
    edges = []
    for edge in drawing.edges:
        if edge.kind == "bystander":
            edges.append(edge)
            continue
        free = (e for e in _candidates(edge) if _is_free(edge_label(e).pill, taken, drawing))
        placed = next(free, replace(edge, room=0))
        if placed.room:
            taken.append(edge_label(placed).pill)
        edges.append(placed)
    return replace(drawing, edges=tuple(edges))


def fixed_boxes(drawing: Drawing) -> list[Box]:
    """What labels must not cover: entities, their names, and the note."""
    boxes = []
    for node in drawing.nodes:
        size = 2 * node.radius
        boxes.append((node.x - node.radius, node.y - node.radius, size, size))
        boxes += [text_box(text, node) for text in node_texts(node, drawing)]
    if drawing.note:
        wide = len(drawing.note) * SMALL_LETTER
        place = (drawing.width - wide) / 2, drawing.height - 8 - SMALL_SIZE
        boxes.append((*place, wide, SMALL_SIZE + 4))
    return boxes


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes have points in common; those that only touch have none."""
    (x1, y1, wide1, high1), (x2, y2, wide2, high2) = one, other
    return x1 < x2 + wide2 and x2 < x1 + wide1 and y1 < y2 + high2 and y2 < y1 + high1


def _candidates(edge: DrawnEdge) -> Iterator[DrawnEdge]:
    for room in ROOMS:
        yield replace(edge, room=room)
        for stop in STOPS:
            yield replace(edge, room=room, label=_point(edge.curve, stop))


def _is_free(pill: Box, taken: list[Box], drawing: Drawing) -> bool:
    x, y, wide, high = pill
    if x < 0 or y < 0 or x + wide > drawing.width or y + high > drawing.height:
        return False
    return not any(overlap(pill, box) for box in taken)


def _point(curve: Curve, at: float) -> tuple[float, float]:
    """A point of a cubic; at: 0 is its start and 1 its end."""
    shares = ((1 - at) ** 3, 3 * (1 - at) ** 2 * at, 3 * (1 - at) * at**2, at**3)
    x = sum(share * value for share, value in zip(shares, curve[::2], strict=True))
    y = sum(share * value for share, value in zip(shares, curve[1::2], strict=True))
    return round(x, 1), round(y, 1)
