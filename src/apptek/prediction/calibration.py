"""Probabilities that mean what they say: softmax with a temperature, and how far they are off."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.data.times import Ints

Doubles = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.floating[Any]]  # (queries, predicates)
Mask = npt.NDArray[np.bool_]

BINS = 15
COLDEST, HOTTEST = 0.05, 20.0  # temperatures that may be fitted
_SCANNED = 13


def softmax(scores: Matrix, temperature: float = 1.0) -> Matrix:
    """exp(score / temperature), each row divided by its sum: (B, R) -> (B, R)."""
    powers: Matrix = scores - scores.max(axis=1, keepdims=True)
    powers /= temperature
    np.exp(powers, out=powers)
    powers /= powers.sum(axis=1, keepdims=True)
    return powers


def top_predictions(probabilities: Matrix) -> tuple[Ints, Doubles]:
    """The likeliest predicate of each row, the lowest of equals, and its probability."""
    best = probabilities.argmax(axis=1)
    return best.astype(np.int32), probabilities[np.arange(len(best)), best].astype(np.float64)


def expected_calibration_error(confidences: Doubles, correct: Mask) -> float:
    """Mean distance of confidence and accuracy over 15 equal-width bins, weighted by their sizes.

    A bin includes its lower end, and the last one includes 1.
    """
    if not len(confidences):
        raise ValueError("there is no confidence to judge")
    if not (confidences.min() >= 0 and confidences.max() <= 1 + 1e-6):  # NaN fails too
        raise ValueError("a confidence is a probability, from 0 to 1")
    bins = np.minimum((confidences * BINS).astype(np.int64), BINS - 1)
    surplus = np.bincount(bins, weights=confidences - correct, minlength=BINS)
    return float(np.abs(surplus).sum() / len(confidences))


def fit_temperature(scores: Matrix, correct: Mask) -> float:
    """The temperature under which it is likeliest which top answers are correct.

    That is what the calibration error asks about. (The likelihood of the one true predicate leaves
    the top answer underconfident, because several predicates hold at once.) Temperatures do not
    change which answer is on top. A coarse scan, then golden section.
    """
    best = scores.argmax(axis=1)
    gaps = scores - scores.max(axis=1, keepdims=True)
    gaps[np.arange(len(best)), best] = -np.inf  # what is left: the others' odds against the top

    def loss(temperature: float) -> float:
        odds = np.exp(gaps / temperature).sum(axis=1, dtype=np.float64)
        odds = np.maximum(odds, np.finfo(np.float64).tiny)
        return float(np.mean(np.log1p(odds) - np.where(correct, 0.0, np.log(odds))))

    scan = np.geomspace(COLDEST, HOTTEST, _SCANNED)
    place = int(np.argmin([loss(temperature) for temperature in scan]))
    return golden_section(loss, scan[max(place - 1, 0)], scan[min(place + 1, _SCANNED - 1)])


def golden_section(loss: Callable[[float], float], low: float, high: float) -> float:
    """Where a loss with one valley is lowest between two positive ends, to 1e-4 of itself."""
    ratio = (5**0.5 - 1) / 2
    near, far = high - ratio * (high - low), low + ratio * (high - low)
    near_loss, far_loss = loss(near), loss(far)
    while high - low > 1e-4 * low:
        if near_loss <= far_loss:
            high, far, far_loss = far, near, near_loss
            near = high - ratio * (high - low)
            near_loss = loss(near)
        else:
            low, near, near_loss = near, far, far_loss
            far = low + ratio * (high - low)
            far_loss = loss(far)
    return float((low + high) / 2)
