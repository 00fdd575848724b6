"""Files that are known by their columns: dumps of event data, and files of ids.

The dumps are those of GDELT, ICEWS, POLECAT and ACLED, as their publishers write them:

| dump    | subject     | predicate      | object         | time       | types and classes    |
|---------|-------------|----------------|----------------|------------|----------------------|
| gdelt   | Actor1Name  | EventCode      | Actor2Name     | SQLDATE    | country, sector; CAMEO |
| icews   | Source Name | Event Text     | Target Name    | Event Date | sector, country; CAMEO |
| polecat | Actor Name  | Event Type     | Recipient Name | Event Date | country, sector; quad |
| acled   | actor1      | sub_event_type | actor2         | event_date | sector; event type   |

GDELT has no header: 61 columns (version 1: 58, before April 2013: 57), separated by tabs. A row
without one of its two actors, or without a predicate, is no fact; such rows are counted and left
out.

Files of ids are what the research on forecasting shares (RE-Net, RE-GCN, TiRGN and others): rows of
s r o t, often with a fifth column that is always 0. The names are in entity2id.txt and
relation2id.txt.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.arrays import Bools
from apptek.errors import DataError
from apptek.facts.predicate_table import PredicateEntry, PredicateTable
from apptek.reading.columns import Beginning, ColumnLayout, find_column
from apptek.reading.parts import Part, rows_where, texts_of
from apptek.reading.streams import TextSource, read_blocks

NOBODY = frozenset({"", "None", "NULL", "---"})
_GDELT_WIDTHS = (61, 58, 57)
_ALIKE = 0.9  # of the first rows
_NEEDED = {"one of their actors": ("subject", "object"), "a predicate": ("predicate",)}
_ID_COLUMNS = {"subject": 0, "predicate": 1, "object": 2, "time": 3}
_ID_TABLES = ("entity2id.txt", "relation2id.txt")
_FIFTH = ("0", "-1")  # what the fifth column holds


@dataclass(frozen=True, slots=True)
class Dump:
    """The columns of a dump, by name or, without a header, by number from 1.

    columns  by role; and by "role kind", those of types and classes, which may be missing
    value    what a cell of a column means, by the kind; the cell itself where nothing is said
    """

    name: str
    columns: Mapping[str, str]
    value: Mapping[str, Callable[[str], str]]

    def needed(self) -> set[str]:
        """Return the columns that it must have, in small letters."""
        return {self.columns[role].lower() for role in ("subject", "predicate", "object", "time")}


def _first_of_list(text: str) -> str:
    """Return the first of several sectors, which ICEWS separates by commas."""
    return text.partition(",")[0]


_GDELT = {  # by the numbers of its columns
    "subject": "7",
    "subject country": "8",
    "subject sector": "13",
    "object": "17",
    "time": "2",
    "object country": "18",
    "object sector": "23",
    "predicate": "27",
}
_ICEWS = {
    "subject": "Source Name",
    "predicate": "Event Text",
    "object": "Target Name",
    "time": "Event Date",
    "subject sector": "Source Sectors",
    "object sector": "Target Sectors",
    "subject country": "Source Country",
    "object country": "Target Country",
}
_POLECAT = {
    "subject": "Actor Name",
    "predicate": "Event Type",
    "object": "Recipient Name",
    "time": "Event Date",
    "subject country": "Actor Country",
    "object country": "Recipient Country",
    "subject sector": "Primary Actor Sector",
    "object sector": "Primary Recipient Sector",
    "predicate group": "Quad Code",
}
_ACLED = {
    "subject": "actor1",
    "predicate": "sub_event_type",
    "object": "actor2",
    "time": "event_date",
    "subject sector": "inter1",
    "object sector": "inter2",
    "predicate class": "event_type",
    "predicate group": "disorder_type",
}
_ALL = (
    Dump("gdelt", _GDELT, {}),
    Dump("icews", _ICEWS, {"sector": _first_of_list}),
    Dump("polecat", _POLECAT, {"group": str.lower}),
    Dump("acled", _ACLED, {}),
)
DUMPS = {dump.name: dump for dump in _ALL}


def is_gdelt(rows: list[list[str]]) -> bool:
    """Return whether these rows are GDELT's, by their number of columns, an id and a day.

    A few may be damaged: reading says so.
    """
    widths = Counter(map(len, rows)).most_common(1)
    if not widths or widths[0][0] not in _GDELT_WIDTHS:
        return False
    alike = sum(
        len(row) == widths[0][0] and row[0].isdigit() and row[1].isdigit() and len(row[1]) == 8
        for row in rows
    )
    return alike >= _ALIKE * len(rows)


def dump_layout(
    wanted: str, rows: list[list[str]], columns: Mapping[str, str] | None, where: str
) -> Beginning | None:
    """Return the layout of the dump that is asked for, or that a file looks like; None if none.

    It has the column of each role, and of "role kind" for each type or class. `columns` (role ->
    column) takes other columns for some roles.
    """
    header = [cell.lower() for cell in rows[0]]
    dump = next((dump for dump in _ALL[1:] if dump.needed() <= set(header)), None)
    if wanted or is_gdelt(rows):
        dump = DUMPS[wanted or "gdelt"]
    if dump is None:
        return None
    titles = [] if dump.name == "gdelt" else header
    places = {
        role: find_column(column.lower(), titles, rows[0], f"{where}: {dump.name}")
        for role, column in {**dump.columns, **(columns or {})}.items()
        if " " not in role or column.isdecimal() or column.lower() in titles
    }
    layout = ColumnLayout(len(rows[0]), places)
    return Beginning(layout, layout.titles(rows[0]) if titles else {}, format=dump.name)


@dataclass(slots=True)
class ExtraCounts:
    """How often each name occurs with each type or class, and the rows that were left out."""

    # Role, kind, name, value.
    counts: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)  # rows by what they lack

    def notes(self) -> list[str]:
        """Say how many rows were left out, by what they lack."""
        return [f"left out, as they lack {what}: {n:,}" for what, n in self.left_out.items()]

    def keep(self, part: Part) -> Part:
        """Return the rows that have both actors and a predicate."""
        for what, roles in _NEEDED.items():
            empty = without_actor(part, roles)
            if empty.any():
                self.left_out[what] += int(empty.sum())
                part = part.without(empty)
        return part

    def count(self, part: Part) -> None:
        """Count the types and classes of some good rows."""
        for title in part.table.column_names:
            role, _, kind = title.partition(" ")
            if not kind:
                continue
            pairs = pa.table(
                {"name": part.table.column(role).cast(pa.string()),
                 "value": part.table.column(title).cast(pa.string())}
            )  # fmt: skip
            found = pairs.group_by(["name", "value"]).aggregate([([], "count_all")])
            for name, value, count in zip(*(c.to_pylist() for c in found.columns), strict=True):
                self.counts[role, kind, name, value] += count

    def _by_kind(self, dump: Dump, *, predicates: bool) -> dict[str, dict[str, str]]:
        """Kind -> name -> its most frequent value; of equally frequent ones the first by name."""
        counts: Counter[tuple[str, str, str]] = Counter()
        for (role, kind, name, value), count in self.counts.items():
            if (role == "predicate") == predicates and value not in NOBODY:
                counts[kind, name, dump.value.get(kind, str)(value)] += count
        best: dict[str, dict[str, str]] = {}
        for kind, name, value in sorted(counts, key=lambda key: (-counts[key], key)):
            if value:
                best.setdefault(kind, {}).setdefault(name, value)
        return best

    def types(self, dump: Dump) -> dict[str, dict[str, str]]:
        """Kind of type -> entity -> the type that it has most often."""
        return self._by_kind(dump, predicates=False)

    def predicate_table(self, dump: Dump) -> PredicateTable | None:
        """Return the classes of predicates; those of GDELT and ICEWS are in the shipped table."""
        found = self._by_kind(dump, predicates=True)
        names = sorted({name for by_name in found.values() for name in by_name})
        entries = {
            name: PredicateEntry(
                kind=found.get("class", {}).get(name, ""),
                group=found.get("group", {}).get(name, ""),
            )
            for name in names
        }
        return PredicateTable(entries, dump.name) if entries else None


def without_actor(part: Part, roles: tuple[str, ...] = ("subject", "object")) -> Bools:
    """Return the rows of a dump in which a name of these roles means "no actor"."""
    empty = np.zeros(part.table.num_rows, np.bool_)
    for role in roles:
        column = texts_of(part.table.column(role))
        nobody = pc.is_in(column.dictionary, value_set=pa.array(sorted(NOBODY)))
        empty |= rows_where(column, nobody)
    return empty


def find_ids(rows: list[list[str]], folder: Path) -> Beginning | None:
    """Find a file of ids by its first rows and the tables beside it; None if it is none.

    With names of ids, all cells are numbers, four or five in a row; without, it is the fifth
    column, always 0, that says that it is no interval.
    """
    width = len(rows[0]) if rows else 0
    if width not in (4, 5) or not all(len(row) == width for row in rows):
        return None
    if not all(cell.strip(" ").removeprefix("-").isdigit() for row in rows for cell in row):
        return None
    missing = [name for name in _ID_TABLES if not (folder / name).is_file()]
    fifth = width == 5 and len({row[4] for row in rows}) == 1 and rows[0][4].strip(" ") in _FIFTH
    if not (fifth or (width == 4 and not missing)):
        return None
    layout = ColumnLayout(width, _ID_COLUMNS)
    if missing:
        note = f"ids are not named: there is no {' and '.join(missing)}"
        return Beginning(layout, format="ids", notes=[note])
    entities, predicates = (_read_names(folder / name) for name in _ID_TABLES)
    note = f"{len(entities):,} entities and {len(predicates):,} predicates are named by their ids"
    names = {"subject": entities, "predicate": predicates, "object": entities}
    return Beginning(layout, format="ids", notes=[note], names=names)


def _read_names(file: Path) -> dict[str, str]:
    """Id -> name from rows of a name and an id, in this order or the other.

    A name that several ids share gets its id, so that they stay apart.
    """
    names: dict[str, str] = {}
    text = b"".join(block.text for block in read_blocks(TextSource(file))).decode()
    for line, row in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not row or (line == 1 and row.strip().isdecimal()):  # OpenKE begins with a count
            continue
        cells = row.split("\t") if "\t" in row else row.rsplit(None, 1)
        name, key = [*cells, "", ""][:2]
        if not key.strip().isdecimal():
            name, key = key, name
        if not name or not key.strip().isdecimal():
            raise DataError(f"{file.name}:{line}: found {row[:60]!r}, expected a name and an id")
        names[str(int(key))] = name
    shared = {name for name, count in Counter(names.values()).items() if count > 1}
    return {key: f"{name} ({key})" if name in shared else name for key, name in names.items()}
