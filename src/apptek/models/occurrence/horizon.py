"""A horizon of the occurrence model: its regressions for one window length.

There are three logistic regressions over the features of pair_counts.py: for seen pairs, for the
busy ones among them, and for unseen pairs. The features are computed at the last observed time. The
lead is the time from then to the start of the window. With a lead, the log-odds become shift +
slope * log-odds + long * (the feature `pair long`): for a later window, recent facts carry less
information, and facts over a long time carry more. The effect is fitted for a few leads, and
interpolated in log(1 + lead). Leads beyond the longest fitted lead have the same effect as the
longest.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import PlainValidator

from apptek.arrays import Bools, Doubles
from apptek.models.occurrence.pair_counts import GAP, NAMES

PAIR_LONG, PAIR_EVER, PAIR_GAP = map(NAMES.index, ("pair long", "pair ever", GAP))
BUSY = 8  # an ordered pair with facts at this many times is busy
LEAST = 1e-9  # minimum probability and hazard
SATURATED = 3.0  # cumulative hazard (P = 95 %) above which outcomes carry little information


def _columns(values: Any) -> Doubles:
    """Return a number for each feature as an array. Raise ValueError for anything else."""
    columns = np.asarray(values, np.float64)
    if columns.shape != (len(NAMES),) or not np.isfinite(columns).all():
        raise ValueError(f"expected {len(NAMES)} numbers")
    return columns


Columns = Annotated[Doubles, PlainValidator(_columns)]  # (28,)


@dataclass(frozen=True, slots=True)
class Regression:
    """A calibrated logistic regression. `means` contains the fitted pairs' mean features."""

    weights: Columns
    bias: float
    means: Columns

    def log_odds(self, features: Doubles) -> Doubles:
        """Return the log-odds of each row."""
        # Not a matrix product, because its rounding depends on the number of rows.
        odds: Doubles = self.bias + (features * self.weights).sum(axis=1)
        return odds

    def contributions(self, features: Doubles) -> Doubles:
        """Return each feature's contribution, then an average pair's log-odds: (n, 29)."""
        base = self.bias + float(self.means @ self.weights)
        added = (features - self.means) * self.weights
        return np.concatenate([added, np.full((len(features), 1), base)], axis=1)


class LeadEffect(NamedTuple):
    """The effect of a lead on log-odds: shift + slope * log-odds + long * (feature `pair long`)."""

    shift: float = 0.0
    slope: float = 1.0
    long: float = 0.0

    def log_odds(self, odds: Doubles, features: Doubles) -> Doubles:
        """Return each row's log-odds with the effect."""
        changed: Doubles = self.shift + self.slope * odds + self.long * features[:, PAIR_LONG]
        return changed

    def contributions(self, added: Doubles, features: Doubles) -> Doubles:
        """Return what each feature adds to the log-odds with the effect, then the rest.

        added  what each feature adds to the log-odds without the effect, then the rest
        """
        changed = self.slope * added
        changed[:, PAIR_LONG] += self.long * features[:, PAIR_LONG]
        changed[:, -1] += self.shift
        return changed


def is_busy(features: Doubles) -> Bools:
    """Return which ordered pairs had facts at BUSY or more times."""
    return features[:, PAIR_EVER] > math.log(BUSY + 0.5)


Burst = tuple[float, float, float]
Effects = tuple[LeadEffect, LeadEffect, LeadEffect]  # on a horizon's seen, unseen and busy pairs
Leads = tuple[tuple[int, LeadEffect, LeadEffect, LeadEffect], ...]  # each lead with its effects


@dataclass(frozen=True, slots=True)
class Horizon:
    """The fitted parts for one window length.

    busy   the regression for pairs with many facts, or None if there are too few
    leads  for a few ascending leads, the effects on seen pairs, unseen pairs and busy pairs
    """

    window: int
    acquainted: Regression
    strangers: Regression
    burst: Burst  # a, b and c of the expected number, none below 0
    leads: Leads = ()
    busy: Regression | None = None

    def log_odds(self, features: Doubles, met: Bools, lead: int = 0) -> Doubles:
        """Return the log-odds of any fact in a window that begins `lead` after the last facts."""
        odds = np.empty(len(features))
        groups = zip(self._groups(features, met), self.effects_of(lead), strict=True)
        for (rows, fitted), effect in groups:
            odds[rows] = effect.log_odds(fitted.log_odds(features[rows]), features[rows])
        return odds

    def contributions(self, features: Doubles, met: Bools, lead: int) -> Doubles:
        """Return each feature's contribution to the log-odds, then the base: (n, 29)."""
        added = np.empty((len(features), len(NAMES) + 1))
        groups = zip(self._groups(features, met), self.effects_of(lead), strict=True)
        for (rows, fitted), effect in groups:
            before = fitted.contributions(features[rows])
            added[rows] = effect.contributions(before, features[rows])
        return added

    def _groups(self, features: Doubles, met: Bools) -> list[tuple[Bools, Regression]]:
        """Return the rows of seen, unseen and busy pairs, each with its regression."""
        busy = met & is_busy(features)
        often = self.busy or self.acquainted
        return [(met & ~busy, self.acquainted), (~met, self.strangers), (busy, often)]

    def effects_of(self, lead: int) -> Effects:
        """Return a lead's effects on the three groups of pairs."""
        return _effects_of(self.leads, lead)


@lru_cache(maxsize=256)
def _effects_of(leads: Leads, lead: int) -> Effects:
    known = np.asarray([0.0, *(math.log1p(each) for each, *_ in leads)])
    none = (LeadEffect(),) * 3
    of_leads = np.asarray([none, *(effects for _, *effects in leads)])  # (n, 3, 3)
    acquainted, strangers, busy = (
        LeadEffect(*(float(np.interp(math.log1p(lead), known, values)) for values in part.T))
        for part in of_leads.transpose(1, 0, 2)
    )
    return acquainted, strangers, busy


def hazards_of(
    horizons: Sequence[Horizon], features: Doubles, met: Bools, lead: int = 0
) -> list[Doubles]:
    """Return cumulative hazards -log(1 - P) for ascending lengths. Each bounds the next."""
    found = list[Doubles]()
    for place, horizon in enumerate(horizons):
        hazard = np.logaddexp(0.0, horizon.log_odds(features, met, lead))
        if place:
            goes_on = found[-1] * (horizon.window / horizons[place - 1].window)
            hazard = np.clip(hazard, found[-1], np.maximum(goes_on, SATURATED))
        found.append(np.maximum(hazard, LEAST))
    return found


def active_steps(hazards: Doubles, steps: float) -> Doubles:
    """Return the expected number of steps with a fact in a window of `steps` steps."""
    return -steps * np.expm1(-hazards / steps)


def number_terms(
    hazards: Doubles, features: Doubles, window: int, stride: int
) -> tuple[Doubles, Doubles]:
    """Return log(P), (n,), and what the number of facts in a window with any depends on, (n, 3).

    These are 1, log(active steps / P), and log(times / P') by the pair's rhythm. `times` is the
    window divided by the pair's mean gap. P' is the probability that a pair with this rhythm is
    active. It equals P, limited to the range between the probability for random times and the
    probability for regular times. None of the three is below 0.
    """
    chances = -np.expm1(-hazards)
    steps = active_steps(hazards, window / stride)
    times = window / np.exp(features[:, PAIR_GAP])
    active = np.clip(chances, -np.expm1(-times), np.minimum(times, 1.0))
    logs = np.log(chances)
    own = np.maximum(np.log(times / active), 0.0)
    of_steps = np.maximum(np.log(steps) - logs, 0.0)
    return logs, np.stack([np.ones(len(logs)), of_steps, own], axis=1)


def log_numbers(
    hazards: Doubles, features: Doubles, window: int, stride: int, burst: Burst
) -> Doubles:
    """Return the logarithm of the expected number of facts: (n,)."""
    logs, terms = number_terms(hazards, features, window, stride)
    numbers: Doubles = logs + (terms * np.asarray(burst)).sum(axis=1)
    return numbers
