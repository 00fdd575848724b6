"""A reason as a drawing, in the manner of the paper's figure of topologies.

The subject stands on the left, the object on the right, what they meet in between; bystanders fan
out on the outer sides. The layout is computed here and the same for the same reason, so that a
page and a file look alike.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from apptek.explain.explanation import CitedFact, Explanation, Reason
from apptek.explain.wording import counted, percent

Role = Literal["subject", "object", "meeting", "connecting", "bystander"]
Kind = Literal["question", "path", "bystander"]
Curve = tuple[float, float, float, float, float, float, float, float]  # a cubic: four points

COLUMN, ROW, LANE = 270.0, 84.0, 36.0  # between entities, between rows of them, between labels
FAN, FAN_ROW = 140.0, 40.0  # from a query entity to its bystanders, and between these
TIGHT_FAN, TIGHT_ROW = 70.0, 24.0  # the same where they have no names
NAME, NAME_BELOW, OUTER_NAME = 112.0, 56.0, 222.0  # room for names beside and below an entity
MARGIN = 14.0
RADIUS, SMALL_RADIUS = 12.0, 7.0
MIDDLES = 6  # entities drawn between subject and object
CHOICES = 2  # entities drawn at one hop of one connection
PARALLELS = 3  # facts drawn between the same two entities
BYSTANDERS = 5  # drawn on each side
NAMED_HOPS = 2  # with more hops from subject to object there is no room for bystanders' names


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


def draw_reason(explanation: Explanation, reason: Reason) -> Drawing:
    """The drawing of one reason."""
    sketch = _Sketch(explanation, reason)
    sketch.place_middles()
    sketch.place_fans()
    return sketch.finished()


def _pair(fact: CitedFact) -> tuple[str, str]:
    return min(fact.subject, fact.object), max(fact.subject, fact.object)


def _other(fact: CitedFact, name: str) -> str:
    return fact.object if fact.subject == name else fact.subject


def _chain(facts: Sequence[CitedFact], start: str, end: str) -> list[list[str]]:
    """Entities on the shortest ways from start to end, by hop and without the two."""
    layers = [[start]]
    hops = {start: 0}
    while end not in hops and layers[-1]:
        reached = dict.fromkeys(  # a dictionary keeps the order, a set would not
            _other(fact, name)
            for name in layers[-1]
            for fact in facts
            if name in (fact.subject, fact.object) and _other(fact, name) not in hops
        )
        hops |= dict.fromkeys(reached, len(layers))
        layers.append(list(reached))
    kept, between = [end], list[list[str]]()
    for layer in reversed(layers[1:-1]):
        linked = {_other(f, name) for name in kept for f in facts if name in (f.subject, f.object)}
        kept = [name for name in layer if name in linked][:CHOICES]
        between.insert(0, kept)
    return between


class _Sketch:
    """A drawing that is being made: where each name goes, around the middle of the query."""

    def __init__(self, explanation: Explanation, reason: Reason) -> None:
        self.explanation, self.reason = explanation, reason
        self.subject, self.object = explanation.subject, explanation.object
        self.roles: dict[str, Role] = {self.subject: "subject"}
        self.roles.setdefault(self.object, "object")
        self.fractions: dict[str, float] = {self.subject: 0.0, self.object: 1.0}
        self.places: dict[str, tuple[float, float]] = {}
        self.top = self.bottom = 0.0

    @property
    def roomy(self) -> bool:
        """Whether there is room for the names of bystanders."""
        return len(set(self.fractions.values())) <= NAMED_HOPS + 1

    def place_middles(self) -> None:
        """Each meeting entity and its connection in a band of its own, the shortest on top."""
        bands = [band for band in self._bands() if band]
        heights = [max(map(self._band_height, _columns(band, self.fractions))) for band in bands]
        y = -sum(heights) / 2
        for band, height in zip(bands, heights, strict=True):
            for column in _columns(band, self.fractions):
                for row, name in enumerate(column):
                    shift = (row + 0.5) * height / len(column)
                    self.places[name] = (0.0, y + shift)
            y += height
        columns = sorted(set(self.fractions.values()))
        gap = COLUMN * (1.4 if len(columns) == 2 else 1.0)
        for name, fraction in self.fractions.items():
            self.places[name] = (columns.index(fraction) * gap, self.places.get(name, (0, 0))[1])
        self.top, self.bottom = -sum(heights) / 2, sum(heights) / 2

    def _bands(self) -> Iterable[list[str]]:
        """The names that each meeting entity brings along, as long as there is room."""
        facts = self.reason.path
        mine = [fact for fact in facts if fact.side != "object"]
        theirs = [fact for fact in facts if fact.side != "subject"]
        for met in self.reason.meeting:
            if len(self.fractions) >= 2 + MIDDLES:
                return
            hops = max(met.subject_hops + met.object_hops, 1)
            fractions = {met.entity: met.subject_hops / hops}
            for hop, names in enumerate(_chain(mine, self.subject, met.entity), 1):
                fractions |= dict.fromkeys(names, hop / hops)
            for hop, names in enumerate(_chain(theirs, self.object, met.entity), 1):
                fractions |= dict.fromkeys(names, 1 - hop / hops)
            new = [name for name in fractions if name not in self.fractions]
            self.fractions |= {name: fractions[name] for name in new}
            met_names = {one.entity for one in self.reason.meeting}
            self.roles |= {n: "meeting" if n in met_names else "connecting" for n in new}
            yield new

    def _band_height(self, column: list[str]) -> float:
        pairs = [_pair(fact) for fact in self.reason.path]
        most = max((pairs.count(p) for p in pairs if set(p) & set(column)), default=1)
        return len(column) * max(ROW, min(most, PARALLELS) * LANE + 14)

    def place_fans(self) -> None:
        """Bystanders beside the query entity that they belong to."""
        right = self.places[self.object][0]
        fan, row = (FAN, FAN_ROW) if self.roomy else (TIGHT_FAN, TIGHT_ROW)
        for end, x, sign in ((self.subject, 0.0, -1), (self.object, right, 1)):
            ends = [f for f in self.reason.bystanders if end in (f.subject, f.object)]
            names = [n for n in dict.fromkeys(_other(f, end) for f in ends) if n not in self.roles]
            names = names[:BYSTANDERS]
            for index, name in enumerate(names):
                y = (index - (len(names) - 1) / (2 if self.roomy else 1)) * row  # above the name
                self.roles[name] = "bystander"
                self.places[name] = (x + sign * (fan - abs(y) * 0.22), y)

    def finished(self) -> Drawing:
        """Everything on a sheet whose upper left corner is 0, 0."""
        edges, drawn = self._edges()
        missing = len(self.reason.facts) - drawn
        left, right, top, bottom = self._bounds(edges)
        bottom += MARGIN if missing else 0.0  # for the note
        nodes = tuple(
            Node(id=i, name=name, role=role, x=_at(self.places[name][0] - left),
                 y=_at(self.places[name][1] - top), named=self.roomy or role != "bystander")
            for i, (name, role) in enumerate(self.roles.items())
        )  # fmt: skip
        return Drawing(
            number=self.reason.number,
            title=self.reason.contribution.sentence,
            width=_at(right - left),
            height=_at(bottom - top),
            nodes=nodes,
            edges=tuple(_moved(edge, nodes, left, top) for edge in edges),
            note=f"+{counted(missing, 'more fact')} not drawn" if missing else "",
        )

    def _bounds(self, edges: Sequence[DrawnEdge]) -> tuple[float, float, float, float]:
        fans = [n for n, role in self.roles.items() if role == "bystander" and self.roomy]
        outer = [(n, -1 if self.places[n][0] < 0 else 1) for n in fans]
        xs = [self.places[name][0] + sign * OUTER_NAME for name, sign in outer]
        xs += [self.places[self.subject][0] - NAME, self.places[self.object][0] + NAME]
        labels, ys = [edge.label[1] for edge in edges], [y for _, y in self.places.values()]
        top, bottom = min(*labels, *ys), max(max(labels) + MARGIN, max(ys) + NAME_BELOW)
        return min(xs) - MARGIN, max(xs) + MARGIN, top - 2 * MARGIN, bottom + MARGIN

    def _edges(self) -> tuple[list[DrawnEdge], int]:
        """The drawn edges, and how many facts they stand for by a label of their own or a count."""
        groups: dict[tuple[str, str], list[CitedFact]] = {}
        for fact in self.reason.facts:
            if self._is_drawn(fact):
                groups.setdefault(_pair(fact), []).append(fact)
        edges = [] if self.subject == self.object else [self._question()]
        for pair, facts in groups.items():
            most = 1 if "bystander" in self._roles_of(facts[0]) else PARALLELS
            for index, fact in enumerate(facts[:most]):
                last = index == min(len(facts), most) - 1
                shift = (index - (min(len(facts), most) - 1) / 2) * LANE
                edges.append(self._edge(fact, pair, index, shift, (len(facts) - most) * last))
        return edges, sum(map(len, groups.values()))

    def _is_drawn(self, fact: CitedFact) -> bool:
        """A fact of a connection, or one that joins a bystander to subject or object."""
        if not {fact.subject, fact.object} <= self.roles.keys():
            return False
        roles = self._roles_of(fact)
        return fact.on_path or ("bystander" in roles and bool(roles & {"subject", "object"}))

    def _roles_of(self, fact: CitedFact) -> set[Role]:
        return {self.roles[fact.subject], self.roles[fact.object]}

    def _question(self) -> DrawnEdge:
        explanation = self.explanation
        lane = self.top - 34 if self.top else -52.0
        return DrawnEdge(
            source=self._id(self.subject), target=self._id(self.object), fact=-1,
            kind="question",
            predicate=f"{explanation.predicate}?",
            date=f"{explanation.time} · {percent(explanation.probability)}",
            side="both", reason=self.reason.number, on_path=False, more=0,
            curve=self._curve(self.subject, self.object, lane),
            label=(self._middle(self.subject, self.object), lane),
        )  # fmt: skip

    def _edge(
        self, fact: CitedFact, pair: tuple[str, str], place: int, shift: float, more: int
    ) -> DrawnEdge:
        ends = (self.subject, self.object)  # what fans out from one entity keeps apart at the other
        hub, leaf = sorted(pair, key=lambda n: (n not in ends, -len(self._neighbours(n))))
        lane = 0.1 * self.places[hub][1] + 0.9 * self.places[leaf][1] + shift
        if set(pair) == {self.subject, self.object}:
            lane = (self.bottom + 44 if self.bottom else 12.0) + place * LANE
        elif not fact.on_path:
            lane = (self.places[hub][1] + self.places[leaf][1]) / 2
        return DrawnEdge(
            source=self._id(fact.subject), target=self._id(fact.object), fact=fact.fact,
            kind="path" if fact.on_path else "bystander", predicate=fact.predicate,
            date=fact.date + (f" · {fact.apart}" if fact.apart else ""), side=fact.side,
            reason=self.reason.number, on_path=fact.on_path, more=max(more, 0),
            curve=self._curve(fact.subject, fact.object, lane),
            label=(self._middle(fact.subject, fact.object), lane),
        )  # fmt: skip

    def _neighbours(self, name: str) -> set[str]:
        """The entities that drawn connections join to this one."""
        facts = (f for f in self.reason.path if name in (f.subject, f.object))
        return {_other(f, name) for f in facts} & self.roles.keys()

    def _id(self, name: str) -> int:
        return list(self.roles).index(name)

    def _middle(self, one: str, other: str) -> float:
        x1, x2 = self.places[one][0], self.places[other][0]
        return (x1 + x2) / 2 if x1 != x2 else x1 + 0.75 * COLUMN / 3

    def _curve(self, source: str, target: str, lane: float) -> Curve:
        """A cubic whose middle lies at the height of the lane."""
        (x1, y1), (x2, y2) = self.places[source], self.places[target]
        bulge = COLUMN / 3 if x1 == x2 else 0.0
        height = (lane - (y1 + y2) / 8) / 0.75
        reach = 0.36 * (x2 - x1)
        return x1, y1, x1 + reach + bulge, height, x2 - reach + bulge, height, x2, y2


def _columns(names: Sequence[str], fractions: dict[str, float]) -> list[list[str]]:
    """Names that stand above each other."""
    found: dict[float, list[str]] = {}
    for name in names:
        found.setdefault(fractions[name], []).append(name)
    return list(found.values())


def _at(value: float) -> float:
    return round(value, 1)


def at_rims(edge: DrawnEdge, nodes: Sequence[Node]) -> DrawnEdge:
    """The edge, cut at the rims of its nodes."""
    return _moved(edge, nodes, 0.0, 0.0)


def _moved(edge: DrawnEdge, nodes: Sequence[Node], left: float, top: float) -> DrawnEdge:
    """The edge on the sheet, cut at the rims of its nodes."""
    x1, y1, *controls, x2, y2 = edge.curve
    start = _rim(x1, y1, controls[0], controls[1], nodes[edge.source].radius + 1)
    end = _rim(x2, y2, controls[2], controls[3], nodes[edge.target].radius + 4)  # the arrow's head
    points = [*start, *controls, *end]
    moved = [_at(value - (top if place % 2 else left)) for place, value in enumerate(points)]
    label = (_at(edge.label[0] - left), _at(edge.label[1] - top))
    return replace(edge, curve=tuple(moved), label=label)  # type: ignore[arg-type]


def _rim(
    x: float, y: float, toward_x: float, toward_y: float, radius: float
) -> tuple[float, float]:
    length = max(((toward_x - x) ** 2 + (toward_y - y) ** 2) ** 0.5, 1e-9)
    return x + (toward_x - x) * radius / length, y + (toward_y - y) * radius / length
