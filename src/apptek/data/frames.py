"""Frames and tuples as a Dataset: whatever exports Arrow data, without a new dependency.

pandas, polars, DuckDB and pyarrow hand their tables over by `__arrow_c_stream__`. Names and times
become text, and take the way of a file from there: the same times, the same errors.
"""

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.data.facts import SPLITS, Dataset, Defect, Split, usual_open_end
from apptek.data.reading.arrow_tables import batch_of_table
from apptek.data.reading.assembly import assemble
from apptek.data.reading.columns import ROLES, ColumnLayout, find_layout, query_columns
from apptek.data.reading.exact_rows import RowError, batch_of_rows
from apptek.data.reading.fact_batch import NAME_TYPE, FactBatch
from apptek.data.reading.options import ReadOptions
from apptek.data.reading.parquet_tables import cells_of, is_clean
from apptek.data.reading.sources import SPLIT_NAMES
from apptek.data.splitting import Splitting, split_facts
from apptek.data.times import TimeDictionary
from apptek.errors import DataError

When = str | int | date | np.datetime64 | None  # a time in Python; a datetime is a date, too
MOST_DEFECTS_KEPT = 1000
_MIDNIGHT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T00:00:00(Z|[+-][0-9]{2}:[0-9]{2})?")
_HOW = "subject=..., predicate=..., object=..., time=... (or since=..., until=...)"


def is_frame(source: object) -> bool:
    """Whether an object hands over a table: a frame of pandas, polars, DuckDB or pyarrow."""
    return hasattr(source, "__arrow_c_stream__")


def is_list_of_facts(source: object) -> bool:
    """Whether an object is a list of tuples, not a path or several paths."""
    return isinstance(source, Sequence) and bool(source) and isinstance(source[0], tuple | list)


def time_text(when: Any) -> str:
    """A time of Python as the data would write it; empty where it is unknown."""
    if isinstance(when, str):
        return when
    if when is None or when != when:  # noqa: PLR0124  NaN and NaT are unlike themselves
        return ""
    if isinstance(when, datetime):  # and the Timestamp of pandas, which is one
        return when.isoformat(timespec="seconds")
    if isinstance(when, date):
        return when.isoformat()
    if isinstance(when, np.datetime64):
        has_clock = np.datetime_data(when.dtype)[0] not in ("Y", "M", "W", "D")
        return str(np.datetime_as_string(when, unit="s")) if has_clock else str(when)
    if isinstance(when, int | float | np.number) and float(when).is_integer() and when is not True:
        return str(int(when))
    raise DataError(f"found the time {when!r}, expected a text, a date, a datetime or an integer")


def without_midnight(text: str) -> str:
    """The day of a time at midnight, in the zone in which it is written; others as they are."""
    return text[:10] if _MIDNIGHT.fullmatch(text) else text


def table_of(frame: Any, name: str = "frame") -> pa.Table:
    """The whole frame as an Arrow table; DataError where it cannot be handed over."""
    if not is_frame(frame):
        advice = "collect() it first" if hasattr(frame, "collect") else "expected a frame"
        raise DataError(f"{name}: {type(frame).__name__} hands over no Arrow data; {advice}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of names of columns that are no texts
            return pa.RecordBatchReader.from_stream(frame).read_all()
    except (pa.ArrowException, ValueError, TypeError) as error:
        reason = "; ".join(map(str, error.args)).splitlines()[0]
        raise DataError(f"{name}: the frame cannot be read ({reason})") from None


def read_facts(
    facts: Iterable[Sequence[Any]], *, name: str = "facts", options: ReadOptions
) -> Dataset:
    """The data set of tuples (subject, predicate, object), with a time, or with since and until."""
    columns: list[list[str]] = [[], [], [], [], []]
    for row, fact in enumerate(facts, 1):
        if isinstance(fact, str) or not 3 <= len(fact) <= 5:
            raise DataError(
                f"{name}:{row}: found {fact!r}, expected (subject, predicate, object), then "
                "nothing, a time, or since and until"
            )
        since, until = (
            time_text(fact[column] if column < len(fact) else None) for column in (3, 4)
        )
        cells = (*map(_name_text, fact[:3]), since, until if len(fact) == 5 else since)
        for column, cell in zip(columns, cells, strict=True):
            column.append(cell)
    roles = ("subject", "predicate", "object", "since", "until")
    table = pa.table([pa.array(column, pa.string()) for column in columns], names=list(roles))
    return read_frame(table, dict(zip(roles, roles, strict=True)), name=name, options=options)


def _name_text(value: Any) -> str:
    return "" if value is None or value != value else str(value)  # noqa: PLR0124  NaN


def read_frame(
    frame: Any,
    column_of: Mapping[str, Any] | None = None,
    *,
    split: Any = None,
    name: str = "frame",
    options: ReadOptions,
) -> Dataset:
    """The data set of a frame.

    column_of  role -> column; without it, the usual names of columns, as in the header of a file
    split      the column that says train, valid or test; without it, the facts are split
    """
    table = table_of(frame, name)
    if not table.num_rows:
        raise DataError(f"{name}: the frame is empty; expected a fact in each row")
    layout = _find_layout([str(column) for column in table.column_names], column_of, name)
    texts = _as_text(table, layout, name)
    reader = _FrameReader(name, layout, options)
    if split is None:
        rows_of: dict[Split, Any] = {"train": np.arange(table.num_rows)}
    else:
        rows_of = _rows_by_split(table, str(split), name)
    batches = {part: [reader.batch(texts.take(rows), rows)] for part, rows in rows_of.items()}
    if reader.times.unsettled and reader.times.order:
        # Intervals were compared before a date said whether the day or the month comes first.
        options = replace(options, date_format=reader.times.order)
        return read_frame(table, column_of, split=split, name=name, options=options)
    dataset = assemble(
        name,
        batches,
        reader.times,
        merge_intervals=options.merge_intervals,
        defects=tuple(reader.defects),
        defect_count=reader.defect_count,
    )
    dataset = replace(dataset, open_end=options.open_end or usual_open_end(dataset.train))
    if split is None:
        return split_facts(dataset, options.splitting or Splitting())
    if options.splitting is not None:
        raise DataError(f"{name}: the column {split!r} splits the facts; leave splitting out")
    return dataset


def read_query_texts(frame: Any, name: str = "frame") -> list[tuple[str, str, str]]:
    """Subject, object and time of each row of a frame, as texts; errors count rows from 1."""
    table = table_of(frame, name)
    names = [str(column) for column in table.column_names]
    columns = query_columns(names)
    if columns is None:
        raise DataError(
            f"{name}: found the columns {', '.join(names)}; expected subject, object and time"
        )
    texts = [_text_column(table.column(column), names[column], name) for column in columns]
    rows = zip(*(text.cast(pa.string()).to_pylist() for text in texts), strict=True)
    queries = []
    for row, (subject, object_, time) in enumerate(rows, 1):
        if not (subject and object_):
            raise DataError(f"{name}:{row}: found an empty name, expected a subject and an object")
        queries.append((subject, object_, time))
    return queries


def _find_layout(names: list[str], column_of: Mapping[str, Any] | None, name: str) -> ColumnLayout:
    if not column_of:
        layout, is_header = find_layout(names, None, None, name)
        if not is_header:
            raise DataError(
                f"{name}: the columns {', '.join(names)} do not say what they hold: name them by "
                f"{_HOW}"
            )
        return layout
    given = {role: str(column) for role, column in column_of.items() if column is not None}
    missing = [role for role in ROLES[:3] if role not in given]
    if missing:
        raise DataError(f"{name}: no column for the {' and the '.join(missing)}; expected {_HOW}")
    if "time" in given and given.keys() & {"since", "until"}:
        raise DataError(f"{name}: either time, or since and until, not both")
    columns = {role: _position(column, names, name) for role, column in given.items()}
    if len(set(columns.values())) < len(columns):
        raise DataError(f"{name}: one column is used twice")
    return ColumnLayout(len(names), columns)


def _position(column: str, names: list[str], name: str) -> int:
    if names.count(column) > 1:
        raise DataError(f"{name}: {names.count(column)} columns are called {column!r}")
    if column not in names:
        raise DataError(f"{name}: there is no column {column!r}; there are {', '.join(names)}")
    return names.index(column)


def _rows_by_split(table: pa.Table, column: str, name: str) -> dict[Split, Any]:
    """The rows of each split, by the words of a column."""
    words = _text_column(table.column(_position(column, table.column_names, name)), column, name)
    values = np.asarray([text.strip().lower() for text in words.cast(pa.string()).to_pylist()])
    rows: dict[Split, Any] = {
        split: np.flatnonzero(np.isin(values, SPLIT_NAMES[split])) for split in SPLITS
    }
    if sum(map(len, rows.values())) < len(values):
        known = np.isin(values, [word for names in SPLIT_NAMES.values() for word in names])
        row = int(np.flatnonzero(~known)[0])
        raise DataError(
            f"{name}:{row + 1}: {column}: found {str(values[row])!r}, expected train, valid or test"
        )
    return {split: part for split, part in rows.items() if len(part)}


def _as_text(table: pa.Table, layout: ColumnLayout, name: str) -> pa.Table:
    """The frame with every column in use as a dictionary of texts; the others are empty."""
    roles = {number: role for role, number in layout.columns.items()}
    columns = []
    for number, (column, field) in enumerate(zip(table.columns, table.schema, strict=True)):
        if number not in roles:
            columns.append(pa.nulls(table.num_rows, pa.string()))
            continue
        texts = _text_column(column, field.name, name)
        is_time = roles[number] in ("time", "since", "until")
        columns.append(_days_where_midnight(texts) if is_time else texts)
    return pa.table(columns, names=[str(number) for number in range(len(columns))])


def _text_column(column: pa.ChunkedArray, label: str, name: str) -> pa.ChunkedArray:
    """A column as texts; what is missing becomes empty."""
    types = pa.types
    if types.is_dictionary(column.type):  # a category
        column = _decoded(column)
    kind = column.type
    if types.is_date(kind):
        column = column.cast(pa.date32())
    elif types.is_timestamp(kind):
        column = _timestamps(column)
    elif types.is_floating(kind) or types.is_decimal(kind):
        column = _whole_numbers(column, label, name)
    elif not (types.is_integer(kind) or types.is_null(kind) or _is_text(kind)):
        raise DataError(
            f"{name}: the column {label!r} is of type {kind}; expected texts, integers, dates or "
            "timestamps"
        )
    text = pc.fill_null(column.cast(pa.string()), "")
    return text.dictionary_encode().cast(NAME_TYPE)


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of a dictionary column; Arrow itself does not decode views of strings."""
    kind = column.type.value_type
    kind = pa.string() if _is_text(kind) else kind
    chunks = [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, kind)


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _timestamps(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The texts of timestamps, with their offset where they have a zone."""
    seconds = pc.floor_temporal(column, unit="second").cast(pa.timestamp("s", column.type.tz))
    if column.type.tz is None:
        return pc.strftime(seconds, "%Y-%m-%dT%H:%M:%S")
    text = pc.strftime(seconds, "%Y-%m-%dT%H:%M:%S%z")
    return pc.replace_substring_regex(text, r"([0-9]{2})([0-9]{2})$", r"\1:\2")


def _days_where_midnight(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Days, where every time of a column lies at midnight; else the times as they are."""
    chunks = []
    for chunk in texts.chunks:
        cut = [without_midnight(text) for text in chunk.dictionary.to_pylist()]
        if any("T" in text for text in cut):
            return texts
        days = pa.array(cut, pa.string())
        chunks.append(pa.DictionaryArray.from_arrays(chunk.indices, days).cast(pa.string()))
    return pa.chunked_array(chunks, pa.string()).dictionary_encode().cast(NAME_TYPE)


def _whole_numbers(column: pa.ChunkedArray, label: str, name: str) -> pa.ChunkedArray:
    """Numbers without a fraction: what pandas makes of integers as soon as one is missing."""
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        raise DataError(
            f"{name}: the column {label!r} holds numbers with a fraction; expected texts, "
            "integers, dates or timestamps"
        ) from None


class _FrameReader:
    """Reads the parts of a frame; all of them share the times and the list of bad rows."""

    def __init__(self, name: str, layout: ColumnLayout, options: ReadOptions) -> None:
        self.name, self.layout, self.options = name, layout, options
        self.times = TimeDictionary(options.granularity, options.date_format)
        self.defects: list[Defect] = []
        self.defect_count = 0

    def batch(self, table: pa.Table, rows: Any) -> FactBatch:
        """The facts of some rows, whose numbers in the frame are given."""
        state = self.times.state
        batch = batch_of_table(table, self.layout, self.times) if is_clean(table) else None
        if batch is not None:
            return batch
        self.times.state = state  # a table that was given up does not decide what times are

        def report(row: int, fault: RowError) -> None:
            defect = fault.at(self.name, int(rows[row]) + 1)
            if not self.options.skip_bad:
                raise DataError(str(defect))
            self.defect_count += 1
            if len(self.defects) < MOST_DEFECTS_KEPT:
                self.defects.append(defect)

        return batch_of_rows(cells_of(table), self.layout, self.times, report)
