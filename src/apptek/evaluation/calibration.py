"""Calibrated probabilities: a fitted temperature, and the remaining calibration error.

This module also contains logistic regression, and metrics for yes-or-no forecasts.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from apptek.arrays import Bools, Doubles, Floats, Ints, Matrix
from apptek.results import ReliabilityBin, YesNoFigures

BINS = 15
# Bins of a reliability diagram: finer near 0, where most forecasts are.
BIN_EDGES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
COLDEST, HOTTEST = 0.05, 20.0  # bounds for fitted temperatures
_LOG_RANGE = (math.log(COLDEST), math.log(HOTTEST))
_MOST_ROWS = 20_000  # maximum number of evenly spaced rows for fitting a calibration
_START_COUNT = 13  # temperatures to try; Newton's method starts from the best
# Of a balanced calibration: the weights of the squared conditions, by the norms of the curves
_NORMS, _STEEPNESS = np.asarray([1.0, 3.0, 5.0, 7.0]), 1e3
# Newton's method: finite-difference step, iterations, smallest move, maximum damping
_DIFFERENCE, _STEPS, _ENOUGH, _MOST_DAMPING = 1e-2, 25, 1e-3, 1e3
_LOGISTIC_STEPS, _LAST_STEP = 50, 1e-7  # for the logistic regression


def softmax(scores: Matrix, temperature: float | Matrix = 1.0) -> Matrix:
    """Return exp(score / temperature), each row divided by its sum: (B, R) -> (B, R)."""
    powers: Matrix = scores - scores.max(axis=1, keepdims=True)
    powers /= temperature
    np.exp(powers, out=powers)
    powers /= powers.sum(axis=1, keepdims=True)
    return powers


def log_softmax(scores: Floats) -> Floats:
    """Return the logarithm of each row's softmax."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), np.float32)


def top_predictions(probabilities: Matrix) -> tuple[Ints, Doubles]:
    """Return each row's most probable predicate and its probability; on ties, the lowest id."""
    best = probabilities.argmax(axis=1)
    return best.astype(np.int32), probabilities[np.arange(len(best)), best].astype(np.float64)


def expected_calibration_error(
    confidences: Doubles, correct: Bools, weights: Doubles | None = None
) -> float:
    """Return the mean distance between confidence and accuracy over 15 equal bins, by size.

    A bin includes its lower end, and the last one includes 1. `weights` are the weights of the
    rows.
    """
    if not len(confidences):
        raise ValueError("there are no confidences")
    if not (confidences.min() >= 0 and confidences.max() <= 1 + 1e-6):  # NaN fails too
        raise ValueError("a confidence is a probability, from 0 to 1")
    bins = np.minimum((confidences * BINS).astype(np.int64), BINS - 1)
    counts = np.ones(len(bins)) if weights is None else weights
    surplus = np.bincount(bins, weights=counts * (confidences - correct), minlength=BINS)
    return float(np.abs(surplus).sum() / counts.sum())


@dataclass(frozen=True, slots=True)
class Calibration:
    """A map from scores to probabilities, whose temperature may depend on how undecided a row is.

    The temperature of a row is temperature * e^(tilt * v + bend * (3 v^2 - 1) / 2 + twist * (5 v^3
    - 3 v) / 2). v is -1 for a row whose softmax is certain of one predicate, and 1 for a row
    without a favourite. If several predicates hold at once, the top answer of an undecided row is
    correct more often than its probability suggests. Tilt, bend and twist correct this, which a
    single temperature cannot do. The order of a row's predicates does not change.
    """

    temperature: float = 1.0
    tilt: float = 0.0
    bend: float = 0.0
    twist: float = 0.0

    def __post_init__(self) -> None:
        finite = all(map(math.isfinite, (self.temperature, *self.shape)))
        if not (finite and self.temperature > 0):
            raise ValueError(f"a calibration must be finite, with a temperature above 0: {self}")

    @property
    def shape(self) -> tuple[float, float, float]:
        """How the temperature depends on how undecided a row is: tilt, bend and twist."""
        return self.tilt, self.bend, self.twist

    def temperatures(self, scores: Matrix) -> Doubles:
        """Return the temperature of each row: (B, R) -> (B,)."""
        if not any(self.shape):
            return np.full(len(scores), self.temperature)
        changes: Doubles = np.einsum("k,kn->n", self.shape, _undecided(scores))
        logs = math.log(self.temperature) + changes
        return np.exp(np.clip(logs, *_LOG_RANGE))

    def probabilities(self, scores: Matrix) -> Matrix:
        """Return calibrated probabilities: (B, R) -> (B, R)."""
        return softmax(scores, self.temperatures(scores)[:, None].astype(scores.dtype))


def _undecided(scores: Matrix) -> Doubles:
    """Return the Legendre polynomials of v, how undecided each row is: (B, R) -> (3, B).

    Legendre polynomials are orthogonal, so tilt, bend and twist can be fitted almost independently.
    """
    _, best = top_predictions(softmax(scores))
    return _curves(1.0 - 2.0 * best)


def _curves(v: Doubles) -> Doubles:
    """Return the Legendre polynomials of degrees 1 to 3: (B,) -> (3, B)."""
    return np.stack([v, (3.0 * v**2 - 1.0) / 2.0, (5.0 * v**3 - 3.0 * v) / 2.0])


def fit_calibration(scores: Matrix, correct: Bools) -> Calibration:
    """Return the calibration that maximises the likelihood of the top answers being correct or not.

    The calibration error measures the same thing. (The likelihood of the one true predicate leaves
    the top answer underconfident, because several predicates hold at once.) As in Platt scaling,
    one additional answer of each kind smooths the targets, so that nothing becomes certain.
    """
    top_odds, correct = _odds_of_others(scores, correct, degree=2)
    right = int(correct.sum())
    wrong = len(correct) - right
    targets = np.where(correct, (right + 1) / (right + 2), 1 / (wrong + 2))

    def loss(parameters: Doubles) -> float:
        odds = np.maximum(top_odds(parameters), np.finfo(np.float64).tiny)
        return float(np.mean(np.log1p(odds) - (1.0 - targets) * np.log(odds)))

    scan = np.linspace(*_LOG_RANGE, _START_COUNT)
    start = min(scan, key=lambda log: loss(np.asarray([log, 0.0, 0.0])))
    log, *shape = newton(loss, np.asarray([start, 0.0, 0.0])).tolist()
    return Calibration(math.exp(log), *shape)


def balance_calibration(scores: Matrix, correct: Bools, start: Calibration) -> Calibration:
    """Return the calibration whose low and high confidences are both right on average.

    The likelihood weights a row by how much the temperature changes it. If trees have changed the
    scores, rows that the temperature hardly changes remain underconfident. Here, confidence minus
    correctness is uncorrelated with the confidence, its square and its cube. There are as many
    conditions as parameters, including the twist. If they cannot be met, return `start`.
    """
    top_odds, correct = _odds_of_others(scores, correct, degree=3)

    def loss(parameters: Doubles) -> float:
        confidences = 1.0 / (1.0 + top_odds(parameters))
        surplus = confidences - correct
        curves = np.stack([np.ones(len(surplus)), *_curves(2.0 * confidences - 1.0)])
        return float(_STEEPNESS * (_NORMS @ np.mean(curves * surplus, axis=1) ** 2))

    first = np.asarray([math.log(start.temperature), *start.shape])
    found = newton(loss, first)
    if loss(found) >= loss(first):
        return start
    log, *shape = found.tolist()
    return Calibration(math.exp(log), *shape)


def _odds_of_others(
    scores: Matrix, correct: Bools, *, degree: int
) -> tuple[Callable[[Doubles], Doubles], Bools]:
    """Return a function from parameters to the odds against each top answer, and `correct`.

    The parameters are the logarithm of the temperature and its shape up to a degree. If there are
    many rows, every n-th is used.
    """
    step = -(-len(scores) // _MOST_ROWS)
    scores, correct = scores[::step], correct[::step]
    best = scores.argmax(axis=1)
    gaps = scores - scores.max(axis=1, keepdims=True)
    gaps[np.arange(len(best)), best] = -np.inf  # leaves the odds of the other predicates
    shapes = np.stack([np.ones(len(scores)), *_undecided(scores)[:degree]])

    def odds(parameters: Doubles) -> Doubles:
        of_row = np.exp(np.clip(np.einsum("k,kn->n", parameters, shapes), *_LOG_RANGE)).astype(
            gaps.dtype
        )
        sums: Doubles = np.exp(gaps / of_row[:, None]).sum(axis=1, dtype=np.float64)
        return sums

    return odds, correct


def newton(loss: Callable[[Doubles], float], start: Doubles) -> Doubles:
    """Minimise a smooth loss over a few numbers with a damped Newton method and finite differences.

    An optimiser from a library would be an extra dependency for a few lines.
    """
    point, value, size, damping = start, loss(start), len(start), 1e-3
    moves = np.eye(size) * _DIFFERENCE
    for _ in range(_STEPS):
        ahead = np.asarray([loss(point + move) for move in moves])
        behind = np.asarray([loss(point - move) for move in moves])
        slope = (ahead - behind) / (2 * _DIFFERENCE)
        curvature = np.diag(ahead + behind - 2 * value)
        for i in range(size):
            for j in range(i):
                both = loss(point + moves[i] + moves[j]) - ahead[i] - ahead[j] + value
                curvature[i, j] = curvature[j, i] = both
        curvature /= _DIFFERENCE**2
        lower = value
        while lower >= value and damping < _MOST_DAMPING:
            move = -np.linalg.solve(curvature + np.eye(size) * damping, slope)
            lower = loss(point + move)
            damping *= 0.2 if lower < value else 5.0
        if lower >= value:
            break
        point, value = point + move, lower
        if np.abs(move).max() < _ENOUGH:
            break
    return point


def fit_logistic(
    features: Doubles, hits: Bools, weights: Doubles, *, offsets: Doubles, penalty: float = 1.0
) -> Doubles:
    """Fit a logistic regression by maximum likelihood: P(hit) = 1 / (1 + e^-(offset + x b)).

    The penalty (penalty / 2 * b b) keeps the coefficients finite for separable data. A step is
    halved until it descends. Sums use einsum, because BLAS results depend on the number of threads.
    """

    def loss(at: Doubles) -> float:
        odds = offsets + np.einsum("nf,f->n", features, at)
        losses = weights * (np.logaddexp(0.0, odds) - hits * odds)
        return float(losses.sum() + penalty / 2 * at @ at)

    point = np.zeros(features.shape[1])
    lowest = loss(point)
    for _ in range(_LOGISTIC_STEPS):
        shares = np.exp(-np.logaddexp(0.0, -(offsets + np.einsum("nf,f->n", features, point))))
        slope = np.einsum("nf,n->f", features, weights * (shares - hits)) + penalty * point
        spread = (weights * shares * (1.0 - shares))[:, None]
        curvature = np.einsum("ni,nj->ij", features, features * spread)
        curvature += penalty * np.eye(len(point))
        step = np.linalg.solve(curvature, slope)
        while (lower := loss(point - step)) > lowest and np.abs(step).max(
            initial=0.0
        ) >= _LAST_STEP:
            step /= 2
        if lower > lowest:
            break
        point, lowest = point - step, lower
        if np.abs(step).max(initial=0.0) < _LAST_STEP:
            break
    return point


def yes_no_figures(probabilities: Doubles, happened: Bools) -> YesNoFigures:
    """Return the metrics of the given forecasts. Raise ValueError if there are none."""
    chances = np.clip(probabilities, 1e-12, 1 - 1e-12)
    logs = np.where(happened, np.log(chances), np.log1p(-chances))
    return YesNoFigures(
        forecasts=len(happened),
        share=float(happened.mean()),
        log_loss=-float(logs.mean()),
        brier=float(np.mean((probabilities - happened) ** 2)),
        auc=area_under_curve(probabilities, happened),
        calibration_error=expected_calibration_error(probabilities, happened),
    )


def area_under_curve(values: Doubles, happened: Bools) -> float | None:
    """Return P(value of a hit > value of a miss), counting ties as 1/2, or None without both."""
    hits = int(happened.sum())
    misses = len(happened) - hits
    if not hits or not misses:
        return None
    _, groups, sizes = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[groups]  # mean rank over ties
    return float((ranks[happened].sum() - hits * (hits + 1) / 2) / (hits * misses))


def reliability(probabilities: Doubles, happened: Bools) -> list[ReliabilityBin]:
    """Return the non-empty bins of a reliability diagram, which are narrower near 0.

    A bin includes its lower end, and the last one includes 1.
    """
    places = np.clip(np.searchsorted(BIN_EDGES, probabilities, "right") - 1, 0, len(BIN_EDGES) - 2)
    bins = []
    for place in np.unique(places).tolist():
        rows = places == place
        bins.append(
            ReliabilityBin(
                BIN_EDGES[place],
                BIN_EDGES[place + 1],
                int(rows.sum()),
                float(probabilities[rows].mean()),
                float(happened[rows].mean()),
            )
        )
    return bins
