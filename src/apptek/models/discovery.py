"""Discovering topologies: the agent is trained and plays, or a control does, and it is mined."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
from safetensors.torch import load_file

from apptek.agent.controls import play_greedily
from apptek.agent.dqn import FrozenPolicy, build_network
from apptek.agent.environment import DecisionProcess, Environment, Episodes, play
from apptek.agent.states import pair_table
from apptek.agent.trainer import Trainer
from apptek.agent.training_run import ABOUT as AGENT_DONE
from apptek.agent.training_run import WEIGHTS, Observer, train
from apptek.arrays import Bools, Ints
from apptek.config import MiningConfig
from apptek.data.queries import Queries
from apptek.extras import one_torch_thread
from apptek.features.topologies.mining import Mined, mine
from apptek.seeding import generator

ENUMERATED = 3000  # queries whose ways of one and two steps are all tried
AT_ONCE = 50
Stage = Callable[[str], AbstractContextManager[None]]  # tells that a stage begins, and times it


@one_torch_thread()
def discover(
    process: DecisionProcess,
    queries: Queries,
    predicates: Ints,
    config: MiningConfig,
    *,
    seed: int,
    folder: Path,
    stage: Stage,
    observers: Sequence[Observer] = (),
) -> Mined:
    """The topologies that connect these queries, whose predicates are given.

    The agent is trained in `folder`, where a run that was stopped goes on.
    """
    if config.policy == "one-step":
        return _one_step(process, predicates)
    if config.policy == "two-step":
        with stage("mine"):
            episodes, rows = _two_steps(process, queries, seed)
            return mine([episodes], predicates[rows], config.top)
    if config.policy == "random":
        with stage("mine"):
            rollouts = (
                play(process, queries, "random", seed=seed + turn)
                for turn in range(config.rollouts)
            )
            return mine(rollouts, predicates, config.top)
    policy, pair_of_fact = _agent(process, queries, seed, folder, stage, observers)
    with stage("mine"):
        return mine(
            (
                play_greedily(
                    process, queries, policy, pair_of_fact, epsilon=config.epsilon,
                    seed=seed + turn,
                )
                for turn in range(config.rollouts)
            ),
            predicates,
            config.top,
        )  # fmt: skip


def _one_step(process: DecisionProcess, predicates: Ints) -> Mined:
    """Every action alone, as if it had been mined: a control that needs no episodes."""
    trail = np.arange(process.action_count, dtype=np.int32)[:, None]
    episodes = Episodes(np.ones(len(trail), np.bool_), trail, np.ones_like(trail))
    return mine([episodes], np.resize(predicates[:1], len(trail)), len(trail))


def _two_steps(process: DecisionProcess, queries: Queries, seed: int) -> tuple[Episodes, Ints]:
    """Every way to connect some of the queries in one step or two, and whose query each is."""
    rows = generator(seed, "two steps").permutation(len(queries))[:ENUMERATED]
    rows = rows[queries.subjects[rows] != queries.objects[rows]]
    ways: list[Ints] = []
    owners: list[Ints] = []
    for start in range(0, len(rows), AT_ONCE):
        own = rows[start : start + AT_ONCE].astype(np.int32)
        trail = np.full((len(own), 0), -1, np.int32)
        for _ in range(2):
            own, trail, met = _expanded(process, queries, own, trail)
            ways.append(np.pad(trail[met], ((0, 0), (0, 2 - trail.shape[1])), constant_values=-1))
            owners.append(own[met])
            own, trail = own[~met], trail[~met]
    found = np.concatenate(ways)
    return Episodes(np.ones(len(found), np.bool_), found, np.ones_like(found)), np.concatenate(
        owners
    )


def _expanded(
    process: DecisionProcess, queries: Queries, own: Ints, trail: Ints
) -> tuple[Ints, Ints, Bools]:
    """Every continuation of these ways by one legal action: whose, the way, whether it connects."""
    legal = _after(process, queries, own, trail).legal
    places, actions = np.nonzero(legal)
    longer = np.column_stack([trail[places], actions.astype(np.int32)])
    return own[places], longer, _after(process, queries, own[places], longer).met


def _after(process: DecisionProcess, queries: Queries, own: Ints, trail: Ints) -> Environment:
    environment = Environment(process, queries.take(own))
    for actions in trail.T:
        environment.step(np.ascontiguousarray(actions))
    return environment


def _agent(
    process: DecisionProcess,
    queries: Queries,
    seed: int,
    folder: Path,
    stage: Stage,
    observers: Sequence[Observer],
) -> tuple[FrozenPolicy, Ints]:
    """The trained agent: from its folder if it was trained before."""
    table = pair_table(process.graph.facts)
    with stage("train the agent"):
        if not (folder / AGENT_DONE).exists():
            trainer = Trainer(process, queries, seed=seed)
            train(trainer, folder, resume=True, observers=observers)
    network = build_network(
        table, process.graph.predicate_count, process.action_count, process.config,
        rng=generator(seed, "network"),
    )  # fmt: skip
    network.load_state_dict(load_file(folder / WEIGHTS))
    return FrozenPolicy(network), table.pair_of_fact
