"""A fitted model in use: from queries to features, scores and answers.

Each query is answered in one of two views: *all_facts* sees every fact, and *past_only* sees only
facts before the query's time. Queries after the last known start always use past_only.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from apptek.arrays import Bools, Floats, Longs, Matrix
from apptek.config import VIEWS, View
from apptek.engine import map_queries
from apptek.errors import ApptekError, TimeFormatError
from apptek.evaluation.predicate_classes import PredicateWords
from apptek.evaluation.prediction_sets import Strata, check_coverage
from apptek.facts.name_matching import NameResolver
from apptek.facts.predicate_table import PredicateTable
from apptek.facts.queries import Queries
from apptek.features.space import FeatureSpace
from apptek.features.traits import NewNames
from apptek.models.answer_tables import AnswerTable, RankedPredicates
from apptek.models.model import FittedView, Model
from apptek.models.reranking.candidates import Mirrors, Weighed
from apptek.models.seen import Seen
from apptek.ragged import Ragged
from apptek.results import Query


@dataclass(frozen=True, slots=True)
class ScoredQueries:
    """Queries with everything that was computed for them.

    counted  what counting adds to the logits, or 0
    linear   the logits of the linear softmax, including `counted`
    scores   the final scores: `linear`, or the re-ranker's output
    """

    queries: Queries
    rows: Ragged
    counted: Floats  # (B, R)
    linear: Floats  # (B, R)
    scores: Floats  # (B, R)


@dataclass(frozen=True, slots=True)
class WorkingView:
    """A model's all_facts or past_only view in use: its features and their weights."""

    name: View
    space: FeatureSpace
    fitted: FittedView

    @classmethod
    def of(cls, model: Model, view: View) -> "WorkingView":
        """Return a view of a model, ready to score queries."""
        return cls(view, model.space(view), model.fitted(view))

    @property
    def reaches_others(self) -> bool:
        """Whether scores depend on facts that involve neither entity of a query.

        Added parts such as topologies may lead to other entities' facts. Trees use facts between
        actors of the same types.
        """
        typed = self.fitted.reranker is not None and bool(self.fitted.kinds)
        return typed or bool(self.space.added)

    def scores(self, queries: Queries) -> Floats:
        """Return the logits of all predicates: (B, R)."""
        if self.fitted.scorer is not None:
            return self.fitted.scorer.scores(queries)
        return np.concatenate(map_queries(self, queries, WorkingView._scores))

    def _scores(self, queries: Queries) -> Floats:
        """Score one chunk, whose features are then discarded."""
        return self.scored(queries).scores

    def scored(self, queries: Queries) -> ScoredQueries:
        """Return the queries with their features and scores, as explanations need them."""
        assert self.fitted.scorer is None, "a baseline has no features"
        rows, classifier = self.space.rows(queries), self.fitted.classifier
        linear, counted = classifier.scores(rows), np.zeros((len(queries), 1), np.float32)
        if self.fitted.counted is not None:
            counted = self.fitted.counted.scores(self.space.graph, queries)
        linear = scores = linear + counted
        if self.fitted.reranker is not None:
            weighed = Weighed(queries, rows, classifier.weights, linear)
            scores = self.fitted.reranker.scores(self.space, weighed)
        return ScoredQueries(queries, rows, counted, linear, scores)

    def probabilities(self, scores: Matrix) -> Matrix:
        """Convert this view's scores to calibrated probabilities: (B, R) -> (B, R)."""
        return self.fitted.classifier.calibration.probabilities(scores)


ViewInUse = Callable[[View], WorkingView]


class Answerer:
    """A model with its views' feature spaces and the contents of its graph.

    past_only     answer every query from the past only, because the user asked for it or because
                  no other view was fitted
    entities      resolves the names in queries
    new_names     reads the types from names that do not resolve to an entity
    view_in_use   returns a view by its name; each is created on first use
    """

    def __init__(self, model: Model, *, past_only: bool = False) -> None:
        if past_only and model.baseline and "past_only" not in model.views:
            raise ApptekError(
                f"{model.baseline} cannot answer with only the past: it does not see facts"
            )
        self.model, self.seen = model, Seen(model.graph, model.dataset.entities)
        self.entities = NameResolver.of_entities(model.dataset, model.graph.facts)
        self.new_names = NewNames(model.main.kinds)
        self.predicate_names = NameResolver.of_predicates(model.dataset)
        self.predicates = PredicateWords.of(model.dataset)
        self.past_only = past_only or "all_facts" not in model.views
        self.view_in_use: ViewInUse = cache(lambda name: WorkingView.of(model, name))

    def queries_of(self, asked: Sequence[Query]) -> Queries:
        """Return queries as ids, below 0 for unknown names.

        Raise TimeFormatError for a text that is not a time. If there are several queries, the error
        gives the query's number, counted from 1. Raise UnknownName in the same way for "?", "*" and
        empty texts, which are never names.
        """
        times = []
        for number, query in enumerate(asked, 1):
            try:
                times.append(self.model.dataset.axis.parse(query.time))
            except TimeFormatError as error:
                where = f"query {number}: " if len(asked) > 1 else ""
                raise TimeFormatError(f"{where}{error}") from None
            ends = (query.subject, query.object)
            self.entities.check(*ends, allow_unknown=True, where=f"query {number}")
        return Queries(
            np.asarray([self.entity_id(query.subject) for query in asked], np.int32),
            np.asarray([self.entity_id(query.object) for query in asked], np.int32),
            np.asarray(times, np.int32),
            np.full(len(asked), -1, np.int32),
        )

    def entity_id(self, name: str) -> int:
        """Return the id of a name. Unknown names get an id below 0; see `new_names`."""
        known = self.entities.find(name)
        return self.new_names.id(name) if known is None else known

    def check(self, query: Query, *, allow_unknown: bool = False) -> None:
        """Reject a single question that the data cannot answer.

        Raise UnknownName for a name that is not in the data, unless that is allowed. Raise
        ApptekError for a time far from all facts. In lists of queries, these rows are answered and
        flagged instead.
        """
        time = self.model.dataset.axis.parse(query.time)
        self.entities.check(query.subject, query.object, allow_unknown=allow_unknown)
        self.seen.check_time(time)

    @cached_property
    def mirrors(self) -> Mirrors:
        """Predicates of simultaneous facts in the opposite direction, from the training facts."""
        return Mirrors.learned(self.model.dataset.train, len(self.model.dataset.predicates))

    @property
    def labels(self) -> PredicateTable:
        """The labels and phrases of the predicates, if there are any."""
        return self.model.dataset.labels or PredicateTable()

    def past_view(self) -> "Answerer":
        """Return the same model with past_only for every query. Both share their indices."""
        if self.past_only:
            return self
        answerer = copy(self)
        answerer.past_only = True
        return answerer

    @property
    def main(self) -> WorkingView:
        """The all_facts view if it was fitted, otherwise past_only."""
        return self.view_in_use("past_only" if self.past_only else "all_facts")

    def from_past_only(self, queries: Queries) -> Bools:
        """Return which queries use past_only: all of them, or those after the last known start.

        A start far from all others does not count, because its date may be mistyped.
        """
        if self.past_only:
            return np.ones(len(queries), np.bool_)
        return self.seen.lies_before(queries, self._last_observed)

    @cached_property
    def _last_observed(self) -> int | None:
        return self.model.last_observed

    def view_of(self, queries: Queries) -> WorkingView:
        """Return the view that answers a single query."""
        return self.view_in_use("past_only" if self.from_past_only(queries)[0] else "all_facts")

    def ranked(self, queries: Queries, ahead: Bools | None = None) -> RankedPredicates:
        """Return the probabilities of all predicates, each query in its own view.

        ahead  which queries use past_only; `from_past_only` decides by default
        """
        ahead = self.from_past_only(queries) if ahead is None else ahead
        probabilities = np.empty((len(queries), len(self.model.dataset.predicates)), np.float32)
        for name in VIEWS:
            rows = np.flatnonzero(ahead == (name == "past_only"))
            if len(rows):
                view = self.view_in_use(name)
                probabilities[rows] = view.probabilities(view.scores(queries.take(rows)))
        return RankedPredicates(queries, probabilities, ahead)

    def table(
        self, ranked: RankedPredicates, *, top: int | None, coverage: float | None = None
    ) -> AnswerTable:
        """Return the most probable predicates of each query, with the query's flags.

        coverage  return each query's prediction set instead of the `top` predicates
        """
        sizes = None if coverage is None else self.set_sizes(ranked, coverage)
        words, calibrated = self.predicates, self.model.calibrated
        return AnswerTable(ranked, words, self.seen, top, calibrated, sizes, coverage)

    def set_sizes(self, ranked: RankedPredicates, coverage: float) -> Longs:
        """Return the number of predicates in each query's prediction set."""
        check_coverage(coverage)
        strata, sizes = self._strata.of(ranked.queries), np.ones(len(ranked.queries), np.int64)
        later = self.model.dataset.axis.positions(ranked.queries.times) > self._later_from
        for is_past in np.unique(ranked.past_only).tolist():
            fitted = self.model.fitted("past_only" if is_past else "all_facts")
            if fitted.sets is None:
                raise ApptekError(
                    "this model has no prediction sets: fit default or max with validation facts"
                )
            for is_later, sets in ((False, fitted.sets), (True, fitted.later_sets or fitted.sets)):
                rows = np.flatnonzero((ranked.past_only == is_past) & (later == is_later))
                sizes[rows] = sets.sizes(ranked.probabilities[rows], strata[rows], coverage)
        return sizes

    @cached_property
    def _later_from(self) -> int:
        """The position after which a query is treated as long after the last known fact.

        There are two calibrations: one for one step after the last fact, and one for the distance
        from the training facts to the validation set. A query uses the nearer one, on a log scale.
        """
        data, last = self.model.dataset, self._last_observed
        valid = data.axis.positions(data.valid.take(data.valid.dated).times)
        if last is None or not len(valid) or not data.lies_beyond_train("valid"):
            return np.iinfo(np.int64).max
        end = int(data.axis.positions(data.train.times).max())
        known = int(data.axis.positions(self.model.graph.facts.times).max())
        return min(last, known) + int(np.sqrt(max(1.0, float(np.median(valid)) - end)))

    @cached_property
    def _strata(self) -> Strata:
        """How often each query's entities and pair occur in the facts used for fitting."""
        return Strata(self.model.dataset.train, len(self.model.dataset.entities))
