"""A fitted model as data: the facts behind its features, and the feature weights."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from apptek.arrays import Ints
from apptek.config import Config, View
from apptek.errors import ApptekError, ModelError
from apptek.evaluation.prediction_sets import USUAL_COVERAGE, PredictionSets, SetSizes
from apptek.facts.facts import Dataset, Facts, join_facts
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.features.clock import Clock
from apptek.features.space import AddedPart, FeatureSpace, make_space
from apptek.features.support import Support
from apptek.features.traits import Kind
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.counting import Counted
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.occurrence.model import OccurrenceModel
from apptek.models.registry import model_settings
from apptek.models.reranking.reranker import Reranker
from apptek.models.scorers import Scorer
from apptek.setting_rules import changed_settings

MANY_ADDED = 0.2  # added facts per training fact above which a new fit is advisable
MANY_UNKNOWN = 0.01  # the same for facts with predicates that the model never learned
LATE = 0.25  # relative to the time span of all earlier facts: facts after a longer gap are isolated
OUTLIERS = 3  # maximum number of isolated facts after the last observed time
SUPPORT = 30  # with fewer facts before a gap, no fact counts as isolated


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedView:
    """The fitted parts of a view."""

    classifier: LinearSoftmax
    kinds: tuple[Kind, ...]  # entity types that this view may know
    report: dict[str, Any]  # choices made on the tuning queries, and their metrics
    reranker: Reranker | None = None
    support: Support | None = None  # training counts of evidence and its outcomes
    scorer: Scorer | None = None  # only for baselines, which have no feature weights
    counted: Counted | None = None  # counting added to the scores
    sets: PredictionSets | None = None  # prediction sets
    later_sets: PredictionSets | None = None  # for queries long after the last known fact

    def set_sizes(self, *, later: bool) -> SetSizes | None:
        """Return how set sizes are determined for the usual coverage, or None without sets."""
        sets = self.later_sets or self.sets if later else self.sets
        if sets is None:
            return None
        return lambda shares, strata, _: sets.sizes(shares, strata, USUAL_COVERAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A fitted predictor: its settings, data, weights, and the parts that feature families added.

    dataset  the data under the model's protocol, so the tuning split never doubles as the test set
    graph    the facts that the model answers from, by entity and time
    """

    preset: str  # the preset it started from; see `changed`
    baseline: str = ""  # the baseline's name, if the model is one
    protocol: str
    seed: int
    config: Config
    dataset: Dataset
    graph: TemporalGraph
    clock: Clock
    added: tuple[AddedPart, ...] = ()  # by families, in the order of features.parts
    views: Mapping[View, FittedView]
    updates: tuple[dict[str, Any], ...] = ()  # facts added since the fit, in order
    occurrence: OccurrenceModel | None = None
    no_forecasts: str = ""  # the reason why there is no occurrence model
    observed_until: int | None = None  # the position that a user stated; None: taken from the facts

    @property
    def changed(self) -> dict[str, Any]:
        """The settings, by section.key, that differ from the model's preset."""
        name = f"{self.baseline}:{self.preset}" if self.baseline else self.preset
        return changed_settings(self.config, model_settings(name))

    @property
    def last_observed(self) -> int | None:
        """The last observed position of the model's facts, or None if no fact is dated."""
        if self.observed_until is not None:
            return self.observed_until
        positions = self.positions
        return last_supported(positions, self.dataset.axis.stride) if len(positions) else None

    @property
    def positions(self) -> Ints:
        """The positions of all the model's dated facts, in ascending order."""
        final = self.occurrence is not None and self.occurrence.all_facts
        return positions_of(self.dataset, self.graph.facts, all_facts=final)

    @property
    def isolated_times(self) -> list[str]:
        """The times of facts so long after all others that they do not count as observed.

        Empty if a user stated when the observations end.
        """
        positions = self.positions
        if self.observed_until is not None or not len(positions):
            return []
        return isolated_times(self.dataset.axis, positions)[1]

    @property
    def main_view(self) -> View:
        """The all_facts view if it was fitted, otherwise past_only."""
        return "all_facts" if "all_facts" in self.views else "past_only"

    @property
    def main(self) -> FittedView:
        """The fitted parts of the main view."""
        return self.views[self.main_view]

    @property
    def calibrated(self) -> bool:
        """Whether the probabilities were calibrated, which requires a validation set."""
        reports = [fitted.report for fitted in self.views.values()]
        return bool(self.baseline) or all(r.get("ece_after") is not None for r in reports)

    def require_features(self) -> None:
        """Raise ApptekError for a baseline, which has no features to explain or update."""
        if self.baseline:
            raise ApptekError(
                f"this is the baseline {self.baseline}: it supports only evaluate and predict"
            )

    def fitted(self, view: View) -> FittedView:
        """Return the fitted parts for a view, or for the other view if it was not fitted."""
        return self.views.get(view, self.main)

    def space(self, view: View) -> FeatureSpace:
        """Return a view's feature space. Raise ModelError if the weights do not match it."""
        fitted = self.fitted(view)
        if fitted.scorer is not None:
            return FeatureSpace(self.graph.seen_in(view), ())
        graph, shape = self.graph.seen_in(view), fitted.classifier.weights.shape
        space = make_space(graph, self.dataset, self.config, self.clock, fitted.kinds, self.added)
        if shape != (len(space), len(self.dataset.predicates)):
            raise ModelError(
                f"the model is damaged: weights of shape {shape} for {len(space)} features and "
                f"{len(self.dataset.predicates)} predicates"
            )
        return space


def last_supported(positions: Ints, stride: int = 1) -> int:
    """Return the last of the given ascending positions that is not isolated.

    Up to OUTLIERS last facts are isolated if they follow a gap longer than LATE of the time before.
    The same number of first facts do not count towards that time, because one of them may be
    mistyped too.
    """
    for place in range(max(SUPPORT, len(positions) - OUTLIERS), len(positions)):
        before, last = int(positions[place - 1]), int(positions[place])
        if last - before > max(LATE * (before - int(positions[OUTLIERS])), 2 * stride):
            return before
    return int(positions[-1])


def isolated_times(axis: TimeAxis, positions: Ints) -> tuple[str, list[str]]:
    """Return the last of the given ascending times that is not isolated, and the isolated times."""
    last, points = last_supported(positions, axis.stride), TimeAxis(axis.unit)
    return points.format(last), [points.format(code) for code in positions[positions > last]]


def positions_of(data: Dataset, known: Facts, *, all_facts: bool) -> Ints:
    """Return the positions of all of a model's dated facts, ascending.

    known      the facts that the model answers from
    all_facts  whether `known` includes the validation and test sets
    """
    parts = [known] if all_facts else [known, data.valid, data.test]
    positions = np.concatenate([data.axis.positions(part.times) for part in parts])
    return np.sort(positions[positions != UNKNOWN])


def observed_text(model: Model) -> str | None:
    """Return the last observed time of a model's facts as text, or None if no fact is dated."""
    last = model.last_observed
    return None if last is None else TimeAxis(model.dataset.axis.unit).format(last)


def with_training_facts(model: Model) -> Model:
    """Return the model on the graph of its training facts, without later updates."""
    if model.graph.facts.equals(model.dataset.train):
        return model
    return replace(model, graph=TemporalGraph.of(model.dataset))


def with_earlier_facts(model: Model) -> Model:
    """Return the model on a rolling graph; see `rolling_graph`."""
    data = model.dataset
    if not any(part.dated.any() for part in (data.valid, data.test)):
        raise ApptekError(f"{data.name} has no dated facts after the training set")
    graph = rolling_graph(data, data.valid, data.test)
    if not model.baseline:
        return replace(model, graph=graph)
    fitted = model.views.get("past_only")
    grow = getattr(fitted and fitted.scorer, "with_facts", None)
    if fitted is None or grow is None:
        raise ApptekError(f"{model.baseline} cannot be rolling: it uses no new facts")
    scorer = grow(graph.seen_in("past_only"))
    return replace(model, graph=graph, views={"past_only": replace(fitted, scorer=scorer)})


def rolling_graph(data: Dataset, *later: Facts) -> TemporalGraph:
    """Return the graph in which each query with past_only sees all facts before its time.

    A query therefore sees what a model with daily updates would see. Undated facts from later
    splits are dropped, because they are not before any query.
    """
    dated = [facts.take(facts.dated) for facts in later]
    return TemporalGraph.of(replace(data, train=join_facts(data.train, *dated)))


def summarize(model: Model) -> dict[str, Any]:
    """Return a summary of a model and of the facts that it answers from, as JSON values."""
    data, graph = model.dataset, model.graph
    common = {
        "dataset": data.name,
        "preset": model.preset,
        "changed": model.changed,
        "protocol": model.protocol,
        "seed": model.seed,
        "entities": len(data.entities),
        "predicates": len(data.predicates),
        "labels_from": data.labels.source if data.labels else "none",
        "aliases": len(data.aliases),
        "answers_from": len(graph.facts),
        "training_facts": len(data.train),
        **dict(zip(("first", "last"), data.ends_of(graph.facts) or ("?", "?"), strict=True)),
        "time_unit": data.axis.unit,
        "open_end": graph.open_end,
        "views": {view: fitted.report["valid_mrr"] for view, fitted in model.views.items()},
        "calibrated": model.calibrated,
    }
    if model.baseline:
        return {"baseline": model.baseline, **common}
    added = sum(update["added"] for update in model.updates)
    unknown = sum(sum(update["unknown_predicates"].values()) for update in model.updates)
    return {
        **common,
        "observed_until": observed_text(model) or "?",
        "forecasts": model.no_forecasts or "yes",
        "chosen": {view: _chosen(fitted) for view, fitted in model.views.items()},
        "quality": {view: fitted.report.get("quality") for view, fitted in model.views.items()},
        "updates": len(model.updates),
        "added_since_the_fit": added,
        "retracted_since_the_fit": sum(update["retracted"] for update in model.updates),
        "left_out_since_the_fit": unknown,
        "refit": _advice(added, unknown, len(data.train)),
    }


def _chosen(fitted: FittedView) -> dict[str, Any]:
    """Return the choices made on a view's tuning queries, and the alternatives compared."""
    report, counted = fitted.report, fitted.counted
    return {
        "l2": report["l2"],
        "epochs": report["epoch"],
        "counting": 0.0 if counted is None else counted.weight,
        "counts": None if counted is None else counted.kernel._asdict(),
        "queries": report["tuning_queries"],
        "compared": report["tried"],
    }


def _advice(added: int, unknown: int, training: int) -> str:
    if unknown > MANY_UNKNOWN * training:
        return "advisable: many facts have predicates that the model never learned"
    if added > MANY_ADDED * training:
        return "advisable: many facts were added since the fit"
    return "not needed"
