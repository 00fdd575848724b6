"""A user's tables of names: aliases and types of entities, labels and classes of predicates.

Each table is a text file. In aliases, each row has a name in the data, then other names for it. In
types, each row has an entity, then a column for each kind of type. In predicates, columns may be
in any order, and only `predicate` is required.

name,alias                             entity,sector,country              predicate,class,label
United States,USA,America              Reuters,Media,United Kingdom       040,Consult,Consult
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from apptek.errors import DataError
from apptek.facts.facts import Dataset, Names
from apptek.facts.predicate_table import COLUMNS, PredicateEntry, PredicateTable, entry_of
from apptek.reading.text import TEXT_FORMATS, find_delimiter, find_encoding, rows_of
from apptek.safe_text import counted

_TYPES = "a header, the entity in the first column and a kind of type in every other"
_PREDICATES = (
    "a header with the column predicate and at least one of class, label, phrase and group"
)
PredicateLabels = PredicateTable | Mapping[str, Mapping[str, str]] | str | Path


def _read_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a text file with their numbers, starting with the header."""
    usual = TEXT_FORMATS.get(path.suffix.lower())
    if usual is None:
        raise DataError(f"{path.name}: expected a .csv, .tsv or .txt file")
    try:
        content = path.read_bytes()
        text = content.decode(find_encoding(content) or "utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise DataError(f"{path} cannot be read: {error}; expected text in UTF-8") from None
    yield from rows_of(text, find_delimiter(text, usual, fewest=2))


def _read_table(path: Path) -> tuple[list[str], Iterator[tuple[str, dict[str, str]]]]:
    """Return a table's header, and each row's place in the file and cells by column."""
    rows = _read_rows(path)
    _, header = next(rows, (1, []))

    def cells() -> Iterator[tuple[str, dict[str, str]]]:
        for line, row in rows:
            if len(row) != len(header):
                found = counted(len(row), "cell")
                raise DataError(f"{path.name}:{line}: found {found}, expected {len(header)}")
            yield f"{path.name}:{line}", dict(zip(header, row, strict=True))

    return header, cells()


def read_aliases(path: Path) -> dict[str, str]:
    """Return alias -> name from a text file. Empty cells are skipped.

    The first row is a header if its first cell is `name`. Rows may have different lengths.
    """
    aliases: dict[str, str] = {}
    for line, row in _read_rows(path):
        name, *others = row
        if line == 1 and name == "name":
            continue
        if not name or not any(others):
            raise DataError(f"{path.name}:{line}: expected a name and its aliases, found {row}")
        for alias in filter(None, others):
            if aliases.setdefault(alias, name) != name:
                raise DataError(
                    f"{path.name}:{line}: {alias!r} is an alias of both {aliases[alias]!r} and "
                    f"{name!r}"
                )
    if not aliases:
        raise DataError(f"{path.name}: there are no aliases in it")
    return aliases


def with_aliases(dataset: Dataset, given: Mapping[str, str] | str | Path | None) -> Dataset:
    """Return the data set with additional aliases: a table, or alias -> name."""
    if given is None:
        return dataset
    aliases = dict(given) if isinstance(given, Mapping) else read_aliases(Path(given))
    check_aliases(aliases, dataset.entities)
    return replace(dataset, aliases={**dataset.aliases, **aliases})


def check_aliases(aliases: Mapping[str, str], entities: Names) -> None:
    """Reject an alias that is a name in the data, because a name always means itself."""
    for alias, name in aliases.items():
        if alias != name and entities.find(alias) is not None:
            raise DataError(
                f"the alias {alias!r} of {name!r} is itself a name in the data: "
                "remove it from the table of aliases"
            )


def read_types(path: Path) -> dict[str, dict[str, str]]:
    """Return kind of type -> entity -> type from a text file. An empty cell gives no type."""
    header, rows = _read_table(path)
    kinds = header[1:]
    if not kinds or not all(kinds) or len(set(header)) < len(header):
        raise DataError(f"{path.name}: expected {_TYPES}; found the header {header}")
    table: dict[str, dict[str, str]] = {kind: {} for kind in kinds}
    for where, cells in rows:
        entity = cells[header[0]]
        if not entity:
            raise DataError(f"{where}: the first cell is empty, expected an entity")
        for kind in kinds:
            if cells[kind] and table[kind].setdefault(entity, cells[kind]) != cells[kind]:
                raise DataError(
                    f"{where}: {entity!r} has two types of the kind {kind!r}: "
                    f"{table[kind][entity]!r} and {cells[kind]!r}"
                )
    if not any(table.values()):
        raise DataError(f"{path.name}: there are no types in it; expected {_TYPES}")
    return {kind: types for kind, types in table.items() if types}


def read_predicates(path: Path) -> PredicateTable:
    """Return a table of predicates from a text file. Columns may be in any order."""
    header, rows = _read_table(path)
    strange = [name for name in header if name not in ("predicate", *COLUMNS)]
    if strange or len(set(header)) < max(len(header), 2) or "predicate" not in header:
        raise DataError(f"{path.name}: expected {_PREDICATES}; found the header {header}")
    entries: dict[str, PredicateEntry] = {}
    for where, cells in rows:
        predicate = cells["predicate"]
        if not predicate:
            raise DataError(f"{where}: the column predicate is empty")
        entry = entry_of(cells)
        if entries.setdefault(predicate, entry) != entry:
            raise DataError(f"{where}: {predicate!r} has a second, different row")
    return PredicateTable(entries, path.name)


def as_predicate_table(given: PredicateLabels | None) -> PredicateTable | None:
    """Return a table of predicates from the user's value for it. `none` is the empty table.

    The value may be a file, or a mapping from predicate to cells: {"040": {"label": "Consult"}}.
    """
    if given is None or isinstance(given, PredicateTable):
        return given
    if isinstance(given, Mapping):
        for predicate, cells in given.items():
            if not isinstance(cells, Mapping) or not cells.keys() <= set(COLUMNS):
                raise DataError(
                    f"predicates: {predicate!r} has {cells!r}, expected some of label, phrase, "
                    "class and group"
                )
        return PredicateTable(
            {name: entry_of(cells) for name, cells in given.items()}, "predicates"
        )
    return PredicateTable() if str(given) == "none" else read_predicates(Path(given))
