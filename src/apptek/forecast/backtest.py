"""Backtests: roll through past time, and compare each forecast with what happened.

A pair is *seen* if it has an earlier fact in either direction. At the start of each window, the
model forecasts the chance of an event for every seen ordered pair, based on earlier facts. With a
lead, each forecast is made earlier by that lead, and uses only the facts known at that time.
Windows that the model was fitted or calibrated on are listed separately and excluded from all
metrics.

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
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from apptek.arrays import Bools, Doubles
from apptek.errors import ApptekError
from apptek.evaluation.calibration import expected_calibration_error, reliability, yes_no_figures
from apptek.facts.times import Unit
from apptek.features.clock import Clock
from apptek.forecast.forecaster import Forecaster, PairForecasts
from apptek.forecast.learning import predicates_in
from apptek.forecast.window import Window, unit_word
from apptek.graph.decayed_counts import decayed_counts
from apptek.models.model import Model
from apptek.models.occurrence.pair_counts import Events, Meetings, Pairs, distinct_times
from apptek.models.occurrence.snapshots import counts_in, draw_never_seen
from apptek.present.forecast_words import ACTIVE, GROUPS
from apptek.results import Backtest, BacktestWindow, GroupSkill, to_dict
from apptek.safe_text import counted
from apptek.seeding import generator

WORTH_ASKING = 0.02  # predicates are forecast only for pairs with at least this chance
SMALLEST = 0.01  # predicates with a lower probability are not compared
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


@dataclass(frozen=True, slots=True)
class _Rolled:
    """One window's contribution to the metrics."""

    table: pa.Table  # one row per pair
    chances: Doubles  # predicate probabilities of at least SMALLEST
    hits: Bools
    judged: dict[str, Judged]  # by group of pairs
    row: BacktestWindow


def backtest(
    forecaster: Forecaster,
    every: int,
    start: str | None = None,
    stop: str | None = None,
    lead: int = 0,
) -> tuple[Backtest, pa.Table]:
    """Roll through the facts. Return the metrics, and a table with one row per pair and window.

    every  the length of a window in axis steps; windows are consecutive
    start  the first time of the first window; by default the first time after the fitted facts
    stop   the last time that a window may include; by default the last observed time
    lead   the number of steps just before each window whose facts are not used
    """
    windows = _windows(forecaster, every, start, stop, lead)
    data, clock = forecaster.model.dataset, forecaster.occurrence.clock
    recent = recent_span(data.axis.unit, clock)
    rolled = [_roll(forecaster, window, recent) for window in windows]
    tested = [part for part in rolled if not part.row.in_training]
    table = pa.concat_tables([part.table for part in rolled])
    seen = table.filter(pc.invert(table["in_training"]))
    chances, happened = seen["probability"].to_numpy(), seen["happened"].to_numpy()
    of_predicates = np.concatenate([np.zeros(0), *(part.chances for part in tested)])
    hits = np.concatenate([np.zeros(0, np.bool_), *(part.hits for part in tested)])
    figures = yes_no_figures(chances, happened) if tested else None
    baselines = {
        name: yes_no_figures(seen[name].to_numpy(), happened) for name in BASELINES if tested
    }
    outcome = Backtest(
        data=data.name,
        every=every,
        unit=unit_word(data.axis.unit),
        lead=lead,
        recent=recent,
        windows=tuple(part.row for part in rolled),
        figures=figures,
        baselines=baselines,
        skill={
            name: 1 - figures.brier / simple.brier
            for name, simple in baselines.items()
            if figures is not None and simple.brier > 0
        },
        groups={
            name: skill
            for name in GROUPS
            if tested
            and (skill := group_skill(Judged.join([part.judged[name] for part in tested])))
        },
        reliability=tuple(reliability(chances, happened)),
        predicates=yes_no_figures(of_predicates, hits) if len(hits) else None,
        predicate_reliability=tuple(reliability(of_predicates, hits)),
    )
    return outcome, table


def _windows(
    forecaster: Forecaster, every: int, start: str | None, stop: str | None, lead: int
) -> list[Window]:
    axis, first_fact = forecaster.model.dataset.axis, forecaster.span[0]
    unit = unit_word(axis.unit)
    if every < 1:
        raise ApptekError(f"windows of {counted(every, unit)}: expected at least 1")
    first = (
        forecaster.occurrence.fitted_until + axis.stride
        if start is None
        else axis.position(axis.parse(start))
    )
    observed = forecaster.observed
    last = observed if stop is None else min(observed, axis.position(axis.parse(stop)))
    windows = [
        Window(begin, begin + every - 1, lead)
        for begin in range(max(first, first_fact + 1 + lead), last - every + 2, every)
    ]
    if not windows:
        begins, ends = Window(first, last).texts(axis)
        longest = last - every - first_fact
        if lead > longest >= 0 and first + every <= last + 1:
            raise ApptekError(
                f"a lead of {counted(lead, unit)} is too long: no window of "
                f"{counted(every, unit)} that ends by {ends} has facts that long before it; "
                f"the longest possible lead is {counted(longest, unit)}"
            )
        raise ApptekError(
            f"there is no window of {counted(every, unit)} from {begins} to {ends}: the training "
            "period covers it, or the facts end there; fit on a split by time (--split-by time, "
            "--protocol forecast), or add later facts"
        )
    return windows


def _roll(forecaster: Forecaster, window: Window, recent: int) -> _Rolled:
    events, names = forecaster.events, forecaster.model.dataset.entities
    meetings, past = Meetings(events), events.before(window.moment)
    keys = meetings.before(window.moment)
    pairs = Pairs.at(keys, window.moment, events.width)
    forecasts = forecaster.pair_forecasts(pairs.subjects, pairs.objects, window)
    happened = counts_in(events, keys, window.first, window.last) > 0
    seen = np.unique(events.within(window.first, window.last).keys())
    chances, hits = _predicates(forecaster, forecasts)
    first, last = window.texts(forecaster.model.dataset.axis)
    row = BacktestWindow(
        first=first,
        last=last,
        in_training=window.first <= forecaster.occurrence.fitted_until,
        pairs=len(keys),
        expected=float(forecasts.probabilities.sum()),
        happened=int(happened.sum()),
        meetings=int((~meetings.had_met(seen, window.moment)).sum()),
    )
    weights = np.ones(len(keys))
    known = judged(past, pairs, window.length, forecasts.probabilities, (happened, weights), recent)
    groups = {name: known.take(rows) for name, rows in groups_of(past, pairs, recent).items()}
    groups["never_seen"] = _never_seen(forecaster, window, recent)
    entities, in_training = names.array, pa.scalar(row.in_training)
    table = pa.table(
        {
            "first": pa.repeat(first, len(keys)),
            "last": pa.repeat(last, len(keys)),
            "in_training": pa.repeat(in_training, len(keys)),
            "subject": entities.take(pa.array(pairs.subjects)),
            "object": entities.take(pa.array(pairs.objects)),
            "probability": forecasts.probabilities,
            "expected": forecasts.expected,
            **{name: rate(past, pairs, window.length) for name, rate in BASELINES.items()},
            "happened": happened,
        }
    )
    return _Rolled(table, chances, hits, groups, row)


def _never_seen(forecaster: Forecaster, window: Window, recent: int) -> Judged:
    """Forecast a sample of the ordered pairs that do not have any facts yet."""
    events = forecaster.events
    rng = generator(forecaster.model.seed, f"never seen {window.first} {window.lead}")
    drawn = draw_never_seen(events, window.moment, window.first, window.last, rng=rng)
    made = forecaster.pair_forecasts(drawn.pairs.subjects, drawn.pairs.objects, window)
    return judged(
        events.before(window.moment), drawn.pairs, window.length, made.probabilities,
        (drawn.hits, drawn.weights), recent,
    )  # fmt: skip


def _predicates(forecaster: Forecaster, forecasts: PairForecasts) -> tuple[Doubles, Bools]:
    """Return the probabilities of the predicates worth comparing, and whether they came true."""
    made = forecasts.take(np.flatnonzero(forecasts.probabilities >= WORTH_ASKING))
    if not len(made.pairs):
        return np.zeros(0), np.zeros(0, np.bool_)
    chances, data = made.of_predicates, forecaster.model.dataset
    facts = forecaster.model.graph.facts
    window, later = made.window, made.pairs.later(made.window.lead)
    hits = predicates_in(facts, data.axis, later, window.length, len(data.predicates))
    worth = chances >= SMALLEST
    return chances[worth], hits[worth]


def backtest_result(model: Model, outcome: Backtest) -> dict[str, Any]:
    """Return the content of a result file: the fitted model, the windows and the metrics."""
    entries = to_dict(outcome)
    tested = [window for window in outcome.windows if not window.in_training]
    return {
        "model": "backtest",
        "dataset": model.dataset.name,
        "protocol": model.protocol,
        "preset": model.preset,
        "seed": model.seed,
        "data": {"train": model.dataset.train.digest()},
        "metrics": {"forecasts": entries["figures"], **entries["baselines"]},
        "windows": {
            **{name: entries[name] for name in ("every", "lead", "recent", "unit")},
            "count": len(tested),
            "in_training": len(outcome.windows) - len(tested),
            "first": tested[0].first if tested else None,
            "last": tested[-1].last if tested else None,
        },
        **{
            name: entries[name]
            for name in ("skill", "groups", "predicates", "reliability", "predicate_reliability")
        },
    }  # fmt: skip
