"""The facts behind a topology: what both sides of a query reach by it, and where they meet."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from apptek.facts.queries import Queries
from apptek.facts.times import UNKNOWN
from apptek.graph.temporal_graph import FOR_EVER, TemporalGraph
from apptek.paper.environment import DecisionProcess

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
    """A fact as seen from an entity: the action that it allows, and where it leads."""

    fact: int
    action: int
    other: int


def knows_end(graph: TemporalGraph, fact: int, moment: int) -> bool:
    """Whether a query at a moment knows when a fact ends: looking ahead, no end that is to come."""
    if not graph.past_only or moment == UNKNOWN or graph.since[fact] == UNKNOWN:
        return True
    return bool(graph.until[fact] < moment)


def time_distance(graph: TemporalGraph, fact: int, moment: int) -> int | None:
    """Signed distance of a fact to a moment on the axis; below 0: before. None: undated."""
    since, until = int(graph.since[fact]), int(graph.until[fact])
    if not knows_end(graph, fact, moment):
        until = int(FOR_EVER) if graph.open_end == "ongoing" else UNKNOWN
    if moment == UNKNOWN or since == until == UNKNOWN:
        return None
    first, last = (until if since == UNKNOWN else since), (since if until == UNKNOWN else until)
    return max(first - moment, 0) or min(last - moment, 0)


def is_lasting(graph: TemporalGraph, fact: int) -> bool:
    """Whether a fact is an interval, also one that lasts because its end is open."""
    since, until = int(graph.since[fact]), int(graph.until[fact])
    return since != until and UNKNOWN not in (since, until)


class Surroundings:
    """N_tknn around one query: the facts that each entity shows at its time, looked up once.

    Plain Python: it explains single queries, and must agree with the kernels.
    """

    def __init__(self, process: DecisionProcess, queries: Queries, row: int = 0) -> None:
        self.process, self.graph = process, process.graph
        self.starts = max(-1, int(queries.subjects[row])), max(-1, int(queries.objects[row]))
        self._code, self._hidden = int(queries.times[row]), int(queries.hidden[row])
        self.moment = int(process.graph.axis.positions(queries.times[row : row + 1])[0])
        self._edges: dict[int, list[Edge]] = {}

    def look_up(self, entities: Iterable[int]) -> None:
        """Fetches the facts that these entities show, those of the new ones all at once."""
        new = sorted(set(entities) - self._edges.keys())
        if not new:
            return
        config = self.process.config
        nearest = self.graph.nearest(
            new,
            np.full(len(new), self._code, np.int64),
            config.tknn,
            hidden=np.full(len(new), self._hidden),
            traversal="outgoing" if config.traversal == "outgoing" else "both",
        )
        for entity, facts in zip(new, nearest.tolist(), strict=True):
            self._edges[entity] = [e for f in facts if f >= 0 for e in self._edges_at(entity, f)]

    def _edges_at(self, entity: int, fact: int) -> Iterable[Edge]:
        facts = self.graph.facts
        subject, object_ = int(facts.subjects[fact]), int(facts.objects[fact])
        predicate = int(facts.predicates[fact])
        if subject == entity:
            yield Edge(fact, predicate, object_)
        if object_ == entity and (subject != entity or self.process.tagged):
            inverse = self.graph.predicate_count * self.process.tagged
            yield Edge(fact, predicate + inverse, subject)

    def edges_of(self, entity: int) -> list[Edge]:
        """The edges of an entity that has been looked up, nearest in time first."""
        return self._edges[entity]

    def nearness(self, fact: int) -> tuple[int, int]:
        """A key to sort facts by: their distance to the query's time, then their index."""
        distance = time_distance(self.graph, fact, self.moment)
        return UNDATED if distance is None else abs(distance), fact


@dataclass(slots=True)
class _Core:
    """One side of an episode: what it has reached, and the step and action behind each fact."""

    start: int
    reached: set[int]
    facts: dict[int, tuple[int, int]] = field(default_factory=dict)

    def expand(self, near: Surroundings, action: int, step: int) -> None:
        """Takes the facts of an action out of the periphery into the core."""
        near.look_up(self.reached)
        # All edges first: an entity that is reached in this step must not be expanded in it.
        edges = [e for entity in self.reached for e in near.edges_of(entity) if e.action == action]
        for edge in edges:
            self.facts.setdefault(edge.fact, (step, action))
            self.reached.add(edge.other)


def connect(near: Surroundings, sequence: Sequence[int]) -> Connection | None:
    """Replays a topology on the query until the sides meet; None if they do not."""
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
class _Paths:
    """The shortest paths from an entity within a core.

    hops   to every entity
    costs  to every entity: the sum of time distances on the cheapest of its shortest paths
    back   of every entity: the last facts of its shortest paths, and where these facts come from
    """

    hops: dict[int, int]
    costs: dict[int, int]
    back: dict[int, list[tuple[int, int]]]

    def layers_to(self, entity: int) -> list[list[int]]:
        """The facts on the shortest paths to an entity, hop by hop."""
        layers: list[list[int]] = []
        ends = [entity]
        while ends := list(dict.fromkeys(ends)):
            steps = [step for end in ends for step in self.back[end]]
            layers.insert(0, [fact for fact, _ in steps])
            ends = [origin for _, origin in steps]
        return layers


def _shortest_paths(near: Surroundings, core: _Core) -> _Paths:
    """Breadth first, the nearest facts in time first."""
    facts = near.graph.facts
    links: dict[int, list[tuple[int, int]]] = {}
    for fact in sorted(core.facts, key=near.nearness):
        subject, object_ = int(facts.subjects[fact]), int(facts.objects[fact])
        links.setdefault(subject, []).append((fact, object_))
        links.setdefault(object_, []).append((fact, subject))
    paths = _Paths({core.start: 0}, {core.start: 0}, {core.start: []})
    layer = [core.start]
    while layer:
        following: list[int] = []
        for origin in layer:
            for fact, end in links.get(origin, []):
                if end not in paths.hops:
                    paths.hops[end], paths.back[end] = paths.hops[origin] + 1, []
                    following.append(end)
                if paths.hops[end] == paths.hops[origin] + 1:
                    paths.back[end].append((fact, origin))
                    cost = paths.costs[origin] + near.nearness(fact)[0]
                    paths.costs[end] = min(paths.costs.get(end, cost), cost)
        layer = following
    return paths


def _connection(near: Surroundings, of_subject: _Core, of_object: _Core, steps: int) -> Connection:
    paths = _shortest_paths(near, of_subject), _shortest_paths(near, of_object)

    def order(entity: int) -> tuple[int, int, int]:
        return sum(p.hops[entity] for p in paths), sum(p.costs[entity] for p in paths), entity

    meeting = sorted(of_subject.reached & of_object.reached, key=order)
    on_path: dict[int, None] = {}  # a set that keeps its order
    for entity in meeting:
        for layer in (*paths[0].layers_to(entity), *reversed(paths[1].layers_to(entity))):
            on_path |= dict.fromkeys(sorted(layer, key=near.nearness))
    core = of_subject.facts | of_object.facts
    bystanders = sorted(core.keys() - on_path.keys(), key=near.nearness)

    def core_fact(fact: int) -> CoreFact:
        by_subject, by_object = fact in of_subject.facts, fact in of_object.facts
        side: Side = "both" if by_subject and by_object else "subject" if by_subject else "object"
        return CoreFact(fact, side, *core[fact], fact in on_path)

    return Connection(
        steps,
        tuple(meeting),
        tuple((paths[0].hops[entity], paths[1].hops[entity]) for entity in meeting),
        tuple(core_fact(fact) for fact in (*on_path, *bystanders)),
    )
