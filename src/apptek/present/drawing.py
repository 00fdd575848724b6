"""All reasons for an answer in one drawing, with the same layout for pages, files and notebooks.

Subject and object are at the top, joined by the question and by the facts between them. Below are
the entities that connect them, in columns: near the subject, between both, and near the object. The
edges show entities that are connected to only one side. Facts with the same ends and predicate are
drawn as one line with a count. If there is no space for a label, it is replaced by a number that
the legend below the picture explains.
"""

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rich.cells import cell_len, set_cell_size

from apptek.present.wording import percent
from apptek.results import CitedFact, Explanation
from apptek.safe_text import counted, printable

Line = list["Bundle"]  # all between the same two entities

WIDTH = 900.0  # in reports and notebooks
RADIUS = 10.0
CENTRE, END, EDGE = 58.0, 36.0, 16.0  # subject and object: y and x; periphery: x
LANE, ROW = 38.0, 66.0  # space between subject-object lines, and between entities in a column
GAP = 120.0  # minimum space between columns
BULGE = 52.0  # how far a line between two entities in the same column curves outwards
MOST = 6  # maximum number of lanes, of entities in between, and of entities at each edge
MAX_LETTERS = 48  # maximum length of a label
STOPS = (0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82)  # positions of a label along its line
SIDES = ("subject", "both", "object")  # the columns of connecting entities, from left to right
TONES = ("material-conflict", "verbal-conflict", "verbal-cooperation", "material-cooperation")
Role = Literal["subject", "object", "meeting", "bystander"]
Kind = Literal["question", "path", "bystander"]
Point = tuple[float, float]
Box = tuple[float, float, float, float]  # x, y, width, height
LETTER, NAME_LETTER = 6.6, 8.2  # widths of a letter in texts and in names


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text in a drawing. `kind` is name or when (smaller text)."""

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
    """An entity, the position of its centre, and the texts next to it."""

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

    facts, reasons   the facts that it represents, and the numbers of the reasons that cite them
    curve            a quadratic curve (start, control point, end) between the nodes' centres
    tone, thickness  the colour class, from the group of the predicate, and the line width
    pill, texts      the rectangle behind the label, and the label or its number in the legend; a
                     line to an outer node has neither, because its label is at the node
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
    """Nodes and edges. `texts` below the drawing contain the legend and what is not drawn."""

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
    """Return a point on a quadratic curve: the start for 0, and the end for 1."""
    shares = ((1 - at) ** 2, 2 * at * (1 - at), at**2)
    x, y = (sum(s * v for s, v in zip(shares, curve[axis::2], strict=True)) for axis in (0, 1))
    return round(x, 1), round(y, 1)


@dataclass(frozen=True, slots=True)
class Asked:
    """The question that a drawing answers: its ends, its title, and the label on its line.

    groups  the group of each predicate, which determines the colour of a line
    shown   returns the label of a predicate
    """

    subject: str
    object: str
    title: str
    label: str = "?"
    when: str = ""
    group: str = ""
    groups: Mapping[str, str] = field(default_factory=dict)
    shown: Callable[[str], str] = str


@dataclass(slots=True)
class Bundle:
    """Facts with the same ends and predicate, and the reasons that cite them."""

    names: tuple[str, str]  # the two entities
    predicate: str
    facts: dict[int, CitedFact] = field(default_factory=dict)
    reasons: set[int] = field(default_factory=set)

    @property
    def ends(self) -> frozenset[str]:
        """The two entities, in no particular order."""
        return frozenset(self.names)

    @property
    def when(self) -> str:
        """The date of the fact, or of the nearest one; empty if no fact has a date."""
        facts = self.facts.values()
        near = min(facts, key=lambda f: (f.distance is None, abs(f.distance or 0), f.fact))
        date = "" if near.since == near.until == "?" else near.date
        return f"nearest {date}" if date and len(facts) > 1 else date


def draw_answer(explanation: Explanation, *, width: float = WIDTH) -> Drawing:
    """Return the drawing of an answer."""
    facts = [(fact, r.number) for r in explanation.all_reasons() for fact in r.facts]
    return _Layout(asked_of(explanation), width, facts).drawing()


def asked_of(explanation: Explanation) -> Asked:
    """Return the question of an explanation."""
    groups = explanation.predicate_groups
    date = "" if explanation.time == "?" else f"{explanation.time} · "
    return Asked(
        explanation.subject,
        explanation.object,
        explanation.sentence or "The facts of the pair",
        f"{explanation.label}?",
        f"{date}{percent(explanation.probability)}",
        groups.get(explanation.predicate, ""),
        groups,
        explanation.shown,
    )


def draw_topology(asked: Asked, facts: Sequence[CitedFact], *, width: float = WIDTH) -> Drawing:
    """Return the drawing of one topology. Labels begin with the step that reached the facts."""
    steps = {f"{f.step}. {f.predicate}": asked.groups.get(f.predicate, "") for f in facts}
    numbered = [(replace(f, predicate=f"{f.step}. {f.predicate}"), 0) for f in facts]

    def shown(words: str) -> str:
        step, _, predicate = words.partition(". ")
        return f"{step}. {asked.shown(predicate)}"

    return _Layout(replace(asked, groups=steps, shown=shown), width, numbered).drawing()


def _bundled(facts: Iterable[tuple[CitedFact, int]]) -> list[Bundle]:
    """Return facts as bundles: those that reasons cite come first, then the larger ones."""
    bundles: dict[tuple[str, str, str], Bundle] = {}
    for fact, number in facts:
        key = (fact.subject, fact.predicate, fact.object)
        bundle = bundles.setdefault(key, Bundle((key[0], key[2]), fact.predicate))
        bundle.facts.setdefault(fact.fact, fact)
        bundle.reasons |= {number} - {0}
    return sorted(bundles.values(), key=lambda b: (not b.reasons, -len(b.reasons), -len(b.facts)))


class _Layout:
    """The positions of all entities and labels in a drawing.

    facts  each with the number of the reason that cites it, or 0 if none does
    """

    def __init__(self, asked: Asked, width: float, facts: Iterable[tuple[CitedFact, int]]) -> None:
        self.asked, self.bundles = asked, _bundled(facts)
        self.ends = frozenset((asked.subject, asked.object))
        self.lanes = [b for b in self.bundles if b.ends == self.ends][:MOST]
        self.places: dict[str, tuple[float, float, Role]] = {}
        self.taken, self.legend = list[Box](), list[str]()
        self.bottom = CENTRE + 38 + LANE * len(self.lanes)
        top = self.bottom + 38
        between = self._between()
        sides = [[n for n in list(between)[:MOST] if between[n] == side] for side in SIDES]
        columns = [column for column in sides if column]
        self.width = max(width, (len(columns) + 1) * GAP + 2 * END if len(columns) > 1 else 0.0)
        self.gap = (self.width - 2 * END) / (len(columns) + 1)
        self._place("subject", END, CENTRE, [asked.subject])
        self._place("object", self.width - END, CENTRE, [asked.object])
        for number, column in enumerate(columns, 1):
            self._place("meeting", END + self.gap * number, top, column)
        self._place_beside({*between, *self.places})

    def _place_beside(self, known: set[str]) -> None:
        """Place the partners of subject and object at the nearer edge, below everything else."""
        right: dict[str, bool] = {}  # whether they are at the right edge
        for bundle in self.bundles:
            for centre, name in (bundle.names, bundle.names[::-1]):
                if centre in self.ends and name not in known:
                    right.setdefault(name, self.places[centre][0] > self.width / 2)
        top = self.bottom + 30
        for is_right, x in ((False, EDGE), (True, self.width - EDGE)):
            self._place("bystander", x, top, [n for n in right if right[n] == is_right][:MOST])

    def _between(self) -> dict[str, str]:
        """Return the entities on a path between the ends, each with its side or "both"."""
        sides, on_path = dict[str, set[str]](), set[str]()
        for bundle in self.bundles:
            for fact in bundle.facts.values():
                names = [name for name in bundle.names if name not in self.ends]
                if fact.on_path or bundle.ends & self.ends:
                    for name in names:
                        sides.setdefault(name, set()).add(fact.side)
                on_path.update(names if fact.on_path else ())
        known = {name: "both" if len(own) > 1 else min(own) for name, own in sides.items()}
        return {name: side for name, side in known.items() if side == "both" or name in on_path}

    def _place(self, role: Role, x: float, y: float, names: Sequence[str]) -> None:
        """Place entities in a column, one below the other."""
        row, below = (ROW, 32) if role == "meeting" else (LANE, 20)
        for number, name in enumerate(names):
            self.places[name] = (round(x, 1), y + number * row, role)
            self.bottom = max(self.bottom, y + number * row + below)

    def _lines(self) -> list[Line]:
        """Return the bundles for each line: the question, a lane, or everything between a pair."""
        question = Bundle((self.asked.subject, self.asked.object), self.asked.label)
        lines: dict[frozenset[str], Line] = {}
        for bundle in self.bundles:
            if bundle.ends == self.ends or not bundle.ends <= self.places.keys():
                continue
            if len(bundle.ends) > 1 and (not self._is_aside(bundle) or bundle.ends & self.ends):
                lines.setdefault(bundle.ends, []).append(bundle)
        return [*([b] for b in (question, *self.lanes) if len(b.ends) > 1), *lines.values()]

    def _is_aside(self, bundle: Bundle) -> bool:
        return any(self.places[name][2] == "bystander" for name in bundle.names)

    def drawing(self) -> Drawing:
        """Return the drawing: the lines, the entities that they join, and the labels that fit."""
        lines = self._lines()
        named = self.ends.union(*(line[0].ends for line in lines))
        ids = {name: n for n, name in enumerate(name for name in self.places if name in named)}
        nodes = tuple(self._node(ids[name], name, lines) for name in ids)
        self.taken += [box for node in nodes for box in node.boxes()]
        edges = tuple(self._labelled(self._edge(ids, line), line) for line in lines)
        drawn = {fact for edge in edges for fact in edge.facts}
        missing = len({fact for bundle in self.bundles for fact in bundle.facts} - drawn)
        self.legend += [f"+{counted(missing, 'more fact')} not drawn"] * bool(missing)
        room = int((self.width - 16) / LETTER)
        below = [
            part
            for words in self.legend
            for part in textwrap.wrap(words, max(room * len(words) // cell_len(words), 1))
        ]
        texts = tuple(
            Text(8.0, self.bottom + 14 + 15 * row, part, "note", "start")
            for row, part in enumerate(below)
        )
        height = self.bottom + 8 + 15 * len(below)
        return Drawing(self.asked.title, self.width, height, nodes, edges, texts)

    def _edge(self, ids: Mapping[str, int], line: Line) -> DrawnEdge:
        """Return a line for bundles between two entities or, without facts, for the question."""
        first, asked = line[0], self.asked
        facts = tuple(fact for bundle in line for fact in bundle.facts)
        group = (asked.groups.get(first.predicate, "") if facts else asked.group).replace(" ", "-")
        aside: Kind = "bystander" if self._is_aside(first) else "path"
        (x1, y1, _), (x2, y2, _) = (self.places[name] for name in first.names)
        x, y = self._middle(first)
        control = (round(2 * x - (x1 + x2) / 2, 1), round(2 * y - (y1 + y2) / 2, 1))
        return DrawnEdge(
            source=ids[first.names[0]],
            target=ids[first.names[1]],
            kind=aside if facts else "question",
            predicate=asked.shown(first.predicate) if facts else asked.label,
            date=first.when if facts else asked.when,
            facts=facts,
            reasons=tuple(sorted(set().union(*(bundle.reasons for bundle in line)))),
            curve=(x1, y1, *control, x2, y2),
            tone=f"tone-{group}" if group in TONES else "",
            thickness=round(min(1.6 + 0.7 * math.log2(max(len(facts), 1)), 5.0), 2),
        )

    def _middle(self, bundle: Bundle) -> Point:
        """Return the middle of a line, where its label goes."""
        (x1, y1, _), (x2, y2, _) = (self.places[name] for name in bundle.names)
        if bundle.ends == self.ends:
            lane = self.lanes.index(bundle) + 1 if bundle.facts else 0
            return self.width / 2, CENTRE + 18 + lane * LANE
        if self._is_aside(bundle):
            outwards = -24 if min(x1, x2) < self.width - max(x1, x2) else 24
            return (x1 + x2) / 2 + outwards, (y1 + y2) / 2
        return (x1 + x2) / 2 + BULGE * (x1 == x2), min(y1, y2) / 4 + max(y1, y2) * 3 / 4

    def _node(self, number: int, name: str, lines: Sequence[Line]) -> Node:
        """Return an entity with its name; at the edge, also with its fact."""
        (x, y, role), half = self.places[name], self.width / 2
        if role == "meeting":
            words = fitting(name, int(self.gap / NAME_LETTER) - 1)
            texts = [Text(x, y + 26, words, "name", "middle")]
        elif role == "bystander":
            line = next(part for part in lines if name in part[0].ends)
            room = int((half - 2 * EDGE) / NAME_LETTER) - 1
            label = _label_of(self.asked.shown(line[0].predicate), line, room)
            at, anchor = (x + 14, "start") if x < half else (x - 14, "end")
            texts = [Text(at, y - 1, fitting(name, room), "name", anchor)]
            texts.append(Text(at, y + 12, label, "when", anchor))
        else:
            at, anchor = (8.0, "start") if role == "subject" else (self.width - 8, "end")
            # the space that the opposite name takes
            taken = sum(cell_len(end) for end in self.ends - {name})
            free = max(self.width - 24 - NAME_LETTER * (taken + 2), half - 12)
            words = fitting(name, int(free / NAME_LETTER))
            texts = [Text(at, y - 22, words, "name", anchor)]
        return Node(number, name, role, x, y, RADIUS, tuple(texts))

    def _labelled(self, edge: DrawnEdge, line: Line) -> DrawnEdge:
        """Return the edge with its label or, if there is no space, a number for the legend."""
        if edge.kind == "bystander":
            return edge
        free = max(abs(edge.curve[4] - edge.curve[0]) - 60, 15 * LETTER)
        room = min(int(free / LETTER), MAX_LETTERS)
        label, date = _label_of(edge.predicate, line, room), fitting(edge.date, room)
        points = [self._middle(line[0]), *(point_of(edge.curve, stop) for stop in STOPS)]
        written = (with_label(edge, label, date, point) for point in points)
        if free_place := next(filter(self._reserves, written), None):
            return free_place
        number, (source, target) = f"[{len(self.legend) + 1}]", line[0].names
        fact = (source, _label_of(edge.predicate, line), target, edge.date)
        self.legend.append(f"{number} {' | '.join(map(printable, fact))}")
        numbered = (with_label(edge, number, "", point) for point in points)
        return next(filter(self._reserves, numbered), edge)

    def _reserves(self, edge: DrawnEdge) -> bool:
        """Reserve the box of a label, if it is on the sheet and nothing overlaps it."""
        assert edge.pill is not None
        x, y, wide, high = edge.pill
        is_free = x >= 0 and x + wide <= self.width and y + high <= self.bottom
        is_free = is_free and not any(
            x < left + across and left < x + wide and y < top + down and top < y + high
            for left, top, across, down in self.taken
        )
        self.taken += [edge.pill] * is_free
        return is_free


def _label_of(predicate: str, line: Line, room: int = 10_000) -> str:
    """Return a predicate with the number of its facts and the number of the line's other facts."""
    own, more = len(line[0].facts), sum(len(bundle.facts) for bundle in line[1:])
    many = (f" \N{MULTIPLICATION SIGN}{own}" if own > 1 else "") + (f" +{more}" if more else "")
    return fitting(predicate, max(room - len(many), 4)) + many
