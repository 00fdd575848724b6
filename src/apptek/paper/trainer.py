"""Reproducible training: parallel episodes fill the replay memory, from which the agent learns."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools, Ints
from apptek.errors import ApptekError
from apptek.facts.queries import Queries
from apptek.paper.agent import Agent, pack
from apptek.paper.dqn import Learner, build_network
from apptek.paper.environment import DecisionProcess, Environment
from apptek.paper.replay_memory import Batch, Replay
from apptek.paper.states import pair_table
from apptek.seeding import generator

IDLE = -1  # the query of an idle slot


class Trainer:
    """One training run. Call `step` until `finished` to play all episodes and learn from them.

    Up to `parallel` episodes run at once, each in a slot. When an episode ends, its slot takes the
    next query. Queries whose subject is also their object connect immediately, so training skips
    them.

    episodes_done   the number of finished episodes
    history         the episodes in the order in which they finished
    """

    def __init__(self, process: DecisionProcess, queries: Queries, *, seed: int) -> None:
        self.process, self.config, self.seed = process, process.config, seed
        self.queries = queries
        self.table = pair_table(process.graph.facts)
        self.learner = Learner(
            build_network(
                self.table, process.action_count, self.config, rng=generator(seed, "network")
            ),
            self.config,
        )
        self.replay = Replay(self.config.replay_size)
        self.act_rng = generator(seed, "acting")
        self.sample_rng = generator(seed, "replay")
        self.order = episode_order(queries, self.config.epochs, seed)
        if not len(self.order):
            raise ApptekError(
                "there is no query to train on: subject and object are always the same"
            )
        slots = min(self.config.parallel, len(self.order))
        self.started = self.episodes_done = self.environment_steps = 0
        self.debt = 0.0  # transitions still to be learned from, according to the replay ratio
        self.slots: Ints = np.full(slots, IDLE, np.int32)
        self.history = History(
            np.full(len(self.order), IDLE, np.int32), np.zeros(len(self.order), np.bool_)
        )
        nothing = queries.take(np.zeros(slots, np.intp))
        nothing.subjects[:] = nothing.objects[:] = -1  # no facts: the episode ends immediately
        self.environment = Environment(process, nothing)
        self._refill(np.arange(slots))

    @property
    def epsilon(self) -> float:
        """The current proportion of random actions."""
        return self.config.epsilon(self.environment_steps)

    @property
    def finished(self) -> bool:
        """Whether every episode has finished."""
        return self.episodes_done == len(self.order)

    def step(self) -> None:
        """Take one action in every running episode, store the transitions, and learn."""
        environment = self.environment
        going = np.flatnonzero(self.slots != IDLE)
        states = environment.states(self.table.pair_of_fact).take(going)
        legal = environment.legal[going]
        actions = self.learner.act(states, legal, self.epsilon, rng=self.act_rng)
        chosen = np.zeros(len(self.slots), np.int32)
        chosen[going] = actions
        met = environment.step(chosen)[going]
        self.replay.add(
            Batch(
                states=states,
                actions=actions,
                rewards=met.astype(np.float32),
                next_states=environment.states(self.table.pair_of_fact).take(going),
                next_legal=environment.legal[going],
                done=environment.done[going],
            )
        )
        self.environment_steps += len(going)
        self._learn(len(going))
        ended = going[environment.done[going]]
        if len(ended):
            self._record(ended)
            self._refill(ended)

    def _learn(self, collected: int) -> None:
        """Perform the updates that the replay ratio requires, once the memory contains a batch."""
        self.debt += collected * self.config.replay_ratio
        if len(self.replay) < self.config.batch_size:
            return
        while self.debt >= self.config.batch_size:
            self.learner.learn(self.replay.sample(self.config.batch_size, rng=self.sample_rng))
            self.debt -= self.config.batch_size

    def _record(self, ended: npt.NDArray[np.intp]) -> None:
        rows = slice(self.episodes_done, self.episodes_done + len(ended))
        self.history.queries[rows] = self.slots[ended]
        self.history.met[rows] = self.environment.met[ended]
        self.episodes_done += len(ended)

    def _refill(self, free: npt.NDArray[np.intp]) -> None:
        """Start the next queries in free slots; an episode that ends immediately frees its slot."""
        while len(free):
            self.slots[free] = IDLE
            queries = self.order[self.started : self.started + len(free)]
            self.started += len(queries)
            free = free[: len(queries)]
            if not len(free):
                return
            self.slots[free] = queries
            self.environment.restart(free, self.queries.take(queries))
            free = free[self.environment.done[free]]
            if len(free):
                self._record(free)

    def weights(self) -> bytes:
        """Return the network's weights, with its settings and the digest of its facts."""
        return pack(self.learner.network, self.config, self.process.graph.facts.digest())

    def agent(self) -> Agent:
        """Return the agent with the current weights."""
        return Agent(self.process, self.weights())

    def run(self, report: Callable[[int, int], None] | None = None) -> "Trainer":
        """Train to the end; after every step, report the finished and total episodes."""
        while not self.finished:
            self.step()
            if report is not None:
                report(self.episodes_done, len(self.order))
        return self


@dataclass(frozen=True, slots=True)
class History:
    """Episodes in the order in which they finished: their queries, and whether the sides met."""

    queries: Ints
    met: Bools


def episode_order(queries: Queries, epochs: float, seed: int) -> Ints:
    """Return the query of each episode: every query once per epoch, reshuffled for each epoch."""
    usable = np.flatnonzero(queries.subjects != queries.objects).astype(np.int32)
    count = round(len(usable) * epochs)
    rounds = -(-count // len(usable)) if len(usable) else 0
    orders = [generator(seed, f"order {epoch}").permutation(usable) for epoch in range(rounds)]
    return np.concatenate([np.empty(0, np.int32), *orders])[:count]
