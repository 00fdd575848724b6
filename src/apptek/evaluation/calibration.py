"""Probabilities that mean what they say: softmax with a temperature, and how far they are off."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from apptek.arrays import Bools, Doubles, Ints, Matrix

BINS = 15
COLDEST, HOTTEST = 0.05, 20.0  # temperatures that may be fitted
_LOGS = (math.log(COLDEST), math.log(HOTTEST))
_SCANNED = 13
_DIFFERENCE, _STEPS, _ENOUGH, _MOST_DAMPED = 1e-2, 25, 1e-3, 1e3  # of Newton's method
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


def expected_calibration_error(confidences: Doubles, correct: Bools) -> float:
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

    The temperature of a row is temperature * e^(tilt * v + bend * (3 v^2 - 1) / 2), where v goes
    from -1 for a row whose softmax gives all to one predicate to 1 for one that gives it nothing.
    Where several predicates hold at once, an undecided row is right more often than it says: tilt
    and bend mend that, which no single temperature can. The order of a row's predicates does not
    change.
    """

    temperature: float = 1.0
    tilt: float = 0.0
    bend: float = 0.0

    def __post_init__(self) -> None:
        finite = all(map(math.isfinite, (self.temperature, self.tilt, self.bend)))
        if not (finite and self.temperature > 0):
            raise ValueError(f"a calibration is finite, its temperature above 0: {self}")

    def temperatures(self, scores: Matrix) -> Doubles:
        """The temperature of each row: (B, R) -> (B,)."""
        if not (self.tilt or self.bend):
            return np.full(len(scores), self.temperature)
        line, curve = _shapes(scores)
        logs = math.log(self.temperature) + self.tilt * line + self.bend * curve
        return np.exp(np.clip(logs, *_LOGS))

    def probabilities(self, scores: Matrix) -> Matrix:
        """Calibrated probabilities: (B, R) -> (B, R)."""
        return softmax(scores, self.temperatures(scores)[:, None].astype(scores.dtype))


def _shapes(scores: Matrix) -> tuple[Doubles, Doubles]:
    """How undecided each row is, as the line and the curve that a temperature may follow."""
    _, best = top_predictions(softmax(scores))
    line = 1.0 - 2.0 * best
    return line, (3.0 * line * line - 1.0) / 2.0


def fit_calibration(scores: Matrix, correct: Bools) -> Calibration:
    """The calibration under which it is likeliest which top answers are correct.

    That is what the calibration error asks about. (The likelihood of the one true predicate leaves
    the top answer underconfident, because several predicates hold at once.) Right and wrong are
    smoothed as by one further answer of each kind, so that nothing becomes certain.
    """
    step = -(-len(scores) // _JUDGED)
    scores, correct = scores[::step], correct[::step]
    best = scores.argmax(axis=1)
    gaps = scores - scores.max(axis=1, keepdims=True)
    gaps[np.arange(len(best)), best] = -np.inf  # what is left: the others' odds against the top
    shapes = np.stack([np.ones(len(scores)), *_shapes(scores)])
    right = int(correct.sum())
    wrong = len(correct) - right
    targets = np.where(correct, (right + 1) / (right + 2), 1 / (wrong + 2))

    def loss(parameters: Doubles) -> float:
        of_row = np.exp(np.clip(parameters @ shapes, *_LOGS)).astype(gaps.dtype)
        odds = np.exp(gaps / of_row[:, None]).sum(axis=1, dtype=np.float64)
        odds = np.maximum(odds, np.finfo(np.float64).tiny)
        return float(np.mean(np.log1p(odds) - (1.0 - targets) * np.log(odds)))

    scan = np.linspace(*_LOGS, _SCANNED)
    start = min(scan, key=lambda log: loss(np.asarray([log, 0.0, 0.0])))
    log, tilt, bend = newton(loss, np.asarray([start, 0.0, 0.0])).tolist()
    return Calibration(math.exp(log), tilt, bend)


def newton(loss: Callable[[Doubles], float], start: Doubles) -> Doubles:
    """Where a smooth loss of a few numbers is lowest: Newton's method with differences, damped."""
    place, value, size, damping = start, loss(start), len(start), 1e-3
    moves = np.eye(size) * _DIFFERENCE
    for _ in range(_STEPS):
        ahead = np.asarray([loss(place + move) for move in moves])
        behind = np.asarray([loss(place - move) for move in moves])
        slope = (ahead - behind) / (2 * _DIFFERENCE)
        curvature = np.diag(ahead + behind - 2 * value)
        for i in range(size):
            for j in range(i):
                both = loss(place + moves[i] + moves[j]) - ahead[i] - ahead[j] + value
                curvature[i, j] = curvature[j, i] = both
        curvature /= _DIFFERENCE**2
        found = value
        while found >= value and damping < _MOST_DAMPED:
            move = -np.linalg.solve(curvature + np.eye(size) * damping, slope)
            found = loss(place + move)
            damping *= 0.2 if found < value else 5.0
        if found >= value:
            break
        place, value = place + move, found
        if np.abs(move).max() < _ENOUGH:
            break
    return place
