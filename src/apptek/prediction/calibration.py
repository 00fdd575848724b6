"""Probabilities that mean what they say: softmax with a temperature, and how far they are off."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.data.times import Ints

Doubles = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.floating[Any]]  # (queries, predicates)
Mask = npt.NDArray[np.bool_]

BINS = 15
COLDEST, HOTTEST = 0.05, 20.0  # temperatures that may be fitted
STEEPEST = 1.5  # tilts that may be fitted, up or down
_SCANNED = 13
_ROUNDS = 3  # of fitting the one, then the other
_JUDGED = 20_000  # rows that a calibration is fitted on, evenly spread


def softmax(scores: Matrix, temperature: float | Matrix = 1.0) -> Matrix:
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


@dataclass(frozen=True, slots=True)
class Calibration:
    """Scores to probabilities, by a temperature that may depend on how undecided the scores are.

    The temperature of a row is temperature * e^(tilt * u), where u is the entropy of its softmax as
    a share of the largest possible. Where several predicates hold at once, an undecided row is
    right more often than it says: the tilt mends that, which no single temperature can. The order
    of a row's predicates does not change.
    """

    temperature: float = 1.0
    tilt: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.temperature < math.inf and math.isfinite(self.tilt)):
            raise ValueError(f"a temperature is above 0, not {self.temperature}; a tilt is finite")

    def temperatures(self, scores: Matrix) -> Doubles:
        """The temperature of each row: (B, R) -> (B,)."""
        flat = np.full(len(scores), self.temperature)
        return flat * np.exp(self.tilt * undecidedness(scores)) if self.tilt else flat

    def probabilities(self, scores: Matrix) -> Matrix:
        """Calibrated probabilities: (B, R) -> (B, R)."""
        if not self.tilt:
            return softmax(scores, self.temperature)
        return softmax(scores, self.temperatures(scores)[:, None].astype(scores.dtype))


def undecidedness(scores: Matrix) -> Doubles:
    """The entropy of each row's softmax, from 0 for one candidate to 1 for all alike."""
    if scores.shape[1] < 2:
        return np.zeros(len(scores))
    chances = softmax(scores)
    logs = np.log(np.maximum(chances, np.finfo(np.float32).tiny))
    entropy = -(chances * logs).sum(axis=1, dtype=np.float64)
    return np.asarray(entropy / math.log(scores.shape[1]), np.float64)


def fit_calibration(scores: Matrix, correct: Mask) -> Calibration:
    """The calibration under which it is likeliest which top answers are correct.

    That is what the calibration error asks about. (The likelihood of the one true predicate leaves
    the top answer underconfident, because several predicates hold at once.) A coarse scan of the
    temperature, then golden sections in turn.
    """
    step = -(-len(scores) // _JUDGED)
    scores, correct = scores[::step], correct[::step]
    best = scores.argmax(axis=1)
    gaps = scores - scores.max(axis=1, keepdims=True)
    gaps[np.arange(len(best)), best] = -np.inf  # what is left: the others' odds against the top
    undecided = undecidedness(scores)

    def loss(temperature: float, tilt: float) -> float:
        of_row = (temperature * np.exp(tilt * undecided))[:, None].astype(gaps.dtype)
        odds = np.exp(gaps / of_row).sum(axis=1, dtype=np.float64)
        odds = np.maximum(odds, np.finfo(np.float64).tiny)
        return float(np.mean(np.log1p(odds) - np.where(correct, 0.0, np.log(odds))))

    scan = np.geomspace(COLDEST, HOTTEST, _SCANNED)
    place = int(np.argmin([loss(temperature, 0.0) for temperature in scan]))
    low, high = scan[max(place - 1, 0)], scan[min(place + 1, _SCANNED - 1)]
    temperature, tilt = 1.0, 0.0
    for _ in range(_ROUNDS):
        temperature = golden_section(partial(loss, tilt=tilt), low, high)
        tilt = golden_section(partial(loss, temperature), -STEEPEST, STEEPEST)
    return Calibration(golden_section(partial(loss, tilt=tilt), low, high), tilt)


def golden_section(loss: Callable[[float], float], low: float, high: float) -> float:
    """Where a loss with one valley is lowest between two ends, to 1e-4."""
    ratio = (5**0.5 - 1) / 2
    near, far = high - ratio * (high - low), low + ratio * (high - low)
    near_loss, far_loss = loss(near), loss(far)
    while high - low > 1e-4:
        if near_loss <= far_loss:
            high, far, far_loss = far, near, near_loss
            near = high - ratio * (high - low)
            near_loss = loss(near)
        else:
            low, near, near_loss = near, far, far_loss
            far = low + ratio * (high - low)
            far_loss = loss(far)
    return float((low + high) / 2)
