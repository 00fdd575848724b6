"""One episode for display: played step by step, or replayed from a topology until it connects."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from apptek.facts.facts import Facts
from apptek.facts.queries import Queries
from apptek.features.space import Connection, CoreFact, Side
from apptek.graph.lookups import time_distance
from apptek.paper.environment import DecisionProcess, Environment
from apptek.seeding import generator

if TYPE_CHECKING:
    from apptek.paper.agent import Agent

UNDATED = 2**31  # sorts after every dated fact
Core = dict[int, tuple[int, int]]  # a side's facts, with the step and action that added each
Nearness = Callable[[int], tuple[int, int]]  # a sort key for facts: distance in time, then index


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an episode, for display.

    sizes    number of facts in the core and periphery of each side before the step
    actions  the legal actions: predicate, number of its facts in both peripheries, and Q-value
             (None for a control policy)
    chosen   the predicate that was chosen
    added    the facts that join the subject's core and the object's core
    """

    sizes: tuple[tuple[int, int], tuple[int, int]]
    actions: list[tuple[int, int, float | None]]
    chosen: int
    added: tuple[list[int], list[int]]


@dataclass(frozen=True, slots=True)
class Walk:
    """A played episode: its steps, whether the sides met, and the entities where they met."""

    steps: list[Step]
    met: bool
    meeting: list[int]

    @property
    def actions(self) -> tuple[int, ...]:
        """The actions that were taken; they form a topology if the sides met."""
        return tuple(step.chosen for step in self.steps)


def walk(process: DecisionProcess, query: Queries, agent: "Agent | None" = None) -> Walk:
    """Play the first query step by step: greedily with an agent, otherwise at random."""
    environment, steps = Environment(process, query.take(np.arange(1))), list[Step]()
    rng = generator(0, "walk")
    while not environment.done[0]:
        counts = environment.edges[0].copy()
        legal = np.flatnonzero(counts)
        values = None if agent is None else agent.values(environment)[0]
        chosen = int(rng.choice(legal)) if values is None else int(values.argmax())
        before = [environment.side(side) for side in range(2)]
        environment.step([chosen])
        added = [
            sorted(set(environment.side(side)[1].tolist()) - set(before[side][1].tolist()))
            for side in range(2)
        ]
        listed = [
            (int(a), int(counts[a]), None if values is None else float(values[a])) for a in legal
        ]
        sizes = [(len(core), len(periphery)) for _, core, periphery in before]
        steps.append(Step((sizes[0], sizes[1]), listed, chosen, (added[0], added[1])))
    reached = [set(environment.side(side)[0].tolist()) for side in range(2)]
    meeting = sorted(reached[0] & reached[1]) if environment.met[0] else []
    return Walk(steps, bool(environment.met[0]), meeting)


def replay(
    process: DecisionProcess, queries: Queries, sequence: Sequence[int], row: int = 0
) -> tuple[Environment, tuple[Core, Core], int]:
    """Replay actions on a query until the sides meet; return both cores and the number of actions.

    Illegal actions change nothing.
    """
    environment = Environment(process, queries.take(np.arange(row, row + 1)))
    cores: tuple[Core, Core] = {}, {}
    tried = 0
    for action in sequence:
        if environment.done[0]:
            break
        tried += 1
        if environment.legal[0, action]:
            environment.step([action])
            for side, core in enumerate(cores):
                for fact in environment.side(side)[1].tolist():
                    core.setdefault(fact, (tried, action))
    return environment, cores, tried


def connect(
    process: DecisionProcess, queries: Queries, sequence: Sequence[int], row: int = 0
) -> Connection | None:
    """Replay a topology on a query until both sides meet. Return None if they do not meet."""
    environment, cores, steps = replay(process, queries, sequence, row)
    if not environment.met[0]:
        return None
    moment = int(process.graph.axis.positions(queries.times[row : row + 1])[0])

    def nearness(fact: int) -> tuple[int, int]:
        distance = time_distance(process.graph, fact, moment)
        return UNDATED if distance is None else abs(distance), fact

    reached = [set(environment.side(side)[0].tolist()) for side in range(2)]
    starts = int(queries.subjects[row]), int(queries.objects[row])
    facts = process.graph.facts
    paths = [_shortest_paths(facts, c, s, nearness) for c, s in zip(cores, starts, strict=True)]

    def order(entity: int) -> tuple[int, int, int]:
        return sum(p.hops[entity] for p in paths), sum(p.costs[entity] for p in paths), entity

    meeting = sorted(reached[0] & reached[1], key=order)
    return Connection(
        steps,
        tuple(meeting),
        tuple((paths[0].hops[entity], paths[1].hops[entity]) for entity in meeting),
        _facts_in_order(cores, paths, meeting, nearness),
    )


def _facts_in_order(
    cores: tuple[Core, Core], paths: "Sequence[_Paths]", meeting: Sequence[int], nearness: Nearness
) -> tuple[CoreFact, ...]:
    """Return the facts in both cores: those on a path first, then the others by time distance."""
    on_path: dict[int, None] = {}  # a set that preserves insertion order
    for entity in meeting:
        for layer in (*paths[0].layers_to(entity), *reversed(paths[1].layers_to(entity))):
            on_path |= dict.fromkeys(sorted(layer, key=nearness))
    bystanders = sorted((cores[0] | cores[1]).keys() - on_path.keys(), key=nearness)
    return core_facts(cores, [*on_path, *bystanders], set(on_path))


def core_facts(
    cores: tuple[Core, Core], order: Iterable[int], on_path: set[int]
) -> tuple[CoreFact, ...]:
    """Return the facts in both cores in this order, each with its side, step and action."""
    either = cores[0] | cores[1]

    def side_of(fact: int) -> Side:
        both = fact in cores[0] and fact in cores[1]
        return "both" if both else "subject" if fact in cores[0] else "object"

    return tuple(CoreFact(f, side_of(f), *either[f], f in on_path) for f in order)


@dataclass(frozen=True, slots=True)
class _Paths:
    """The shortest paths from an entity within a core.

    hops   number of hops to every entity
    costs  for every entity, the smallest sum of time distances on one of its shortest paths
    back   for every entity, the last facts on its shortest paths, and where these facts come from
    """

    hops: dict[int, int]
    costs: dict[int, int]
    back: dict[int, list[tuple[int, int]]]

    def layers_to(self, entity: int) -> list[list[int]]:
        """Return the facts on the shortest paths to an entity, hop by hop."""
        layers: list[list[int]] = []
        ends = [entity]
        while ends := list(dict.fromkeys(ends)):
            steps = [step for end in ends for step in self.back[end]]
            layers.insert(0, [fact for fact, _ in steps])
            ends = [origin for _, origin in steps]
        return layers


def _shortest_paths(facts: Facts, core: Core, start: int, nearness: Nearness) -> _Paths:
    """Search breadth-first from `start`, visiting the facts nearest in time first."""
    links: dict[int, list[tuple[int, int]]] = {}
    for fact in sorted(core, key=nearness):
        subject, object_ = int(facts.subjects[fact]), int(facts.objects[fact])
        links.setdefault(subject, []).append((fact, object_))
        links.setdefault(object_, []).append((fact, subject))
    paths = _Paths({start: 0}, {start: 0}, {start: []})
    layer = [start]
    while layer:
        following: list[int] = []
        for origin in layer:
            for fact, end in links.get(origin, []):
                if end not in paths.hops:
                    paths.hops[end], paths.back[end] = paths.hops[origin] + 1, []
                    following.append(end)
                if paths.hops[end] == paths.hops[origin] + 1:
                    paths.back[end].append((fact, origin))
                    cost = paths.costs[origin] + nearness(fact)[0]
                    paths.costs[end] = min(paths.costs.get(end, cost), cost)
        layer = following
    return paths
