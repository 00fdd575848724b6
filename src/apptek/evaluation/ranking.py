"""Where the truth stands among all predicates, and the metrics made of it.

The rank is the *expected* one over ties: 1 + the number of better candidates + half the number of
equal ones, so that a constant scorer gets the middle. The truth's score is read from the same
matrix as the others'. Hits@k counts ranks of at most k, of these same expected ranks.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from apptek.arrays import Bools, Doubles, Ints, Longs, Matrix, Scalar, read_only
from apptek.data.facts import Dataset, Facts, Split
from apptek.errors import DataError
from apptek.evaluation.calibration import expected_calibration_error, top_predictions
from apptek.evaluation.filters import Filter, Known, known_predicates
from apptek.evaluation.groups import groups

CHUNK = 4096  # queries whose scores exist at a time
Scorer = Callable[[int, int], Matrix]  # queries from start to stop -> (stop - start, R)


def expected_ranks(scores: Matrix, truths: Ints, known: Known) -> Doubles:
    """The rank of each row's truth, the known predicates of that row left out: (B, R) -> (B,)."""
    if not len(scores) == len(truths) == len(known):
        raise ValueError("scores, truths and known predicates are of different numbers of queries")
    held = known.predicates[known.offsets[0] : known.offsets[-1]]
    for named in (truths, held):
        if named.min(initial=0) < 0 or named.max(initial=-1) >= scores.shape[1]:
            raise ValueError(f"a predicate is not among the {scores.shape[1]} that have scores")
    ranks = np.empty(len(scores), np.float64)
    bad = _rank(_closed(scores), _closed(truths), known.offsets, known.predicates, ranks)
    if bad >= 0:
        raise ValueError(f"the scores of row {bad} contain NaN, which has no place in a ranking")
    return ranks


def filtered_mrr(scores: Matrix, truths: Ints, known: Known) -> float:
    """The mean of 1 / rank: what settings and epochs are chosen by, on the tuning split."""
    return float(np.mean(1 / expected_ranks(scores, truths, known)))


def _closed(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """A view for a kernel, which is compiled for contiguous arrays closed for writing."""
    view: npt.NDArray[Scalar] = np.ascontiguousarray(array).view()
    return read_only(view)


@njit(cache=True, nogil=True)
def _rank(scores: Matrix, truths: Ints, offsets: Longs, predicates: Ints, ranks: Doubles) -> int:
    """Fills in the ranks; the first row with a NaN, -1 where there is none."""
    for row in range(scores.shape[0]):
        truth = truths[row]
        own = scores[row, truth]
        better, equal, sound = 0, 0, 0
        for predicate in range(scores.shape[1]):
            score = scores[row, predicate]
            better += score > own
            equal += score == own
            sound += score == score  # noqa: PLR0124
        if sound < scores.shape[1]:
            return row
        for place in range(offsets[row], offsets[row + 1]):
            score = scores[row, predicates[place]]
            if predicates[place] != truth:
                better -= score > own
                equal -= score == own
        ranks[row] = 1.0 + better + 0.5 * (equal - 1)
    return -1


@dataclass(frozen=True, slots=True)
class Metrics:
    """Means over queries: of 1 / rank, and of rank <= k; ece where there are probabilities."""

    queries: int
    mrr: float
    hits_at_1: float
    hits_at_3: float
    hits_at_10: float
    ece: float | None = None


def metrics_of(ranks: Doubles, ece: float | None = None) -> Metrics | None:
    """The metrics of these ranks; None where there are none."""
    if not len(ranks):
        return None
    first, third, tenth = (float(np.mean(ranks <= k)) for k in (1, 3, 10))
    return Metrics(len(ranks), float(np.mean(1 / ranks)), first, third, tenth, ece)


@dataclass(frozen=True, slots=True)
class Questions:
    """A split as questions: what is asked, what is filtered, what counts as right, which group.

    known  left out of the ranks, as the filter says
    right  predicates that a well calibrated top answer may name beside the truth (time-aware)
    """

    queries: Facts
    known: Known
    right: Known
    groups: dict[str, Bools]

    @classmethod
    def of(cls, data: Dataset, split: Split, filtering: Filter = "time-aware") -> "Questions":
        """The questions of a split, filtered over train, valid and test."""
        queries, facts = data.split(split), (data.train, data.valid, data.test)
        right = known_predicates(queries, facts)
        known = right if filtering == "time-aware" else known_predicates(queries, facts, filtering)
        return cls(queries, known, right, groups(queries, data.train, data.predicates))

    def __len__(self) -> int:
        return len(self.queries)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How a scorer did: the rank of each query, the metrics of all, and those of each group."""

    ranks: Doubles
    metrics: Metrics
    groups: dict[str, Metrics | None]  # None where no query is of that kind

    def as_json(self) -> dict[str, Any]:
        """The metrics, and under each group's name its own, or None."""
        parts = {name: part and asdict(part) for name, part in self.groups.items()}
        return asdict(self.metrics) | parts


def evaluate_scores(
    score: Scorer, questions: Questions, *, probabilities: Callable[[Matrix], Matrix] | None = None
) -> Evaluation:
    """Ranks and metrics of a scorer, which is asked for a few thousand queries at a time.

    `probabilities` turns its scores into probabilities; without it there is no calibration error.
    """
    if not len(questions):
        raise DataError("there are no queries to evaluate")
    ranks, confidences, correct = _answer(score, questions, probabilities)

    def metrics(mask: Bools) -> Metrics | None:
        if probabilities is None or not mask.any():
            return metrics_of(ranks[mask])
        return metrics_of(ranks[mask], expected_calibration_error(confidences[mask], correct[mask]))

    overall = metrics(np.ones(len(questions), np.bool_))
    assert overall is not None
    parts = {name: metrics(mask) for name, mask in questions.groups.items()}
    return Evaluation(read_only(ranks), overall, parts)


def _answer(
    score: Scorer, questions: Questions, probabilities: Callable[[Matrix], Matrix] | None
) -> tuple[Doubles, Doubles, Bools]:
    """The rank of each truth, the confidence of each top answer, and whether that is right."""
    count, truths = len(questions), questions.queries.predicates
    ranks, confidences = np.empty(count, np.float64), np.zeros(count, np.float64)
    correct = np.zeros(count, np.bool_)
    for start in range(0, count, CHUNK):
        stop = min(start + CHUNK, count)
        part, scores = slice(start, stop), score(start, stop)
        ranks[part] = expected_ranks(scores, truths[part], questions.known.part(start, stop))
        if probabilities is not None:
            best, confidences[part] = top_predictions(probabilities(scores))
            right = questions.right.part(start, stop).contains(best)
            correct[part] = right | (best == truths[part])
    return ranks, confidences, correct
