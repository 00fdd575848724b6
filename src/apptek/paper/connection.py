"""The facts behind a topology: what both sides of a query reach by it, and where they meet."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from apptek.facts.queries import Queries
from apptek.features.space import Connection, CoreFact, Side
from apptek.graph.lookups import time_distance
from apptek.paper.environment import DecisionProcess

UNDATED = 2**31  # farther than any dated fact


@dataclass(frozen=True, slots=True)
class Edge:
    """A fact as seen from an entity: the action that it allows, and where it leads."""

    fact: int
    action: int
    other: int


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
            traversal=config.traversal,
            strict=config.tknn_strict,
        )
        facts = self.graph.facts
        for entity, indices in zip(new, nearest.tolist(), strict=True):
            ends = [(f, int(facts.subjects[f]), int(facts.objects[f])) for f in indices if f >= 0]
            self._edges[entity] = [
                Edge(fact, int(facts.predicates[fact]), object_ if subject == entity else subject)
                for fact, subject, object_ in ends
            ]

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


def _meet(one: _Core, other: _Core, *, literal: bool) -> bool:
    if literal and not (one.facts and other.facts):
        return False
    return bool(one.reached & other.reached)


def connect(near: Surroundings, sequence: Sequence[int]) -> Connection | None:
    """Replays a topology on the query until the sides meet; None if they do not."""
    if min(near.starts) < 0:
        return None
    sides = tuple(_Core(start, {start}) for start in near.starts)
    steps = 0
    literal = near.process.literal
    while not _meet(sides[0], sides[1], literal=literal):
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
