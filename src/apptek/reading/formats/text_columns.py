"""Columns of Arrow as texts: of frames, of Parquet files and of sheets."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.errors import DataError
from apptek.reading.fact_batch import NAME_TYPE
from apptek.reading.text_blocks import one_line

EXACT = 2**53  # below it, floats hold every whole number
EXPECTED = "expected texts, integers, dates or timestamps"


def check_type(kind: pa.DataType, label: str, name: str) -> None:
    """Refuses a type whose values are neither names nor times."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    types = pa.types
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    moments = types.is_date(kind) or types.is_timestamp(kind)
    if not (numbers or moments or types.is_null(kind) or is_text(kind)):
        raise DataError(f"{name}: the column {label!r} is of type {kind}; {EXPECTED}")


def is_text(kind: pa.DataType) -> bool:
    """Whether the values of a type are strings."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def text_column(
    column: pa.ChunkedArray, label: str, name: str, *, days: bool | None = None
) -> pa.ChunkedArray:
    """A column as a dictionary of texts; what is missing becomes empty.

    days  whether timestamps are days of their own zone; None: if all lie at midnight there
    """
    check_type(column.type, label, name)
    try:
        if pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
            return pa.chunked_array([_filled(chunk) for chunk in column.chunks], NAME_TYPE)
        text = pc.fill_null(_plain(column, label, name, days).cast(pa.string()), "")
        return text.dictionary_encode().cast(NAME_TYPE)
    except pa.ArrowException as error:
        raise DataError(
            f"{name}: the column {label!r} cannot be read ({one_line(error)}); {EXPECTED}"
        ) from None


def _plain(column: pa.ChunkedArray, label: str, name: str, days: bool | None) -> pa.ChunkedArray:
    """A column whose values have the text that they should."""
    types = pa.types
    if types.is_dictionary(column.type):  # a category
        column = column.cast(column.type.value_type)
    if types.is_date(column.type):
        return column.cast(pa.date32())
    if types.is_timestamp(column.type):
        return _timestamps(column, at_midnight(column) if days is None else days)
    if types.is_floating(column.type) or types.is_decimal(column.type):
        return _whole_numbers(column, label, name)
    return column


def _filled(chunk: pa.DictionaryArray) -> pa.DictionaryArray:
    """A dictionary of texts with an empty one for what is missing; the rows are not decoded."""
    texts = pc.fill_null(chunk.dictionary.cast(pa.string()), "")
    indices = chunk.indices.cast(pa.int32())
    if indices.null_count:
        indices = pc.fill_null(indices, len(texts))
        texts = pa.concat_arrays([texts, pa.array([""])])
    return compact(pa.DictionaryArray.from_arrays(indices, texts))


def compact(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """The same column without the entries of its dictionary that no row uses."""
    indices = column.indices.to_numpy()
    uses = np.bincount(indices, minlength=len(column.dictionary)) > 0
    if uses.all():
        return column
    rows = (np.cumsum(uses, dtype=np.int32) - 1)[indices].astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(rows), column.dictionary.filter(pa.array(uses)))


def at_midnight(column: pa.ChunkedArray) -> bool:
    """Whether all timestamps of a column lie at midnight of their own zone: then they are days."""
    local = column if column.type.tz is None else pc.local_timestamp(column)
    days = pc.floor_temporal(local, unit="day")
    return pc.all(pc.equal(local, days)).as_py() in (True, None)


def _timestamps(column: pa.ChunkedArray, days: bool) -> pa.ChunkedArray:
    """Dates of the timestamps' own zone, or texts with the time of day, in UTC."""
    zone = column.type.tz
    if days:
        local = column if zone is None else pc.local_timestamp(column)
        return local.cast(pa.timestamp(local.type.unit)).cast(pa.date32())
    if zone is not None:
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    seconds = pc.floor_temporal(column, unit="second").cast(pa.timestamp("s", column.type.tz))
    return pc.strftime(seconds, "%Y-%m-%dT%H:%M:%S" + ("" if zone is None else "Z"))


def _whole_numbers(column: pa.ChunkedArray, label: str, name: str) -> pa.ChunkedArray:
    """Numbers without a fraction: what pandas makes of integers as soon as one is missing."""
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


def as_text(
    table: pa.Table, used: set[int], name: str, days: dict[int, bool] | None = None
) -> pa.Table:
    """A table with every column in use as a dictionary of texts; the others are empty."""
    columns = [
        text_column(column, field.name, name, days=(days or {}).get(number))
        if number in used
        else pa.nulls(table.num_rows, pa.string())
        for number, (column, field) in enumerate(zip(table.columns, table.schema, strict=True))
    ]
    return pa.table(columns, names=[str(number) for number in range(len(columns))])
