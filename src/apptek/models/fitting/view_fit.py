"""Fitting one view: its weights, re-ranker, calibration and prediction sets."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from apptek.arrays import Floats
from apptek.config import View
from apptek.errors import ConfigError, DataError
from apptek.evaluation.prediction_sets import PredictionSets, Strata
from apptek.evaluation.ranking import calibrate, filtered_mrr
from apptek.facts.queries import training_queries
from apptek.features.space import make_space
from apptek.features.support import count_support
from apptek.features.traits import Kind, types_from_names, types_from_table
from apptek.models.answerer import WorkingView
from apptek.models.counting import FREQUENCY, Counted
from apptek.models.fitting.descent import MOST_DENSE, descend
from apptek.models.fitting.examples import StoredExamples, ViewExamples, examples_of, join_examples
from apptek.models.fitting.linear_fit import FitReport, beside, calibrated, fit_linear_softmax
from apptek.models.fitting.stages import Fit
from apptek.models.fitting.view_counts import choose_view_counts, has_signal, measure_quality
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.model import FittedView, Model
from apptek.models.reranking.candidates import Weighed
from apptek.models.reranking.fitting import RerankerTask, fit_reranker
from apptek.models.reranking.reranker import Reranker
from apptek.seeding import generator


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The choices made on the tuning queries, and the scores of these queries.

    shares  log P of each predicate from counting alone
    """

    classifier: LinearSoftmax
    report: FitReport
    counted: Counted | None
    reranker: Reranker | None = None
    scores: Floats | None = None  # (n, R), or None without tuning queries
    shares: Floats | None = None  # (n, R)


def fit_view(fit: Fit, model: Model, view: View) -> FittedView:
    """Fit one view, with its own early stopping, calibration and re-ranker."""
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
    with fit.stage("count the support of reasons"):
        pairs = facts.subjects.astype(np.int64) * len(fit.dataset.entities) + facts.objects
        support = count_support(space, made.train, pairs)
    if isinstance(made.train, StoredExamples):  # only this view uses them
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
    """Fit the linear softmax together with counting.

    If nothing is reliably better than the most frequent predicate, use only that predicate's
    frequency.
    """
    counted, shares = choose_view_counts(fit, made)
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
        if may_count and counted is not None and not has_signal(made, counted, scores):
            counted = replace(counted, kernel=FREQUENCY)
            scores = counted.log_shares(made.seen.graph, made.queries)
            nothing = descend(made.train, len(classifier.bias), fit.config.classifier, 0.0, [])
            report = replace(report, epoch=0, counting=1.0)
            classifier, report = calibrated(nothing, report, made.tuning, scores)
    if counted is not None:
        counted = replace(counted, weight=report.counting) if report.counting else None
    return _Chosen(classifier, report, counted, scores=scores, shares=shares)


def _with_trees(fit: Fit, made: ViewExamples, chosen: _Chosen) -> _Chosen:
    """Return the choices with a re-ranker if it raises the MRR on the tuning queries."""
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
    """Return prediction sets fitted to the tuning queries, or None without tuning queries."""
    if made.tuning is None or chosen.scores is None:
        return None
    strata = Strata(fit.dataset.train, len(fit.dataset.entities)).of(made.queries)
    probabilities = chosen.classifier.calibration.probabilities(chosen.scores)
    return PredictionSets.of(probabilities, made.tuning.labels, strata)


def _later_sets(fit: Fit, made: ViewExamples, chosen: _Chosen) -> PredictionSets | None:
    """Return prediction sets fitted to tuning queries that see only the training facts.

    Return None if the tuning queries see no other facts anyway.
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
    with fit.stage("prediction sets for later times"):
        scores = WorkingView("past_only", made.space, fitted).scores(made.queries)
    return _prediction_sets(fit, made, replace(chosen, scores=scores))


def _fit_reranker(fit: Fit, made: ViewExamples, chosen: _Chosen) -> Reranker | None:
    """Fit the trees over the training facts' candidates. Return None if there are too few facts."""
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
    """Compare the tuning queries' scores with counting, or return None without such queries."""
    tuning, scores = made.tuning, chosen.scores
    if tuning is None or scores is None:
        return None
    rng = generator(fit.options.seed, "bootstrap")
    with fit.stage("compare with counting"):
        quality = measure_quality(made.space.graph, tuning, scores, chosen.shares, rng=rng)
    return quality | {"newest": made.is_newest}


def _kinds(fit: Fit, view: View) -> tuple[Kind, ...]:
    """Return the entity types: the user's own types, and types read from names.

    For past_only, no type is inferred from neighbours, because they may only become neighbours
    after the query's time.
    """
    config, data = fit.config, fit.dataset
    if "traits" not in config.features.parts or not config.traits.types:
        if fit.options.types:
            raise ConfigError("a table of types needs traits in features.parts, and traits.types")
        return ()
    given = types_from_table(fit.options.types, data.entities, data.train)
    for kind in given:
        if not np.any(kind.of_entity >= 0):
            raise DataError(f"no entity in the data has a {kind.name!r} in the table of types")
    read = types_from_names(data.entities, data.train, from_neighbours=view == "all_facts")
    return (*given, *(kind for kind in read if kind.name not in fit.options.types))


def _report(
    model: Model, made: ViewExamples, classifier: LinearSoftmax, report: FitReport
) -> dict[str, Any]:
    """Return what model.json records about a view."""
    about = asdict(report) | asdict(classifier.calibration)
    about |= {"features": made.space.sizes(), "tuning_queries": len(made.queries)}
    for part in model.added:
        about |= part.report()
    return about
