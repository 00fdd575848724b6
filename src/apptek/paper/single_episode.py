"""One episode step by step, as people see it; with an agent or at random, which needs no torch."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from apptek.facts.queries import Queries
from apptek.paper.environment import DecisionProcess, Environment
from apptek.seeding import generator


class Values(Protocol):
    """What has a value for every action, as the trained agent."""

    def values(self, environment: Environment) -> Any:
        """Return the values of all actions in every episode, (B, actions)."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an episode as people see it.

    sizes    facts in the core and in the periphery of either side before it
    actions  the legal ones: predicate, its facts in both peripheries, its Q-value (None: a control)
    chosen   the predicate
    added    the facts that join the core of the subject's and of the object's side
    """

    sizes: tuple[tuple[int, int], tuple[int, int]]
    actions: list[tuple[int, int, float | None]]
    chosen: int
    added: tuple[list[int], list[int]]


@dataclass(frozen=True, slots=True)
class Walk:
    """A played episode: its steps, whether the sides met, and the entities where."""

    steps: list[Step]
    met: bool
    meeting: list[int]

    @property
    def actions(self) -> tuple[int, ...]:
        """The actions taken: a topology, where the sides met."""
        return tuple(step.chosen for step in self.steps)


def walk(
    process: DecisionProcess, query: Queries, agent: Values | None = None, *, seed: int = 0
) -> Walk:
    """Play the first query step by step: greedily by an agent, else at random."""
    environment, steps = Environment(process, query.take(np.arange(1))), list[Step]()
    rng = generator(seed, "walk")
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
