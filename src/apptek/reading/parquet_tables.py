"""A Parquet file as tables of dictionary columns, like those that Arrow makes of text."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from apptek.errors import DataError, NoFactsError
from apptek.reading.batches import Chunk, Content
from apptek.reading.columns import FindLayout, find_layout, left_out_note
from apptek.reading.formats.text_columns import as_text, at_midnight, check_type, is_text
from apptek.reading.options import ReadOptions
from apptek.reading.text_blocks import (
    allowed_bytes,
    damaged,
    is_compressed,
    one_line,
    read_whole,
    too_large,
)

BATCH_ROWS = 1 << 19
ROW_BYTES = 16  # what a row takes at least, however well it is compressed
# Whatever Arrow or a decompressor may raise about a damaged file.
DAMAGE = (
    *(OSError, ValueError, LookupError, TypeError, RuntimeError, ArithmeticError, MemoryError),
    *(EOFError, zlib.error, pa.ArrowException),
)


def open_parquet(
    file: Path,
    options: ReadOptions,
    columns: dict[str, str] | None,
    find: FindLayout = find_layout,
) -> Content:
    """The content of a Parquet file."""
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
    used = set(layout.columns.values())
    chunks = _chunks(file, used, options.max_bytes)
    return Content(layout, chunks, {"format": "parquet"}, () if note is None else (note,))


def _chunks(file: Path, used: set[int], max_bytes: int | None) -> Iterator[Chunk]:
    row = 1
    for table in read_tables(file, used, max_bytes):
        clean = table if is_clean(table) else None
        yield Chunk(row, clean, cells_of(table))
        row += table.num_rows
    if row == 1:
        raise NoFactsError(f"{file.name}:1: the file is empty; expected a fact in each row")


def read_tables(
    path: Path, used: set[int], max_bytes: int | None = None, rows: int | None = None
) -> Iterator[pa.Table]:
    """The file as tables of some rows each, every cell in use as text; nulls become empty."""
    with opened(path, max_bytes, used) as file:
        days = _days(file, used)
        for batch in file.iter_batches(rows or BATCH_ROWS):
            yield as_text(pa.Table.from_batches([batch]), used, path.name, days)


def _days(file: parquet.ParquetFile, used: set[int]) -> dict[int, bool]:
    """Whether the timestamps of a column are days: to be known before the first of them is read."""
    days: dict[int, bool] = {}
    for column in used:
        field = file.schema_arrow.field(column)
        if pa.types.is_timestamp(field.type):
            batches = file.iter_batches(BATCH_ROWS, columns=[field.name])
            tables = (pa.Table.from_batches([batch]).column(0) for batch in batches)
            days[column] = all(at_midnight(part) for part in tables)
    return days


@contextmanager
def opened(
    path: Path, max_bytes: int | None = None, used: set[int] | None = None
) -> Iterator[parquet.ParquetFile]:
    """A Parquet file whose size is checked; DataError where it is damaged or grows too large.

    The strings of columns in use are kept as dictionaries, so that a long one that occurs often
    takes its room once.
    """
    try:
        allowed = allowed_bytes(path, max_bytes)
        source: Any = pa.BufferReader(read_whole(path, max_bytes)) if is_compressed(path) else path
        file = parquet.ParquetFile(source)
        if used is not None:
            fields = [file.schema_arrow.field(column) for column in used]
            texts = [field.name for field in fields if is_text(field.type)]
            file = parquet.ParquetFile(source, read_dictionary=texts)
        metadata = file.metadata
        groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
        size = sum(group.total_byte_size for group in groups)
        if max(size, metadata.num_rows * ROW_BYTES) > allowed:
            raise too_large(path, allowed)
        yield file
    except (FileNotFoundError, PermissionError) as error:
        raise DataError(f"{path}: cannot be opened ({one_line(error)})") from None
    except DAMAGE as error:
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
