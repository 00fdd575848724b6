"""The stages of a fit: index, topologies where they are asked for, features, weights, re-ranker.

What takes long to find - the agent, its topologies, the features of large data - is left in a work
folder beside the model, so that a fit that was stopped need not find it again; the model folder
appears at the end, whole.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from apptek.arrays import Floats
from apptek.config import View
from apptek.errors import ConfigError, DataError
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.ranking import filtered_mrr
from apptek.extras import require_trees
from apptek.facts.facts import SPLITS, Dataset, Facts, join_facts
from apptek.facts.protocols import apply_protocol
from apptek.facts.queries import training_queries
from apptek.features.clock import Clock
from apptek.features.families import FamilyFit, Found, find_family
from apptek.features.space import FeatureSpace
from apptek.features.support import Support, count_support
from apptek.features.traits import Kind, types_from_names, types_from_table
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.fitting.drawn_examples import (
    training_examples,
    tuning_examples,
    tuning_queries,
    tuning_rows,
)
from apptek.models.fitting.examples import (
    Examples,
    Rows,
    StoredExamples,
    cuts_of,
    join_examples,
    with_more,
)
from apptek.models.fitting.linear_fit import (
    FitReport,
    calibrate,
    fit_linear_softmax,
    fits_at_once,
    refit_linear_softmax,
)
from apptek.models.fitting.stages import Fit, FitOptions
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.model import FeatureSources, FittedView, Model
from apptek.models.quality import measure_quality
from apptek.models.reranking.candidates import Weighed
from apptek.models.reranking.fitting import RerankerTask, fit_reranker
from apptek.models.reranking.reranker import Reranker
from apptek.resuming import open_work
from apptek.seeding import generator


def fit_model(data: Dataset, options: FitOptions, work: Path) -> tuple[Model, dict[str, float]]:
    """A fitted model and the seconds of each stage, whose results are kept in `work`.

    It tunes and stops on what the protocol calls valid. Without valid facts it runs the preset's
    epochs, and its probabilities are not calibrated.
    """
    if options.config.reranker.rounds:
        require_trees("the re-ranker needs")
        if len(data.predicates) < 2:
            raise DataError("there is nothing to re-rank: the data has a single predicate")
    dataset = apply_protocol(data.labelled(), options.protocol)
    if not options.config.agent.hide_query:
        raise ConfigError(
            "agent.hide_query=false is for `paper train` alone: features would see their answers"
        )
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
    sources = _find_sources(fit)
    # One view after the other, so that the features of only one are in memory.
    views = {view: _fit_view(fit, sources, view) for view in fit.config.views}
    if fit.options.final:
        with fit.stage("index all facts"):
            sources = replace(sources, graph=TemporalGraph.of_all(fit.dataset))
    return Model(
        preset=fit.options.preset,
        protocol=fit.options.protocol,
        seed=fit.options.seed,
        sources=sources,
        views=views,
    )


def _fit_view(fit: Fit, sources: FeatureSources, view: View) -> FittedView:
    """The weights of one view; its own early stop, calibration and re-ranker."""
    kinds = _kinds(fit, view)
    space, train = sources.space(view, kinds), fit.dataset.train
    # Before the features are made, which takes long where there are many.
    fits_at_once(len(space), len(fit.dataset.predicates), 0)
    rows, spared = tuning_rows(fit, view)
    is_newest = view == "past_only" and spared is not None
    examples, rows = training_examples(fit, space, rows, view)
    cuts = cuts_of(examples)
    facts, asked = tuning_queries(fit, spared)
    tuning = tuning_examples(fit, space, facts, asked, view)
    cuts += 0 if tuning is None else tuning.cuts
    with fit.stage(f"fit the classifier, {view}"):
        classifier, report = fit_linear_softmax(
            examples, tuning, class_count=len(fit.dataset.predicates),
            config=fit.config.classifier, rng=generator(fit.options.seed, "classifier"),
            copies=space.copies(),
        )  # fmt: skip
    scores = None if tuning is None else classifier.scores(tuning.rows)
    reranker = None
    if fit.config.reranker.rounds:
        with fit.stage(f"fit the re-ranker, {view}"):
            reranker = _fit_reranker(fit, space, examples, rows, report.l2)
            if reranker is not None and tuning is not None and scores is not None:
                weighed = Weighed(asked, tuning.rows, classifier.weights, scores)
                reranked = reranker.scores(space, weighed)
                mrr = filtered_mrr(reranked, tuning.labels, tuning.others)
                # With little data the trees overfit: keep them only if they raise the MRR.
                if mrr > filtered_mrr(scores, tuning.labels, tuning.others):
                    classifier, report = _calibrated(classifier, report, reranked, tuning)
                    scores = reranked
                else:
                    reranker = None
    quality = None
    if tuning is not None and scores is not None:
        rng = generator(fit.options.seed, "bootstrap")
        with fit.stage("compare with counting"):
            quality = measure_quality(space.graph, asked, tuning, scores, rng=rng)
        quality["newest"] = is_newest
    learned = train.take(rows)
    if is_newest and tuning is not None and reranker is None:
        # The newest facts have told what to choose; the weights may learn from them now.
        others = known_predicates(facts, (train,))
        examples = with_more(examples, Examples(tuning.rows, tuning.labels, others))
        learned = join_facts(learned, facts)
        with fit.stage(f"fit the classifier again, {view}"):
            rng = generator(fit.options.seed, "refit")
            classifier = refit_linear_softmax(
                examples, classifier, report, config=fit.config.classifier, rng=rng,
                copies=space.copies(),
            )  # fmt: skip
    support = _support(fit, space, examples, learned)
    if isinstance(examples, StoredExamples):  # of this view alone
        for stage in examples.stages:
            fit.cache.path(stage).unlink()
    return FittedView(
        classifier=classifier,
        kinds=kinds,
        report=_report(report, sources, space, cuts)
        | {"tuning_queries": len(facts), "quality": quality},
        reranker=reranker,
        support=support,
    )


def _fit_reranker(
    fit: Fit, space: FeatureSpace, examples: Sequence[Examples], rows: Rows, l2: float
) -> Reranker | None:
    """The trees over the candidates of these training facts; None where there are too few."""
    train = fit.dataset.train
    task = RerankerTask(
        space=space,
        examples=join_examples(examples),
        facts=train.take(rows),
        queries=training_queries(train, rows),
        train=train,
        class_count=len(fit.dataset.predicates),
        linear=fit.config.classifier,
        l2=l2,
    )
    return fit_reranker(task, fit.config.reranker, seed=fit.options.seed)


def _support(fit: Fit, space: FeatureSpace, examples: Sequence[Examples], facts: Facts) -> Support:
    with fit.stage("count the support of reasons"):
        pairs = facts.subjects.astype(np.int64) * len(fit.dataset.entities) + facts.objects
        return count_support(space, examples, pairs)


def _find_sources(fit: Fit) -> FeatureSources:
    """The graph with its time scales, and the parts that families find in the training facts."""
    config, options = fit.config, fit.options
    with fit.stage("index"):
        graph = TemporalGraph.of(fit.dataset)
        clock = Clock.of(graph)
    visible = graph.past_view() if config.features.past_only else graph
    added = tuple(
        find_family(name).fit(
            FamilyFit(
                found=Found(visible, fit.dataset.predicates, config),
                train=fit.dataset.train,
                seed=options.seed,
                folder=fit.work / name,
                stage=fit.stage,
                observers=options.observers,
                agent=options.agent,
            )
        )
        for name in config.features.parts
        if name not in ("history", "traits")
    )
    return FeatureSources(config=config, dataset=fit.dataset, graph=graph, clock=clock, added=added)


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
    read = types_from_names(data.entities, data.train, from_neighbours=view == "all_facts")
    return (*given, *(kind for kind in read if kind.name not in fit.options.types))


def _report(
    report: FitReport, sources: FeatureSources, space: FeatureSpace, cuts: int
) -> dict[str, Any]:
    more = {"tried": [asdict(epoch) for epoch in report.tried], "features": space.sizes()}
    for part in sources.added:
        more |= part.report()
    return asdict(report) | more | {"profiles_cut_short": cuts}
