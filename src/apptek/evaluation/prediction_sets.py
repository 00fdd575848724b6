"""Prediction sets: the smallest sets of predicates that contain the truth with a given coverage.

This is split conformal prediction. For each stratum of the tuning queries, the probabilities of the
true predicates are stored in order. A query's set contains every predicate whose probability
reaches their (1 - coverage) quantile. The truth of a similar query is therefore in its set with
that coverage, whatever the model. The most probable predicate is always in the set.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from apptek.arrays import Doubles, Floats, Ints, Longs, Matrix, close_columns, find_sorted
from apptek.errors import ArgumentError
from apptek.facts.facts import Facts
from apptek.facts.queries import Queries

STRATA = ("seen_pair", "unseen_pair", "unseen_entity")
LEAST_QUERIES = 100  # a stratum with fewer queries uses the queries of all strata
USUAL_COVERAGE = 0.9
# Probabilities (B, R), strata and times of queries -> sizes of their sets of the usual coverage
SetSizes = Callable[[Matrix, Ints, Ints], Longs]


def check_coverage(coverage: float) -> None:
    """Raise ArgumentError for an impossible coverage."""
    if not 0 < coverage < 1:
        raise ArgumentError(f"coverage is {coverage:g}: expected a proportion above 0 and below 1")


@dataclass(frozen=True, slots=True)
class PredictionSets:
    """The sorted probabilities of the tuning queries' true predicates, for each stratum."""

    seen_pair: Floats
    unseen_pair: Floats
    unseen_entity: Floats

    def __post_init__(self) -> None:
        close_columns(self, *STRATA)

    @classmethod
    def of(
        cls,
        probabilities: Matrix,
        truths: Ints,
        strata: Ints,
        instead: "PredictionSets | None" = None,
    ) -> "PredictionSets":
        """Return the prediction sets, calibrated on these queries.

        strata   indices into STRATA
        instead  earlier sets, used for strata with too few of these queries
        """
        of_truth = probabilities[np.arange(len(truths)), truths].astype(np.float32)
        parts = [np.sort(of_truth[strata == number]) for number in range(len(STRATA))]
        if instead is not None:
            earlier = [getattr(instead, name) for name in STRATA]
            pairs = zip(parts, earlier, strict=True)
            parts = [new if len(new) >= LEAST_QUERIES else old for new, old in pairs]
        return cls(*parts)

    def thresholds(self, coverage: float) -> Doubles:
        """Return, for each stratum, the smallest probability that adds a predicate to a set."""
        check_coverage(coverage)
        parts = [getattr(self, name) for name in STRATA]
        pooled = np.sort(np.concatenate(parts))
        used = [part if len(part) >= LEAST_QUERIES else pooled for part in parts]
        return np.asarray([_threshold(part, coverage) for part in used])

    def sizes(self, probabilities: Matrix, strata: Ints, coverage: float) -> Longs:
        """Return how many of the most probable predicates are in each query's set."""
        least = self.thresholds(coverage)[strata].astype(np.float32)
        sizes: Longs = np.maximum((probabilities >= least[:, None]).sum(axis=1), 1)
        return sizes


def _threshold(probabilities: Floats, coverage: float) -> float:
    """Return the largest threshold that misses few enough truths, or 0 if none may be missed."""
    number = int(np.floor((len(probabilities) + 1) * (1 - coverage) + 1e-9))
    return float(probabilities[number - 1]) if number else 0.0


class Strata:
    """How often a query's entities and pair occur in the training facts."""

    def __init__(self, train: Facts, entity_count: int) -> None:
        self._width = entity_count
        self._pairs, self._counts = np.unique(self._keys(train), return_counts=True)
        ends = np.concatenate([train.subjects, train.objects])
        self._facts = np.bincount(ends, minlength=entity_count)

    def _keys(self, asked: Facts | Queries) -> Longs:
        return asked.subjects.astype(np.int64) * self._width + asked.objects

    def of(self, queries: Queries) -> Ints:
        """Return each query's stratum index, ignoring the fact that it hides."""
        hidden_count = (queries.hidden >= 0).astype(np.int64)
        seen = np.ones(len(queries), np.bool_)
        for ids in (queries.subjects, queries.objects):
            seen &= (ids >= 0) & (self._facts[np.maximum(ids, 0)] > hidden_count)
        places = find_sorted(self._pairs, self._keys(queries))
        is_pair = (places >= 0) & (self._counts[places] > hidden_count)
        return np.where(seen, np.where(is_pair, 0, 1), 2).astype(np.int32)


def strata_of(groups: Mapping[str, np.ndarray]) -> Ints:
    """Return each query's stratum index from the masks of its groups."""
    strata: Longs = np.argmax([groups[name] for name in STRATA], axis=0)
    return strata.astype(np.int32)
