"""The forecasts that a run stores, in one file per run date.

Each row is an ordered pair with an earlier fact. It contains the chance of an event in the window,
the forecasts of simple rules (forecast/skill.py), and whether the pair is an onset, a continuation,
or on the watch list. Names are stored instead of ids, because a refitted model may renumber them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import parquet

from apptek.arrays import Longs
from apptek.errors import DataError
from apptek.forecast.forecaster import Forecaster
from apptek.forecast.skill import groups_of, judged, recent_span
from apptek.forecast.window import Window
from apptek.models.occurrence.pair_counts import Meetings, Pairs, pair_keys
from apptek.results import WatchList

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
