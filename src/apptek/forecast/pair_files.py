"""Read pairs to watch from a file or a database: one subject and object per row."""

from pathlib import Path

from apptek.databases import Database
from apptek.errors import DataError, UnknownName
from apptek.facts.name_matching import NameResolver
from apptek.models.asked_queries import LeftOut, read_rows
from apptek.reading.options import ReadOptions
from apptek.reading.sources import STANDARD_INPUT, located

Pair = tuple[str, str]


def read_pairs(
    source: Path | Database, entities: NameResolver, *, skip_bad: bool = False, sql: str = ""
) -> tuple[list[Pair], list[str]]:
    """Read the pairs in the columns subject and object. Also return the rows that were left out.

    source    a file, - for standard input, or a database with a table or a query
    entities  resolves names; "?", "*" and empty texts count as missing, unless the data has them
    skip_bad  skip bad rows; otherwise DataError describes the first bad row
    """
    if isinstance(source, Path) and str(source) == STANDARD_INPUT:
        with located(source) as found:
            (file,) = found.files["train"]
            return _read_pairs(file, entities, ReadOptions(), skip_bad=skip_bad)
    if isinstance(source, Path) and sql:
        raise DataError(f"{source.name}: --sql does not apply to this kind of source")
    return _read_pairs(source, entities, ReadOptions(sql=sql), skip_bad=skip_bad)


def _read_pairs(
    file: Path | Database, entities: NameResolver, options: ReadOptions, *, skip_bad: bool
) -> tuple[list[Pair], list[str]]:
    pairs, left_out = list[Pair](), list[str]()
    for line, row in read_rows(file, ("subject", "object"), options):
        cells = row if isinstance(row, str) else _pair_of(row, entities)
        if not isinstance(cells, str):
            pairs.append((cells[0], cells[1]))
        elif skip_bad or isinstance(cells, LeftOut):
            left_out.append(f"{file.name}:{line}: {cells}")
        else:
            raise DataError(f"{file.name}:{line}: {cells}; use --skip-bad to skip such rows")
    if not pairs:
        raise DataError(
            f"{file.name}: there are no pairs; expected a subject and an object in each row"
        )
    return pairs, left_out


def _pair_of(row: list[str], entities: NameResolver) -> list[str] | str:
    """Return both names, or a message that describes what is wrong with them."""
    try:
        entities.check(*row, allow_unknown=True)
    except UnknownName as error:
        return str(error).removesuffix(".")
    itself = f"{row[0]!r} twice: a forecast needs two different entities"
    return itself if row[0] == row[1] else row
