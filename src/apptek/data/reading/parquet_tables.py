"""A Parquet file as tables of dictionary columns, like those that Arrow makes of text."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from apptek.data.reading.columns import ColumnLayout, find_layout
from apptek.data.reading.fact_batch import NAME_TYPE
from apptek.data.reading.text_blocks import damaged, is_compressed, one_line, read_whole
from apptek.errors import DataError

BATCH_ROWS = 1 << 19


def parquet_layout(path: Path, column_of: dict[str, str] | None) -> ColumnLayout:
    """The layout of the file's columns, whose types must be readable."""
    with _open(path) as file:
        layout, _ = find_layout(list(file.schema_arrow.names), column_of, True, path.name)
        for column in layout.columns.values():
            _check_type(path, file.schema_arrow.field(column))
        return layout


def _check_type(path: Path, column: pa.Field) -> None:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    types = pa.types
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    if not (is_text or types.is_integer(kind) or types.is_date(kind) or types.is_null(kind)):
        raise DataError(
            f"{path.name}: column {column.name!r} is of type {column.type}; "
            "expected strings, integers or dates"
        )


def read_tables(path: Path, layout: ColumnLayout) -> Iterator[pa.Table]:
    """The file as tables of some rows each, every cell in use as text; nulls become empty."""
    with _open(path) as file:
        try:
            for batch in file.iter_batches(BATCH_ROWS):
                yield _as_text(pa.Table.from_batches([batch]), layout)
        except (OSError, pa.ArrowException) as error:
            raise damaged(path, error) from None


def cells_of(table: pa.Table) -> Iterator[list[bytes]]:
    """The rows of such a table, for the careful path."""
    columns = [column.cast(pa.string()).cast(pa.binary()).to_pylist() for column in table.columns]
    for row in zip(*columns, strict=True):
        yield [cell or b"" for cell in row]


def is_clean(table: pa.Table) -> bool:
    """Whether every text is UTF-8 without NUL; Parquet itself does not check that."""
    for column in table.columns:
        for chunk in column.chunks:
            texts = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
            try:
                texts.validate(full=True)
            except pa.ArrowInvalid:
                return False
            if pc.any(pc.match_substring(texts, "\0")).as_py():
                return False
    return True


def _open(path: Path) -> parquet.ParquetFile:
    source = pa.BufferReader(read_whole(path)) if is_compressed(path) else path
    try:
        return parquet.ParquetFile(source)
    except (FileNotFoundError, PermissionError) as error:
        raise DataError(f"{path}: cannot be opened ({one_line(error)})") from None
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, error) from None


def _as_text(table: pa.Table, layout: ColumnLayout) -> pa.Table:
    used = set(layout.columns.values())
    columns = [
        _text_column(column) if number in used else pa.nulls(table.num_rows, pa.string())
        for number, column in enumerate(table.columns)
    ]
    names = [str(number) for number in range(table.num_columns)]
    return pa.table(columns, names=names)


def _text_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_date(column.type):
        column = column.cast(pa.date32())
    text = pc.fill_null(column.cast(pa.string()), "")
    return text.dictionary_encode().cast(NAME_TYPE)
