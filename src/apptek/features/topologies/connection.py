"""The facts behind a topology: what both sides of a query reach by it, and where they meet."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from apptek.agent.environment import DecisionProcess
from apptek.data.queries import Queries
from apptek.data.times import UNKNOWN
from apptek.graph.temporal_graph import TemporalGraph

Side = Literal["subject", "object", "both"]
UNDATED = 2**31  # farther than any dated fact


@dataclass(frozen=True, slots=True)
class CoreFact:
    """A fact in the core of a side when the sides met.

    step     the action that brought it in, 1 for the first; in both cores it is the same
    on_path  whether it lies on a shortest connection of its side's entity with a meeting entity
    """

    fact: int
    side: Side
    step: int
    action: int
    on_path: bool


@dataclass(frozen=True, slots=True)
class Connection:
    """A topology replayed on a query until its sides met.

    steps    actions taken until then; 0 where subject = object
    meeting  the entities of both sides: the fewest hops first, then the nearest facts in time
    hops     for each of them, the hops from the subject and from the object
    core     facts on a path first, in the order of `meeting` and from subject to object; then the
             bystanders, nearest in time first
    """

    steps: int
    meeting: tuple[int, ...]
    hops: tuple[tuple[int, int], ...]
    core: tuple[CoreFact, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """A fact as an entity sees it: the action that it allows, and where it leads."""

    fact: int
    action: int
    other: int


def time_distance(graph: TemporalGraph, fact: int, moment: int) -> int | None:
    """Signed distance of a fact to a moment on the axis; below 0: before. None: undated."""
    since, until = int(graph.since[fact]), int(graph.until[fact])
    if moment == UNKNOWN or since == until == UNKNOWN:
        return None
    first, last = (until if since == UNKNOWN else since), (since if until == UNKNOWN else until)
    return max(first - moment, 0) or min(last - moment, 0)


def is_lasting(graph: TemporalGraph, fact: int) -> bool:
    """Whether a fact is an interval with two known ends."""
    since, until = int(graph.facts.since[fact]), int(graph.facts.until[fact])
    return since != until and UNKNOWN not in (since, until)


class Surroundings:
    """N_tknn around one query: the facts that each entity shows at its time, looked up once."""

    def __init__(self, process: DecisionProcess, queries: Queries, row: int = 0) -> None:
        self.process, self.graph = process, process.graph
        self.starts = int(queries.subjects[row]), int(queries.objects[row])
        self._code, self._hidden = int(queries.times[row]), int(queries.hidden[row])
        self.moment = int(process.graph.axis.positions(queries.times[row : row + 1])[0])
        self._edges: dict[int, list[Edge]] = {}

    def look_up(self, entities: Iterable[int]) -> None:
        """Fetches what these entities show, those that are new in one go."""
        new = sorted(set(entities) - self._edges.keys())
        if not new:
            return
        config = self.process.config
        found = self.graph.nearest(
            new,
            np.full(len(new), self._code, np.int64),
            config.tknn,
            hidden=np.full(len(new), self._hidden),
            traversal="outgoing" if config.traversal == "outgoing" else "both",
        )
        for entity, facts in zip(new, found.tolist(), strict=True):
            self._edges[entity] = [e for f in facts if f >= 0 for e in self._seen(entity, f)]

    def _seen(self, entity: int, fact: int) -> Iterable[Edge]:
        facts = self.graph.facts
        subject, object_ = int(facts.subjects[fact]), int(facts.objects[fact])
        predicate = int(facts.predicates[fact])
        if subject == entity:
            yield Edge(fact, predicate, object_)
        if object_ == entity and (subject != entity or self.process.tagged):
            inverse = self.graph.predicate_count * self.process.tagged
            yield Edge(fact, predicate + inverse, subject)

    def edges_of(self, entity: int) -> list[Edge]:
        """What a looked-up entity shows, nearest in time first."""
        return self._edges[entity]

    def nearness(self, fact: int) -> tuple[int, int]:
        """The key that sorts facts: how far they are from the query's time, then their index."""
        apart = time_distance(self.graph, fact, self.moment)
        return UNDATED if apart is None else abs(apart), fact


@dataclass(slots=True)
class _Core:
    """One side on its way: what it has reached, and which step and action brought each fact."""

    start: int
    reached: set[int]
    facts: dict[int, tuple[int, int]] = field(default_factory=dict)

    def expand(self, near: Surroundings, action: int, step: int) -> None:
        """Takes the facts of an action out of the periphery into the core."""
        near.look_up(self.reached)
        edges = [e for entity in self.reached for e in near.edges_of(entity) if e.action == action]
        for edge in edges:
            self.facts.setdefault(edge.fact, (step, action))
            self.reached.add(edge.other)


def connect(near: Surroundings, sequence: Sequence[int]) -> Connection | None:
    """A topology replayed on the query up to the step where the sides meet; None: they do not."""
    if min(near.starts) < 0:
        return None
    sides = tuple(_Core(start, {start}) for start in near.starts)
    steps = 0
    while not sides[0].reached & sides[1].reached:
        if steps == len(sequence):
            return None
        for side in sides:
            side.expand(near, sequence[steps], steps + 1)
        steps += 1
    return _connection(near, sides[0], sides[1], steps)


@dataclass(frozen=True, slots=True)
class _Ways:
    """The shortest ways from an entity within a core, breadth first.

    hops   of every entity
    costs  time distances along the way, the least among the shortest
    back   for every entity the last facts of its shortest ways, and where they come from
    """

    hops: dict[int, int]
    costs: dict[int, int]
    back: dict[int, list[tuple[int, int]]]

    def layers_to(self, entity: int) -> list[list[int]]:
        """The facts on the shortest ways to an entity, hop by hop, in each the nearest first."""
        layers: list[list[int]] = []
        ends = [entity]
        while ends := list(dict.fromkeys(ends)):
            steps = [step for end in ends for step in self.back[end]]
            layers.insert(0, [fact for fact, _ in steps])
            ends = [origin for _, origin in steps]
        return layers


def _ways(near: Surroundings, core: _Core) -> _Ways:
    facts = near.graph.facts
    links: dict[int, list[tuple[int, int]]] = {}
    for fact in sorted(core.facts, key=near.nearness):
        subject, object_ = int(facts.subjects[fact]), int(facts.objects[fact])
        links.setdefault(subject, []).append((fact, object_))
        links.setdefault(object_, []).append((fact, subject))
    ways = _Ways({core.start: 0}, {core.start: 0}, {core.start: []})
    layer = [core.start]
    while layer:
        following: list[int] = []
        for origin in layer:
            for fact, end in links.get(origin, []):
                if end not in ways.hops:
                    ways.hops[end], ways.back[end] = ways.hops[origin] + 1, []
                    following.append(end)
                if ways.hops[end] == ways.hops[origin] + 1:
                    ways.back[end].append((fact, origin))
                    cost = ways.costs[origin] + near.nearness(fact)[0]
                    ways.costs[end] = min(ways.costs.get(end, cost), cost)
        layer = following
    return ways


def _connection(near: Surroundings, one: _Core, other: _Core, steps: int) -> Connection:
    ways = _ways(near, one), _ways(near, other)

    def order(entity: int) -> tuple[int, int, int]:
        return sum(w.hops[entity] for w in ways), sum(w.costs[entity] for w in ways), entity

    meeting = sorted(one.reached & other.reached, key=order)
    path: dict[int, None] = {}  # a set that keeps its order
    for entity in meeting:
        for layer in (*ways[0].layers_to(entity), *reversed(ways[1].layers_to(entity))):
            path |= dict.fromkeys(sorted(layer, key=near.nearness))
    known = one.facts | other.facts
    others = sorted(known.keys() - path.keys(), key=near.nearness)

    def core_fact(fact: int) -> CoreFact:
        in_one, in_other = fact in one.facts, fact in other.facts
        side: Side = "both" if in_one and in_other else "subject" if in_one else "object"
        return CoreFact(fact, side, *known[fact], fact in path)

    return Connection(
        steps,
        tuple(meeting),
        tuple((ways[0].hops[entity], ways[1].hops[entity]) for entity in meeting),
        tuple(core_fact(fact) for fact in (*path, *others)),
    )
