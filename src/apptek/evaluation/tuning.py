"""The queries of valid on which a baseline is tuned, stopped early and calibrated."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from apptek.arrays import Ints, Matrix
from apptek.evaluation.calibration import Calibration, fit_calibration, top_predictions
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.ranking import filtered_mrr
from apptek.facts.facts import Dataset
from apptek.facts.queries import Queries, held_out_queries
from apptek.ragged import Ragged

MOST_CALIBRATED = 20_000  # queries of valid that a calibration is fitted on


@dataclass(frozen=True, slots=True)
class TuningQueries:
    """Queries of valid with their true predicates, and what the filter leaves out of the ranks."""

    queries: Queries
    truths: Ints
    known: Ragged

    @classmethod
    def of(cls, dataset: Dataset, most: int) -> "TuningQueries":
        """Every n-th fact of valid, with the smallest n that leaves at most `most` queries."""
        step = -(-len(dataset.valid) // most)
        facts = dataset.valid.take(np.arange(0, len(dataset.valid), step))
        known = known_predicates(facts, (dataset.train, dataset.valid, dataset.test))
        return cls(held_out_queries(facts), facts.predicates, known)

    def mrr(self, scores: Matrix) -> float:
        """The filtered MRR of the scores of these queries, (B, R)."""
        return filtered_mrr(scores, self.truths, self.known)


def calibrate(scores: Callable[[Queries], Matrix], dataset: Dataset) -> Calibration:
    """The calibration of a scorer's scores on valid."""
    tuning = TuningQueries.of(dataset, MOST_CALIBRATED)
    matrix = scores(tuning.queries)
    best, _ = top_predictions(matrix)
    # Another predicate that holds for the same (s, o, t) is a right answer, too.
    return fit_calibration(matrix, (best == tuning.truths) | tuning.known.contains(best))
