"""Logistic regression with weighted rows: Newton's method on a handful of features."""

import numpy as np

from apptek.arrays import Bools, Doubles, read_only
from apptek.compiling import leaf

_MOST_STEPS, _ENOUGH = 50, 1e-7  # Newton's steps, and the size of the last one


def fit_logistic(
    features: Doubles, hits: Bools, weights: Doubles, *, offsets: Doubles, penalty: float = 1.0
) -> Doubles:
    """The coefficients under which the hits are likeliest: P(hit) = 1 / (1 + e^-(offset + x b)).

    The penalty (penalty / 2 * b b) keeps them finite where the features decide everything. A step
    is halved until it descends. One thread, so that the same rows give the same bytes.
    """
    size = features.shape[1]
    table, outcomes, row_weights, starts = (
        read_only(np.ascontiguousarray(column, np.float64).view())
        for column in (features, hits, weights, offsets)
    )
    point, slope, curvature = np.zeros(size), np.zeros(size), np.zeros((size, size))

    def value(at: Doubles) -> float:
        where = read_only(at.view())
        loss = _derivatives(table, outcomes, row_weights, starts, where, slope, curvature)
        return float(loss + penalty / 2 * at @ at)

    lowest = value(point)
    for _ in range(_MOST_STEPS):
        step = np.linalg.solve(curvature + penalty * np.eye(size), slope + penalty * point)
        while (lower := value(point - step)) > lowest and np.abs(step).max(initial=0.0) >= _ENOUGH:
            step /= 2
        if lower > lowest:
            break
        point, lowest = point - step, lower
        if np.abs(step).max(initial=0.0) < _ENOUGH:
            break
    return point


@leaf
def _derivatives(
    features: Doubles, hits: Doubles, weights: Doubles, offsets: Doubles, point: Doubles,
    slope: Doubles, curvature: Doubles,
) -> float:  # fmt: skip
    """The loss at a point; its first and second derivatives are written into the last two."""
    size = len(point)
    slope[:] = 0.0
    curvature[:] = 0.0
    loss = 0.0
    for row in range(len(hits)):
        odds = offsets[row]
        for i in range(size):
            odds += features[row, i] * point[i]
        # log(1 + e^odds), without an overflow
        loss += weights[row] * (max(odds, 0.0) + np.log1p(np.exp(-abs(odds))) - hits[row] * odds)
        share = 1.0 / (1.0 + np.exp(-odds))
        error, spread = weights[row] * (share - hits[row]), weights[row] * share * (1.0 - share)
        for i in range(size):
            slope[i] += error * features[row, i]
            scaled = spread * features[row, i]
            for j in range(i + 1):
                curvature[i, j] += scaled * features[row, j]
    for i in range(size):
        for j in range(i):
            curvature[j, i] = curvature[i, j]
    return float(loss)
