"""The models that judge facts: a fitted model, or models that were each fitted without some facts.

A model has already seen the predicates of the facts it was fitted on, right or wrong. Therefore,
the facts are divided into folds, and each fold is judged by a linear model fitted on the other
folds. All models use the same features, in which a fact never sees itself.
"""

from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from apptek.arrays import Bools, Doubles, Floats, Ints, Longs
from apptek.compiling import in_threads
from apptek.config import DEFAULT, preset
from apptek.errors import DataError
from apptek.evaluation.filters import known_predicates
from apptek.facts.fact_keys import fact_keys
from apptek.facts.facts import Dataset, Facts
from apptek.facts.queries import Queries, training_queries
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.features.clock import Clock
from apptek.features.space import make_space
from apptek.features.traits import types_from_names
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answerer import Answerer, WorkingView
from apptek.models.fitting.descent import descend
from apptek.models.fitting.examples import Examples
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.model import FittedView, Model
from apptek.models.reranking.fitting import folds_of
from apptek.seeding import generator

FOLDS = 4
AT_ONCE = 8192  # number of facts whose scores are in memory at a time
_LEAST = 1e-30


@dataclass(frozen=True, slots=True)
class Judge:
    """Models over one graph, and which of them judges each fact.

    views    one per fold; a fitted model is a single view
    fold_of  the fold of each fact in the graph
    """

    model: Model
    views: tuple[WorkingView, ...]
    fold_of: Longs

    @classmethod
    def of_model(cls, model: Model) -> "Judge":
        """Return a judge that uses a fitted model for every fact of its graph."""
        view = WorkingView.of(model, model.main_view)
        return cls(model, (view,), np.zeros(len(model.graph.facts), np.int64))

    def scores(self, queries: Queries) -> Floats:
        """Return the logits of all predicates; the hidden fact's model scores each query."""
        folds = self.fold_of[queries.hidden]
        scores = np.empty((len(queries), len(self.model.dataset.predicates)), np.float32)
        for fold, view in enumerate(self.views):
            rows = np.flatnonzero(folds == fold)
            if len(rows):
                scores[rows] = view.scores(queries.take(rows))
        return scores

    def answerers(self) -> list[Answerer]:
        """Return one answerer per fold, for explanations; shared parts are built once."""
        first = Answerer(self.model)

        def of_view(view: WorkingView) -> Answerer:
            other = copy(first)
            other.view_in_use = lambda _: view
            return other

        return [of_view(view) for view in self.views]


@dataclass(frozen=True, slots=True)
class Judgements:
    """One entry for each fact in the graph.

    Other recorded predicates for the same subject, object and time are excluded, because a recorded
    fact is not a mistake.

    probabilities           the probability of the fact's own predicate
    expected                the most probable predicate, which may be the fact's own
    expected_probabilities  the probability of the expected predicate
    leanings                the score of the fact's predicate minus its score in the reversed query
    """

    probabilities: Doubles
    expected_probabilities: Doubles
    leanings: Doubles
    expected: Ints

    def __len__(self) -> int:
        return len(self.probabilities)


def judge_facts(judge: Judge) -> Judgements:
    """Judge each fact while it is hidden, and also its reversal."""
    facts = judge.model.graph.facts
    queries, known = training_queries(facts), known_predicates(facts, (facts,))
    probabilities, best, leanings = (np.zeros(len(facts)) for _ in range(3))
    expected = np.zeros(len(facts), np.int32)
    for start in range(0, len(facts), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        asked, own = queries.take(part), facts.predicates[part]
        others = known.part(start, start + len(own))
        scores = judge.scores(asked)
        # Folds use softmax, because no data is left for calibration.
        masked = judge.views[0].probabilities(scores).astype(np.float64)
        masked[others.row_of_each, others.flat_columns] = 0.0
        masked /= np.maximum(masked.sum(axis=1, keepdims=True), _LEAST)
        rows = np.arange(len(own))
        probabilities[part] = masked[rows, own]
        expected[part] = np.argmax(masked, axis=1)
        best[part] = masked[rows, expected[part]]
        reversed_ = judge.scores(Queries(asked.objects, asked.subjects, asked.times, asked.hidden))
        leanings[part] = scores[rows, own].astype(np.float64) - reversed_[rows, own]
    for column in (probabilities, best, leanings, expected):
        column.flags.writeable = False
    return Judgements(probabilities, best, leanings, expected)


def cross_fit(data: Dataset, *, seed: int = 0, folds: int = FOLDS) -> Judge:
    """Return default-preset models for the training facts, each fitted without one fold.

    The features are those of the all_facts view. Facts about one pair at one time share a fold.
    """
    data = data.labelled()
    config, train = preset(DEFAULT), data.train
    usable = train.subjects != train.objects
    if np.count_nonzero(usable) < folds:
        raise DataError(f"too few facts between different entities: expected at least {folds}")
    graph = TemporalGraph.of(data)
    clock, kinds = Clock.of(graph), tuple(types_from_names(data.entities, train))
    space = make_space(graph, data, config, clock, kinds)
    rows = space.rows(training_queries(train))
    examples = Examples(rows, train.predicates, known_predicates(train, (train,)))
    rng = generator(seed, "audit folds")
    fold_of = folds_of(train, folds, rng)
    seen = [np.flatnonzero(usable & (fold_of != fold)).astype(np.int32) for fold in range(folds)]
    orders = [[rng.permutation(part) for _ in range(config.classifier.epochs)] for part in seen]

    def fit(fold: int) -> LinearSoftmax:
        linear, passes = config.classifier, [[(0, order)] for order in orders[fold]]
        count = len(data.predicates)
        return descend([examples], count, linear, linear.l2[0], passes, space.copies())

    fitted = [
        FittedView(classifier=classifier, kinds=kinds, report={})
        for classifier in in_threads(fit, range(folds))
    ]
    model = Model(
        preset=DEFAULT,
        protocol="official",
        seed=seed,
        config=config,
        dataset=data,
        graph=graph,
        clock=clock,
        views={"all_facts": fitted[0]},
    )
    return Judge(model, tuple(WorkingView("all_facts", space, view) for view in fitted), fold_of)


def all_in_train(data: Dataset) -> Dataset:
    """Return the data set with all facts in the training set, because an audit uses all of them."""
    nothing = data.train.first(0)
    return replace(data, train=data.all_facts(), valid=nothing, test=nothing)


def impossible_partners(facts: Facts, axis: TimeAxis) -> Longs:
    """For each fact, return the fact that contradicts its dates, or -1.

    If a fact's own dates contradict each other, return the fact itself.

    If a triple has a single start and a single end, and the end is before the start, they
    contradict each other. With several starts or ends, a missing one could explain the rest.
    """
    partners = np.full(len(facts), -1, np.int64)
    if facts.since is facts.until:
        return partners
    starts, ends = axis.positions(facts.since), axis.positions(axis.last_moments(facts.until))
    both = (facts.since != UNKNOWN) & (facts.until != UNKNOWN)
    within = np.flatnonzero(both & (starts > ends))
    partners[within] = within
    opening = _alone(facts, (facts.since != UNKNOWN) & (facts.until == UNKNOWN))
    closing = _alone(facts, (facts.since == UNKNOWN) & (facts.until != UNKNOWN))
    first, second = fact_keys(_triples(facts, opening), _triples(facts, closing))
    _, of_first, of_second = np.intersect1d(first, second, return_indices=True)
    opening, closing = opening[of_first], closing[of_second]
    wrong = starts[opening] > ends[closing]
    partners[opening[wrong]], partners[closing[wrong]] = closing[wrong], opening[wrong]
    return partners


def _triples(facts: Facts, rows: Longs) -> Facts:
    zeros: Ints = np.zeros(len(rows), np.int32)
    triples = facts.take(rows)
    return Facts(triples.subjects, triples.predicates, triples.objects, zeros, zeros)


def _alone(facts: Facts, chosen: Bools) -> Longs:
    """Return the chosen facts whose triple occurs in no other chosen fact."""
    rows = np.flatnonzero(chosen)
    (keys,) = fact_keys(_triples(facts, rows))
    _, firsts, counts = np.unique(keys, return_index=True, return_counts=True)
    alone: Longs = rows[np.sort(firsts[counts == 1])]
    return alone
