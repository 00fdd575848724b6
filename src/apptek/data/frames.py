"""Frames and tuples as a Dataset: whatever exports Arrow data, without a new dependency.

pandas, polars, DuckDB and pyarrow hand their tables over by `__arrow_c_stream__`. Names and times
become text, and take the way of a file from there: the same times, the same errors.
"""

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from datetime import date, datetime
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.data.facts import SPLITS, Dataset, Split, usual_open_end
from apptek.data.reading.assembly import assemble, each_pair_once, second_reader, with_mirrored
from apptek.data.reading.batches import Chunk, FactReader
from apptek.data.reading.columns import ROLES, ColumnLayout, find_layout, query_columns
from apptek.data.reading.fact_batch import NAME_TYPE, FactBatch
from apptek.data.reading.formats.text_columns import as_text, text_column
from apptek.data.reading.options import ReadOptions
from apptek.data.reading.parquet_tables import cells_of, is_clean
from apptek.data.reading.sources import SPLIT_NAMES
from apptek.data.splitting import Splitting, split_facts
from apptek.errors import DataError, NoFactsError

FrameKind = Literal["pandas", "polars", "arrow"]
When = str | int | date | np.datetime64 | None  # a time in Python; a datetime is a date, too
_SURROGATE = re.compile("[\ud800-\udfff]")  # half of a pair, which no encoding can write
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


def frame_of(table: pa.Table, kind: FrameKind | None = None) -> Any:
    """A table as a frame of pandas, polars or Arrow; by default of the first that is installed."""
    if kind not in (None, "pandas", "polars", "arrow"):
        raise DataError(f"a frame of {kind!r}: expected pandas, polars or arrow")
    if kind == "pandas" or (kind is None and find_spec("pandas")):
        return table.to_pandas()
    if kind == "polars" or (kind is None and find_spec("polars")):
        import polars

        return polars.from_arrow(table)
    return table


def table_of(frame: Any, name: str = "frame") -> pa.Table:
    """The whole frame as an Arrow table; DataError where it cannot be handed over."""
    if not is_frame(frame):
        steps = [name for name in ("toArrow", "collect") if hasattr(frame, name)]  # Spark, polars
        advice = f"{steps[0]}() it first" if steps else "expected a frame"
        raise DataError(f"{name}: {type(frame).__name__} hands over no Arrow data; {advice}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of names of columns that are no texts
            return pa.RecordBatchReader.from_stream(frame).read_all()
    except (pa.ArrowException, ValueError, TypeError) as error:
        reason = next(iter("; ".join(map(str, error.args)).splitlines()), type(error).__name__)
        raise DataError(f"{name}: the frame cannot be read ({reason})") from None


def read_facts(
    facts: Iterable[Sequence[Any]], *, name: str = "facts", options: ReadOptions
) -> Dataset:
    """The data set of tuples (subject, predicate, object), with a time, or with since and until."""
    columns: list[list[str]] = [[], [], [], [], []]
    if isinstance(facts, str) or not isinstance(facts, Iterable):
        raise DataError(
            f"{name}: found {facts!r}, expected tuples (subject, predicate, object, time)"
        )
    for row, fact in enumerate(facts, 1):
        if isinstance(fact, str) or not (isinstance(fact, Sized) and 3 <= len(fact) <= 5):
            raise DataError(
                f"{name}:{row}: found {fact!r}, expected (subject, predicate, object), then "
                "nothing, a time, or since and until"
            )
        since, until = (
            time_text(fact[column] if column < len(fact) else None) for column in (3, 4)
        )
        cells = (*map(_name_text, fact[:3]), since, until if len(fact) == 5 else since)
        for column, cell in zip(columns, cells, strict=True):
            if not cell.isascii() and _SURROGATE.search(cell):
                raise DataError(f"{name}:{row}: found half a character in {cell!r}, expected text")
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
        raise NoFactsError(f"{name}: the frame is empty; expected a fact in each row")
    layout = _find_layout([str(column) for column in table.column_names], column_of, name)
    texts = as_text(table, set(layout.columns.values()), name)
    for role in layout.columns.keys() & {"time", "since", "until"}:
        column = layout.columns[role]
        days = _days_where_midnight(texts.column(column))
        texts = texts.set_column(column, str(column), days)
    reader = FactReader.of(options)
    if split is None:
        rows_of: dict[Split, Any] = {"train": np.arange(table.num_rows)}
    else:
        rows_of = _rows_by_split(table, str(split), name)
    batches = _batches(reader, texts, layout, name, rows_of)
    while (again := second_reader(reader, batches)) is not None:
        reader = again
        batches = _batches(reader, texts, layout, name, rows_of)
    dataset = assemble(name, batches, reader, merge_intervals=options.merge_intervals)
    dataset = replace(dataset, open_end=options.open_end or usual_open_end(dataset.train))
    if options.undirected:
        dataset = each_pair_once(dataset)
    if split is None:
        dataset = split_facts(dataset, options.splitting or Splitting())
    elif options.splitting is not None:
        raise DataError(f"{name}: the column {split!r} splits the facts; leave splitting out")
    return with_mirrored(dataset) if options.undirected else dataset


def _batches(
    reader: FactReader, texts: pa.Table, layout: ColumnLayout, name: str, rows_of: dict[Split, Any]
) -> dict[Split, list[FactBatch]]:
    """The facts of each split; DataError about bad rows unless they are skipped."""
    batches: dict[Split, list[FactBatch]] = {}
    for part, rows in rows_of.items():
        table = texts.take(rows)
        clean = table if is_clean(table) else None
        chunk = Chunk(1, clean, cells_of(table), numbers=rows + 1)
        batches[part] = [reader.batch(name, chunk, layout)]
    if reader.times.outvoted() is None:
        reader.check()
    return batches


def read_query_texts(frame: Any, name: str = "frame") -> list[tuple[str, str, str]]:
    """Subject, object and time of each row of a frame, as texts; errors count rows from 1."""
    columns = query_text_columns(table_of(frame, name), name)
    return list(zip(*(column.cast(pa.string()).to_pylist() for column in columns), strict=True))


def query_text_columns(table: pa.Table, name: str) -> list[pa.DictionaryArray]:
    """Subjects, objects and times of a table as dictionaries of distinct texts."""
    names = [str(column) for column in table.column_names]
    columns = query_columns(names)
    if columns is None:
        raise DataError(
            f"{name}: found the columns {', '.join(names)}; expected subject, object and time"
        )
    texts = [
        text_column(table.column(column), names[column], name).cast(pa.string()).combine_chunks()
        for column in columns
    ]
    empty = [row for text in texts[:2] if (row := pc.index(text, "").as_py()) >= 0]
    if empty:
        raise DataError(
            f"{name}:{min(empty) + 1}: found an empty name, expected a subject and an object"
        )
    return [text.dictionary_encode() for text in texts]


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
    words = text_column(table.column(_position(column, table.column_names, name)), column, name)
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
