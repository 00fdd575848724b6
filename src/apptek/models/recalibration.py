"""Recalibration: after updates, probabilities are calibrated on the newest facts.

A model's weights are kept while the data changes. The past_only view is therefore calibrated again
on the newest facts that it was not fitted on. Each is predicted from the facts before its time.
`update` does this. A rolling evaluation does it as if the model were updated every few days.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from apptek.arrays import Floats, Ints, Longs, Matrix
from apptek.evaluation.calibration import Calibration, expected_calibration_error, top_predictions
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.prediction_sets import USUAL_COVERAGE, PredictionSets, Strata
from apptek.evaluation.ranking import calibrate
from apptek.facts.facts import Dataset, Split, join_facts
from apptek.facts.queries import Queries, held_out_queries
from apptek.facts.times import UNKNOWN
from apptek.models.answerer import WorkingView
from apptek.models.model import FittedView, Model
from apptek.ragged import Ragged

LEAST_FACTS, MOST_FACTS = 1_000, 2_000  # number of newest facts for fitting a calibration
LEAST_STEP, MOST_STEPS = 100, 50  # facts between two calibrations of an evaluation; max. steps
MOST_ERROR = 0.05  # calibration error on the newest facts above which a new fit is due


@dataclass(frozen=True, slots=True)
class _Asked:
    """Predicted facts with their scores, true predicates, and other correct answers."""

    scores: Floats  # (n, R)
    truths: Ints
    known: Ragged
    strata: Ints

    def calibrated(self, fitted: FittedView) -> FittedView:
        """Return the view with calibration and prediction sets fitted to these facts."""
        balanced = fitted.reranker is not None
        calibration, *_ = calibrate(self.scores, self.truths, self.known, balanced=balanced)
        shares = calibration.probabilities(self.scores)
        sets = PredictionSets.of(shares, self.truths, self.strata, instead=fitted.sets)
        classifier = replace(fitted.classifier, calibration=calibration)
        return replace(fitted, classifier=classifier, sets=sets)

    def error(self, calibration: Calibration) -> float:
        """Return a calibration's error on these facts."""
        best, confidences = top_predictions(calibration.probabilities(self.scores))
        correct = (best == self.truths) | self.known.contains(best)
        return expected_calibration_error(confidences, correct)


def recalibrated(model: Model) -> Model:
    """Return the model with past_only calibrated on the newest facts added since the fit.

    With fewer than LEAST_FACTS such facts, the fitted calibration is kept.
    """
    newest, fitted = _added_facts(model), model.views.get("past_only")
    if fitted is None or len(newest) < LEAST_FACTS:
        return model
    calibrated = _ask(model, newest).calibrated(fitted)
    return replace(model, views={**model.views, "past_only": calibrated})


def recent_calibration(model: Model) -> dict[str, Any] | None:
    """Return the error of the fitted calibration on the newest facts added since the fit.

    Return None if there are too few.
    """
    newest, fitted = _added_facts(model), model.views.get("past_only")
    if fitted is None or len(newest) < LEAST_FACTS:
        return None
    names = ("temperature", "tilt", "bend", "twist")
    of_fit = Calibration(**{name: fitted.report[name] for name in names})
    error = _ask(model, newest).error(of_fit)
    return {
        "facts": len(newest),
        "since": model.dataset.axis.format(int(model.graph.facts.times[newest[0]])),
        "ece": error,
        "refit_due": error > MOST_ERROR,
    }


def _added_facts(model: Model) -> Longs:
    """Return the rows of the newest facts added since the fit, sorted by time."""
    if model.baseline or not model.updates:
        return np.zeros(0, np.int64)
    data, facts = model.dataset, model.graph.facts
    learned = data.all_facts() if data.was_split else data.train
    positions = data.axis.positions(facts.times)
    last = data.axis.positions(learned.take(learned.dated).times).max(initial=UNKNOWN)
    added = np.flatnonzero(facts.dated & (positions > last))
    return added[np.argsort(positions[added], kind="stable")][-MOST_FACTS:]


def _ask(model: Model, rows: Longs) -> _Asked:
    """Predict facts in the graph, each hidden from its own query."""
    data, facts = model.dataset, model.graph.facts.take(rows)
    queries = Queries(facts.subjects, facts.objects, facts.times, rows.astype(np.int32))
    scores = WorkingView.of(model, "past_only").scores(queries)
    known = known_predicates(facts, (model.graph.facts,))
    strata = Strata(data.train, len(data.entities)).of(held_out_queries(facts))
    return _Asked(scores, facts.predicates, known, strata)


@dataclass(frozen=True, slots=True)
class RollingView:
    """A view that sees every earlier fact and is recalibrated as time passes.

    starts  the positions from which each calibration after the first applies
    fitted  the view with each calibration, starting with the one from the fit
    """

    view: WorkingView
    starts: Longs
    fitted: tuple[FittedView, ...]

    @classmethod
    def of(cls, view: WorkingView, data: Dataset, split: Split) -> "RollingView":
        """Return the view with a new calibration for every few days of a split."""
        facts = join_facts(data.valid, data.split(split)) if split != "valid" else data.valid
        positions = data.axis.positions(facts.times)
        learned = data.axis.positions(data.train.times).max(initial=UNKNOWN)
        order = np.argsort(positions, kind="stable")
        order = order[positions[order] > learned]
        facts, positions = facts.take(order), positions[order]
        queries = held_out_queries(facts)
        known = known_predicates(facts, (data.train, data.valid, data.test))
        strata = Strata(data.train, len(data.entities)).of(queries)
        starts = np.unique(positions[LEAST_FACTS :: max(LEAST_STEP, len(facts) // MOST_STEPS)])
        fitted, scores, done = [view.fitted], np.zeros((0, len(data.predicates)), np.float32), 0
        for end in np.searchsorted(positions, starts).tolist():  # facts before each start
            new = slice(max(done, end - MOST_FACTS), end)
            scores = np.concatenate([scores, view.scores(queries.take(new))])[-MOST_FACTS:]
            used = slice(end - len(scores), end)
            asked = _Asked(
                scores, facts.predicates[used], known.part(used.start, end), strata[used]
            )
            fitted.append(asked.calibrated(fitted[-1]) if end >= LEAST_FACTS else fitted[-1])
            done = end
        return cls(view, starts, tuple(fitted))

    def scores(self, queries: Queries) -> Floats:
        """Return the scores divided by the temperatures that apply at each query's time: (B, R).

        Their softmax gives the calibrated probabilities. The ranks are the same as the view's.
        """
        scores = self.view.scores(queries)
        for fitted, rows in self._by_time(queries.times):
            temperatures = fitted.classifier.calibration.temperatures(scores[rows])
            scores[rows] /= temperatures[:, None].astype(scores.dtype)
        return scores

    def set_sizes(self, probabilities: Matrix, strata: Ints, times: Ints) -> Longs:
        """Return the sizes of the prediction sets for the usual coverage, or 0 without sets."""
        sizes = np.zeros(len(times), np.int64)
        for fitted, rows in self._by_time(times):
            if fitted.sets is not None:
                part = probabilities[rows], strata[rows]
                sizes[rows] = fitted.sets.sizes(*part, USUAL_COVERAGE)
        return sizes

    def _by_time(self, times: Ints) -> list[tuple[FittedView, Longs]]:
        positions = self.view.space.graph.axis.positions(times)
        places = np.searchsorted(self.starts, positions, side="right")
        return [(self.fitted[p], np.flatnonzero(places == p)) for p in np.unique(places).tolist()]
