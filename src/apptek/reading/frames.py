"""Arrow columns as texts: from Parquet files, frames, and tuples.

pandas, polars, DuckDB and pyarrow export their tables with `__arrow_c_stream__`, so they need no
extra dependency. Names and times become text and are then read like a file: the same times and the
same errors.
"""

import re
import warnings
from collections.abc import Iterator, Sequence, Sized
from contextlib import contextmanager
from datetime import date, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from apptek.errors import DataError, NoFactsError
from apptek.reading.columns import (
    FREE,
    FREE_LAYOUTS,
    SPLIT,
    ColumnLayout,
    Roles,
    check_roles,
    named_layout,
)
from apptek.reading.options import ReadOptions
from apptek.reading.parts import EXACT, Content, Part, Row, good_rows, parts_of_rows, texts_of
from apptek.reading.streams import DAMAGE, check_growth, damaged, one_line
from apptek.reading.time_votes import without_midnights

BATCH_ROWS = 1 << 19
ROW_BYTES = 16  # minimum size of a row, however well it is compressed
EXPECTED = "expected texts, integers, dates or timestamps"
FrameKind = Literal["pandas", "polars", "arrow"]
When = str | int | date | np.datetime64 | None  # a time in Python; a datetime is also a date
_UNNAMED_INDEX = re.compile("__index_level_[0-9]+__")  # from pandas
QUERY_ROLES = ("subject", "object", "time")


def is_frame(source: object) -> bool:
    """Return whether an object exports a table: a pandas, polars, DuckDB or pyarrow frame."""
    return hasattr(source, "__arrow_c_stream__")


def time_text(when: Any) -> str:
    """Return a Python time in the data's format, or an empty text if it is unknown."""
    if isinstance(when, str):
        return when
    if when is None or when != when:  # noqa: PLR0124  NaN and NaT do not equal themselves
        return ""
    if isinstance(when, datetime):  # including pandas' Timestamp
        return when.isoformat(timespec="seconds")
    if isinstance(when, date):
        return when.isoformat()
    if isinstance(when, np.datetime64):
        has_clock = np.datetime_data(when.dtype)[0] not in ("Y", "M", "W", "D")
        return str(np.datetime_as_string(when, unit="s")) if has_clock else str(when)
    is_number = isinstance(when, int | float | np.number) and not isinstance(when, bool)
    if is_number and float(when).is_integer():
        return str(int(when))
    raise DataError(f"found the time {when!r}, expected a text, a date, a datetime or an integer")


def frame_of(table: pa.Table, kind: FrameKind | None = None) -> Any:
    """Return a table as a pandas, polars or Arrow frame. The default is the first installed one."""
    if kind not in (None, "pandas", "polars", "arrow"):
        raise DataError(f"a frame of {kind!r}: expected pandas, polars or arrow")
    if kind == "pandas" or (kind is None and find_spec("pandas")):
        return table.to_pandas()
    if kind == "polars" or (kind is None and find_spec("polars")):
        import polars

        return polars.from_arrow(table)
    return table


def table_of(frame: Any, name: str = "frame") -> pa.Table:
    """Return the whole frame as an Arrow table. Raise DataError if it cannot be exported."""
    if not is_frame(frame):
        steps = [name for name in ("toArrow", "collect") if hasattr(frame, name)]  # Spark, polars
        advice = f"{steps[0]}() it first" if steps else "expected a frame"
        raise DataError(f"{name}: {type(frame).__name__} does not export Arrow data; {advice}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about column names that are not texts
            table = pa.RecordBatchReader.from_stream(frame).read_all()
    except (pa.ArrowException, ValueError, TypeError) as error:
        reason = next(iter("; ".join(map(str, error.args)).splitlines()), type(error).__name__)
        raise DataError(f"{name}: the frame cannot be read ({reason})") from None
    unnamed = [column for column in table.column_names if _UNNAMED_INDEX.fullmatch(str(column))]
    return table.drop_columns(unnamed)


def open_tuples(facts: Sequence[Sequence[Any]], _options: ReadOptions, name: str) -> Content:
    """Open tuples (subject, predicate, object), optionally with a time or with since and until."""
    rows: list[Row] = []
    for number, fact in enumerate(facts, 1):
        if isinstance(fact, str) or not (isinstance(fact, Sized) and len(fact) in FREE_LAYOUTS):
            raise DataError(
                f"{name}:{number}: found {fact!r}, expected (subject, predicate, object), then "
                "nothing, a time, or since and until"
            )
        rows.append((number, [*map(_name_text, fact[:3]), *map(time_text, fact[3:])]))
    return Content(parts_of_rows(rows, FREE, name, "text without unpaired surrogates"))


def _name_text(value: Any) -> str:
    return "" if value is None or value != value else str(value)  # noqa: PLR0124  NaN


def open_frame(frame: Any, options: ReadOptions, name: str) -> Content:
    """Open a frame, by its named columns or by the usual names, as for the header of a file."""
    table, columns = table_of(frame, name), options.column_of()
    if not table.num_rows:
        raise NoFactsError(f"{name}: the frame is empty; expected a fact in each row")
    if columns and list(columns) != [SPLIT]:
        check_roles(columns, name)
    layout, notes = named_layout([str(column) for column in table.column_names], columns, name)
    return Content(iter([part_of(table, layout, name)]), notes=notes)


def read_query_texts(frame: Any, roles: tuple[str, ...] = QUERY_ROLES) -> list[tuple[str, ...]]:
    """Return subject, object and time of each row of a frame as texts. Errors count rows from 1."""
    table, name = table_of(frame), "frame"
    layout, _ = named_layout([str(column) for column in table.column_names], None, name, roles)
    part = good_rows(part_of(table, layout, name), name, {})
    for defect in part.defects:
        raise DataError(str(defect))
    texts = [part.table.column(role).cast(pa.string()).combine_chunks() for role in roles]
    texts[2:] = [without_midnights(text) for text in texts[2:]]
    return list(zip(*(text.to_pylist() for text in texts), strict=True))


def open_parquet(file: Path, options: ReadOptions, name: str, roles: Roles = None) -> Content:
    """Open a Parquet file."""
    with opened(file, options.max_bytes) as content:
        names = list(content.schema_arrow.names)
        layout, notes = named_layout(names, options.column_of(), name, roles)
    return Content(_parquet_parts(file, layout, options.max_bytes), {"format": "parquet"}, notes)


def _parquet_parts(file: Path, layout: ColumnLayout, max_bytes: int | None) -> Iterator[Part]:
    number = 1
    with opened(file, max_bytes) as content:
        for batch in content.iter_batches(BATCH_ROWS):
            table = pa.Table.from_batches([batch])
            yield part_of(table, layout, file.name, number)
            number += table.num_rows
    if number == 1:
        raise NoFactsError(f"{file.name}:1: the file is empty; expected a fact in each row")


def part_of(table: pa.Table, layout: ColumnLayout, name: str, number: int = 1) -> Part:
    """Return the rows of a table as texts, numbered from `number`."""
    columns = {
        role: text_column(table.column(column), table.schema.field(column).name, name)
        for role, column in layout.columns.items()
    }
    numbers = range(number, number + table.num_rows)
    return Part(pa.table(columns), numbers, layout.labels)


@contextmanager
def opened(path: Path, max_bytes: int | None) -> Iterator[parquet.ParquetFile]:
    """Open a Parquet file. Raise DataError if it is damaged or grows too large.

    Strings are dictionary-encoded, so a frequent long string is stored only once.
    """
    try:
        texts = [field.name for field in parquet.read_schema(path) if _is_text(field.type)]
        file = parquet.ParquetFile(path, read_dictionary=texts)
        metadata = file.metadata
        groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
        size = sum(group.total_byte_size for group in groups)
        check_growth(path, max(size, metadata.num_rows * ROW_BYTES), max_bytes)
        yield file
    except (FileNotFoundError, PermissionError) as error:
        raise DataError(f"{path}: cannot be opened ({one_line(error)})") from None
    except DAMAGE as error:
        raise damaged(path, error) from None


def check_type(kind: pa.DataType, label: str, name: str) -> None:
    """Reject a type whose values are neither names nor times."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    types = pa.types
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    moments = types.is_date(kind) or types.is_timestamp(kind)
    if not (numbers or moments or types.is_null(kind) or _is_text(kind)):
        raise DataError(f"{name}: the column {label!r} is of type {kind}; {EXPECTED}")


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def text_column(column: pa.ChunkedArray, label: str, name: str) -> pa.DictionaryArray:
    """Return a column as a dictionary of texts. Missing values become empty texts."""
    check_type(column.type, label, name)
    try:
        if pa.types.is_null(column.type):
            column = column.cast(pa.string())
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        if column.num_chunks != 1:
            column = column.unify_dictionaries()
        distinct = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        plain = _plain(distinct.dictionary, label, name).cast(pa.string())
        texts = texts_of(pa.DictionaryArray.from_arrays(distinct.indices, plain))  # checks bounds
        texts.dictionary.validate(full=True)  # Parquet itself does not check that it is UTF-8
    except pa.ArrowException as error:
        raise DataError(
            f"{name}: the column {label!r} cannot be read ({one_line(error)}); {EXPECTED}"
        ) from None
    return texts


def _plain(values: pa.Array, label: str, name: str) -> pa.Array:
    """Return distinct values in a form that converts to the right text."""
    types = pa.types
    if types.is_date(values.type):
        return values.cast(pa.date32())
    if types.is_timestamp(values.type):
        return _timestamps(values)
    if types.is_floating(values.type) or types.is_decimal(values.type):
        return _whole_numbers(values, label, name)
    return values


def _timestamps(values: pa.Array) -> pa.Array:
    """Return timestamps as texts in UTC, except midnights in their own zone, which are days."""
    zone, form = values.type.tz, "%Y-%m-%dT%H:%M:%S"
    seconds = pc.floor_temporal(values, unit="second").cast(pa.timestamp("s", zone))
    if zone is None:
        return pc.strftime(seconds, form)
    local = pc.local_timestamp(values)
    texts = pc.strftime(seconds.cast(pa.timestamp("s", "UTC")), f"{form}Z")
    is_day = pc.equal(local, pc.floor_temporal(local, unit="day"))
    return pc.if_else(is_day, pc.strftime(seconds, f"{form}%z"), texts)


def _whole_numbers(column: pa.Array, label: str, name: str) -> pa.Array:
    """Return whole numbers as integers. pandas uses floats if an integer is missing."""
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
        if pc.any(pc.greater_equal(pc.abs(column), float(EXACT))).as_py():
            raise DataError(
                f"{name}: the column {label!r} contains floats beyond 2^53, which are not "
                "exact: write such ids as text"
            )
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        raise DataError(
            f"{name}: the column {label!r} contains numbers with a fraction; {EXPECTED}"
        ) from None
