"""The paper's decision process as Gymnasium environments: single and vectorised.

observation   (2, 2, R): fact counts by side (subject, object), part (core, periphery) and predicate
action        a predicate; an illegal one changes nothing but counts as a step
reward        1 if the sides meet, otherwise 0
terminated    the sides have met, or nothing is left to expand; truncated: max_steps was reached
info          `action_mask` (R,) int8 marks the legal actions, `query` is the query's row
"""

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from apptek.errors import ApptekError
from apptek.facts.queries import Queries
from apptek.paper.environment import DecisionProcess, Environment
from apptek.paper.episode_kernels import KEEP

Observation = npt.NDArray[np.float32]


class TemporalGraphVectorEnv(VectorEnv[Observation, npt.NDArray[np.int64], Any]):
    """Parallel episodes; when one ends, its slot starts another query in the next step.

    queries  the queries to draw from; by default the training queries
    """

    def __init__(
        self, process: DecisionProcess, queries: Queries | None = None, num_envs: int = 8
    ) -> None:
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self._process, self.num_envs = process, num_envs
        self._queries = process.training_queries() if queries is None else queries
        self._askable = np.flatnonzero(self._queries.subjects != self._queries.objects)
        if not len(self._askable):
            raise ApptekError("there is no query to play: subject and object are always the same")
        shape = (2, 2, process.action_count)
        self.single_observation_space = Box(0.0, float(len(process.graph.facts)), shape, np.float32)
        self.single_action_space = Discrete(process.action_count)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = MultiDiscrete([process.action_count] * num_envs)
        self._rows = np.zeros(num_envs, np.intp)
        self._environment: Environment | None = None

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start new episodes; options: `query`, a query row, or one row per episode."""
        first = seed[0] if isinstance(seed, list) else seed
        super().reset(seed=first)
        wanted = (options or {}).get("query")
        self._rows = self._draw(self.num_envs)
        if wanted is not None:
            self._rows = np.broadcast_to(np.asarray(wanted, np.intp), self._rows.shape).copy()
            if ((self._rows < 0) | (self._rows >= len(self._queries))).any():
                raise ApptekError(f"there is no query {wanted}: {len(self._queries)} are known")
        self._environment = Environment(self._process, self._queries.take(self._rows))
        return self._observe()

    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[Observation, Any, Any, Any, dict[str, Any]]:
        """Take an action in every episode."""
        environment = self._environment
        if environment is None:
            raise ApptekError("call reset before the first step")
        ended = environment.done.copy()
        chosen = np.asarray(actions, np.int32).reshape(self.num_envs)
        illegal = ~ended & ~environment.legal[np.arange(self.num_envs), chosen]
        environment.steps += illegal
        rewards = environment.step(np.where(illegal, np.int32(KEEP), chosen)).astype(np.float64)
        over = environment.done & ~ended
        truncated = over & ~environment.met & (environment.steps >= self._process.config.max_steps)
        terminated = over & ~truncated
        if ended.any():
            self._rows[ended] = self._draw(int(ended.sum()))
            slots = np.flatnonzero(ended)
            environment.restart(slots, self._queries.take(self._rows[slots]))
        observation, info = self._observe()
        return observation, rewards, terminated, truncated, info

    def _draw(self, count: int) -> npt.NDArray[np.intp]:
        return self._askable[self.np_random.integers(len(self._askable), size=count)]

    def _observe(self) -> tuple[Observation, dict[str, Any]]:
        environment, predicates = self._environment, self._process.graph.facts.predicates
        assert environment is not None
        count = self._process.action_count
        observation = np.zeros((self.num_envs, 2, 2, count), np.float32)
        for row in range(2 * self.num_envs):
            for place, facts in enumerate(environment.side(row)[1:]):
                counts = np.bincount(predicates[facts], minlength=count)
                observation[row // 2, row % 2, place] = counts
        mask = environment.legal.astype(np.int8)
        return observation, {"action_mask": mask, "query": self._rows.copy()}


class TemporalGraphEnv(gymnasium.Env[Observation, int]):
    """A single episode at a time: a vector environment of size one, without automatic resets."""

    def __init__(self, process: DecisionProcess, queries: Queries | None = None) -> None:
        self._vector = TemporalGraphVectorEnv(process, queries, 1)
        self.observation_space = self._vector.single_observation_space
        self.action_space = self._vector.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a new episode; options: `query`, the row of a query."""
        super().reset(seed=seed)
        observation, info = self._vector.reset(seed=seed, options=options)
        return observation[0], {name: value[0] for name, value in info.items()}

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take an action."""
        observation, rewards, terminated, truncated, info = self._vector.step(np.asarray([action]))
        about = {name: value[0] for name, value in info.items()}
        return observation[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), about
