"""Linear softmax over sparse features: logit(r) = bias[r] + sum of value * weights[feature, r]."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from apptek.arrays import Floats, Ints, Longs, close_columns
from apptek.compiling import fast, in_threads
from apptek.evaluation.calibration import Calibration
from apptek.ragged import Ragged

CHUNK = 2048  # rows per thread task


@dataclass(frozen=True, slots=True)
class SparseWeights:
    """Weights for features and predicates that occurred together often enough. All others are 0.

    The weights of feature i are at offsets[i] to offsets[i + 1], sorted by predicate. Index them
    like a matrix (F, R): [columns, predicate], [:, predicate], or [columns] for whole rows.
    """

    offsets: Longs  # (F + 1,)
    predicates: Ints
    values: Floats
    width: int

    def __post_init__(self) -> None:
        is_whole = len(self.predicates) == len(self.values) == int(self.offsets[-1])
        if not is_whole or (np.diff(self.offsets) < 0).any():
            raise ValueError("the columns of sparse weights have different lengths")
        if self.predicates.min(initial=0) < 0 or self.predicates.max(initial=0) >= self.width:
            raise ValueError("sparse weights have a predicate that does not exist")
        close_columns(self, "offsets", "predicates", "values")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """The number of features and of predicates."""
        return len(self), self.width

    def __getitem__(self, key: Any) -> Floats:
        columns, predicate = key if isinstance(key, tuple) else (key, slice(None))
        if isinstance(columns, slice):
            found = np.zeros(len(self), np.float32)
            places = np.flatnonzero(self.predicates == predicate)
            found[np.searchsorted(self.offsets, places, side="right") - 1] = self.values[places]
            return found
        rows = np.zeros((np.size(columns), self.width), np.float32)
        for row, column in enumerate(np.atleast_1d(columns).tolist()):
            part = slice(int(self.offsets[column]), int(self.offsets[column + 1]))
            rows[row, self.predicates[part]] = self.values[part]
        return rows if isinstance(predicate, slice) else rows[:, predicate]


@dataclass(frozen=True, slots=True)
class LinearSoftmax:
    """The weights of a fitted classifier, F features x R predicates, read-only.

    Its calibration converts scores to probabilities.
    """

    weights: Any  # (F, R), Floats or SparseWeights
    bias: Floats  # (R,)
    calibration: Calibration = field(default_factory=Calibration)

    def __post_init__(self) -> None:
        if self.weights.shape[1:] != self.bias.shape or self.bias.ndim != 1:
            raise ValueError("expected weights (features, predicates) and a bias (predicates,)")
        if isinstance(self.weights, SparseWeights):
            close_columns(self, "bias")
            return
        if self.weights.dtype != np.float32 or self.bias.dtype != np.float32:
            raise ValueError("weights and bias must be float32")
        if not self.weights.flags.c_contiguous:
            raise ValueError("weights must be C-contiguous, with each feature's weights adjacent")
        close_columns(self, "weights", "bias")

    def scores(self, rows: Ragged) -> Floats:
        """Return the scores of all predicates: (B, R). The number of threads does not matter."""
        scores = np.empty((len(rows), len(self.bias)), np.float32)
        columns, values = rows.columns, rows.flat_values

        weights = self.weights

        def fill(start: int) -> None:
            chunk = slice(start, min(start + CHUNK, len(rows)))
            offsets = rows.offsets[start : chunk.stop + 1]
            if isinstance(weights, SparseWeights):
                kept = weights.offsets, weights.predicates, weights.values
                add_sparse_weights(offsets, columns, values, *kept, self.bias, scores[chunk])
            else:
                add_weights(offsets, columns, values, weights, self.bias, scores[chunk])

        in_threads(fill, range(0, len(rows), CHUNK))
        return scores


@fast
def add_sparse_weights(
    offsets: Longs, columns: Ints, values: Floats, starts: Longs, predicates: Ints, weights: Floats,
    bias: Floats, scores: Floats,
) -> None:  # fmt: skip
    """Fill scores (B, R) with the bias plus the weights of each row's active features."""
    for row in range(scores.shape[0]):
        scores[row] = bias
        for entry in range(offsets[row], offsets[row + 1]):
            feature = columns[entry]
            value = values[entry] if values.size else np.float32(1.0)
            for place in range(starts[feature], starts[feature + 1]):
                scores[row, predicates[place]] += value * weights[place]


@fast
def add_weights(
    offsets: Longs, columns: Ints, values: Floats, weights: Floats, bias: Floats, scores: Floats
) -> None:
    """Fill scores (B, R) with the bias plus the weights of each row's active features.

    Process four features at a time, so that the scores are read and written less often.
    """
    predicate_count, one = bias.size, np.float32(1.0)
    for row in range(scores.shape[0]):
        for predicate in range(predicate_count):
            scores[row, predicate] = bias[predicate]
        entry, stop = offsets[row], offsets[row + 1]
        while entry + 4 <= stop:
            a, b = columns[entry], columns[entry + 1]
            c, d = columns[entry + 2], columns[entry + 3]
            of_a = values[entry] if values.size else one
            of_b = values[entry + 1] if values.size else one
            of_c = values[entry + 2] if values.size else one
            of_d = values[entry + 3] if values.size else one
            for predicate in range(predicate_count):
                scores[row, predicate] += (
                    of_a * weights[a, predicate] + of_b * weights[b, predicate]
                    + of_c * weights[c, predicate] + of_d * weights[d, predicate]
                )  # fmt: skip
            entry += 4
        while entry < stop:
            value, feature = values[entry] if values.size else one, columns[entry]
            for predicate in range(predicate_count):
                scores[row, predicate] += value * weights[feature, predicate]
            entry += 1
