"""The stages of a fit: index, topologies where they are asked for, features, weights, re-ranker.

Each stage leaves its result in a work folder beside the model, so that a fit that was stopped goes
on where it was; the model folder appears at the end, whole.
"""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.agent.environment import DecisionProcess
from apptek.arrays import Floats, give_memory_back
from apptek.config import Config, View
from apptek.data.facts import SPLITS, Dataset, Facts
from apptek.data.protocols import Protocol, apply_protocol
from apptek.data.queries import Queries, draw_evenly, held_out_queries, training_queries
from apptek.errors import ConfigError, DataError
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.ranking import filtered_mrr
from apptek.features.clock import Clock
from apptek.features.space import FeatureSpace
from apptek.features.sparse import SparseRows
from apptek.features.support import Support, count_support
from apptek.features.topologies.application import BinaryRows, apply_topologies
from apptek.features.topologies.mining import Mined
from apptek.features.topologies.topology import topology_set
from apptek.features.traits import Kind, types_from_names, types_from_table
from apptek.files import write_whole
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.fitting.examples import (
    Examples,
    FeatureMaker,
    StoredExamples,
    cuts_of,
    join_examples,
    split_into_shards,
)
from apptek.models.fitting.linear_fit import FitReport, calibrate, fit_linear_softmax
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.model import FeatureSources, FittedView, Model
from apptek.models.model_folder import AGENT
from apptek.models.reranking.candidates import Weighed
from apptek.models.reranking.fitting import RerankerTask, fit_reranker
from apptek.models.reranking.reranker import require_lightgbm
from apptek.resuming import open_work, read_sealed, seal
from apptek.seeding import generator

Stage = Callable[[str], None]  # is told the name of each stage as it begins
Rows = npt.NDArray[np.intp]
TUNING_SHARE = 0.1  # of the training queries, where valid cannot serve
TypeTable = Mapping[str, Mapping[str, str]]  # kind of type -> entity -> type


def print_nothing(_: str) -> None:
    """The `on_stage` of those who do not want to hear of stages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """How a model is fitted, whatever the data.

    types      the user's own types of entities; a kind that names would give is replaced
    final      whether the model answers from all facts, those of valid and test included; it is
               evaluated on its training facts all the same
    resume     whether to go on from what a stopped fit has left in the work folder
    observers  are called with the agent's trainer after every step
    engine     makes the features, in place of this process
    """

    config: Config
    preset: str
    protocol: Protocol = "official"
    seed: int = 0
    types: TypeTable = field(default_factory=dict)
    final: bool = False
    resume: bool = False
    on_stage: Stage = print_nothing
    observers: Sequence[Any] = ()
    engine: FeatureMaker | None = None


@dataclass(slots=True)
class Fit:
    """One fit on its way: the data under the protocol, the work folder, and the time it took."""

    dataset: Dataset
    options: FitOptions
    work: Path
    seconds: dict[str, float] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)  # parts of each stage

    @property
    def config(self) -> Config:
        """Every setting."""
        return self.options.config

    @contextmanager
    def stage(self, name: str, part: int = 0, parts: int = 1) -> Iterator[None]:
        """Announces a stage, or one part of it with the time left, and notes how long it took."""
        told = name
        if parts > 1:
            told = f"{name}, part {part + 1} of {parts}"
        if name in self.seconds and parts > 1:
            left = self.seconds[name] / self.done[name] * (parts - part)
            told += f", about {max(1, round(left / 60))} min left"
        self.options.on_stage(told)
        start = time.monotonic()
        yield
        give_memory_back()
        self.done[name] += 1
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - start


def fit_model(data: Dataset, options: FitOptions, work: Path) -> tuple[Model, dict[str, float]]:
    """A fitted model and the seconds of each stage, whose results are kept in `work`.

    It tunes and stops on what the protocol calls valid. Without valid facts it runs the preset's
    epochs, and its probabilities are not calibrated.
    """
    if options.config.reranker.rounds:
        require_lightgbm()
        if len(data.predicates) < 2:
            raise DataError("there is nothing to re-rank: the data has a single predicate")
    dataset = apply_protocol(data.labelled(), options.protocol)
    if not np.any(dataset.train.subjects != dataset.train.objects):
        raise DataError("there is no query to fit on: subject and object are always the same")
    identity = {
        "data": {split: dataset.split(split).digest() for split in SPLITS},
        "preset": options.preset,
        "protocol": options.protocol,
        "seed": options.seed,
        "settings": asdict(options.config),
        "types": options.types,
        "final": options.final,
    }
    open_work(work, identity, resume=options.resume)
    fit = Fit(dataset, options, work)
    return _fit(fit), fit.seconds


def _fit(fit: Fit) -> Model:
    sources, mined = _find_sources(fit)
    # One view after the other, so that the features of only one are in memory.
    views = {view: _fit_view(fit, sources, mined, view) for view in fit.config.views}
    if fit.options.final:
        with fit.stage("index all facts"):
            sources = replace(sources, graph=TemporalGraph.of_all(fit.dataset))
    agent = fit.work / "agent" / AGENT
    return Model(
        preset=fit.options.preset,
        protocol=fit.options.protocol,
        seed=fit.options.seed,
        sources=sources,
        mined=mined,
        views=views,
        agent=agent.read_bytes() if agent.exists() else None,
    )


def _fit_view(fit: Fit, sources: FeatureSources, mined: Mined, view: View) -> FittedView:
    """The weights of one view; its own early stop, calibration and re-ranker."""
    kinds = _kinds(fit, view)
    space, train = sources.space(view, kinds), fit.dataset.train
    rows, tuning_rows = _tuning_rows(fit, view)
    examples, rows = _training_examples(fit, space, rows, view)
    cuts = sum(cuts_of(examples))
    tuning_facts, tuning_queries = _tuning_queries(fit, tuning_rows)
    tuning = _tuning_examples(fit, space, tuning_facts, tuning_queries, view)
    cuts += 0 if tuning is None else tuning.cuts
    with fit.stage(f"fit the classifier, {view}"):
        classifier, report = fit_linear_softmax(
            examples,
            tuning,
            class_count=len(fit.dataset.predicates),
            config=fit.config.classifier,
            rng=generator(fit.options.seed, "classifier"),
            copies=space.copies(),
        )
    reranker = None
    if fit.config.reranker.rounds:
        task = RerankerTask(
            space=space,
            examples=join_examples(examples),
            facts=train.take(rows),
            queries=training_queries(train, rows),
            train=train,
            class_count=len(fit.dataset.predicates),
            linear=fit.config.classifier,
            l2=report.l2,
        )
        with fit.stage(f"fit the re-ranker, {view}"):
            reranker = fit_reranker(task, fit.config.reranker, seed=fit.options.seed)
            if tuning is not None:
                linear = classifier.scores(tuning.rows)
                weighed = Weighed(tuning_queries, tuning.rows, classifier.weights, linear)
                scores = reranker.scores(space, weighed)
                classifier, report = _calibrated(classifier, report, scores, tuning)
    support = _support(fit, space, examples, train.take(rows))
    shutil.rmtree(_shelf(fit, view), ignore_errors=True)
    return FittedView(
        classifier=classifier,
        kinds=kinds,
        report=_report(report, space, mined, cuts),
        reranker=reranker,
        support=support,
    )


def _training_examples(
    fit: Fit, space: FeatureSpace, rows: Rows, view: View
) -> tuple[Sequence[Examples], Rows]:
    """The examples to fit on, and the training facts that they are of, one shard after the other.

    A fit of many queries looks at one shard at a time: which queries share one is drawn.
    """
    train, seed = fit.dataset.train, fit.options.seed
    rows = draw_evenly(train, rows, fit.config.fit.queries, generator(seed, "queries"))
    parts = split_into_shards(rows, generator(seed, "shards"))
    rows = np.concatenate(parts)
    # A loss that knew facts of valid or test would leak them.
    others = known_predicates(train.take(rows), (train,))
    starts = np.cumsum([0, *map(len, parts)]).tolist()

    def make(number: int) -> Examples:
        part, place = parts[number], (number, len(parts))
        queries = training_queries(train, part)
        features, cuts = _features(fit, space, queries, f"train, {view}", place)
        known = others.part(starts[number], starts[number + 1])
        return Examples(features, train.predicates[part], known, cuts)

    if len(parts) == 1:
        return [make(0)], rows
    shelf = StoredExamples(_shelf(fit, view), [len(part) for part in parts], make)
    if fit.options.engine is not None:
        missing = [number for number in range(len(parts)) if not shelf.is_made(number)]
        batches = {
            _batch(f"train, {view}", number): training_queries(train, parts[number])
            for number in missing
        }
        with fit.stage(f"features of train, {view}, by the engine"):
            fit.options.engine.make(space, batches)
    return shelf, rows


def _batch(name: str, number: int) -> str:
    return f"{name}, {number}"


def _shelf(fit: Fit, view: View) -> Path:
    return fit.work / f"examples, {view}"


def _tuning_queries(fit: Fit, rows: Rows | None) -> tuple[Facts, Queries]:
    """The facts to tune on, and the queries for them: some training facts, or valid."""
    data, most = fit.dataset, fit.config.fit.tuning_queries
    rng = generator(fit.options.seed, "tuning queries")
    if rows is None:
        rows = draw_evenly(data.valid, np.arange(len(data.valid)), most, rng)
        facts = data.valid.take(rows)
        return facts, held_out_queries(facts)
    rows = draw_evenly(data.train, rows, most, rng)
    return data.train.take(rows), training_queries(data.train, rows)


def _tuning_examples(
    fit: Fit, space: FeatureSpace, facts: Facts, queries: Queries, view: View
) -> Examples | None:
    """The examples to tune on; None where there are none."""
    if not len(facts):
        return None
    data = fit.dataset
    features, cuts = _features(fit, space, queries, f"valid, {view}")
    known = known_predicates(facts, (data.train, data.valid, data.test))
    return Examples(features, facts.predicates, known, cuts)


def _support(fit: Fit, space: FeatureSpace, examples: Sequence[Examples], facts: Facts) -> Support:
    with fit.stage("count the support of reasons"):
        pairs = facts.subjects.astype(np.int64) * len(fit.dataset.entities) + facts.objects
        return count_support(space, examples, pairs)


def _tuning_rows(fit: Fit, view: View) -> tuple[Rows, Rows | None]:
    """The training facts to fit on, and those to tune on; None: valid is what it is tuned on.

    Subject and object of a usable query differ: else the sides meet at once, whatever holds. Where
    valid lies beyond train, its queries have no facts after them, which the view within must
    expect: it is tuned on a tenth of the training queries instead.
    """
    train = fit.dataset.train
    usable = np.flatnonzero(train.subjects != train.objects)
    has_other_view = len(fit.config.views) > 1  # which then answers what lies beyond train
    if view == "ahead" or not has_other_view or not fit.dataset.lies_beyond_train("valid"):
        return usable, None
    drawn = generator(fit.options.seed, "tuning").random(len(usable)) < TUNING_SHARE
    if drawn.all() or not drawn.any():  # too few facts to spare any
        return usable, None
    return usable[~drawn], usable[drawn]


def _find_sources(fit: Fit) -> tuple[FeatureSources, Mined]:
    """The graph with its time scales and types, and the topologies where they are asked for."""
    config, train = fit.config, fit.dataset.train
    with fit.stage("index"):
        graph = TemporalGraph.of(fit.dataset)
        clock = Clock.of(graph)
    mined, topologies = Mined((), {}, {}), topology_set([])
    if "topologies" in config.features.parts:
        from apptek.models.fitting.discovery import (  # the only part that needs torch
            Discovery,
            discover,
        )

        visible = graph.ahead() if config.features.past_only else graph
        mined = discover(
            Discovery(
                process=DecisionProcess(visible, config.agent),
                queries=training_queries(train),
                predicates=train.predicates,
                config=config.mining,
                seed=fit.options.seed,
                folder=fit.work / "agent",
                stage=fit.stage,
                observers=fit.options.observers,
            )
        )
        topologies = topology_set(mined.sequences())
    sources = FeatureSources(
        config=config,
        dataset=fit.dataset,
        graph=graph,
        clock=clock,
        topologies=topologies,
    )
    return sources, mined


def _calibrated(
    classifier: LinearSoftmax, report: FitReport, scores: Floats, tuning: Examples
) -> tuple[LinearSoftmax, FitReport]:
    """The classifier calibrated for the scores that the re-ranker gives, and how good these are."""
    calibration, _, after = calibrate(scores, tuning.labels, tuning.others, balanced=True)
    report = replace(
        report,
        valid_mrr=filtered_mrr(scores, tuning.labels, tuning.others),
        **asdict(calibration),
        ece_after=after,
    )
    return replace(classifier, calibration=calibration), report


def _kinds(fit: Fit, view: View) -> tuple[Kind, ...]:
    """The types of entities: the user's own, and those read from names.

    Ahead, none is taken from neighbours: they may become such only after the query's time.
    """
    config, data = fit.config, fit.dataset
    if "traits" not in config.features.parts or not config.traits.types:
        if fit.options.types:
            raise ConfigError("a table of types needs traits in features.parts, and traits.types")
        return ()
    given = types_from_table(fit.options.types, data.entities, data.train)
    for kind in given:
        if not np.any(kind.of_entity >= 0):
            raise DataError(f"no entity of the data has a {kind.name!r} in the table of types")
    read = types_from_names(data.entities, data.train, from_neighbours=view == "within")
    return (*given, *(kind for kind in read if kind.name not in fit.options.types))


def _features(
    fit: Fit, space: FeatureSpace, queries: Queries, name: str, place: tuple[int, int] = (0, 1)
) -> tuple[SparseRows, int]:
    """The features of some queries and the cuts, topologies from the work folder if there."""
    fired = None
    if space.topologies is not None:
        with fit.stage("apply topologies", *place):
            file = name if place[1] == 1 else f"{name}, {place[0]}"
            fired = _fired(fit.work, space, queries, file)
    with fit.stage(f"features of {name}", *place):
        if fit.options.engine is None:
            return space.counted_rows(queries, fired)
        batch = _batch(name, place[0])
        fit.options.engine.make(space, {batch: queries})
        return fit.options.engine.take(batch)


def _fired(work: Path, space: FeatureSpace, queries: Queries, name: str) -> SparseRows:
    assert space.topologies is not None
    offsets, columns = work / f"{name}.offsets.npy", work / f"{name}.columns.npy"
    record = work / f"{name}.json"  # is written last: it says that both are there
    if record.exists():
        read_sealed(record, f"remove {work} to start again")
        return space.weighed(BinaryRows(np.load(offsets), np.load(columns)))
    fired = apply_topologies(space.process, queries, space.topologies)
    write_whole(columns, fired.columns)
    write_whole(offsets, fired.offsets)
    seal(record, {"features": name}, (offsets, columns))
    return space.weighed(fired)


def _report(report: FitReport, space: FeatureSpace, mined: Mined, cuts: int) -> dict[str, Any]:
    tried = sum(mined.tried.values())
    connected = sum(mined.connected.values())
    return asdict(report) | {
        "tried": [asdict(epoch) for epoch in report.tried],
        "features": dict(space.sizes()),
        "mining_success": connected / tried if tried else None,
        "profiles_cut_short": cuts,
    }
