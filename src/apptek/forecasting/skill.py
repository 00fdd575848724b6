"""The skill of forecasts by group of pairs: does the model know more than simple rules?

An *onset* is asked about where the ordered pair had facts, but none lately; a *continuation* where
it had one lately: in the last 90 days, or the long time scale of data with another unit. The Brier
skill is 1 - the Brier score / that of a simple rule:

| rule      | its forecast                                                                     |
|-----------|----------------------------------------------------------------------------------|
| base_rate | the share of the group with a fact in these windows, which nobody knew before    |
| no_change | 1 if the pair had a fact in the last window before the forecast, else 0          |
| own_rate  | from the pair's share of times (such as days) with a fact so far                 |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from apptek.arrays import Bools, Doubles
from apptek.data.times import Unit
from apptek.evaluation.calibration import expected_calibration_error
from apptek.features.clock import Clock
from apptek.graph.decayed_counts import decayed_counts
from apptek.occurrence.baselines import own_rate
from apptek.occurrence.events import Events, Pairs
from apptek.occurrence.snapshots import counts_in

ONSET_DAYS = 90
ACTIVE = 400  # ordered pairs with most facts so far
NAMES = {
    "all": "all pairs with a fact before",
    "active": f"the {ACTIVE} most active",
    "continuations": "continuations",
    "onsets": "onsets",
    "never_seen": "never seen before",
}

RULES = {"base_rate": "the base rate", "no_change": "no change", "own_rate": "the pair's own rate"}


@dataclass(frozen=True, slots=True)
class Judged:
    """Forecasts of a group of pairs, the outcomes, and what simple rules say: n of each."""

    chances: Doubles
    happened: Bools
    weights: Doubles
    no_change: Doubles
    own_rate: Doubles

    def take(self, rows: Bools) -> "Judged":
        """Some of the rows."""
        return Judged(*(getattr(self, name)[rows] for name in self.__slots__))

    @classmethod
    def join(cls, parts: Sequence["Judged"]) -> "Judged":
        """All rows."""
        return cls(*(np.concatenate([getattr(p, n) for p in parts]) for n in cls.__slots__))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSkill:
    """The metrics of the forecasts of a group.

    forecasts  that were made; `pairs` is how many they stand for, where pairs were drawn
    share      of the pairs with a fact, and `forecast` the mean probability
    skill      Brier skill against each simple rule; None where the rule makes no error
    """

    forecasts: int
    pairs: float
    share: float
    forecast: float
    log_loss: float
    brier: float
    calibration_error: float
    skill: dict[str, float | None]


def recent_span(unit: Unit, clock: Clock) -> int:
    """How long after its last fact a pair's next one is an onset, in steps of the axis."""
    return ONSET_DAYS if unit == "day" else max(1, round(clock.long))


def groups_of(past: Events, pairs: Pairs, recent: int) -> dict[str, Bools]:
    """Which of some pairs belong to which group, by the events before their moment."""
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
    """Forecasts made from some events, beside simple rules.

    outcomes  whether there was a fact in the window, and what each pair stands for
    """
    keys, moment = pairs.keys(past.width), int(pairs.times[0]) if len(pairs) else 0
    # An onset has no fact in the recent span, however long the window is.
    no_change = counts_in(past, keys, moment - min(window, recent), moment - 1) > 0
    happened, weights = outcomes
    return Judged(
        chances, happened, weights, no_change.astype(np.float64), own_rate(past, pairs, window)
    )


def group_skill(rows: Judged) -> GroupSkill | None:
    """The metrics of a group; None where it is empty."""
    total = float(rows.weights.sum())
    if not total:
        return None
    chances = np.clip(rows.chances, 1e-12, 1 - 1e-12)
    logs = np.where(rows.happened, np.log(chances), np.log1p(-chances))

    def mean(values: Doubles) -> float:
        return float(rows.weights @ values / total)

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


def no_skill_lines(groups: Mapping[str, GroupSkill]) -> list[str]:
    """A sentence for each group whose forecasts are not better than some simple rule."""
    return [
        f"no skill for {NAMES[name]}, against {', '.join(RULES[rule] for rule in rules)}"
        for name, group in groups.items()
        if (
            rules := [
                rule for rule, value in group.skill.items() if value is not None and value <= 0
            ]
        )
    ]
