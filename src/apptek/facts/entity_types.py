"""A user's table of entity types: an entity in the first column, a kind of type in each other.

entity,sector,country
Reuters,Media,United Kingdom
Red Cross,Aid,
"""

from pathlib import Path

from apptek.errors import DataError
from apptek.reading.small_tables import read_rows
from apptek.safe_text import counted

EXPECTED = "a header, the entity in the first column and a kind of type in every other"


def read_types(path: Path) -> dict[str, dict[str, str]]:
    """Kind of type -> entity -> type, from a text or Parquet file; an empty cell gives no type."""
    rows = read_rows(path)
    _, header = next(rows, (1, []))
    kinds = header[1:]
    if not kinds or not all(kinds) or len(set(kinds)) < len(kinds):
        raise DataError(f"{path.name}: expected {EXPECTED}; found the header {header}")
    table: dict[str, dict[str, str]] = {kind: {} for kind in kinds}
    for line, row in rows:
        if len(row) != len(header):
            cells = counted(len(row), "cell")
            raise DataError(f"{path.name}:{line}: found {cells}, expected {len(header)}")
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
