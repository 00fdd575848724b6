"""Columns of Arrow as texts, of Parquet files and of frames."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from apptek.errors import DataError, NoFactsError
from apptek.reading.columns import ColumnLayout, FindLayout, find_layout, left_out_note
from apptek.reading.options import ReadOptions
from apptek.reading.parts import Content, Part, texts_of
from apptek.reading.streams import (
    DAMAGE,
    TextSource,
    check_growth,
    damaged,
    is_compressed,
    marked,
    one_line,
    read_pieces,
)

BATCH_ROWS = 1 << 19
ROW_BYTES = 16  # what a row takes at least, however well it is compressed
EXACT = 2**53  # below it, floats hold every whole number
EXPECTED = "expected texts, integers, dates or timestamps"


def open_parquet(
    file: Path,
    options: ReadOptions,
    columns: dict[str, str] | None,
    find: FindLayout = find_layout,
) -> Content:
    """Open a Parquet file."""
    with opened(file, options.max_bytes) as content:
        names = list(content.schema_arrow.names)
        layout, has_header = find(names, columns, True, file.name)
        if not has_header:
            raise DataError(
                f"{file.name}: found the columns {', '.join(names)}; "
                "expected subject, object and time"
            )
        for column in layout.columns.values():
            check_type(content.schema_arrow.field(column).type, names[column], file.name)
    note = None if columns is not None else left_out_note(names, layout, file.name)
    parts = _parquet_parts(file, layout, options.max_bytes)
    return Content(parts, {"format": "parquet"}, () if note is None else (note,))


def _parquet_parts(file: Path, layout: ColumnLayout, max_bytes: int | None) -> Iterator[Part]:
    number = 1
    with opened(file, max_bytes, set(layout.columns.values())) as content:
        days = _days(content, layout)
        for batch in content.iter_batches(BATCH_ROWS):
            table = pa.Table.from_batches([batch])
            yield part_of(table, layout, file.name, number, days)
            number += table.num_rows
    if number == 1:
        raise NoFactsError(f"{file.name}:1: the file is empty; expected a fact in each row")


def part_of(
    table: pa.Table,
    layout: ColumnLayout,
    name: str,
    number: int = 1,
    days: Mapping[str, bool] | None = None,
) -> Part:
    """Return the rows of a table as texts, numbered from `number` on."""
    columns = {
        role: text_column(table.column(n), table.schema.field(n).name, name, (days or {}).get(role))
        for role, n in layout.columns.items()
    }
    numbers = range(number, number + table.num_rows)
    return Part(pa.table(columns), numbers, layout.labels)


def _days(file: parquet.ParquetFile, layout: ColumnLayout) -> dict[str, bool]:
    """Return whether the timestamps of a column are days, before the first of them is read."""
    days: dict[str, bool] = {}
    for role, column in layout.columns.items():
        field = file.schema_arrow.field(column)
        if pa.types.is_timestamp(field.type):
            batches = file.iter_batches(BATCH_ROWS, columns=[field.name])
            tables = (pa.Table.from_batches([batch]).column(0) for batch in batches)
            days[role] = all(_at_midnight(part) for part in tables)
    return days


@contextmanager
def opened(
    path: Path, max_bytes: int | None = None, used: set[int] | None = None
) -> Iterator[parquet.ParquetFile]:
    """Open a Parquet file; DataError where it is damaged or grows too large.

    The strings of columns in use are kept as dictionaries, so that a long one that occurs often
    takes its memory once.
    """
    try:
        source: Any = path
        if is_compressed(path):
            pieces = read_pieces(TextSource(path, None, max_bytes))
            source = pa.BufferReader(b"".join(text for text, _ in pieces))
        file = parquet.ParquetFile(source)
        if used is not None:
            fields = [file.schema_arrow.field(column) for column in used]
            texts = [field.name for field in fields if _is_text(field.type)]
            file = parquet.ParquetFile(source, read_dictionary=texts)
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
    """Refuse a type whose values are neither names nor times."""
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


def text_column(
    column: pa.ChunkedArray, label: str, name: str, days: bool | None = None
) -> pa.DictionaryArray:
    """Return a column as a dictionary of texts; what is missing becomes empty.

    days  whether timestamps are days of their own zone; None: if all lie at midnight there
    """
    check_type(column.type, label, name)
    try:
        is_category = pa.types.is_dictionary(column.type)
        if not (is_category and _is_text(column.type.value_type)):
            column = _plain(column, label, name, days).cast(pa.string())
        elif column.num_chunks > 1:
            column = column.unify_dictionaries()
        texts = texts_of(column)
        texts = pa.DictionaryArray.from_arrays(texts.indices, texts.dictionary)  # checks the bounds
    except pa.ArrowException as error:
        raise DataError(
            f"{name}: the column {label!r} cannot be read ({one_line(error)}); {EXPECTED}"
        ) from None
    try:
        texts.dictionary.validate(full=True)  # Parquet itself does not check that it is UTF-8
    except pa.ArrowInvalid:
        clean = [marked(text).decode() for text in texts.dictionary.cast(pa.binary()).to_pylist()]
        texts = pa.DictionaryArray.from_arrays(texts.indices, pa.array(clean, pa.string()))
    return texts


def _plain(column: pa.ChunkedArray, label: str, name: str, days: bool | None) -> pa.ChunkedArray:
    """Return a column whose values have the text that they should."""
    types = pa.types
    if types.is_dictionary(column.type):  # a category
        column = column.cast(column.type.value_type)
    if types.is_date(column.type):
        return column.cast(pa.date32())
    if types.is_timestamp(column.type):
        return _timestamps(column, _at_midnight(column) if days is None else days)
    if types.is_floating(column.type) or types.is_decimal(column.type):
        return _whole_numbers(column, label, name)
    return column


def _at_midnight(column: pa.ChunkedArray) -> bool:
    """Return whether all timestamps lie at midnight of their own zone: then they are days."""
    local = column if column.type.tz is None else pc.local_timestamp(column)
    days = pc.floor_temporal(local, unit="day")
    return pc.all(pc.equal(local, days)).as_py() in (True, None)


def _timestamps(column: pa.ChunkedArray, days: bool) -> pa.ChunkedArray:
    """Return dates of the timestamps' own zone, or texts with the time of day, in UTC."""
    zone = column.type.tz
    if days:
        local = column if zone is None else pc.local_timestamp(column)
        return local.cast(pa.timestamp(local.type.unit)).cast(pa.date32())
    if zone is not None:
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    seconds = pc.floor_temporal(column, unit="second").cast(pa.timestamp("s", column.type.tz))
    return pc.strftime(seconds, "%Y-%m-%dT%H:%M:%S" + ("" if zone is None else "Z"))


def _whole_numbers(column: pa.ChunkedArray, label: str, name: str) -> pa.ChunkedArray:
    """Return numbers without a fraction: pandas makes them of integers where one is missing."""
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
        if pc.any(pc.greater_equal(pc.abs(column), float(EXACT))).as_py():
            raise DataError(
                f"{name}: the column {label!r} holds fractional numbers beyond 2^53, which are not "
                "exact: write such ids as text"
            )
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        raise DataError(
            f"{name}: the column {label!r} holds numbers with a fraction; {EXPECTED}"
        ) from None
