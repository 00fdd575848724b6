"""A Parquet file as tables of dictionary columns, like those of a block of text."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from apptek.data.reading.arrow_rows import NAME_TYPE
from apptek.data.reading.columns import Layout, find_layout
from apptek.data.reading.text_blocks import damaged, is_compressed, one_line, read_whole
from apptek.errors import DataError

BATCH_ROWS = 1 << 19


def parquet_layout(path: Path, wanted: dict[str, str] | None) -> Layout:
    """Where the parts of a fact stand among the file's columns."""
    with _open(path) as file:
        layout, _ = find_layout(list(file.schema_arrow.names), wanted, True, path.name)
        for place in layout.places.values():
            _check_type(path, file.schema_arrow.field(place))
        return layout


def _check_type(path: Path, column: pa.Field) -> None:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    fits = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_date)
    if not any(test(kind) for test in (*fits, pa.types.is_null, _is_string_view)):
        raise DataError(
            f"{path.name}: column {column.name!r} is of type {column.type}; "
            "expected strings, integers or dates"
        )


def _is_string_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(kind))


def read_tables(path: Path, layout: Layout) -> Iterator[pa.Table]:
    """The file in tables of some rows, every used cell as text; nulls become empty."""
    with _open(path) as file:
        try:
            for batch in file.iter_batches(BATCH_ROWS):
                yield _as_text(pa.Table.from_batches([batch]), layout)
        except (OSError, pa.ArrowException) as error:
            raise damaged(path, error) from None


def cells_of(table: pa.Table) -> Iterator[list[bytes]]:
    """The rows of such a table for the careful way."""
    columns = [column.cast(pa.string()).cast(pa.binary()).to_pylist() for column in table.columns]
    for row in zip(*columns, strict=True):
        yield [cell or b"" for cell in row]


def is_clean(table: pa.Table) -> bool:
    """Whether every text is UTF-8 without NUL; Parquet itself does not see to it."""
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


def _as_text(table: pa.Table, layout: Layout) -> pa.Table:
    used = set(layout.places.values())
    columns = [
        _text_column(column) if place in used else pa.nulls(table.num_rows, pa.string())
        for place, column in enumerate(table.columns)
    ]
    names = [str(place) for place in range(table.num_columns)]
    return pa.table(columns, names=names)


def _text_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_date(column.type):
        column = column.cast(pa.date32())
    text = pc.fill_null(column.cast(pa.string()), "")
    return text.dictionary_encode().cast(NAME_TYPE)
