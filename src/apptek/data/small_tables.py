"""Small tables of a user (entity types, predicates, aliases): a header and rows of text cells."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from apptek.data.reading.text_cells import TEXT_FORMATS
from apptek.errors import DataError


def read_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a text or Parquet file with their line numbers; the first one is the header."""
    return _parquet_rows(path) if path.suffix == ".parquet" else _text_rows(path)


def _text_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a text file with their line numbers. Only .csv has quotes, as in fact files."""
    if path.suffix not in TEXT_FORMATS:
        raise DataError(f"{path.name}: expected a .csv, .tsv, .txt or .parquet file")
    form = TEXT_FORMATS[path.suffix]
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if form.quoted:
                reader = csv.reader(file, delimiter=form.delimiter)
            else:
                reader = csv.reader(file, delimiter=form.delimiter, quoting=csv.QUOTE_NONE)
            yield from ((reader.line_num, row) for row in reader if row)
    except (OSError, UnicodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read: {error}") from None


def _parquet_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    try:
        table = parquet.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    yield 1, list(table.column_names)
    columns = [column.to_pylist() for column in table.columns]
    for line, row in enumerate(zip(*columns, strict=True), start=2):
        yield line, ["" if cell is None else str(cell) for cell in row]
