"""The forecasts that a run stores, in one file per run date, and their accuracy.

Each row is an ordered pair with an earlier fact. It contains the chance of an event in the window,
the forecasts of simple rules (forecast/backtest.py), and whether the pair is an onset, a
continuation, or on the watch list. Names are stored instead of ids, because a refitted model may
renumber them.

A run is scored when its window has ended. Each run recomputes the last month's scores from the
original forecasts and the facts known now, so late facts count. Older runs keep their last score.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import parquet
from pydantic import TypeAdapter

from apptek.arrays import Longs
from apptek.errors import DataError
from apptek.evaluation.calibration import reliability, yes_no_figures
from apptek.forecast.backtest import Judged, group_skill, groups_of, judged, recent_span
from apptek.forecast.forecaster import Forecaster
from apptek.forecast.window import Window, time_of, unit_word
from apptek.models.occurrence.pair_counts import Meetings, Pairs, pair_keys
from apptek.models.occurrence.snapshots import counts_in
from apptek.results import GroupSkill, ReliabilityBin, Surprise, WatchList

SCORE = "score.json"
MONTH = 30  # days; for other units, number of runs
MISSES = 5
FEWEST = 7  # minimum number of scored runs before a refit can be due
MOST_OFF = 1.33  # how far the expected number may differ from the actual number
NAMES, GROUPS = ("subject", "object"), ("continuations", "onsets")
WATCHED = "watched"
_ABOUT = (b"unit", b"day", b"first", b"last")  # metadata of a file
NUMBERS = ("probability", "no_change", "own_rate")


def file_name(day: str, suffix: str = ".parquet") -> str:
    """Return the name of a run's file."""
    return re.sub("[^0-9A-Za-z-]", "_", day) + suffix


def in_time(day: str) -> tuple[int, str]:
    """Return a key that sorts days, or their file names, in time order: 9 before 10."""
    return len(day), day


def forecast_table(
    forecaster: Forecaster, window: Window, day: str, listed: WatchList
) -> pa.Table:  # fmt: skip
    """Forecast every ordered pair that had a fact before the window."""
    data, past = forecaster.model.dataset, forecaster.events.before(window.moment)
    keys = Meetings(past).before(window.moment)
    pairs = Pairs.at(keys, window.moment, past.width)
    chances = forecaster.pair_forecasts(pairs.subjects, pairs.objects, window).probabilities
    recent = recent_span(data.axis.unit, forecaster.occurrence.clock)
    unknown = (np.zeros(len(pairs), np.bool_), np.ones(len(pairs)))
    rules = judged(past, pairs, window.length, chances, unknown, recent)
    groups = groups_of(past, pairs, recent)
    on_list = [each for row in listed.rows for each in (row.subject, row.object)]
    ends = forecaster.ids(on_list).reshape(-1, 2)
    both = np.concatenate([ends, ends[:, ::-1]])
    of_list = pair_keys(both[:, 0], both[:, 1], past.width)
    ids = zip(NAMES, (pairs.subjects, pairs.objects), strict=True)
    columns = {
        **{name: pa.DictionaryArray.from_arrays(of, data.entities.array) for name, of in ids},
        "probability": chances.astype(np.float32),
        "no_change": rules.no_change.astype(np.float32),
        "own_rate": rules.own_rate.astype(np.float32),
        **{name: groups[name] for name in GROUPS},
        WATCHED: np.isin(keys, of_list),
    }  # fmt: skip
    first, last = window.texts(data.axis)
    about = {"day": day, "first": first, "last": last, "unit": data.axis.unit}
    return pa.table(columns).replace_schema_metadata(about)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """The forecasts of an earlier run; `window` uses positions on the model's axis."""

    file: Path
    day: str
    first: str
    last: str
    window: Window

    def read(self, forecaster: Forecaster) -> tuple[pa.Table, Longs]:
        """Return the rows whose names the model still knows, and the keys of their pairs."""
        table, names = parquet.read_table(self.file), forecaster.model.dataset.entities.array
        found = (pc.index_in(table[name].cast(names.type), names) for name in NAMES)
        ids = [column.fill_null(-1).to_numpy().astype(np.int64) for column in found]
        rows = np.flatnonzero((ids[0] >= 0) & (ids[1] >= 0))
        keys = pair_keys(ids[0][rows], ids[1][rows], forecaster.events.width)
        return table.take(pa.array(rows)), keys


def ended_runs(forecaster: Forecaster, state: Path) -> Iterator[StoredRun]:
    """Yield the stored runs whose windows have ended, oldest first."""
    axis = forecaster.model.dataset.axis
    for file in sorted(state.glob("*.parquet"), key=lambda file: in_time(file.name)):
        try:
            about = parquet.read_schema(file).metadata or {}
            unit, day, *ends = (about[name].decode() for name in _ABOUT)
        except (pa.ArrowException, OSError, KeyError) as error:
            reason = next(iter(str(error).splitlines()), "")
            raise DataError(f"{file} is not a stored forecast: {reason}; remove it") from None
        if unit == axis.unit:
            first, last = (axis.position(axis.parse(text)) for text in ends)
            if last <= forecaster.observed:
                yield StoredRun(file, day, ends[0], ends[1], Window(first, last))


@dataclass(frozen=True, slots=True)
class RunScore:
    """The score of one run: what was expected in its window, and what happened."""

    day: str
    first: str
    last: str
    pairs: int
    expected: float
    happened: int
    brier: float
    log_loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The accuracy of the last month's forecasts.

    groups      the metrics by type of pair: all, onsets, continuations, watched
    unlikely    the least probable events that happened, each pair once
    expected    the most probable events that did not happen
    refit       why a refit is due, or empty if it is not due
    runs        the scores of all runs so far, newest first
    """

    observed: str
    unit: str
    scored: int
    groups: dict[str, GroupSkill] = field(default_factory=dict)
    reliability: tuple[ReliabilityBin, ...] = ()
    unlikely: tuple[Surprise, ...] = ()
    expected: tuple[Surprise, ...] = ()
    refit: str = ""
    runs: tuple[RunScore, ...] = ()


@dataclass(frozen=True, slots=True)
class _Scored:
    run: StoredRun
    table: pa.Table
    judged: Judged

    def group(self, name: str) -> Judged:
        rows = np.ones(len(self.table), np.bool_)
        return self.judged.take(rows if name == "all" else self.table[name].to_numpy())


def score_runs(forecaster: Forecaster, state: Path) -> Score:
    """Score the last month's runs, and keep the scores of older ones."""
    ended, axis = list(ended_runs(forecaster, state)), forecaster.model.dataset.axis
    since = forecaster.observed - MONTH
    is_daily = axis.unit == "day"
    recent = [run for run in ended if run.window.last > since] if is_daily else ended[-MONTH:]
    scored = [part for run in recent if len((part := _score(forecaster, run)).table)]
    earlier = stored_score(state)
    rows = (*(earlier.runs if earlier else ()), *map(_summary, scored))
    summaries = {row.day: row for row in rows}
    about: dict[str, Any] = {
        "observed": time_of(axis, forecaster.observed), "unit": unit_word(axis.unit),
        "runs": tuple(sorted(summaries.values(), key=lambda row: in_time(row.day), reverse=True)),
    }  # fmt: skip
    if not scored:
        return Score(**about, scored=0)
    groups = {
        name: skill
        for name in ("all", *GROUPS, WATCHED)
        if (skill := group_skill(Judged.join([part.group(name) for part in scored])))
    }
    chances, happened = (
        np.concatenate([getattr(part.judged, name) for part in scored])
        for name in ("chances", "happened")
    )
    return Score(
        **about,
        scored=len(scored),
        groups=groups,
        reliability=tuple(reliability(chances, happened)),
        unlikely=_misses(forecaster, scored, happened=True),
        expected=_misses(forecaster, scored, happened=False),
        refit=_refit(groups, len(scored)),
    )


def _score(forecaster: Forecaster, run: StoredRun) -> _Scored:
    table, keys = run.read(forecaster)
    happened = counts_in(forecaster.events, keys, run.window.first, run.window.last) > 0
    chances, no_change, own_rate = (table[name].to_numpy().astype(np.float64) for name in NUMBERS)
    judged = Judged(chances, happened, np.ones(len(keys)), no_change, own_rate)
    return _Scored(run, table, judged)


def _summary(part: _Scored) -> RunScore:
    chances, happened = part.judged.chances, part.judged.happened
    figures = yes_no_figures(chances, happened)
    counts, run = (len(chances), float(chances.sum()), int(happened.sum())), part.run
    return RunScore(run.day, run.first, run.last, *counts, figures.brier, figures.log_loss)


def _misses(
    forecaster: Forecaster, scored: Sequence[_Scored], *, happened: bool
) -> tuple[Surprise, ...]:
    """Return the pairs with the worst forecast errors of one type, each once, worst first."""
    worst = []
    for part in scored:
        wrong = part.judged.chances if happened else -part.judged.chances
        rows = np.flatnonzero(part.judged.happened == happened)
        rows = rows[np.argsort(wrong[rows], kind="stable")[:MISSES]]
        worst += [(float(wrong[row]), part, int(row)) for row in rows]
    found: dict[tuple[str, str], Surprise] = {}
    for _, part, row in sorted(worst, key=lambda each: each[0]):
        subject, object_ = (part.table[name][row].as_py() for name in NAMES)
        if (subject, object_) not in found and len(found) < MISSES:
            found[subject, object_] = Surprise(
                subject=subject, object=object_, first=part.run.first, last=part.run.last,
                probability=float(part.judged.chances[row]),
                predicates=_events(forecaster, (subject, object_), part.run),
            )  # fmt: skip
    return tuple(found.values())


def _events(forecaster: Forecaster, pair: tuple[str, str], run: StoredRun) -> tuple[str, ...]:
    """Return the labels of what the subject did to the object in the window."""
    data, facts = forecaster.model.dataset, forecaster.model.graph.facts
    (one, other), times = forecaster.ids(pair).tolist(), data.axis.positions(facts.times)
    rows = (facts.subjects == one) & (facts.objects == other)
    rows &= (times >= run.window.first) & (times <= run.window.last)
    names = [data.predicates[int(place)] for place in np.unique(facts.predicates[rows])]
    return tuple(map(forecaster.answerer.labels.label, names))


def _refit(groups: Mapping[str, GroupSkill], runs: int) -> str:
    every = groups["all"]
    skill, ratio = every.skill["own_rate"], every.forecast / max(every.share, 1e-12)
    if runs < FEWEST:
        return ""
    if skill is not None and skill <= 0:
        return "the forecasts are not better than each pair's own rate so far"
    if not 1 / MOST_OFF < ratio < MOST_OFF:
        return f"the forecasts expect {ratio:.2f} times as many events as happened"
    return ""


def stored_score(state: Path) -> Score | None:
    """Return the score that the last run stored, or None if it is missing or damaged."""
    try:
        return TypeAdapter(Score).validate_json((state / SCORE).read_bytes())
    except (OSError, ValueError):
        return None
