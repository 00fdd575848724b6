"""All reasons of an answer as one drawing: who stands between the two, and who beside them.

Subject and object are joined by the question and by what they did to each other, in lanes. Entities
that both deal with (where the sides meet) lie between the two, below the lanes. Entities that only
one of them deals with are its periphery: outside of it where there is room, else below. Facts with
the same ends and the same predicate are one line with a count. The layout is computed here for a
width and the same for the same explanation, so that a page, a file and a notebook look alike.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from apptek.explain.drawing.fact_bundles import UNKNOWN_TEXT, Bundle, bundled, hops_from
from apptek.explain.drawing.layout import Curve, Drawing, DrawnEdge, Node, Role, at_rims
from apptek.explain.drawing.placing import with_labels_placed
from apptek.explain.drawing.texts import name_lines
from apptek.explain.explanation import CitedFact, Explanation
from apptek.present.wording import counted, percent

WIDTH, PHONE = 900.0, 340.0  # of a report and a notebook, and of these on a narrow screen
TOP, MARGIN = 34.0, 16.0
LANE, ROW, SIDE_ROW = 38.0, 76.0, 38.0  # between lanes, rows in the middle, rows of a periphery
END, NAMED_END, FAN = 76.0, 236.0, 66.0  # from the edge to subject and object; to its periphery
NARROW_END, NARROW_SIDE_END = 36.0, 14.0  # the same where the periphery lies below
NARROW = 330.0  # what wide drawings have between subject and object at least
GAP, NARROW_GAP = 150.0, 120.0  # between columns in the middle, at least
LIFT = 30.0  # of a line above each column that it passes by
BULGE = 70.0  # of a line between two entities of one column
MOST_LANES, MOST_MIDDLES, MOST_SIDE = 6, 6, 6
NARROW_LANES, NARROW_MIDDLES, NARROW_SIDE = 4, 4, 4
FURTHER = 4  # entities more in each part where facts of the periphery are asked for


def draw_answer(
    explanation: Explanation,
    *,
    width: float = WIDTH,
    nearby: Sequence[CitedFact] = (),
    expanded: Mapping[str, Sequence[CitedFact]] = MappingProxyType({}),
) -> Drawing:
    """The drawing of an answer.

    nearby    further facts of the two to draw in the periphery
    expanded  further facts of other entities, each of whom is drawn already
    """
    sketch = _Sketch(explanation, width, nearby)
    for name, facts in expanded.items():
        sketch.expand(name, facts)
    nodes = sketch.nodes()
    edges = [at_rims(edge, nodes) for edge in sketch.edges({n.name: n for n in nodes})]
    drawn = {fact for edge in edges for fact in edge.facts}
    missing = len({fact.fact for bundle in sketch.bundles for fact in bundle.facts} - drawn)
    drawing = Drawing(
        number=0,
        title=explanation.sentence or "What is known about the two",
        width=round(sketch.width, 1),
        height=round(sketch.bottom + MARGIN, 1),
        nodes=tuple(nodes),
        edges=tuple(edges),
        note=f"+{counted(missing, 'more fact')} not drawn" if missing else "",
    )
    return with_labels_placed(drawing)


class _Sketch:
    """A drawing that is being made: which entities, and where each goes."""

    def __init__(self, explanation: Explanation, width: float, nearby: Sequence[CitedFact]) -> None:
        self.explanation = explanation
        self.subject, self.object = explanation.subject, explanation.object
        cited = [(fact, r.number) for r in explanation.all_reasons() for fact in r.facts]
        self.bundles = bundled([*cited, *((fact, 0) for fact in nearby)])
        self.places: dict[str, tuple[float, float]] = {}
        self.roles: dict[str, Role] = {}
        self.sides: dict[str, str] = {}
        ends = {self.subject, self.object}
        near = [bundle for bundle in self.bundles if bundle.is_way or bundle.ends & ends]
        from_subject = hops_from(near, self.subject, self.object)
        from_object = hops_from(near, self.object, self.subject)
        order = [n for b in self.bundles for n in (b.source, b.target)]
        others = [n for n in dict.fromkeys(order) if n not in (self.subject, self.object)]
        between = [n for n in others if n in from_subject and n in from_object]
        self.fractions = {n: from_subject[n] / (from_subject[n] + from_object[n]) for n in between}
        lone = {
            "left": [n for n in others if from_subject.get(n) == 1 and n not in from_object],
            "right": [n for n in others if from_object.get(n) == 1 and n not in from_subject],
        }
        further = FURTHER if nearby else 0
        self.middles = self._whole_ways(between, MOST_MIDDLES + further)
        outside = sum(NAMED_END if names else END for names in lone.values())
        self.is_narrow = width - outside < max(NARROW, (len(self._columns()) + 1) * GAP)
        self.width = width
        if self.is_narrow:
            self.middles = self._whole_ways(between, NARROW_MIDDLES + further)
            least = (len(self._columns()) + 1) * NARROW_GAP + 2 * NARROW_END
            self.width = max(width, least)
        lanes = [b for b in self.bundles if b.ends == {self.subject, self.object}]
        most = NARROW_LANES if self.is_narrow else MOST_LANES
        self.lanes = lanes[:most]
        most = (NARROW_SIDE if self.is_narrow else MOST_SIDE) + further
        self.lone = {side: names[:most] for side, names in lone.items()}
        self.bottom = 0.0
        self.expanded: set[str] = set()
        self.below: set[str] = set()  # whom expanding an entity has brought in
        self._place()

    def expand(self, name: str, facts: Sequence[CitedFact]) -> None:
        """Adds facts of an entity of the drawing; who is new stands below, side by side."""
        if name not in self.places:
            return
        self.expanded.add(name)
        drawn = {fact.fact for bundle in self.bundles for fact in bundle.facts}
        fresh = [fact for fact in facts if fact.fact not in drawn]
        bundles = [b for b in bundled((fact, 0) for fact in fresh) if name in b.ends]
        partners = dict.fromkeys(n for b in bundles for n in (b.source, b.target))
        most = NARROW_SIDE if self.is_narrow else MOST_SIDE
        partners_below = [n for n in partners if n not in self.places][:most]
        self.bundles += [b for b in bundles if b.ends <= {*self.places, *partners_below}]
        gap = NARROW_GAP if self.is_narrow else GAP
        columns = max(1, int((self.width - 2 * MARGIN) // gap))
        for start in range(0, len(partners_below), columns):
            row = partners_below[start : start + columns]
            step = (self.width - 2 * MARGIN) / len(row)
            for column, partner in enumerate(row):
                self.places[partner] = (MARGIN + (column + 0.5) * step, self.bottom + 40)
                self.roles[partner], self.sides[partner] = "bystander", "below"
                self.below.add(partner)
            self.bottom += 84

    def _whole_ways(self, names: list[str], most: int) -> list[str]:
        """The first entities between the two, and those that their way leads through."""
        if len(set(self.fractions.values())) <= 1:
            return names[:most]
        chosen: dict[str, None] = {}
        for name in names:
            if len(chosen) >= most:
                break
            chosen[name] = None
            for bundle in self.bundles:
                if name in bundle.ends:
                    chosen |= dict.fromkeys(n for n in bundle.ends if n in self.fractions)
        return list(chosen)[: 2 * most]

    def _columns(self) -> list[list[str]]:
        """The entities between the two in columns, from the subject to the object."""
        columns: dict[float, list[str]] = {}
        for name in self.middles:
            columns.setdefault(self.fractions[name], []).append(name)
        return [columns[fraction] for fraction in sorted(columns)]

    def _place(self) -> None:
        margins = [
            NARROW_END if self.is_narrow else NAMED_END if self.lone[side] else END
            for side in ("left", "right")
        ]
        self.start, self.end = margins[0], self.width - margins[1]
        lane_count = len(self.lanes) + 1
        tallest = max(len(names) for names in self.lone.values())
        reach = (lane_count - 1) * LANE / 2
        if not self.is_narrow:
            reach = max(reach, (tallest - 1) * SIDE_ROW / 2, 22.0)
        self.centre = TOP + (24.0 if self.is_narrow else reach)
        self.top = self.centre + 18 if self.is_narrow else self.centre - (lane_count - 1) * LANE / 2
        self.places |= {
            self.subject: (self.start, self.centre),
            self.object: (self.end, self.centre),
        }
        self.roles |= {self.object: "object", self.subject: "subject"}
        self.sides |= {self.object: "above-end", self.subject: "above-start"}
        bottom = self.top + (lane_count - 1) * LANE
        bottom = self._place_middles(max(bottom, self.centre) + 58)
        self.bottom = max(bottom, self.centre + 34)
        self._place_periphery()

    def _place_middles(self, top: float) -> float:
        """Columns between the two; returns how far down all of it reaches."""
        columns, lowest = self._columns(), top - 58 + 20
        self.column_of = {name: p for p, names in enumerate(columns, 1) for name in names}
        self.column_of |= {self.subject: 0, self.object: len(columns) + 1}
        top += LIFT * max(map(self._passed, self.bundles), default=0)
        for place, column in enumerate(columns, 1):
            x = self.start + (self.end - self.start) * place / (len(columns) + 1)
            for row, name in enumerate(column):
                y = top + row * ROW
                self.places[name] = (x, y)
                self.roles[name] = "meeting"
                self.sides[name] = "below"
                lowest = max(lowest, y + 19 + 13 * len(name_lines(name)))
        return lowest

    def _passed(self, bundle: Bundle) -> int:
        """How many columns a line to an entity between the two passes by."""
        if bundle.ends <= {self.subject, self.object} or not bundle.ends <= self.column_of.keys():
            return 0
        one, other = self.column_of[bundle.source], self.column_of[bundle.target]
        return max(abs(one - other) - 1, 0)

    def _place_periphery(self) -> None:
        for side, names in self.lone.items():
            sign = -1 if side == "left" else 1
            x, y = self.places[self.subject if side == "left" else self.object]
            for row, name in enumerate(names):
                if self.is_narrow:
                    edge = NARROW_SIDE_END if side == "left" else self.width - NARROW_SIDE_END
                    place = (edge, self.bottom + 30 + row * SIDE_ROW)
                    self.sides[name] = "right" if side == "left" else "left"  # its name is inside
                else:
                    shift = (row - (len(names) - 1) / 2) * SIDE_ROW
                    place = (x + sign * (FAN - abs(shift) * 0.12), y + shift)
                    self.sides[name] = side
                self.places[name] = place
                self.roles[name] = "bystander"
        lone = [self.places[n][1] for names in self.lone.values() for n in names]
        self.bottom = max([self.bottom, *(y + 20 for y in lone)])

    def nodes(self) -> list[Node]:
        """The entities that lines are drawn to."""
        ends = {n for b in self._drawn() for n in b.ends} | {self.subject, self.object}
        names = [name for name in self.places if name in ends]
        ordered = sorted(names, key=[self.subject, self.object, *self.places].index)
        return [
            Node(
                id=number, name=name, role=self.roles[name], x=round(self.places[name][0], 1),
                y=round(self.places[name][1], 1), named=True, side=self.sides[name],
            )
            for number, name in enumerate(ordered)
        ]  # fmt: skip

    def _drawn(self) -> Iterable[Bundle]:
        for bundle in self.bundles:
            if bundle.ends == {self.subject, self.object}:
                if bundle in self.lanes:
                    yield bundle
            elif bundle.ends <= self.places.keys() and len(bundle.ends) == 2:
                roles = {self.roles[name] for name in bundle.ends}
                is_near = "bystander" not in roles or roles & {"subject", "object"}
                if is_near or bundle.ends & (self.below | self.expanded):
                    yield bundle

    def edges(self, nodes: dict[str, Node]) -> list[DrawnEdge]:
        """The question, a line for each lane, and one for all facts between two other entities."""
        words = self.explanation.words
        edges = [] if self.subject == self.object else [self._question(nodes)]
        others: dict[frozenset[str], list[Bundle]] = {}
        drawn: list[tuple[list[Bundle], str]] = []
        for bundle in self._drawn():
            if bundle in self.lanes:
                forth = bundle.source == self.subject
                label = words.label(bundle.predicate)
                drawn.append(([bundle], f"→ {label}" if forth else f"← {label}"))
            else:
                others.setdefault(frozenset(bundle.ends), []).append(bundle)
        drawn += [(bundles, words.label(bundles[0].predicate)) for bundles in others.values()]
        for bundles, label in drawn:
            group = words.group_of(bundles[0].predicate) or ""
            edges.append(self._edge(nodes, bundles, label, group))
        return edges

    def _lane(self, bundle: Bundle) -> float:
        """The height of the middle of a line."""
        if bundle in self.lanes:
            return self.top + (self.lanes.index(bundle) + 1) * LANE
        heights = {name: self.places[name][1] for name in bundle.ends}
        if "bystander" in {self.roles[name] for name in bundle.ends}:
            return sum(heights.values()) / 2
        if len({self.places[name][0] for name in bundle.ends}) == 1:  # beside its column
            return sum(heights.values()) / 2
        is_level = bundle.ends <= self.fractions.keys() and len(set(heights.values())) == 1
        if is_level or self._passed(bundle):  # above those that it joins or passes by
            between = [heights[name] for name in bundle.ends if name in self.fractions]
            return min(between) - LIFT * (self._passed(bundle) + 1)
        return 0.12 * min(heights.values()) + 0.88 * max(heights.values())

    def _question(self, nodes: dict[str, Node]) -> DrawnEdge:
        asked = self.explanation
        when = "" if asked.time == UNKNOWN_TEXT else f"{asked.time} · "
        return DrawnEdge(
            source=nodes[self.subject].id, target=nodes[self.object].id, fact=-1, kind="question",
            predicate=f"{asked.label}?", date=f"{when}{percent(asked.probability)}",
            side="both", reason=0, on_path=False, more=0,
            curve=self._curve(self.subject, self.object, self.top),
            label=self._middle(self.subject, self.object, self.top),
            group=asked.words.group_of(asked.predicate) or "",
        )  # fmt: skip

    def _edge(
        self, nodes: dict[str, Node], bundles: list[Bundle], label: str, group: str
    ) -> DrawnEdge:
        """A line for bundles between the same two entities; the first gives it its label."""
        bundle, lane = bundles[0], self._lane(bundles[0])
        lone = "bystander" in {self.roles[name] for name in bundle.ends}
        facts = [fact.fact for each in bundles for fact in each.facts]
        near = bundle.nearest
        return DrawnEdge(
            source=nodes[bundle.source].id, target=nodes[bundle.target].id, fact=near.fact,
            kind="bystander" if lone else "path", predicate=label, date=bundle.when,
            side=near.side, reason=min(bundle.reasons, default=0), on_path=not lone,
            more=len(facts) - len(bundle.facts),
            curve=self._drop(bundle) if lone and self.is_narrow and not bundle.ends & self.below
            else self._curve(bundle.source, bundle.target, lane),
            label=self._middle(bundle.source, bundle.target, lane), group=group,
            facts=tuple(facts), reasons=tuple(sorted(set().union(*(b.reasons for b in bundles)))),
            distance=near.distance,
        )  # fmt: skip

    def _drop(self, bundle: Bundle) -> Curve:
        """A line along the outer edge, from an entity down to its periphery."""
        (x1, y1), (x2, y2) = self.places[bundle.source], self.places[bundle.target]
        edge = 2.0 if min(x1, x2) < self.width / 2 else self.width - 2.0
        down = 40.0 if y2 > y1 else -40.0
        return x1, y1, edge, y1 + 1.5 * down, edge, y2 - down, x2, y2

    def _middle(self, one: str, other: str, lane: float) -> tuple[float, float]:
        x1, x2 = self.places[one][0], self.places[other][0]
        return round((x1 + x2) / 2 + (0.75 * BULGE if x1 == x2 else 0.0), 1), round(lane, 1)

    def _curve(self, source: str, target: str, lane: float) -> Curve:
        """A cubic whose middle lies at the height of the lane."""
        (x1, y1), (x2, y2) = self.places[source], self.places[target]
        height = (lane - (y1 + y2) / 8) / 0.75
        reach, bulge = 0.32 * (x2 - x1), BULGE if x1 == x2 else 0.0
        return x1, y1, x1 + reach + bulge, height, x2 - reach + bulge, height, x2, y2
