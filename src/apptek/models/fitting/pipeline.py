"""The stages of a fit: index, parts that families add, features, weights, re-ranker.

What takes long to find - the agent, its topologies, the features of large data - is left in a work
folder beside the model, so that a fit that was stopped need not find it again; the model folder
appears at the end, whole.
"""

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from apptek.arrays import Floats
from apptek.config import View
from apptek.errors import ConfigError, DataError
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.prediction_sets import PredictionSets, Strata
from apptek.evaluation.ranking import (
    MOST_CALIBRATED,
    TuningQueries,
    calibrate,
    filtered_mrr,
)
from apptek.extras import require_trees
from apptek.facts.facts import SPLITS, Dataset, join_facts
from apptek.facts.protocols import apply_protocol
from apptek.facts.queries import training_queries
from apptek.facts.times import UNKNOWN
from apptek.features.clock import Clock
from apptek.features.space import AddedPart, FamilyFit, Found, find_family, make_space
from apptek.features.support import count_support
from apptek.features.traits import Kind, types_from_names, types_from_table
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answerer import WorkingView
from apptek.models.counting import (
    FREQUENCY,
    MOST_FACTS,
    MOST_SHARES,
    MOST_TRIED,
    VARIANTS,
    Asked,
    Counted,
    choose_counts,
    counted_ranks,
    is_surely_better,
)
from apptek.models.counting_kernels import dating_of
from apptek.models.fitting.examples import (
    Examples,
    StoredExamples,
    ViewExamples,
    examples_of,
    join_examples,
    with_more,
)
from apptek.models.fitting.linear_fit import (
    MOST_DENSE,
    FitReport,
    beside,
    calibrated,
    descend,
    fit_linear_softmax,
    shuffled_pass,
)
from apptek.models.fitting.stages import Fit, FitOptions
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.model import FittedView, Model
from apptek.models.quality import measure_quality
from apptek.models.registry import find_baseline, views_of
from apptek.models.reranking.candidates import Weighed
from apptek.models.reranking.fitting import RerankerTask, fit_reranker
from apptek.models.reranking.reranker import Reranker
from apptek.models.scorers import FitTask
from apptek.resuming import open_work
from apptek.seeding import generator


def fit_model(data: Dataset, options: FitOptions, work: Path) -> tuple[Model, dict[str, Any]]:
    """Return a fitted model and the seconds of each stage, whose results are kept in `work`.

    It tunes and stops on what the protocol calls valid. Without valid facts it runs the preset's
    epochs, and its probabilities are not calibrated. A baseline needs valid facts.
    """
    dataset = apply_protocol(data.labelled(), options.protocol)
    (_check_baseline if options.baseline else _check_model)(dataset, options)
    identity = {
        "data": {split: dataset.split(split).digest() for split in SPLITS},
        "preset": options.preset,
        "protocol": options.protocol,
        "seed": options.seed,
        "settings": asdict(options.config),
    }
    if options.baseline:
        identity |= {"baseline": options.baseline}
    else:
        identity |= {"types": options.types, "final": options.final}
    open_work(work, identity, resume=options.resume)
    fit = Fit(dataset, options, work)
    return (_fit_baseline(fit) if options.baseline else _fit(fit)), fit.seconds


def _check_model(data: Dataset, options: FitOptions) -> None:
    """Raise an error for data and settings that cannot be fitted."""
    if options.config.reranker.rounds:
        require_trees("the re-ranker needs")
        if len(data.predicates) < 2:
            raise DataError("there is nothing to re-rank: the data has a single predicate")
    if not options.config.agent.hide_query:
        raise ConfigError(
            "agent.hide_query=false is for `paper train` alone: features would see their answers"
        )
    if not np.any(data.train.subjects != data.train.objects):
        raise DataError("there is no query to fit on: subject and object are always the same")


def _check_baseline(data: Dataset, options: FitOptions) -> None:
    if not len(data.valid):
        raise DataError(
            f"{options.baseline} chooses its settings on valid, but there are no valid facts"
        )


def _new_model(fit: Fit, graph: TemporalGraph, **more: Any) -> Model:
    """Return a model whose views are still to be fitted."""
    options = fit.options
    return Model(
        preset=options.preset,
        protocol=options.protocol,
        seed=options.seed,
        config=options.config,
        dataset=fit.dataset,
        graph=graph,
        clock=Clock.of(graph),
        views={},
        **more,
    )


def _fit_baseline(fit: Fit) -> Model:
    """Fit the registered scorer of each view, and calibrate it on valid."""
    started, name, views = time.monotonic(), fit.options.baseline, dict[View, FittedView]()
    model = _new_model(
        fit, TemporalGraph.of(fit.dataset), baseline=name, no_forecasts=f"it is the baseline {name}"
    )
    width, tuning = len(fit.dataset.predicates), TuningQueries.of(fit.dataset, MOST_CALIBRATED)
    for view in fitted_views(name, fit.dataset):
        task = FitTask(
            dataset=fit.dataset,
            graph=model.graph.seen_in(view),
            config=fit.config,
            seed=fit.options.seed,
            work=fit.work,
            progress=fit.options.progress,
        )
        scorer, report = find_baseline(name).fit(task)
        no_weights = np.zeros((0, width), np.float32), np.zeros(width, np.float32)
        calibration = tuning.calibration(scorer.scores(tuning.queries))
        classifier = LinearSoftmax(*no_weights, calibration)
        views[view] = FittedView(classifier=classifier, kinds=(), report=report, scorer=scorer)
    # The clock of a resumed run does not count the time before it was stopped.
    fit.seconds["fit"] = None if fit.options.resume else time.monotonic() - started
    return replace(model, views=views)


def fitted_views(name: str, dataset: Dataset) -> tuple[View, ...]:
    """Return the views to fit. If valid lies beyond train, nothing can be chosen for all_facts."""
    views = views_of(name)
    return ("past_only",) if len(views) > 1 and dataset.lies_beyond_train("valid") else views


def _fit(fit: Fit) -> Model:
    """Fit one view after the other, so that the features of only one are in memory."""
    with fit.stage("index"):
        model = _new_model(fit, TemporalGraph.of(fit.dataset))
    model = replace(model, added=_find_added(fit, model.graph))
    model = replace(model, views={view: _fit_view(fit, model, view) for view in fit.config.views})
    if fit.options.final:
        with fit.stage("index all facts"):
            everything = replace(fit.dataset, train=fit.dataset.all_facts())
            model = replace(model, graph=TemporalGraph.of(everything))
    return model


LEAST_JUDGED = 60  # queries that are needed to decide that nothing can be learned


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The choices made on the tuning queries, and the scores of these queries.

    shares  log P of each predicate by counting alone
    """

    classifier: LinearSoftmax
    report: FitReport
    counted: Counted | None
    reranker: Reranker | None = None
    scores: Floats | None = None  # (n, R); None: there are no tuning queries
    shares: Floats | None = None  # (n, R)


def _fit_view(fit: Fit, model: Model, view: View) -> FittedView:
    """Fit the weights of one view: its own early stop, calibration and re-ranker."""
    kinds, graph = _kinds(fit, view), model.graph.seen_in(view)
    space = make_space(graph, fit.dataset, fit.config, model.clock, kinds, model.added)
    if fit.config.reranker.rounds and len(space) * graph.predicate_count > MOST_DENSE:
        raise DataError(
            f"{graph.predicate_count:,} predicates are too many for the trees of `max`: "
            "fit the model default, or merge rare predicates"
        )
    made = examples_of(fit, space, view)
    with fit.stage(f"fit the classifier, {view}"):
        chosen = _fit_weights(fit, made)
    if fit.config.reranker.rounds and chosen.report.epoch:
        with fit.stage(f"fit the re-ranker, {view}"):
            chosen = _with_trees(fit, made, chosen)
    classifier, about = chosen.classifier, _report(model, made, chosen.classifier, chosen.report)
    about |= {"quality": _quality(fit, made, chosen)}
    facts = fit.dataset.train.take(made.rows)
    if made.is_newest and made.tuning is not None and chosen.reranker is None:
        # The newest facts were used to choose; now the weights may learn from them.
        with fit.stage(f"fit the classifier again, {view}"):
            made = _with_newest(fit, made, made.tuning)
            classifier = _refit(fit, made, classifier, chosen.report)
        facts = join_facts(facts, made.facts)
    with fit.stage("count the support of reasons"):
        pairs = facts.subjects.astype(np.int64) * len(fit.dataset.entities) + facts.objects
        support = count_support(space, made.train, pairs)
    if isinstance(made.train, StoredExamples):  # of this view alone
        for stage in made.train.stages:
            fit.cache.path(stage).unlink()
    return FittedView(
        classifier=classifier,
        kinds=kinds,
        report=about,
        reranker=chosen.reranker,
        support=support,
        counted=chosen.counted,
        sets=_prediction_sets(fit, made, chosen),
        later_sets=_later_sets(fit, made, chosen),
    )


def _fit_weights(fit: Fit, made: ViewExamples) -> _Chosen:
    """Fit the linear softmax with counting beside it, or the most frequent predicate alone.

    The latter where nothing is surely better.
    """
    counted, shares = _choose_counts(fit, made)
    classifier, report = fit_linear_softmax(
        made.train,
        made.tuning,
        class_count=len(fit.dataset.predicates),
        config=fit.config.classifier,
        rng=generator(fit.options.seed, "classifier"),
        copies=made.space.copies(),
        counted=shares,
    )
    scores = None
    if made.tuning is not None:
        scores = beside(classifier.scores(made.tuning.rows), shares, report.counting)
        may_count = any(fit.config.classifier.counting) and counted is not None
        if may_count and counted is not None and not _has_signal(made, counted, scores):
            counted = replace(counted, kernel=FREQUENCY)
            scores = counted.log_shares(made.seen.graph, made.queries)
            nothing = descend(made.train, len(classifier.bias), fit.config.classifier, 0.0, [])
            report = replace(report, epoch=0, counting=1.0)
            classifier, report = calibrated(nothing, report, made.tuning, scores)
    if counted is not None:
        counted = replace(counted, weight=report.counting) if report.counting else None
    return _Chosen(classifier, report, counted, scores=scores, shares=shares)


def _with_trees(fit: Fit, made: ViewExamples, chosen: _Chosen) -> _Chosen:
    """Return the choice with a re-ranker, where it raises the MRR of the tuning queries."""
    reranker, tuning = _fit_reranker(fit, made, chosen), made.tuning
    if reranker is None or tuning is None or chosen.scores is None:
        return replace(chosen, reranker=reranker)
    weighed = Weighed(made.queries, tuning.rows, chosen.classifier.weights, chosen.scores)
    scores = reranker.scores(made.seen, weighed)
    mrr = filtered_mrr(scores, tuning.labels, tuning.others)
    # With little data the trees overfit: keep them only if they raise the MRR.
    if mrr <= (chosen.report.valid_mrr or 0.0):
        return chosen
    calibration, _, after = calibrate(scores, tuning.labels, tuning.others, balanced=True)
    classifier = replace(chosen.classifier, calibration=calibration)
    report = replace(chosen.report, valid_mrr=mrr, ece_after=after)
    return replace(chosen, classifier=classifier, report=report, reranker=reranker, scores=scores)


def _prediction_sets(fit: Fit, made: ViewExamples, chosen: _Chosen) -> PredictionSets | None:
    """Return how probable the truths of the tuning queries were; None where there are none."""
    if made.tuning is None or chosen.scores is None:
        return None
    strata = Strata(fit.dataset.train, len(fit.dataset.entities)).of(made.queries)
    probabilities = chosen.classifier.calibration.probabilities(chosen.scores)
    return PredictionSets.of(probabilities, made.tuning.labels, strata)


def _later_sets(fit: Fit, made: ViewExamples, chosen: _Chosen) -> PredictionSets | None:
    """Return the sets of tuning queries that see the training facts alone.

    None where they see no other facts anyway.
    """
    if made.seen is made.space or made.tuning is None or chosen.scores is None:
        return None
    fitted = FittedView(
        classifier=chosen.classifier,
        kinds=(),
        report={},
        reranker=chosen.reranker,
        counted=chosen.counted,
    )
    with fit.stage("prediction sets of later times"):
        scores = WorkingView("past_only", made.space, fitted).scores(made.queries)
    return _prediction_sets(fit, made, replace(chosen, scores=scores))


def _choose_counts(fit: Fit, made: ViewExamples) -> tuple[Counted | None, Floats | None]:
    """Return how facts are counted, and log P of each predicate by it for the tuning queries.

    It is chosen on tuning queries and on training queries that do not see their own fact: nothing
    is fitted in counting, and more queries tell more. None where there are too many facts to count.
    """
    data, tuning = fit.dataset, made.tuning
    if len(data.train) > MOST_FACTS:
        return None, None
    dating = dating_of(data.train, len(data.predicates))
    counted = Counted(1.0, VARIANTS["recency"].start, dating)
    counted = choose_counts(counted, _known_answers(made, newer=True))
    return counted, None if tuning is None else counted.log_shares(made.seen.graph, made.queries)


def _known_answers(made: ViewExamples, *, newer: bool) -> list[Asked]:
    """Return the tuning queries, and where they are few, training queries that hide their own fact.

    newer  whether these are of the newer half of the facts, which have a past; undated facts count
           by turns
    """
    graph, tuning, rows = made.space.graph, made.tuning, made.rows
    answers, most = [], min(MOST_TRIED, -(-MOST_SHARES // graph.predicate_count))
    if tuning is not None:
        asked = TuningQueries(made.queries, tuning.labels, tuning.others)
        answers = [(made.seen.graph, asked.spread(most))]
        if len(tuning) >= most:
            return answers
    positions = graph.axis.positions(graph.facts.times[rows])
    is_dated = positions != UNKNOWN
    middle = np.median(positions[is_dated]) if is_dated.any() else 0
    is_newer = np.where(is_dated, positions >= middle, np.arange(len(rows)) % 2 == 0)
    rows = rows[is_newer == newer]
    facts = graph.facts.take(rows)
    known = known_predicates(facts, (graph.facts,))
    of_train = TuningQueries(training_queries(graph.facts, rows), facts.predicates, known)
    return [*answers, (graph, of_train.spread(most - len(made.queries)))]


def _has_signal(made: ViewExamples, counted: Counted, scores: Floats) -> bool:
    """Return whether anything is surely better than the most frequent predicate.

    Either the scores of the tuning queries are, or counting is, on these and on training queries
    that it was not chosen on. A few queries cannot tell: then it is presumed.
    """
    tuning, frequency = made.tuning, replace(counted, kernel=FREQUENCY)
    assert tuning is not None
    asked = TuningQueries(made.queries, tuning.labels, tuning.others)
    usual = counted_ranks(frequency, [(made.seen.graph, asked)])
    if is_surely_better(asked.ranks(scores), usual):
        return True
    answers = _known_answers(made, newer=False)
    ours, theirs = (counted_ranks(by, answers) for by in (counted, frequency))
    return len(ours) < LEAST_JUDGED or is_surely_better(ours, theirs)


def _with_newest(fit: Fit, made: ViewExamples, tuning: Examples) -> ViewExamples:
    """Return the examples with those for tuning among those to fit on."""
    others = known_predicates(made.facts, (fit.dataset.train,))
    more = Examples(tuning.rows, tuning.labels, others)
    return replace(made, train=with_more(made.train, more))


def _refit(fit: Fit, made: ViewExamples, chosen: LinearSoftmax, report: FitReport) -> LinearSoftmax:
    """Return the classifier fitted on these examples, with the settings and calibration chosen."""
    rng, config = generator(fit.options.seed, "refit"), fit.config.classifier
    passes = [shuffled_pass(made.train, rng) for _ in range(report.epoch)]
    class_count, copies = len(chosen.bias), made.space.copies()
    fitted = descend(made.train, class_count, config, report.l2, passes, copies)
    return replace(fitted, calibration=chosen.calibration)


def _fit_reranker(fit: Fit, made: ViewExamples, chosen: _Chosen) -> Reranker | None:
    """Fit the trees over the candidates of the training facts; None where there are too few."""
    train = fit.dataset.train
    task = RerankerTask(
        space=made.space,
        examples=join_examples(made.train),
        facts=train.take(made.rows),
        queries=training_queries(train, made.rows),
        train=train,
        linear=fit.config.classifier,
        l2=chosen.report.l2,
        counted=chosen.counted,
    )
    return fit_reranker(task, fit.config.reranker, seed=fit.options.seed)


def _quality(fit: Fit, made: ViewExamples, chosen: _Chosen) -> dict[str, Any] | None:
    """Compare the scores of the tuning queries with counting; None where there are none."""
    tuning, scores = made.tuning, chosen.scores
    if tuning is None or scores is None:
        return None
    rng = generator(fit.options.seed, "bootstrap")
    with fit.stage("compare with counting"):
        quality = measure_quality(made.space.graph, tuning, scores, chosen.shares, rng=rng)
    return quality | {"newest": made.is_newest}


def _find_added(fit: Fit, graph: TemporalGraph) -> tuple[AddedPart, ...]:
    """Return the parts that families find in the training facts."""
    config, options = fit.config, fit.options
    visible = graph.past_view() if config.features.past_only else graph
    return tuple(
        find_family(name).fit(
            FamilyFit(
                found=Found(visible, fit.dataset.predicates, config),
                train=fit.dataset.train,
                seed=options.seed,
                folder=fit.work / name,
                stage=fit.stage,
                progress=options.progress,
                agent=options.agent,
            )
        )
        for name in config.features.parts
        if name not in ("history", "traits")
    )


def _kinds(fit: Fit, view: View) -> tuple[Kind, ...]:
    """Return the types of entities: the user's own, and those read from names.

    For past_only, none is taken from neighbours, who may become such only after the query's time.
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
    model: Model, made: ViewExamples, classifier: LinearSoftmax, report: FitReport
) -> dict[str, Any]:
    """Return what model.json says of a view."""
    about = asdict(report) | asdict(classifier.calibration)
    about |= {"features": made.space.sizes(), "tuning_queries": len(made.facts)}
    for part in model.added:
        about |= part.report()
    return about
