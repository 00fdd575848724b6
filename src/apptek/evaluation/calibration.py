"""Probabilities that mean what they say: a fitted temperature, and the error that remains.

Below: logistic regression, and how good forecasts are that something happens or not.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from apptek.arrays import Bools, Doubles, Floats, Ints, Matrix
from apptek.results import ReliabilityBin, YesNoFigures

BINS = 15
# Of a reliability diagram: finer near 0, where most forecasts are.
BIN_EDGES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
COLDEST, HOTTEST = 0.05, 20.0  # temperatures that may be fitted
_LOG_RANGE = (math.log(COLDEST), math.log(HOTTEST))
_MOST_ROWS = 20_000  # rows that a calibration is fitted on, evenly spread
_START_COUNT = 13  # temperatures that are tried before Newton's method starts from the best
# Of a calibration in balance: the weights of the squared conditions, by the norms of the curves
_NORMS, _STEEPNESS = np.asarray([1.0, 3.0, 5.0, 7.0]), 1e3
# Newton's method: the step of the differences, iterations, the move that ends it, most damping
_DIFFERENCE, _STEPS, _ENOUGH, _MOST_DAMPING = 1e-2, 25, 1e-3, 1e3
_LOGISTIC_STEPS, _LAST_STEP = 50, 1e-7  # of the logistic regression


def softmax(scores: Matrix, temperature: float | Matrix = 1.0) -> Matrix:
    """exp(score / temperature), each row divided by its sum: (B, R) -> (B, R)."""
    powers: Matrix = scores - scores.max(axis=1, keepdims=True)
    powers /= temperature
    np.exp(powers, out=powers)
    powers /= powers.sum(axis=1, keepdims=True)
    return powers


def log_softmax(scores: Floats) -> Floats:
    """The logarithms of the softmax of each row."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), np.float32)


def top_predictions(probabilities: Matrix) -> tuple[Ints, Doubles]:
    """The likeliest predicate of each row, the lowest of equals, and its probability."""
    best = probabilities.argmax(axis=1)
    return best.astype(np.int32), probabilities[np.arange(len(best)), best].astype(np.float64)


def expected_calibration_error(
    confidences: Doubles, correct: Bools, weights: Doubles | None = None
) -> float:
    """Mean distance of confidence and accuracy over 15 equal-width bins, weighted by their sizes.

    A bin includes its lower end, and the last one includes 1. With weights, a row counts so often.
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
    """Scores to probabilities, by a temperature that may depend on how undecided the scores are.

    The temperature of a row is temperature * e^(tilt * v + bend * (3 v^2 - 1) / 2 +
    twist * (5 v^3 - 3 v) / 2), where v goes from -1 for a row whose softmax is sure of one
    predicate to 1 for a row without a favourite. Where several predicates hold at once, the top
    answer of an undecided row is right more often than its probability says: these three correct
    that, which no single temperature can. The order of a row's predicates does not change.
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
        """The temperature of each row: (B, R) -> (B,)."""
        if not any(self.shape):
            return np.full(len(scores), self.temperature)
        changes: Doubles = np.einsum("k,kn->n", self.shape, _undecided(scores))
        logs = math.log(self.temperature) + changes
        return np.exp(np.clip(logs, *_LOG_RANGE))

    def probabilities(self, scores: Matrix) -> Matrix:
        """Calibrated probabilities: (B, R) -> (B, R)."""
        return softmax(scores, self.temperatures(scores)[:, None].astype(scores.dtype))


def _undecided(scores: Matrix) -> Doubles:
    """How undecided each row is (v): the line and the curves that its temperature follows, (3, B).

    They are Legendre polynomials, so that tilt, bend and twist hardly disturb each other while
    they are fitted.
    """
    _, best = top_predictions(softmax(scores))
    return _curves(1.0 - 2.0 * best)


def _curves(v: Doubles) -> Doubles:
    """The Legendre polynomials of degree 1 to 3: (B,) -> (3, B)."""
    return np.stack([v, (3.0 * v**2 - 1.0) / 2.0, (5.0 * v**3 - 3.0 * v) / 2.0])


def fit_calibration(scores: Matrix, correct: Bools) -> Calibration:
    """Return the calibration under which the correct top answers are likeliest.

    This is what the calibration error measures. (The likelihood of the one true predicate leaves
    the top answer underconfident, because several predicates hold at once.) The targets are
    smoothed by one further answer of each kind, as Platt does, so that nothing becomes certain.
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
    """The calibration whose confidences are right on average, low ones as well as high ones.

    The likelihood weighs a row by how much the temperature moves it. Where trees have changed the
    scores, rows that it hardly moves remain underconfident. Here confidence minus correctness is
    uncorrelated with the confidence, its square and its cube: as many conditions as there are
    parameters, the twist among them. Where they cannot be met, the start stays.
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
    """The odds against the top answer of each row, by the parameters; and which are correct.

    The parameters are the logarithm of the temperature and its shape up to a degree.
    """
    step = -(-len(scores) // _MOST_ROWS)
    scores, correct = scores[::step], correct[::step]
    best = scores.argmax(axis=1)
    gaps = scores - scores.max(axis=1, keepdims=True)
    gaps[np.arange(len(best)), best] = -np.inf  # what remains are the odds of the others
    shapes = np.stack([np.ones(len(scores)), *_undecided(scores)[:degree]])

    def odds(parameters: Doubles) -> Doubles:
        of_row = np.exp(np.clip(np.einsum("k,kn->n", parameters, shapes), *_LOG_RANGE)).astype(
            gaps.dtype
        )
        sums: Doubles = np.exp(gaps / of_row[:, None]).sum(axis=1, dtype=np.float64)
        return sums

    return odds, correct


def newton(loss: Callable[[Doubles], float], start: Doubles) -> Doubles:
    """The minimum of a smooth loss of a few numbers: damped Newton's method with differences.

    A library's optimiser would be a dependency for these lines.
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
    """The coefficients under which the hits are likeliest: P(hit) = 1 / (1 + e^-(offset + x b)).

    The penalty (penalty / 2 * b b) keeps them finite where the features decide everything. A step
    is halved until it descends. Sums are made by einsum: those of BLAS depend on its threads.
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
    """Return the metrics of some forecasts; ValueError if there is none."""
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
    """P(value of one that happened > value of one that did not), ties counting one half."""
    hits = int(happened.sum())
    misses = len(happened) - hits
    if not hits or not misses:
        return None
    _, groups, sizes = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[groups]  # mean rank over ties
    return float((ranks[happened].sum() - hits * (hits + 1) / 2) / (hits * misses))


def reliability(probabilities: Doubles, happened: Bools) -> list[ReliabilityBin]:
    """The bins of a reliability diagram that are not empty; finer near 0, where most forecasts are.

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
