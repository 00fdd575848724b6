"""The rank of the truth among all predicates, and the metrics computed from it.

The rank is the *expected* rank over ties: 1 + the number of better candidates + half the number of
equal ones. A constant scorer therefore gets the middle rank. The truth's score comes from the same
matrix as the others. Hits@k counts expected ranks of at most k.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from apptek.arrays import Bools, Doubles, Ints, Longs, Matrix, read_only
from apptek.errors import DataError
from apptek.evaluation.calibration import (
    Calibration,
    balance_calibration,
    expected_calibration_error,
    fit_calibration,
    top_predictions,
)
from apptek.evaluation.filters import Filter, groups, known_predicates
from apptek.evaluation.prediction_sets import SetSizes, strata_of
from apptek.facts.facts import Dataset, Facts, Split
from apptek.facts.queries import Queries, held_out_queries
from apptek.ragged import Ragged
from apptek.results import Result, record

MOST_CALIBRATED = 20_000  # validation queries for fitting a scorer's calibration
CHUNK = 4096  # queries scored at once
Scorer = Callable[[slice], Matrix]  # a slice of the queries -> (n, R)


def expected_ranks(scores: Matrix, truths: Ints, known: Ragged) -> Doubles:
    """Return the rank of each row's truth, ignoring its known predicates: (B, R) -> (B,)."""
    if (is_nan := np.isnan(scores)).any():
        row = int(is_nan.any(axis=1).argmax())
        raise ValueError(f"the scores of row {row} contain NaN, which cannot be ranked")
    count, rows, others = len(scores), known.row_of_each, known.flat_columns
    true_scores = scores[np.arange(count), truths]
    # There are few known predicates: count all candidates first, then subtract these.
    rows, others = rows[others != truths[rows]], others[others != truths[rows]]
    better, equal = (
        np.count_nonzero(compare(scores, true_scores[:, None]), axis=1)
        - np.bincount(rows, compare(scores[rows, others], true_scores[rows]), minlength=count)
        for compare in (np.greater, np.equal)
    )
    ranks: Doubles = 1.0 + better + 0.5 * (equal - 1)  # the truth itself is one of the ties
    return ranks


def filtered_mrr(scores: Matrix, truths: Ints, known: Ragged) -> float:
    """Return the mean of 1 / rank. On the tuning split, it selects settings and epochs."""
    return float(np.mean(1 / expected_ranks(scores, truths, known)))


@dataclass(frozen=True, slots=True)
class Metrics:
    """Means over queries of 1 / rank and of rank <= k, and ece if there are probabilities.

    coverage, set_size  how often 90 % prediction sets contain the truth, and their mean size
    """

    queries: int
    mrr: float
    hits_at_1: float
    hits_at_3: float
    hits_at_10: float
    ece: float | None = None
    coverage: float | None = None
    set_size: float | None = None


def metrics_of(ranks: Doubles, *more: float | None) -> Metrics | None:
    """Return the metrics of these ranks, or None without ranks."""
    if not len(ranks):
        return None
    at_1, at_3, at_10 = (float(np.mean(ranks <= k)) for k in (1, 3, 10))
    return Metrics(len(ranks), float(np.mean(1 / ranks)), at_1, at_3, at_10, *more)


@dataclass(frozen=True, slots=True)
class EvaluationQueries:
    """A split's facts as queries, with their filter, correct answers and groups.

    facts  the facts to predict; their predicates are the truths
    known  predicates that the filter excludes from each query's ranking
    right  predicates, other than the truth, that count as a correct top answer (time-aware)
    """

    facts: Facts
    known: Ragged
    right: Ragged
    groups: dict[str, Bools]

    @classmethod
    def of(
        cls,
        data: Dataset,
        split: Split,
        filtering: Filter = "time-aware",
        rows: Longs | None = None,
    ) -> "EvaluationQueries":
        """Return the queries of a split or of the given rows, filtered over all splits."""
        facts, everything = data.split(split), (data.train, data.valid, data.test)
        facts = facts if rows is None else facts.take(rows)
        right = known_predicates(facts, everything)
        known = right
        if filtering != "time-aware":
            known = known_predicates(facts, everything, filtering)
        return cls(facts, known, right, groups(facts, data.train, data.predicates))

    def __len__(self) -> int:
        return len(self.facts)


@record
class Evaluation(Result):
    """A scorer's quality: each query's rank, and the metrics of all queries and of each group."""

    ranks: Doubles
    metrics: Metrics
    groups: dict[str, Metrics | None]  # None: the group has no queries

    def as_json(self) -> dict[str, Any]:
        """Return the metrics of all queries, and of each group by name."""
        parts = {name: part and asdict(part) for name, part in self.groups.items()}
        return asdict(self.metrics) | parts


def evaluate_scores(
    score: Scorer,
    queries: EvaluationQueries,
    *,
    probabilities: Callable[[Matrix], Matrix] | None = None,
    set_sizes: SetSizes | None = None,
) -> Evaluation:
    """Return a scorer's ranks and metrics. The scorer is called on chunks of queries.

    `probabilities` converts its scores to probabilities. Without it there is no calibration error,
    and without `set_sizes` there is no coverage.
    """
    if not len(queries):
        raise DataError("there are no queries to evaluate")
    ranked = _rank_all(score, queries, probabilities, set_sizes)

    def metrics(mask: Bools) -> Metrics | None:
        return ranked.metrics(mask, calibrated=probabilities is not None)

    overall = metrics(np.ones(len(queries), np.bool_))
    assert overall is not None
    of_groups = {name: metrics(mask) for name, mask in queries.groups.items()}
    return Evaluation(read_only(ranked.ranks), overall, of_groups)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The rank of each truth, the confidence of each top answer, and whether it is correct.

    sizes, covered  the sizes of prediction sets, if any, and whether they contain the truth
    """

    ranks: Doubles
    confidences: Doubles
    correct: Bools
    sizes: Longs
    covered: Bools

    def metrics(self, mask: Bools, *, calibrated: bool = True) -> Metrics | None:
        if not calibrated or not mask.any():
            return metrics_of(self.ranks[mask])
        error = expected_calibration_error(self.confidences[mask], self.correct[mask])
        if not self.sizes[mask].all():
            return metrics_of(self.ranks[mask], error)
        of_sets = float(self.covered[mask].mean()), float(self.sizes[mask].mean())
        return metrics_of(self.ranks[mask], error, *of_sets)


def _rank_all(
    score: Scorer,
    queries: EvaluationQueries,
    probabilities: Callable[[Matrix], Matrix] | None,
    set_sizes: SetSizes | None,
) -> _Ranked:
    count, truths = len(queries), queries.facts.predicates
    zeros, flags = np.zeros((2, count)), np.zeros((2, count), np.bool_)
    ranked = _Ranked(zeros[0], zeros[1], flags[0], np.zeros(count, np.int64), flags[1])
    for start in range(0, count, CHUNK):
        stop = min(start + CHUNK, count)
        chunk = slice(start, stop)
        scores = score(chunk)
        known = queries.known.part(start, stop)
        ranked.ranks[chunk] = expected_ranks(scores, truths[chunk], known)
        if probabilities is None:
            continue
        shares = probabilities(scores)
        best, ranked.confidences[chunk] = top_predictions(shares)
        right = queries.right.part(start, stop).contains(best)
        ranked.correct[chunk] = right | (best == truths[chunk])
        if set_sizes is not None:
            masks = {name: mask[chunk] for name, mask in queries.groups.items()}
            sizes = set_sizes(shares, strata_of(masks), queries.facts.times[chunk])
            of_truth = shares[np.arange(len(shares)), truths[chunk]]
            places = (shares > of_truth[:, None]).sum(axis=1)
            ranked.sizes[chunk], ranked.covered[chunk] = sizes, places < sizes
    return ranked


@dataclass(frozen=True, slots=True)
class TuningQueries:
    """Queries with their true predicates, and the predicates that the filter excludes."""

    queries: Queries
    truths: Ints
    known: Ragged

    @classmethod
    def of(cls, dataset: Dataset, most: int) -> "TuningQueries":
        """Return every n-th validation fact, for the smallest n with at most `most` queries."""
        facts = dataset.valid.take(_spread(len(dataset.valid), most))
        known = known_predicates(facts, (dataset.train, dataset.valid, dataset.test))
        return cls(held_out_queries(facts), facts.predicates, known)

    def spread(self, most: int) -> "TuningQueries":
        """Return at most this many of the queries, evenly spread."""
        rows = _spread(len(self.truths), most)
        return TuningQueries(self.queries.take(rows), self.truths[rows], self.known.take(rows))

    def ranks(self, scores: Matrix) -> Doubles:
        """Return the ranks of the truths in the scores of these queries, (B, R)."""
        return expected_ranks(scores, self.truths, self.known)

    def mrr(self, scores: Matrix) -> float:
        """Return the filtered MRR for the scores of these queries, (B, R)."""
        return filtered_mrr(scores, self.truths, self.known)

    def calibration(self, scores: Matrix) -> Calibration:
        """Return the calibration for the scores of these queries, (B, R)."""
        return calibrate(scores, self.truths, self.known)[0]


def _spread(count: int, most: int) -> Longs:
    return np.arange(0, count, max(1, -(-count // most)))


def calibrate(
    scores: Matrix, truths: Ints, known: Ragged, *, balanced: bool = False
) -> tuple[Calibration, float, float]:
    """Return the calibration of the given queries' scores, and the error without and with it.

    balanced  return the calibration that is right on average, instead of the most likely one
    """
    best, _ = top_predictions(scores)
    # Another predicate that holds for the same (s, o, t) also counts as correct.
    correct = (best == truths) | known.contains(best)
    calibration = fit_calibration(scores, correct)
    if balanced:
        calibration = balance_calibration(scores, correct, calibration)
    before, after = (
        expected_calibration_error(top_predictions(each.probabilities(scores))[1], correct)
        for each in (Calibration(), calibration)
    )
    return calibration, before, after
