"""Discovering topologies: the agent or a control policy plays the training queries, then mining.

The policies that need no agent are controls: they show what learning adds.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from apptek.arrays import Bools, Ints
from apptek.config import MiningConfig
from apptek.extras import one_torch_thread
from apptek.facts.queries import Queries
from apptek.paper.controls import play_greedily
from apptek.paper.dqn import FrozenPolicy
from apptek.paper.environment import DecisionProcess, Environment, Episodes, play
from apptek.paper.mining import Mined, mine
from apptek.paper.trainer import Trainer
from apptek.paper.training_run import Observer, train
from apptek.seeding import generator

ENUMERATED = 3000  # queries for which every sequence of one and two actions is tried
AT_ONCE = 50  # of these, how many are expanded side by side: bounds the memory
Stage = Callable[[str], AbstractContextManager[None]]  # announces a stage of the fit and times it


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """What topologies are discovered from, and how.

    predicates  those of the queries
    folder      where the agent is trained; a run that was stopped there goes on
    """

    process: DecisionProcess
    queries: Queries
    predicates: Ints
    config: MiningConfig
    seed: int
    folder: Path
    stage: Stage
    observers: Sequence[Observer] = ()


@one_torch_thread()
def discover(task: Discovery) -> Mined:
    """The topologies that connect the queries, by the policy that the settings name."""
    process, predicates, config = task.process, task.predicates, task.config
    if config.policy == "one-step":
        return _one_step(process, predicates)
    if config.policy == "two-step":
        with task.stage("mine"):
            episodes, rows = _two_steps(process, task.queries, task.seed)
            return mine([episodes], predicates[rows], config.top)
    rollouts = _random_rollouts(task) if config.policy == "random" else _agent_rollouts(task)
    with task.stage("mine"):
        return mine(rollouts, predicates, config.top)


def _random_rollouts(task: Discovery) -> Iterable[Episodes]:
    return (
        play(task.process, task.queries, "random", seed=task.seed + rollout)
        for rollout in range(task.config.rollouts)
    )


def _agent_rollouts(task: Discovery) -> Iterable[Episodes]:
    """The roll-outs of the trained agent. It is trained here and now, they are played lazily."""
    with task.stage("train the agent"):
        trainer = Trainer(task.process, task.queries, seed=task.seed)
        train(trainer, task.folder, resume=True, observers=task.observers)
    policy, pair_of_fact = FrozenPolicy(trainer.learner.network), trainer.table.pair_of_fact
    return (
        play_greedily(
            task.process,
            task.queries,
            policy,
            pair_of_fact,
            epsilon=task.config.epsilon,
            seed=task.seed + rollout,
        )
        for rollout in range(task.config.rollouts)
    )


def _one_step(process: DecisionProcess, predicates: Ints) -> Mined:
    """Every action alone, as if it had been mined: a control that needs no episodes."""
    trail = np.arange(process.action_count, dtype=np.int32)[:, None]
    episodes = Episodes(np.ones(len(trail), np.bool_), trail, np.ones_like(trail))
    return mine([episodes], np.resize(predicates[:1], len(trail)), len(trail))


def _two_steps(process: DecisionProcess, queries: Queries, seed: int) -> tuple[Episodes, Ints]:
    """Every sequence of one or two actions that connects some query, and the query's row."""
    sample = generator(seed, "two steps").permutation(len(queries))[:ENUMERATED]
    sample = sample[queries.subjects[sample] != queries.objects[sample]]
    trails: list[Ints] = []
    owners: list[Ints] = []
    for start in range(0, len(sample), AT_ONCE):
        rows = sample[start : start + AT_ONCE].astype(np.int32)
        trail = np.full((len(rows), 0), -1, np.int32)
        for _ in range(2):
            rows, trail, met = _extend(process, queries, rows, trail)
            trails.append(np.pad(trail[met], ((0, 0), (0, 2 - trail.shape[1])), constant_values=-1))
            owners.append(rows[met])
            rows, trail = rows[~met], trail[~met]  # what has met would stay met
    connecting = np.concatenate(trails)
    episodes = Episodes(np.ones(len(connecting), np.bool_), connecting, np.ones_like(connecting))
    return episodes, np.concatenate(owners)


def _extend(
    process: DecisionProcess, queries: Queries, rows: Ints, trail: Ints
) -> tuple[Ints, Ints, Bools]:
    """Every continuation by one legal action: the query's row, the actions, whether they meet."""
    origins, actions = np.nonzero(_after(process, queries, rows, trail).legal)
    longer = np.column_stack([trail[origins], actions.astype(np.int32)])
    return rows[origins], longer, _after(process, queries, rows[origins], longer).met


def _after(process: DecisionProcess, queries: Queries, rows: Ints, trail: Ints) -> Environment:
    """The environment of these queries after the actions of `trail`."""
    environment = Environment(process, queries.take(rows))
    for actions in trail.T:
        environment.step(np.ascontiguousarray(actions))
    return environment
