"""The skill of forecasts by group of pairs: does the model beat simple rules?

An *onset* is a fact between an ordered pair that has earlier facts, but no recent ones. A
*continuation* is a fact between a pair that has a recent fact. Recent means within 90 days. If the
data has another unit, it means within the clock's long time scale. The Brier skill is 1 - the
model's Brier score / the rule's Brier score:

| rule      | its forecast                                                                     |
|-----------|----------------------------------------------------------------------------------|
| base_rate | the share of the group with a fact in these windows (unknown in advance)         |
| no_change | 1 if the pair had a fact in the last window before the forecast, else 0          |
| own_rate  | from the pair's share of times (such as days) with a fact so far                 |

`last_30` is the rule `own_rate` computed from the last 30 times. Both rules use the pair's share as
the chance at each time in the window. The share includes one additional time with the average share
of all pairs, so the chance is never 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from apptek.arrays import Bools, Doubles
from apptek.evaluation.calibration import expected_calibration_error
from apptek.facts.times import Unit
from apptek.features.clock import Clock
from apptek.graph.decayed_counts import decayed_counts
from apptek.models.occurrence.pair_counts import Events, Pairs, distinct_times
from apptek.models.occurrence.snapshots import counts_in
from apptek.present.forecast_words import ACTIVE
from apptek.results import GroupSkill

ONSET_DAYS = 90
RECENT, ALL_TIMES = 30, int(np.iinfo(np.int32).max)
Rate = Callable[[Events, Pairs, int], Doubles]


def own_rate(events: Events, pairs: Pairs, window: int, most: int = ALL_TIMES) -> Doubles:
    """Return the chance of an event in a window, from a pair's rate in the last `most` times."""
    keys, times = distinct_times(events)
    first = int(events.times[0])
    asked = pairs.keys(events.width)
    elapsed = np.minimum(pairs.times.astype(np.int64) - first, most)
    # One ascending number per (pair, time), to count how many lie between two of them.
    distinct, slots = np.unique(asked, return_inverse=True)
    places = np.minimum(np.searchsorted(distinct, keys), len(distinct) - 1)
    kept = distinct[places] == keys
    span = int(max(times.max(), pairs.times.max())) - first + 2
    numbers = np.sort(places[kept] * span + times[kept].astype(np.int64) - first)
    until = slots * span + pairs.times.astype(np.int64) - first
    counts = np.searchsorted(numbers, until) - np.searchsorted(numbers, until - elapsed)
    average = counts.sum() / max(1, elapsed.sum())
    chances: Doubles = 1 - (1 - (counts + average) / (elapsed + 1)) ** window
    return chances


recent_rate = partial(own_rate, most=RECENT)
BASELINES: dict[str, Rate] = {"own_rate": own_rate, "last_30": recent_rate}


@dataclass(frozen=True, slots=True)
class Judged:
    """Forecasts for n pairs, the outcomes, and simple rules' forecasts, as arrays of shape (n,)."""

    chances: Doubles
    happened: Bools
    weights: Doubles
    no_change: Doubles
    own_rate: Doubles

    def take(self, rows: Bools) -> "Judged":
        """Return the selected rows."""
        return Judged(*(getattr(self, name)[rows] for name in self.__slots__))

    @classmethod
    def join(cls, parts: Sequence["Judged"]) -> "Judged":
        """Concatenate the rows of all parts."""
        return cls(*(np.concatenate([getattr(p, n) for p in parts]) for n in cls.__slots__))


def recent_span(unit: Unit, clock: Clock) -> int:
    """Return how many axis steps after a pair's last fact a new fact counts as an onset."""
    return ONSET_DAYS if unit == "day" else max(1, round(clock.long))


def groups_of(past: Events, pairs: Pairs, recent: int) -> dict[str, Bools]:
    """Return which pairs belong to each group, based on the events before each pair's time."""
    moment = int(pairs.times[0]) if len(pairs) else 0
    counts = counts_in(past, pairs.keys(past.width), int(past.times[0]), moment - 1)
    keys = past.keys(), pairs.keys(past.width)
    _, ages = decayed_counts(keys[0], past.times, keys[1], pairs.times, np.asarray([np.inf]))
    active = np.zeros(len(pairs), np.bool_)
    active[np.argsort(-counts, kind="stable")[:ACTIVE]] = True
    return {
        "all": np.ones(len(pairs), np.bool_),
        "active": active,
        "continuations": ages <= recent,
        "onsets": (counts > 0) & (ages > recent),
    }


def judged(
    past: Events, pairs: Pairs, window: int, chances: Doubles, outcomes: tuple[Bools, Doubles],
    recent: int,
) -> Judged:  # fmt: skip
    """Return the model's forecasts and outcomes, together with the forecasts of simple rules.

    outcomes  whether there was a fact in the window, and each pair's weight
    """
    keys, moment = pairs.keys(past.width), int(pairs.times[0]) if len(pairs) else 0
    # An onset has no facts in the recent span, however long the window is.
    no_change = counts_in(past, keys, moment - min(window, recent), moment - 1) > 0
    happened, weights = outcomes
    return Judged(
        chances, happened, weights, no_change.astype(np.float64), own_rate(past, pairs, window)
    )


def group_skill(rows: Judged) -> GroupSkill | None:
    """Return a group's metrics, or None if the group is empty."""
    total = float(rows.weights.sum())
    if not total:
        return None
    chances = np.clip(rows.chances, 1e-12, 1 - 1e-12)
    logs = np.where(rows.happened, np.log(chances), np.log1p(-chances))

    def mean(values: Doubles) -> float:
        return float((rows.weights * values).sum() / total)

    happened = rows.happened.astype(np.float64)
    share, brier = mean(happened), mean((rows.chances - happened) ** 2)
    rules = {"base_rate": np.full(len(happened), share), "no_change": rows.no_change}
    rules["own_rate"] = rows.own_rate
    errors = {name: mean((rule - happened) ** 2) for name, rule in rules.items()}
    return GroupSkill(
        forecasts=len(chances),
        pairs=total,
        share=share,
        forecast=mean(rows.chances),
        log_loss=-mean(logs),
        brier=brier,
        calibration_error=expected_calibration_error(rows.chances, rows.happened, rows.weights),
        skill={name: 1 - brier / error if error else None for name, error in errors.items()},
    )
