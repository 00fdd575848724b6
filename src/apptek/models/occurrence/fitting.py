"""Fitting the occurrence model: snapshots, regressions, calibration, bursts.

Facts of all splits are used in time order, because a random split would lower the rates. Snapshots
start once a third of the facts is known, so that there are earlier facts to count. The last
snapshots are reserved for calibration.

The effect of a lead is the difference between two corrections of the log-odds, for the same pairs
and times: the correction for windows a lead later, minus the correction for immediate windows. The
second correction removes the model's error at these times, which are before its calibration. Facts
over a long time are counted with decay. A count of all facts would keep growing, and the effect
would grow with it.

Overlapping windows repeat information. Each window is weighted by the proportion of it that no
other window covers, so that a few days at the end of small data do not determine the level of all
forecasts.
"""

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from apptek.arrays import Bools, Doubles, read_only
from apptek.evaluation.calibration import fit_logistic, newton
from apptek.facts.times import TimeAxis, Unit
from apptek.features.clock import Clock
from apptek.models.occurrence.horizon import (
    PAIR_LONG,
    Burst,
    Horizon,
    LeadEffect,
    Regression,
    hazards_of,
    is_busy,
    number_terms,
)
from apptek.models.occurrence.model import OccurrenceModel
from apptek.models.occurrence.pair_counts import MISSED, NAMES, SIGNS, Events, PairCounts
from apptek.models.occurrence.snapshots import Outcomes, counts_at, draw_acquainted, draw_strangers
from apptek.seeding import generator

WINDOWS: dict[Unit, tuple[int, ...]] = {
    "hour": (1, 24, 168),
    "day": (1, 7, 30, 90),
    "week": (1, 4, 13),
    "month": (1, 3, 12),
    "year": (1, 2, 5, 10),
}  # time scales for any other unit
LEADS: dict[Unit, tuple[int, ...]] = {
    "hour": (24, 168),
    "day": (7, 28, 90),
    "week": (4, 13),
    "month": (3, 12),
    "year": (2, 5),
}  # longer time scales for any other unit
LEAD_SNAPSHOTS, LEAD_ROWS = 24, 30_000  # for each window length and lead
LEAD_PENALTY = 30.0  # shrinks the effect of a lead to none with little data
FIT_SNAPSHOTS, CALIBRATION_SNAPSHOTS = 24, 6  # for each window length
FIRST_SHARE, CALIBRATION_SHARE = 1 / 3, 0.15  # of the facts: before the first snapshot; at the end
PENALTY = 3.0  # shrinks weights to 0 with little data
BUSY_PENALTY = 10.0  # shrinks the regression of busy pairs to that of all seen pairs
LEVEL_PENALTY = 10.0  # shrinks the change of the level by the calibration
NUMBER_PENALTY = 1.0  # shrinks the expected number to that of the pair's rhythm
USUAL_BURST = np.asarray([0.0, 0.0, 1.0])
BUSY_HITS = 200  # busy pairs with a fact that a separate regression needs
LEAST_HITS = 20  # pairs with a fact in the snapshots that a fit needs
_DIGITS = 9  # digits kept of fitted numbers; later digits differ between machines


# A regression starts from it: with each missed gap, the odds fall to a third. Small data has too
# few pairs that stopped interacting to learn this.
USUAL = Regression(np.where(np.asarray(NAMES) == MISSED, -1.0, 0.0), 0.0, np.zeros(len(NAMES)))

Moments = tuple[list[int], list[int]]  # snapshot times: to fit on, and to calibrate on


@dataclass(frozen=True, slots=True)
class Period:
    """The positions that divide the facts into a past, snapshots, and calibration.

    first   where the snapshots begin
    cut     where calibration begins
    last    the last position that is used
    stride  the distance between two successive times: snapshots and windows are multiples of it
    """

    first: int
    cut: int
    last: int
    stride: int = 1

    @classmethod
    def of(cls, events: Events, last: int | None = None, stride: int = 1) -> "Period":
        """Return the period of facts that were split at random: all of them, in time order.

        last  the last observed position; by default the last fact's
        """
        places = [int(len(events) * share) for share in (FIRST_SHARE, 1 - CALIBRATION_SHARE)]
        first, cut = (int(events.times[place]) for place in places)
        return cls(first, cut, int(events.times[-1]) if last is None else last, stride)

    def moments(self, window: int) -> Moments | None:
        """Return the times of snapshots for fitting and for calibration, or None if there are none.

        Each window must fit into the period for fitting or the period for calibration.
        """
        last_fit, last = self.cut - window, self.last - window + self.stride
        if last_fit < self.first or last < self.cut:
            return None
        fit = self._spread(self.first, last_fit, FIT_SNAPSHOTS)
        return fit, self._spread(self.cut, last, CALIBRATION_SNAPSHOTS)

    def lead_moments(self, window: int, lead: int) -> list[int]:
        """Return snapshots for fitting a lead's effect, or none if the lead is too long."""
        last = self.last - lead - window + self.stride
        return self._spread(self.first, last, LEAD_SNAPSHOTS) if last > self.first else []

    def _spread(self, first: int, last: int, count: int) -> list[int]:
        """Return at most `count` evenly spaced times, whole strides apart."""
        strides = np.round(np.linspace(0, (last - first) // self.stride, count))
        moments: list[int] = (first + np.unique(strides.astype(np.int64)) * self.stride).tolist()
        return moments


def windows_of(axis: TimeAxis, clock: Clock) -> tuple[int, ...]:
    """Return the window lengths to fit, in the axis' unit, ascending."""
    return WINDOWS.get(axis.unit) or _whole_strides(astuple(clock), axis.stride)


def leads_of(axis: TimeAxis, clock: Clock) -> tuple[int, ...]:
    """Return the leads whose effect is fitted, in the axis' unit, ascending."""
    return LEADS.get(axis.unit) or _whole_strides(astuple(clock)[1:], axis.stride)


def _whole_strides(scales: tuple[float, ...], stride: int) -> tuple[int, ...]:
    return tuple(sorted({max(1, round(scale / stride)) * stride for scale in scales}))


def fit_occurrence(
    counts: PairCounts,
    windows: tuple[int, ...],
    period: Period,
    *,
    seed: int,
    leads: tuple[int, ...] = (),
) -> OccurrenceModel | None:
    """Fit the model for a period, or return None if it has too few events to learn from."""
    horizons = list[Horizon]()
    for window in windows:
        moments = period.moments(window)
        if moments is None:
            continue
        horizon = fit_horizon(
            counts, window, moments, seed=seed, shorter=horizons, stride=period.stride
        )
        if horizon is not None:
            effects = (_fit_lead(counts, horizon, period, lead, seed=seed) for lead in leads)
            fitted = tuple(effect for effect in effects if effect is not None)
            horizons.append(replace(horizon, leads=fitted))
    if not horizons:
        return None
    return OccurrenceModel(
        clock=counts.clock,
        horizons=tuple(horizons),
        fitted_until=period.last,
        stride=period.stride,
    )


def fit_horizon(
    counts: PairCounts,
    window: int,
    moments: Moments,
    *,
    seed: int,
    shorter: Sequence[Horizon] = (),
    stride: int = 1,
) -> Horizon | None:
    """Fit the model for one window length, or return None if there are too few events."""
    rng = generator(seed, f"occurrence {window // stride}")
    known = [
        draw_acquainted(counts.candidates, part, window, rng=rng).weighted(_apart(part, window))
        for part in moments
    ]
    if min(int(part.hits.sum()) for part in known) < LEAST_HITS:
        return None
    strangers = [
        draw_strangers(counts.candidates, part, window, rng=rng, members=counts.members).weighted(
            _apart(part, window)
        )
        for part in moments
    ]
    features = [counts.features(part.pairs) for part in known]
    acquainted = _fit_regression(features, known)
    busy = _fit_busy(acquainted, features, known)
    unacquainted = acquainted  # in dense data there may be no unseen pair
    if all(len(part.hits) for part in strangers):
        described = [counts.features(part.pairs) for part in strangers]
        unacquainted = _fit_regression(described, strangers, rising=True)
    horizon = Horizon(window, acquainted, unacquainted, (0.0, 1.0, 0.0), busy=busy)
    met = np.ones(len(known[1].pairs), np.bool_)
    hazards = hazards_of((*shorter, horizon), features[1], met)[-1]
    burst = _fit_burst(*number_terms(hazards, features[1], window, stride), known[1])
    return replace(horizon, burst=burst)


def _apart(moments: list[int], window: int) -> float:
    """Return the average proportion of a window's facts that no other window contains."""
    return min(1.0, ((moments[-1] - moments[0]) / window + 1) / len(moments))


def _fit_busy(
    acquainted: Regression, features: list[Doubles], parts: list[Outcomes]
) -> Regression | None:
    """Fit the regression for busy pairs. Return None if too few of them have a fact."""
    rows = [np.flatnonzero(is_busy(part)) for part in features]
    busy = [part.take(some) for part, some in zip(parts, rows, strict=True)]
    if min(int(part.hits.sum()) for part in busy) < BUSY_HITS:
        return None
    described = [part[some] for part, some in zip(features, rows, strict=True)]
    return _fit_regression(described, busy, start=acquainted, penalty=BUSY_PENALTY)


def _fit_lead(
    counts: PairCounts, horizon: Horizon, period: Period, lead: int, *, seed: int
) -> tuple[int, LeadEffect, LeadEffect, LeadEffect] | None:
    """Fit a lead's effect on each group of pairs, or return None for too few events."""
    window = horizon.window
    rng = generator(seed, f"occurrence {window // period.stride} after {lead // period.stride}")
    moments, events = period.lead_moments(window, lead), counts.candidates
    if not moments:
        return None
    acquainted = draw_acquainted(events, moments, window, lead, rng=rng, most=LEAD_ROWS)
    strangers = draw_strangers(events, moments, window, lead, rng=rng, members=counts.members)
    effects = list[LeadEffect | None]()
    for part, met, of_busy in (
        (acquainted, True, False), (strangers, False, False), (acquainted, True, True)
    ):  # fmt: skip
        features = counts.features(part.pairs)
        rows = np.flatnonzero((is_busy(features) & met) == of_busy)
        features, drawn = features[rows], part.take(rows).weighted(_apart(moments, window))
        later = counts_at(events, drawn.pairs, window, lead) > 0
        if min(int(drawn.hits.sum()), int(later.sum())) < LEAST_HITS:
            effects.append(None)
            continue
        odds = horizon.log_odds(features, np.full(len(features), met))
        effects.append(_fit_effect(odds, features, (drawn.hits, later), drawn.weights))
    known, unknown, busy = effects
    if known is None and busy is None:
        return None
    none = LeadEffect()
    return lead, known or busy or none, unknown or none, busy or known or none


def _fit_effect(
    odds: Doubles, features: Doubles, hits: tuple[Bools, Bools], weights: Doubles
) -> LeadEffect:
    """Fit the difference between immediate and later windows; see the module's docstring."""
    basis = np.stack([np.ones(len(odds)), odds, features[:, PAIR_LONG]], axis=1)
    at_once, later = (
        fit_logistic(basis, part, weights, offsets=odds, penalty=LEAD_PENALTY) for part in hits
    )
    shift, slope, long = _rounded(later - at_once).tolist()
    return LeadEffect(shift, max(0.0, 1.0 + slope), long)


def _fit_regression(
    features: list[Doubles],
    parts: list[Outcomes],
    *,
    rising: bool = False,
    start: Regression = USUAL,
    penalty: float = PENALTY,
) -> Regression:
    """Fit a regression on the first part, and calibrate it on the second.

    start   the regression to start from. The fit changes it only as far as the rows require
    rising  whether to forbid that a higher count lowers the chance, or that a higher age raises it.
            No pair then has a lower chance than a pair of names without facts. Few unseen pairs
            have a first fact, so the weights of different time scales could otherwise get the wrong
            sign.
    """
    fit, later = parts
    weights, bias = np.zeros(len(NAMES)), 0.0
    kept = np.arange(len(NAMES))
    means = np.average(features[0], axis=0, weights=fit.weights)
    centred = features[0] - means  # the penalty is the same in every unit of time
    offsets = start.log_odds(features[0])
    while True:
        table = np.concatenate([centred[:, kept], np.ones((len(fit.hits), 1))], axis=1)
        *fitted, bias = fit_logistic(
            table, fit.hits, fit.weights, offsets=offsets, penalty=penalty
        ).tolist()
        wrong = np.asarray(fitted) * SIGNS[kept] < 0
        if not rising or not wrong.any():
            break
        kept = kept[~wrong]
    weights[kept] = fitted
    bias -= float(means @ weights)
    weights, bias = start.weights + weights, start.bias + bias
    raw = Regression(weights, bias, means)
    shift, slope = calibrate(raw.log_odds(features[1]), later.hits, later.weights)
    return Regression(
        _rounded(slope * raw.weights), round(shift + slope * bias, _DIGITS), _rounded(means)
    )


def calibrate(odds: Doubles, hits: Bools, weights: Doubles) -> tuple[float, float]:
    """Return the shift and slope that calibrate log-odds on other rows, shrunk towards 0 and 1.

    The slope is never negative, so evidence for a fact cannot become evidence against it.
    """
    mean, scale = float(np.average(odds, weights=weights)), math.sqrt(LEVEL_PENALTY)
    shapes = np.stack([np.full(len(odds), 1 / scale), odds - mean], axis=1)
    level, change = fit_logistic(shapes, hits, weights, offsets=odds).tolist()
    slope = max(0.0, 1.0 + change)
    return round(level / scale + mean * (1.0 - slope), _DIGITS), round(slope, _DIGITS)


def _fit_burst(logs: Doubles, terms: Doubles, part: Outcomes) -> Burst:
    """Fit the number of facts: log-linear, Poisson, shrunk towards the pair's rhythm.

    logs, terms  as `number_terms` returns them. An exponent below 0 is set to 0, because a window
                 with a fact has at least one.
    """
    kept = np.arange(len(USUAL_BURST))

    def loss(at: Doubles) -> float:
        exponents = logs + (terms[:, kept] * at).sum(axis=1)
        losses = np.exp(np.minimum(exponents, 50.0)) - part.counts * exponents
        moved = at - USUAL_BURST[kept]
        drawn = NUMBER_PENALTY / 2 * float(moved @ moved)
        return (float(part.weights @ losses) + drawn) / float(part.weights.sum())

    fitted = newton(loss, USUAL_BURST)
    while (fitted < 0).any():
        kept = kept[fitted >= 0]
        fitted = newton(loss, USUAL_BURST[kept]) if len(kept) else USUAL_BURST[kept]
    burst = np.zeros(len(USUAL_BURST))
    burst[kept] = fitted
    shift, steps, rhythm = _rounded(burst).tolist()
    return shift, steps, rhythm


def _rounded(values: Doubles) -> Doubles:
    return read_only(np.round(values, _DIGITS))
