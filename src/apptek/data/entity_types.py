"""A user's table of entity types: an entity in the first column, a kind of type in each other.

entity,sector,country
Reuters,Media,United Kingdom
Red Cross,Aid,
"""

import csv
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from apptek.data.reading.text_cells import TEXT_FORMATS
from apptek.errors import DataError

EXPECTED = "a header, the entity in the first column and a kind of type in every other"


def read_types(path: Path) -> dict[str, dict[str, str]]:
    """Kind of type -> entity -> type, from a text or Parquet file; an empty cell gives no type."""
    rows = _parquet_rows(path) if path.suffix == ".parquet" else _text_rows(path)
    _, header = next(rows, (1, []))
    kinds = header[1:]
    if not kinds or not all(kinds) or len(set(kinds)) < len(kinds):
        raise DataError(f"{path.name}: expected {EXPECTED}; found the header {header}")
    table: dict[str, dict[str, str]] = {kind: {} for kind in kinds}
    for line, row in rows:
        if len(row) != len(header):
            raise DataError(f"{path.name}:{line}: found {len(row)} cells, expected {len(header)}")
        if not row[0]:
            raise DataError(f"{path.name}:{line}: the first cell names no entity")
        for kind, value in zip(kinds, row[1:], strict=True):
            if value and table[kind].setdefault(row[0], value) != value:
                raise DataError(
                    f"{path.name}:{line}: {row[0]!r} has two types of the kind {kind!r}: "
                    f"{table[kind][row[0]]!r} and {value!r}"
                )
    if not any(table.values()):
        raise DataError(f"{path.name}: there are no types in it; expected {EXPECTED}")
    return {kind: types for kind, types in table.items() if types}


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
