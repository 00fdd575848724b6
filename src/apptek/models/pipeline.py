"""Fitting: the agent and its topologies where they are asked for, features, classifier.

Each stage leaves its result in a work folder beside the model, so that a run that was stopped goes
on where it was; the model folder appears at the end, whole.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from apptek.agent.environment import DecisionProcess
from apptek.config import Config
from apptek.data.facts import SPLITS, Dataset, Facts
from apptek.data.protocols import Protocol, apply_protocol
from apptek.data.queries import Queries, held_out_queries, training_queries
from apptek.errors import ConfigError, DataError
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.ranking import filtered_mrr
from apptek.features.clock import Clock
from apptek.features.space import FeatureSpace
from apptek.features.sparse import SparseRows
from apptek.features.topologies.application import BinaryRows, apply_topologies
from apptek.features.topologies.mining import Mined
from apptek.features.topologies.topology import topology_set
from apptek.features.traits import Kind, types_from_names, types_from_table
from apptek.files import write_whole
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.linear_fit import Examples, FitReport, calibrate, fit_linear_softmax
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.model import AGENT, Model, feature_space
from apptek.models.reranker import Reranker, fit_reranker, require_lightgbm
from apptek.resuming import open_work
from apptek.seeding import generator

Stage = Callable[[str], None]  # is told the name of each stage as it begins
TypeTable = Mapping[str, Mapping[str, str]]  # kind of type -> entity -> type


def print_nothing(_: str) -> None:
    """For those who do not want to hear of stages."""


@dataclass(slots=True)
class Fit:
    """One fit: its data under the protocol, its settings, its work folder, and the time it took."""

    dataset: Dataset
    config: Config
    seed: int
    work: Path
    types: TypeTable
    on_stage: Stage
    seconds: dict[str, float] = field(default_factory=dict)
    cuts: int = 0  # profiles that a dominant partner cut short

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
    types: TypeTable | None = None,
    resume: bool = False,
    on_stage: Stage = print_nothing,
    observers: Sequence[Any] = (),
) -> tuple[Model, dict[str, float]]:
    """A fitted model, and the seconds of each stage, whose results are kept in `work`.

    Tunes and stops on what the protocol calls valid. `types` are the user's own, by kind and
    entity; a kind that names would give is replaced.
    """
    if config.reranker.rounds:
        require_lightgbm()
        if len(data.predicates) < 2:
            raise DataError("there is nothing to re-rank: the data has a single predicate")
    dataset = apply_protocol(data, protocol)
    if not len(dataset.valid):
        raise DataError(
            f"there are no valid facts to tune the model on ({len(dataset.train):,} facts in "
            "train): add facts or choose another --split (by time, undated facts go to train)"
        )
    identity = {
        "data": {split: dataset.split(split).digest() for split in SPLITS},
        "preset": preset,
        "protocol": protocol,
        "seed": seed,
        "settings": asdict(config),
        "types": types or {},
    }
    open_work(work, identity, resume=resume)
    fit = Fit(dataset, config, seed, work, types or {}, on_stage)
    return _fit(fit, preset, protocol, observers), fit.seconds


def _fit(fit: Fit, preset: str, protocol: Protocol, observers: Sequence[Any]) -> Model:
    config, train = fit.config, fit.dataset.train
    with fit.stage("index"):
        graph = TemporalGraph.of(fit.dataset)
        clock, kinds = Clock.of(graph), _kinds(fit)
    queries = training_queries(train)
    mined, topologies = Mined((), {}, {}), topology_set([])
    if not np.any(queries.subjects != queries.objects):
        raise DataError("there is no query to fit on: subject and object are always the same")
    if "topologies" in config.features.parts:
        from apptek.models.discovery import Discovery, discover  # the only part that needs torch

        seen = graph.as_of() if config.features.past_only else graph
        mined = discover(
            Discovery(
                process=DecisionProcess(seen, config.agent),
                queries=queries,
                predicates=train.predicates,
                config=config.mining,
                seed=fit.seed,
                folder=fit.work / "agent",
                stage=fit.stage,
                observers=observers,
            )
        )
        topologies = topology_set(mined.sequences())
    space = feature_space(config, fit.dataset, graph, clock, kinds, topologies)
    rows = np.flatnonzero(queries.subjects != queries.objects)
    train_rows = _features(fit, space, queries.take(rows), "train")
    valid_rows = _features(fit, space, held_out_queries(fit.dataset.valid), "valid")
    known = (train, fit.dataset.valid, fit.dataset.test)
    usable = train.take(rows)
    examples = _examples(train_rows, usable, (train,))
    tuning = _examples(valid_rows, fit.dataset.valid, known)
    with fit.stage("fit the classifier"):
        classifier, report = fit_linear_softmax(
            examples,
            tuning,
            class_count=len(fit.dataset.predicates),
            config=config.classifier,
            rng=generator(fit.seed, "classifier"),
            copies=space.copies(),
        )
    reranker = None
    if config.reranker.rounds:
        classifier, report, reranker = _rerank(
            fit, space, examples, usable, tuning, classifier, report
        )
    return Model(
        preset=preset,
        protocol=protocol,
        seed=fit.seed,
        config=config,
        dataset=fit.dataset,
        graph=graph,
        clock=clock,
        kinds=kinds,
        topologies=topologies,
        mined=mined,
        classifier=classifier,
        report=_report(report, space, mined, fit.cuts),
        agent=agent.read_bytes() if (agent := fit.work / "agent" / AGENT).exists() else None,
        reranker=reranker,
    )


def _rerank(
    fit: Fit,
    space: FeatureSpace,
    examples: Examples,
    facts: Facts,
    tuning: Examples,
    classifier: LinearSoftmax,
    report: FitReport,
) -> tuple[LinearSoftmax, FitReport, Reranker]:
    """The re-ranker, and the classifier calibrated for what it makes of its scores."""
    count, config = len(fit.dataset.predicates), fit.config
    with fit.stage("fit the re-ranker"):
        reranker = fit_reranker(
            space,
            examples,
            facts,
            count,
            config.classifier,
            report.l2,
            config.reranker,
            seed=fit.seed,
        )
        linear = classifier.scores(tuning.rows)
        scores = reranker.scores(space, tuning.rows, classifier, linear)
        calibration, _, after = calibrate(scores, tuning.labels, tuning.others)
    found = replace(
        report,
        valid_mrr=filtered_mrr(scores, tuning.labels, tuning.others),
        temperature=calibration.temperature,
        tilt=calibration.tilt,
        bend=calibration.bend,
        ece_after=after,
    )
    return replace(classifier, calibration=calibration), found, reranker


def _kinds(fit: Fit) -> tuple[Kind, ...]:
    """The types of entities: the user's own, and those read from names."""
    config, data = fit.config, fit.dataset
    if "traits" not in config.features.parts or not config.traits.types:
        if fit.types:
            raise ConfigError("a table of types needs traits in features.parts, and traits.types")
        return ()
    given = types_from_table(fit.types, data.entities, data.train)
    for kind in given:
        if not np.any(kind.of_entity >= 0):
            raise DataError(f"no entity of the data has a {kind.name!r} in the table of types")
    read = types_from_names(
        data.entities, data.train, from_neighbours=not config.features.past_only
    )
    return (*given, *(kind for kind in read if kind.name not in fit.types))


def _features(fit: Fit, space: FeatureSpace, queries: Queries, name: str) -> SparseRows:
    """The features of some queries, topologies from the work folder if applied before."""
    fired = None
    if space.topologies is not None:
        with fit.stage("apply topologies"):
            fired = _fired(fit.work, space, queries, name)
    with fit.stage(f"features of {name}"):
        rows, cuts = space.counted_rows(queries, fired)
    fit.cuts += cuts
    return rows


def _fired(work: Path, space: FeatureSpace, queries: Queries, name: str) -> SparseRows:
    assert space.topologies is not None
    offsets, columns = work / f"{name}.offsets.npy", work / f"{name}.columns.npy"
    if offsets.exists():
        return space.weighed(BinaryRows(np.load(offsets), np.load(columns)))
    found = apply_topologies(space.process, queries, space.topologies)
    write_whole(columns, found.columns)
    write_whole(offsets, found.offsets)  # last: it says that both are there
    return space.weighed(found)


def _examples(rows: SparseRows, facts: Facts, known: tuple[Facts, ...]) -> Examples:
    return Examples(rows, facts.predicates, known_predicates(facts, known))


def _report(report: FitReport, space: FeatureSpace, mined: Mined, cuts: int) -> dict[str, Any]:
    found = asdict(report)
    found["tried"] = [asdict(epoch) for epoch in report.tried]
    tried = sum(mined.tried.values())
    connected = sum(mined.connected.values())
    return found | {
        "features": dict(space.sizes()),
        "mining_success": connected / tried if tried else None,
        "profiles_cut_short": cuts,
    }
