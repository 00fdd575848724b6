"""Discovering topologies: the agent is trained and plays, or a control does, and it is mined."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

from apptek.agent.dqn import FrozenPolicy, build_network
from apptek.agent.environment import Episodes, Queries, World, play
from apptek.agent.evaluation import play_greedily
from apptek.agent.run import ABOUT as AGENT_DONE
from apptek.agent.run import WEIGHTS, Observer, train
from apptek.agent.states import pair_table
from apptek.agent.training import Trainer
from apptek.data.times import Ints
from apptek.prediction.presets import MiningConfig
from apptek.seeding import generator
from apptek.topologies.mining import Mined, mine

Stage = Callable[[str], AbstractContextManager[None]]  # tells that a stage begins, and times it


def discover(
    world: World,
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
    torch.set_num_threads(1)  # two threads beside another busy process only wait for each other
    if config.policy == "one-step":
        return _one_step(world, predicates)
    if config.policy == "random":
        with stage("mine"):
            rollouts = (
                play(world, queries, "random", seed=seed + turn) for turn in range(config.rollouts)
            )
            return mine(rollouts, predicates, config.top)
    policy, pair_of_fact = _agent(world, queries, seed, folder, stage, observers)
    with stage("mine"):
        return mine(
            (
                play_greedily(
                    world, queries, policy, pair_of_fact, epsilon=config.epsilon,
                    seed=seed + turn,
                )
                for turn in range(config.rollouts)
            ),
            predicates,
            config.top,
        )  # fmt: skip


def _one_step(world: World, predicates: Ints) -> Mined:
    """Every action alone, as if it had been mined: a control that needs no episodes."""
    trail = np.arange(world.action_count, dtype=np.int32)[:, None]
    episodes = Episodes(np.ones(len(trail), np.bool_), trail, np.ones_like(trail))
    return mine([episodes], np.resize(predicates[:1], len(trail)), len(trail))


def _agent(
    world: World,
    queries: Queries,
    seed: int,
    folder: Path,
    stage: Stage,
    observers: Sequence[Observer],
) -> tuple[FrozenPolicy, Ints]:
    """The trained agent: from its folder if it was trained before."""
    table = pair_table(world.graph.facts)
    with stage("train the agent"):
        if not (folder / AGENT_DONE).exists():
            trainer = Trainer(world, queries, seed=seed)
            train(trainer, folder, resume=True, observers=observers)
    network = build_network(
        table, world.graph.predicate_count, world.action_count, world.config,
        rng=generator(seed, "network"),
    )  # fmt: skip
    network.load_state_dict(load_file(folder / WEIGHTS))
    return FrozenPolicy(network), table.pair_of_fact
