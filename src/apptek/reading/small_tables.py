"""Small tables of a user (entity types, predicates, aliases): a header and rows of text cells."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from apptek.errors import DataError
from apptek.reading.sniffing import DELIMITERS, find_encoding, first_rows, lines_of
from apptek.reading.text_cells import TEXT_FORMATS, TextFormat


def read_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a text or Parquet file with their line numbers; the first one is the header."""
    return _parquet_rows(path) if path.suffix == ".parquet" else _text_rows(path)


def _text_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a text file with their line numbers; delimiter and encoding are found."""
    usual = TEXT_FORMATS.get(path.suffix.lower())
    if usual is None:
        raise DataError(f"{path.name}: expected a .csv, .tsv, .txt or .parquet file")
    try:
        content = path.read_bytes()
        encoding = find_encoding(content)
        form = find_form(lines_of(content, encoding), usual)
        text = content.decode(encoding or "utf-8-sig")
        if form.quoted:
            reader = csv.reader(io.StringIO(text, ""), delimiter=form.delimiter)
        else:
            reader = csv.reader(
                io.StringIO(text, ""), delimiter=form.delimiter, quoting=csv.QUOTE_NONE
            )
        yield from ((reader.line_num, row) for row in reader if row)
    except (OSError, UnicodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read: {error}") from None


def find_form(text: bytes, usual: TextFormat) -> TextFormat:
    """The usual format, unless only another delimiter splits the first line and most others."""
    others = (TextFormat(mark, usual.quoted or mark != "\t") for mark in DELIMITERS)
    for form in (usual, *others):
        widths = [len(row) for row in first_rows(text, form)]
        if widths and widths[0] > 1 and 2 * sum(width > 1 for width in widths) > len(widths):
            return form
    return usual


def _parquet_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    try:
        table = parquet.ParquetFile(path).read(use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    yield 1, list(table.column_names)
    columns = [column.to_pylist() for column in table.columns]
    for line, row in enumerate(zip(*columns, strict=True), start=2):
        yield line, ["" if cell is None else str(cell) for cell in row]
