"""Backtests: roll through past time, and compare each forecast with what happened.

A pair is *seen* if it has an earlier fact in either direction. At the start of each window, the
model forecasts the chance of an event for every seen ordered pair, based on earlier facts. With a
lead, each forecast is made that much earlier and uses only the facts known by then. Windows that
the model was fitted or calibrated on are listed separately and excluded from all metrics.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from apptek.arrays import Bools, Doubles
from apptek.errors import ApptekError
from apptek.evaluation.calibration import reliability, yes_no_figures
from apptek.forecast.forecaster import Forecaster, PairForecasts
from apptek.forecast.learning import predicates_in
from apptek.forecast.skill import (
    BASELINES,
    Judged,
    group_skill,
    groups_of,
    judged,
    recent_span,
)
from apptek.forecast.window import Window, unit_word
from apptek.models.model import Model
from apptek.models.occurrence.pair_counts import Meetings, Pairs
from apptek.models.occurrence.snapshots import counts_in, draw_never_seen
from apptek.present.forecast_words import GROUPS
from apptek.results import Backtest, BacktestWindow, to_dict
from apptek.safe_text import counted
from apptek.seeding import generator

WORTH_ASKING = 0.02  # predicates are forecast only for pairs with at least this chance
SMALLEST = 0.01  # predicates with a lower probability are not compared


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
    if lead < 0:
        raise ApptekError(f"a lead of {lead}: expected 0 or more")
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
    rows = np.flatnonzero(forecasts.probabilities >= WORTH_ASKING)
    data, pairs = forecaster.model.dataset, forecasts.pairs.take(rows)
    if not len(rows):
        return np.zeros(0), np.zeros(0, np.bool_)
    shares = forecaster.shares(pairs)
    chances = forecaster.occurrence.predicate_probabilities(forecasts.chances.take(rows), shares)
    facts = forecaster.model.graph.facts
    window, later = forecasts.window, pairs.later(forecasts.window.lead)
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
