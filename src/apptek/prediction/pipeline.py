"""Fitting: train the agent, mine topologies, apply them, fit the classifier, stage by stage.

Each stage leaves its result in a work folder beside the model, so that a run that was stopped goes
on where it was; the model folder appears at the end, whole.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from apptek.agent.dqn import FrozenPolicy, build_network
from apptek.agent.environment import (
    Episodes,
    Queries,
    World,
    held_out_queries,
    play,
    training_queries,
)
from apptek.agent.evaluation import play_greedily
from apptek.agent.run import ABOUT as AGENT_DONE
from apptek.agent.run import WEIGHTS, Observer, train
from apptek.agent.states import pair_table
from apptek.agent.training import Trainer
from apptek.data.facts import Dataset, Facts
from apptek.data.protocols import Protocol, apply_protocol
from apptek.files import write_whole
from apptek.graph.temporal_graph import TemporalGraph
from apptek.prediction.fitting import Examples, FitReport, fit_linear_softmax
from apptek.prediction.known import known_predicates
from apptek.prediction.model import Model
from apptek.prediction.presets import Config
from apptek.prediction.sparse import SparseRows
from apptek.prediction.work import open_work
from apptek.seeding import generator
from apptek.topologies.application import BinaryRows, apply_topologies
from apptek.topologies.mining import Mined, mine
from apptek.topologies.topology import TopologySet, topology_set

Stage = Callable[[str], None]  # is told the name of each stage as it begins


def print_nothing(_: str) -> None:
    """For those who do not want to hear of stages."""


@dataclass(slots=True)
class Fit:
    """One fit: its data under the protocol, its settings, its work folder, and the time it took."""

    dataset: Dataset
    config: Config
    seed: int
    work: Path
    on_stage: Stage
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Tells that a stage begins, and notes how long it took."""
        self.on_stage(name)
        start = time.monotonic()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - start


def fit_model(
    data: Dataset,
    config: Config,
    work: Path,
    *,
    preset: str,
    protocol: Protocol = "official",
    seed: int = 0,
    resume: bool = False,
    on_stage: Stage = print_nothing,
    observers: Sequence[Observer] = (),
) -> tuple[Model, dict[str, float]]:
    """A fitted model, and the seconds of each stage, whose results are kept in `work`.

    Tunes and stops on what the protocol calls valid.
    """
    dataset = apply_protocol(data, protocol)
    identity = {
        "data": dataset.train.digest(),
        "preset": preset,
        "protocol": protocol,
        "seed": seed,
        "settings": asdict(config),
    }
    open_work(work, identity, resume)
    fit = Fit(dataset, config, seed, work, on_stage)
    return _fit(fit, preset, protocol, observers), fit.seconds


def _fit(fit: Fit, preset: str, protocol: Protocol, observers: Sequence[Observer]) -> Model:
    torch.set_num_threads(1)
    with fit.stage("index"):
        graph = TemporalGraph.of(fit.dataset)
        world, queries = World(graph, fit.config.agent), training_queries(fit.dataset.train)
    mined = _mine(fit, world, queries, observers)
    topologies = topology_set(mined.sequences())
    trained_on = queries.subjects != queries.objects
    with fit.stage("apply topologies"):
        rows = np.flatnonzero(trained_on)
        train_rows = _features(fit, world, queries.take(rows), topologies, "train")
        valid_rows = _features(fit, world, held_out_queries(fit.dataset.valid), topologies, "valid")
    with fit.stage("fit the classifier"):
        known = (fit.dataset.train, fit.dataset.valid, fit.dataset.test)
        examples = _examples(train_rows, fit.dataset.train.take(rows), (fit.dataset.train,))
        tuning = _examples(valid_rows, fit.dataset.valid, known)
        classifier, report = fit_linear_softmax(
            examples,
            tuning,
            class_count=len(fit.dataset.predicates),
            config=fit.config.classifier,
            rng=generator(fit.seed, "classifier"),
        )
    return Model(
        preset=preset,
        protocol=protocol,
        seed=fit.seed,
        config=fit.config,
        dataset=fit.dataset,
        graph=graph,
        topologies=topologies,
        mined=mined,
        classifier=classifier,
        report=_report(report, topologies, mined),
        agent=agent.read_bytes() if (agent := fit.work / "agent" / WEIGHTS).exists() else None,
    )


def _mine(fit: Fit, world: World, queries: Queries, observers: Sequence[Observer]) -> Mined:
    config, predicates = fit.config.mining, fit.dataset.train.predicates
    if config.policy == "one-step":
        return _one_step(world, predicates)
    if config.policy == "random":
        with fit.stage("mine"):
            rollouts = (
                play(world, queries, "random", seed=fit.seed + turn)
                for turn in range(config.rollouts)
            )
            return mine(rollouts, predicates, config.top)
    policy, pair_of_fact = _agent(fit, world, queries, observers)
    with fit.stage("mine"):
        return mine(
            (
                play_greedily(
                    world, queries, policy, pair_of_fact, epsilon=config.epsilon,
                    seed=fit.seed + turn,
                )
                for turn in range(config.rollouts)
            ),
            predicates,
            config.top,
        )  # fmt: skip


def _one_step(world: World, predicates: Any) -> Mined:
    """Every action alone, as if it had been mined: a control that needs no episodes."""
    trail = np.arange(world.action_count, dtype=np.int32)[:, None]
    episodes = Episodes(np.ones(len(trail), np.bool_), trail, np.ones_like(trail))
    return mine([episodes], np.resize(predicates[:1], len(trail)), len(trail))


def _agent(
    fit: Fit, world: World, queries: Queries, observers: Sequence[Observer]
) -> tuple[FrozenPolicy, Any]:
    """The trained agent: from the work folder if it was trained before."""
    folder, table = fit.work / "agent", pair_table(world.graph.facts)
    with fit.stage("train the agent"):
        if not (folder / AGENT_DONE).exists():
            trainer = Trainer(world, queries, seed=fit.seed)
            train(trainer, folder, resume=True, observers=observers)
    network = build_network(
        table, world.graph.predicate_count, world.action_count, world.config,
        rng=generator(fit.seed, "network"),
    )  # fmt: skip
    network.load_state_dict(load_file(folder / WEIGHTS))
    return FrozenPolicy(network), table.pair_of_fact


def _features(
    fit: Fit, world: World, queries: Queries, topologies: TopologySet, name: str
) -> SparseRows:
    """The features of some queries: from the work folder if they were computed before."""
    offsets, columns = fit.work / f"{name}.offsets.npy", fit.work / f"{name}.columns.npy"
    if offsets.exists():
        found = BinaryRows(np.load(offsets), np.load(columns))
    else:
        found = apply_topologies(world, queries, topologies)
        write_whole(columns, found.columns)
        write_whole(offsets, found.offsets)  # last: it says that both are there
    return sparse_rows(found, len(topologies))


def sparse_rows(found: BinaryRows, count: int) -> SparseRows:
    """Which topologies fired, as the classifier takes it."""
    return SparseRows(found.offsets, found.columns, count)


def _examples(rows: SparseRows, facts: Facts, known: tuple[Facts, ...]) -> Examples:
    return Examples(rows, facts.predicates, known_predicates(facts, known))


def _report(report: FitReport, topologies: TopologySet, mined: Mined) -> dict[str, Any]:
    found = asdict(report)
    found["tried"] = [asdict(epoch) for epoch in report.tried]
    tried = sum(mined.tried.values())
    connected = sum(mined.connected.values())
    return found | {"topologies": len(topologies), "mining_success": connected / max(tried, 1)}
