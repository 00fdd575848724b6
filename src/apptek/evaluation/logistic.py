"""Logistic regression with weighted rows: Newton's method on a handful of features."""

import numpy as np

from apptek.arrays import Bools, Doubles

_MOST_STEPS, _ENOUGH = 50, 1e-7  # Newton's steps, and the size of the last one


def fit_logistic(
    features: Doubles, hits: Bools, weights: Doubles, *, offsets: Doubles, penalty: float = 1.0
) -> Doubles:
    """The coefficients under which the hits are likeliest: P(hit) = 1 / (1 + e^-(offset + x b)).

    The penalty (penalty / 2 * b b) keeps them finite where the features decide everything. A step
    is halved until it descends.
    """

    def loss(at: Doubles) -> float:
        odds = offsets + features @ at
        losses = weights * (np.logaddexp(0.0, odds) - hits * odds)
        return float(losses.sum() + penalty / 2 * at @ at)

    point = np.zeros(features.shape[1])
    lowest = loss(point)
    for _ in range(_MOST_STEPS):
        shares = np.exp(-np.logaddexp(0.0, -(offsets + features @ point)))
        slope = features.T @ (weights * (shares - hits)) + penalty * point
        spread = (weights * shares * (1.0 - shares))[:, None]
        curvature = features.T @ (features * spread) + penalty * np.eye(len(point))
        step = np.linalg.solve(curvature, slope)
        while (lower := loss(point - step)) > lowest and np.abs(step).max(initial=0.0) >= _ENOUGH:
            step /= 2
        if lower > lowest:
            break
        point, lowest = point - step, lower
        if np.abs(step).max(initial=0.0) < _ENOUGH:
            break
    return point
