"""All reasons of an answer as one drawing: the entities between subject and object, and others.

Subject and object are joined by the question and by what they did to each other, in lanes. Below
are the entities that both deal with, in columns from the subject to the object; then those that
only one of them deals with, at its own edge. Facts with the same ends and the same predicate are
one line with a count. The layout is the same for the same explanation and width, so that a page,
a file and a notebook look alike.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from apptek.present.drawing_parts import (
    NAME_LETTER,
    Curve,
    Drawing,
    DrawnEdge,
    Node,
    Point,
    Role,
    Text,
    fitting,
    how_many,
    letters,
    thickness_of,
    tone_of,
    with_labels,
)
from apptek.present.wording import percent
from apptek.results import CitedFact, Explanation
from apptek.safe_text import counted

WIDTH = 900.0  # of a report and a notebook
RADIUS, SMALL_RADIUS = 12.0, 7.0
CENTRE, END, EDGE = 58.0, 36.0, 16.0  # of subject and object: y, and x; x of the periphery
LANE, ROW, SIDE_ROW, BELOW_ROW = 38.0, 66.0, 38.0, 84.0
GAP = 120.0  # between columns, at least
LIFT = 30.0  # of a line above each column that it passes by
BULGE = 70.0  # of a line between two entities of one column
MOST = 6  # lanes, entities between the two, and entities at each edge
FURTHER = 4  # entities more in each part where facts of the periphery are asked for


@dataclass(slots=True)
class Bundle:
    """Facts with the same ends and the same predicate, and the reasons that cite them."""

    source: str
    predicate: str
    target: str
    facts: list[CitedFact] = field(default_factory=list)
    reasons: set[int] = field(default_factory=set)

    @property
    def ends(self) -> set[str]:
        """The two entities."""
        return {self.source, self.target}

    @property
    def nearest(self) -> CitedFact:
        """The fact that is nearest in time; undated ones last."""
        return min(self.facts, key=lambda f: (f.distance is None, abs(f.distance or 0), f.fact))

    @property
    def when(self) -> str:
        """The date of the fact, or of the nearest one; nothing where none has a date."""
        near = self.nearest
        if near.since == near.until == "?":
            return ""
        apart = f" · {near.apart}" if near.apart and len(self.facts) == 1 else ""
        return f"{'' if len(self.facts) == 1 else 'nearest '}{near.date}{apart}"


@dataclass(frozen=True, slots=True)
class Asked:
    """The question of a drawing: its ends and title, and what is written on its line.

    groups  the groups of predicates, by which lines are coloured
    shown   makes the label of a predicate
    """

    subject: str
    object: str
    title: str
    label: str = "?"
    when: str = ""
    group: str = ""
    groups: Mapping[str, str] = field(default_factory=dict)
    shown: Callable[[str], str] = str


def draw_answer(
    explanation: Explanation,
    *,
    width: float = WIDTH,
    nearby: Sequence[CitedFact] = (),
    expanded: Mapping[str, Sequence[CitedFact]] | None = None,
) -> Drawing:
    """Return the drawing of an answer.

    nearby    further facts of the two to draw in the periphery
    expanded  further facts of other entities that are drawn already
    """
    asked = asked_of(explanation)
    cited = [(fact, r.number) for r in explanation.all_reasons() for fact in r.facts]
    more = [(fact, 0) for fact in nearby]
    most = MOST + (FURTHER if nearby else 0)
    return draw_facts(asked, [*cited, *more], width=width, most=most, expanded=expanded)


def asked_of(explanation: Explanation) -> Asked:
    """Return the question of an explanation."""
    groups = explanation.predicate_groups
    date = "" if explanation.time == "?" else f"{explanation.time} · "
    return Asked(
        explanation.subject,
        explanation.object,
        explanation.sentence or "The facts of the two",
        f"{explanation.label}?",
        f"{date}{percent(explanation.probability)}",
        groups.get(explanation.predicate, ""),
        groups,
        explanation.shown,
    )


def draw_facts(
    asked: Asked,
    facts: Sequence[tuple[CitedFact, int]],
    *,
    width: float = WIDTH,
    most: int = MOST,
    expanded: Mapping[str, Sequence[CitedFact]] | None = None,
) -> Drawing:
    """Return the drawing of facts, each with the number of the reason that cites it (0: none)."""
    sketch = _Sketch(asked, width, _bundled(facts), most)
    for name, more in (expanded or {}).items():
        sketch.expand(name, more)
    edges = sketch.edges()
    drawn = {fact for edge in edges for fact in edge.facts}
    missing = len({fact.fact for bundle in sketch.bundles for fact in bundle.facts} - drawn)
    return with_labels(
        Drawing(
            title=asked.title,
            width=round(sketch.width, 1),
            height=round(sketch.bottom + 22, 1),
            nodes=sketch.nodes(edges),
            edges=tuple(edges),
            note=f"+{counted(missing, 'more fact')} not drawn" if missing else "",
        )
    )


def draw_topology(
    asked: Asked, facts: Sequence[CitedFact], *, width: float = WIDTH, most: int = MOST
) -> Drawing:
    """Return the drawing of one topology: each line begins with the step that reached its facts."""
    steps = {f"{f.step}. {f.predicate}": asked.groups.get(f.predicate, "") for f in facts}
    numbered = [(replace(f, predicate=f"{f.step}. {f.predicate}", apart=""), 0) for f in facts]

    def shown(words: str) -> str:
        step, _, predicate = words.partition(". ")
        return f"{step}. {asked.shown(predicate)}"

    return draw_facts(replace(asked, groups=steps, shown=shown), numbered, width=width, most=most)


def _bundled(facts: Iterable[tuple[CitedFact, int]]) -> list[Bundle]:
    """Return the bundles of facts, each with the number of its reason (0: none).

    Bundles that reasons cite come first, then those with more facts.
    """
    bundles: dict[tuple[str, str, str], Bundle] = {}
    for fact, number in facts:
        key = (fact.subject, fact.predicate, fact.object)
        bundle = bundles.setdefault(key, Bundle(*key))
        bundle.reasons |= {number} - {0}
        if all(fact.fact != other.fact for other in bundle.facts):
            bundle.facts.append(fact)
    return sorted(bundles.values(), key=lambda b: (not b.reasons, -len(b.reasons), -len(b.facts)))


def _hops(bundles: Sequence[Bundle], start: str, other: str) -> dict[str, int]:
    """Return the facts between an entity and each that it reaches, not through the other."""
    hops, layer = {start: 0}, [start]
    while layer:
        near = (b for b in bundles if b.ends & set(layer))
        ends = dict.fromkeys(name for b in near for name in (b.source, b.target))
        layer = [name for name in ends if name not in hops and name != other]
        hops |= dict.fromkeys(layer, max(hops.values()) + 1)
    return hops


class _Sketch:
    """A drawing that is being made: which entities, and where each goes."""

    def __init__(self, asked: Asked, width: float, bundles: list[Bundle], most: int) -> None:
        self.asked, self.bundles = asked, bundles
        self.subject, self.object = asked.subject, asked.object
        self.ends = {self.subject, self.object}
        near = [b for b in self.bundles if b.ends & self.ends or any(f.on_path for f in b.facts)]
        there, back = (
            _hops(near, *ends)
            for ends in ((self.subject, self.object), (self.object, self.subject))
        )
        names = dict.fromkeys(n for b in self.bundles for n in (b.source, b.target))
        others = [name for name in names if name not in self.ends]
        middles = [name for name in others if name in there and name in back][:most]
        fractions = {name: there[name] / (there[name] + back[name]) for name in middles}
        columns = [
            [name for name in middles if fractions[name] == fraction]
            for fraction in sorted(set(fractions.values()))
        ]
        self.width = max(width, (len(columns) + 1) * GAP + 2 * END if len(columns) > 1 else 0.0)
        self.gap = (self.width - 2 * END) / (len(columns) + 1)
        self.lanes = [b for b in self.bundles if b.ends == self.ends][:MOST]
        self.places: dict[str, Point] = {}
        self.roles: dict[str, Role] = {}
        self.expanded: set[str] = set()
        self.below: set[str] = set()  # the entities that expanding another has brought in
        self._place([self.object], "object", self.width - END, CENTRE)
        self._place([self.subject], "subject", END, CENTRE)
        least = self.bottom = CENTRE + 38 + LANE * len(self.lanes)
        top = self.bottom + 38 + LIFT * max(len(columns) - 1, 0)
        for number, column in enumerate(columns, 1):
            self._place(column, "meeting", END + self.gap * number, top, ROW)
        self.bottom = max([self.bottom, *(self.places[name][1] + 32 for name in middles)])
        for edge, own, other in ((EDGE, there, back), (self.width - EDGE, back, there)):
            lone = [name for name in others if own.get(name) == 1 and name not in other][:most]
            self._place(lone, "bystander", edge, self.bottom + 30, SIDE_ROW)
        below = {"meeting": 32}  # the name of an entity is below it
        ends = (y + below.get(self.roles[name], 20) for name, (_, y) in self.places.items())
        self.bottom = max([least, *ends])

    def _place(self, names: list[str], role: Role, x: float, y: float, row: float = 0.0) -> None:
        """Put entities below each other."""
        for number, name in enumerate(names):
            self.places[name], self.roles[name] = (x, y + number * row), role

    def expand(self, name: str, facts: Sequence[CitedFact]) -> None:
        """Add facts of an entity of the drawing; new entities are below it, side by side."""
        if name not in self.places:
            return
        self.expanded.add(name)
        drawn = {fact.fact for bundle in self.bundles for fact in bundle.facts}
        bundles = _bundled((fact, 0) for fact in facts if fact.fact not in drawn)
        bundles = [bundle for bundle in bundles if name in bundle.ends]
        partners = dict.fromkeys(n for b in bundles for n in (b.source, b.target))
        fresh = [partner for partner in partners if partner not in self.places][:MOST]
        self.bundles += [b for b in bundles if b.ends <= {*self.places, *fresh}]
        self.below |= set(fresh)
        columns = max(1, min(len(fresh), int((self.width - 2 * EDGE) // GAP)))
        step = (self.width - 2 * EDGE) / columns
        for column in range(columns):
            x = EDGE + (column + 0.5) * step
            self._place(fresh[column::columns], "bystander", x, self.bottom + 40, BELOW_ROW)
        self.bottom += BELOW_ROW * -(-len(fresh) // columns)

    def _passed(self, bundle: Bundle) -> int:
        """Return how many columns a line to an entity between the two passes by."""
        if bundle.ends <= self.ends or self._is_lone(bundle):
            return 0
        apart = abs(self.places[bundle.source][0] - self.places[bundle.target][0])
        return max(round(apart / self.gap) - 1, 0)

    def _is_lone(self, bundle: Bundle) -> bool:
        return "bystander" in {self.roles[name] for name in bundle.ends}

    def _is_drawn(self, bundle: Bundle) -> bool:
        if bundle.ends == self.ends:
            return bundle in self.lanes
        if not bundle.ends <= self.places.keys() or len(bundle.ends) < 2:
            return False
        shown = self.ends | self.below | self.expanded
        return not self._is_lone(bundle) or bool(bundle.ends & shown)

    def edges(self) -> list[DrawnEdge]:
        """Return the question, a line for each lane, and one for each other pair of entities."""
        ids = {name: number for number, name in enumerate(self._ordered())}
        shown = self.asked.shown
        edges = [] if self.subject == self.object else [self._question(ids)]
        drawn: list[tuple[list[Bundle], str]] = []
        others: dict[frozenset[str], list[Bundle]] = {}
        for bundle in filter(self._is_drawn, self.bundles):
            label = shown(bundle.predicate)
            if bundle in self.lanes:
                arrow = "→" if bundle.source == self.subject else "←"
                drawn.append(([bundle], f"{arrow} {label}"))
            else:
                others.setdefault(frozenset(bundle.ends), []).append(bundle)
        drawn += [(bundles, shown(bundles[0].predicate)) for bundles in others.values()]
        return [*edges, *(self._edge(ids, bundles, label) for bundles, label in drawn)]

    def _ordered(self) -> list[str]:
        ends = {n for b in filter(self._is_drawn, self.bundles) for n in b.ends} | self.ends
        first = dict.fromkeys((self.subject, self.object))
        return [*first, *(name for name in self.places if name in ends - self.ends)]

    def _question(self, ids: dict[str, int]) -> DrawnEdge:
        asked, lane = self.asked, CENTRE + 18
        return DrawnEdge(
            source=ids[self.subject], target=ids[self.object], kind="question",
            predicate=asked.label, date=asked.when, group=asked.group, tone=tone_of(asked.group),
            thickness=thickness_of(0), facts=(), reasons=(), more=0, distance=None,
            curve=self._curve(self.subject, self.object, lane), label=(self.width / 2, lane),
        )  # fmt: skip

    def _edge(self, ids: dict[str, int], bundles: list[Bundle], label: str) -> DrawnEdge:
        """Return a line for bundles between the same two entities; the first is its label."""
        bundle, lane = bundles[0], self._lane(bundles[0])
        facts = tuple(fact.fact for each in bundles for fact in each.facts)
        group = self.asked.groups.get(bundle.predicate, "")
        is_lone = self._is_lone(bundle)
        (x1, _), (x2, _) = self.places[bundle.source], self.places[bundle.target]
        middle = (x1 + x2) / 2 + (0.75 * BULGE if x1 == x2 else 0.0)
        return DrawnEdge(
            source=ids[bundle.source], target=ids[bundle.target],
            kind="bystander" if is_lone else "path", predicate=label, date=bundle.when,
            group=group, tone=tone_of(group), thickness=thickness_of(len(facts)), facts=facts,
            reasons=tuple(sorted(set().union(*(b.reasons for b in bundles)))),
            more=len(facts) - len(bundle.facts), distance=bundle.nearest.distance,
            curve=self._drop(bundle) if is_lone and not bundle.ends & self.below
            else self._curve(bundle.source, bundle.target, lane),
            label=(round(middle, 1), round(lane, 1)),
        )  # fmt: skip

    def _lane(self, bundle: Bundle) -> float:
        """Return the height of the middle of a line."""
        if bundle in self.lanes:
            return CENTRE + 18 + (self.lanes.index(bundle) + 1) * LANE
        heights = [self.places[name][1] for name in bundle.ends]
        columns = {self.places[name][0] for name in bundle.ends}
        if self._is_lone(bundle) or len(columns) == 1:
            return sum(heights) / 2
        is_level = not bundle.ends & self.ends and len(set(heights)) == 1
        if is_level or self._passed(bundle):  # above those that it joins or passes by
            between = [self.places[name][1] for name in bundle.ends - self.ends]
            return min(between) - LIFT * (self._passed(bundle) + 1)
        return 0.12 * min(heights) + 0.88 * max(heights)

    def _drop(self, bundle: Bundle) -> Curve:
        """Return a line along the outer edge, from an entity down to its periphery."""
        (x1, y1), (x2, y2) = self.places[bundle.source], self.places[bundle.target]
        edge = 2.0 if min(x1, x2) < self.width / 2 else self.width - 2.0
        down = 40.0 if y2 > y1 else -40.0
        return self._at_rims(bundle.ends, (x1, y1, edge, y1 + 1.5 * down, edge, y2 - down, x2, y2))

    def _curve(self, source: str, target: str, lane: float) -> Curve:
        """Return a cubic whose middle lies at the height of the lane."""
        (x1, y1), (x2, y2) = self.places[source], self.places[target]
        height = (lane - (y1 + y2) / 8) / 0.75
        reach, bulge = 0.32 * (x2 - x1), BULGE if x1 == x2 else 0.0
        whole = (x1, y1, x1 + reach + bulge, height, x2 - reach + bulge, height, x2, y2)
        return self._at_rims({source, target}, whole)

    def _at_rims(self, ends: set[str], curve: Curve) -> Curve:
        """Return the curve, cut at the rims of its nodes, with space for the arrow's head."""
        x1, y1, a, b, c, d, x2, y2 = curve
        radii = {self.places[name]: self._radius(name) for name in ends}
        start = _towards(x1, y1, a, b, radii[x1, y1] + 1)
        end = _towards(x2, y2, c, d, radii[x2, y2] + 4)
        return cast("Curve", tuple(round(value, 1) for value in (*start, a, b, c, d, *end)))

    def nodes(self, edges: Sequence[DrawnEdge]) -> tuple[Node, ...]:
        """Return the entities that lines are drawn to, with their names."""
        nodes = []
        for number, name in enumerate(self._ordered()):
            x, y = (round(value, 1) for value in self.places[name])
            edge = next((e for e in edges if number in (e.source, e.target)), None)
            side, texts = self._texts(name, x, y, edge)
            nodes.append(
                Node(
                    id=number, name=name, role=self.roles[name], x=x, y=y, side=side,
                    radius=self._radius(name), texts=texts,
                )
            )  # fmt: skip
        return tuple(nodes)

    def _radius(self, name: str) -> float:
        return SMALL_RADIUS if self.roles[name] == "bystander" else RADIUS

    def _texts(
        self, name: str, x: float, y: float, edge: DrawnEdge | None
    ) -> tuple[str, tuple[Text, ...]]:
        """Return on which side of an entity its texts are, and the texts: its name, or its fact."""
        role, half = self.roles[name], self.width / 2
        if role in ("subject", "object"):
            at, anchor = (8.0, "start") if role == "subject" else (self.width - 8, "end")
            ends = [end for end in self.roles if self.roles[end] in ("subject", "object")]
            taken = sum(letters(end) for end in ends if end != name)  # by the name opposite
            room = max(self.width - 24 - NAME_LETTER * (taken + 2), half - 12)
            words = fitting(name, int(room / NAME_LETTER))
            text = Text(round(at, 1), y - RADIUS - 10, words, "name", anchor)
            return f"above-{anchor}", (text,)
        if role == "meeting":
            words = fitting(name, int(self.gap / NAME_LETTER) - 1)
            return "below", (Text(x, y + RADIUS + 14, words, "name", "middle"),)
        assert edge is not None
        if name in self.below:
            neighbours = [abs(x - other[0]) for other in self.places.values() if other[1] == y]
            free = min([2 * x, 2 * (self.width - x), *(apart for apart in neighbours if apart)])
            side, anchor, at, rows = "below", "middle", x, (y + 20, y + 33)
        else:
            free, rows = half - 2 * EDGE, (y - 1, y + 12)
            side, anchor, at = ("right", "start", x + 12) if x < half else ("left", "end", x - 12)
        many, room = how_many(edge), int(free / NAME_LETTER) - 1
        lines = fitting(name, room), fitting(edge.predicate, max(room - len(many), 4)) + many
        texts = zip(lines, rows, ("name", "when"), strict=True)
        return side, tuple(Text(round(at, 1), row, line, kind, anchor) for line, row, kind in texts)


def _towards(x: float, y: float, to_x: float, to_y: float, length: float) -> tuple[float, float]:
    apart = max(((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5, 1e-9)
    return x + (to_x - x) * length / apart, y + (to_y - y) * length / apart
