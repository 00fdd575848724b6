"""The decision process with the interface of a vector environment of Gymnasium."""

from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.agent.environment import DecisionProcess, Environment
from apptek.arrays import Bools, Floats, Ints
from apptek.config import AgentConfig, preset
from apptek.data.facts import Dataset, Split
from apptek.data.queries import Queries, held_out_queries
from apptek.errors import ApptekError
from apptek.graph.temporal_graph import TemporalGraph
from apptek.seeding import generator

Outcome = tuple[Ints, Floats, Bools, Bools, dict[str, Any]]


class VectorLoop:
    """B episodes side by side, one for each query, until all of them have ended.

        loop = VectorLoop.of(data)
        edges, info = loop.reset(seed=0)
        while not loop.finished:
            edges, rewards, terminated, truncated, info = loop.step(loop.sample())
        print(loop.met.mean())

    The observation is how many edges of each action the two sides of an episode may be expanded
    by: (B, actions). Only actions with an edge are legal: info["action_mask"]. The reward is 1 in
    the step in which the two sides meet. An episode is terminated when they have met or nothing is
    left to expand, and truncated after the last step that the settings allow; it stays so, its
    actions are ignored then and its rewards are 0. `met` and `returns` are of whole episodes. A
    query whose subject is its object has met before the first step, without a reward.
    """

    def __init__(self, process: DecisionProcess, queries: Queries) -> None:
        self._process, self._queries = process, queries
        self._environment: Environment | None = None
        self._rng = generator(0, "vector loop")
        self.returns: Floats = np.zeros(len(queries), np.float32)

    @classmethod
    def of(
        cls, data: Dataset, config: AgentConfig | None = None, split: Split = "train"
    ) -> "VectorLoop":
        """The episodes of a split on the graph of the training facts.

        A query of train does not see its own fact, unless agent.hide_query says so. The settings
        are by default the paper's.
        """
        process = DecisionProcess(TemporalGraph.of(data), config or preset("paper").agent)
        facts = data.split(split)
        return cls(
            process, process.training_queries() if split == "train" else held_out_queries(facts)
        )

    def __len__(self) -> int:
        return len(self._queries)

    @property
    def action_count(self) -> int:
        """How many actions there are: predicates, and their inverses where tagged."""
        return self._process.action_count

    @property
    def finished(self) -> bool:
        """Whether every episode has ended."""
        return bool(self._running.done.all())

    @property
    def met(self) -> Bools:
        """(B,): in which episodes the sides have met so far."""
        return self._running.met.copy()

    def reset(self, *, seed: int | None = None) -> tuple[Ints, dict[str, Any]]:
        """Begins all episodes again. A seed begins the draws of `sample` again, too."""
        if seed is not None:
            self._rng = generator(seed, "vector loop")
        self._environment = Environment(self._process, self._queries)
        self.returns = np.zeros(len(self), np.float32)
        return self._environment.edges.copy(), self._info()

    def step(self, actions: npt.ArrayLike) -> Outcome:
        """Takes an action in each episode: edges, rewards, terminated, truncated, info.

        ApptekError for an action that is not legal in an episode that goes on, and after the end.
        """
        environment = self._running
        if environment.done.all():
            raise ApptekError("every episode has ended: call reset to begin them again")
        chosen = np.asarray(actions)
        if chosen.dtype.kind not in "iu" or chosen.shape != environment.done.shape:
            raise ApptekError(
                f"actions are one whole number for each of {len(environment.done):,} episodes, not "
                f"{chosen.dtype} of shape {chosen.shape}"
            )
        count = environment.legal.shape[1]
        outside = chosen[~environment.done & ((chosen < 0) | (chosen >= count))]
        if len(outside):
            raise ApptekError(f"there is no action {outside[0]}: they are 0 to {count - 1}")
        rewards = environment.step(chosen).astype(np.float32)
        self.returns += rewards
        return environment.edges.copy(), rewards, *self._ends(), self._info()

    def sample(self) -> Ints:
        """A legal action for each episode, all equally likely; 0 where it has ended."""
        legal = self._running.legal
        draws = self._rng.random(legal.shape) * legal
        return np.asarray(draws.argmax(axis=1), np.int32)

    def _ends(self) -> tuple[Bools, Bools]:
        environment = self._running
        truncated = environment.done & ~environment.met
        truncated &= environment.steps >= environment.max_steps
        return environment.done & ~truncated, truncated

    def _info(self) -> dict[str, Any]:
        environment = self._running
        terminated, truncated = self._ends()
        return {
            "action_mask": environment.legal,
            "steps": environment.steps.copy(),
            "terminated": terminated,
            "truncated": truncated,
        }

    @property
    def _running(self) -> Environment:
        if self._environment is None:
            raise ApptekError("call reset first: no episode has begun")
        return self._environment
