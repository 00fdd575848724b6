"""Files recognised by their columns: event data dumps, and files of ids.

The dumps are those of GDELT, ICEWS and ACLED, in their publishers' formats:

| dump    | subject     | predicate      | object         | time       | types           |
|---------|-------------|----------------|----------------|------------|-----------------|
| gdelt   | Actor1Name  | EventCode      | Actor2Name     | SQLDATE    | country, sector |
| icews   | Source Name | Event Text     | Target Name    | Event Date | sector, country |
| acled   | actor1      | sub_event_type | actor2         | event_date | sector          |

GDELT has no header: 61 columns (version 1: 58, before April 2013: 57), separated by tabs. A row
without an actor or without a predicate is not a fact. Such rows are counted and left out.

Files of ids are common in forecasting research (RE-Net, RE-GCN, TiRGN and others). Their rows are
s r o t, often with a fifth column that is always 0. The names are in entity2id.txt and
relation2id.txt.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.arrays import Bools
from apptek.errors import DataError
from apptek.reading.columns import Beginning, ColumnLayout, find_column
from apptek.reading.parts import NAME_ROLES, Part, rows_where, texts_of
from apptek.reading.streams import read_blocks

NOBODY = ("", "None", "NULL", "---")
_ID_COLUMNS = {"subject": 0, "predicate": 1, "object": 2, "time": 3}
_ID_TABLES = ("entity2id.txt", "relation2id.txt")
_FIFTH = ("0", "-1")  # the fifth column's possible values


_GDELT = {  # by column number
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
_ACLED = {
    "subject": "actor1",
    "predicate": "sub_event_type",
    "object": "actor2",
    "time": "event_date",
    "subject sector": "inter1",
    "object sector": "inter2",
}
# A dump's columns by name, and columns of types by "role kind", which may be missing. For a dump
# without a header, numbers from 1.
DUMPS = {"gdelt": _GDELT, "icews": _ICEWS, "acled": _ACLED}


def dump_layout(
    wanted: str, rows: list[list[str]], columns: Mapping[str, str] | None, where: str
) -> Beginning | None:
    """Return the layout of the requested dump, or of the dump that a file looks like, or None.

    The layout has each role's column, and a "role kind" column for each type or class. `columns`
    (role -> column) replaces the columns of some roles.
    """
    header = [cell.lower() for cell in rows[0]]
    named = (name for name in ("icews", "acled") if _needed(name) <= set(header))
    name = wanted or next(named, None)
    if name is None:
        return None
    titles = [] if name == "gdelt" else header
    places = {
        role: find_column(column.lower(), titles, rows[0], f"{where}: {name}")
        for role, column in {**DUMPS[name], **(columns or {})}.items()
        if " " not in role or column.isdecimal() or column.lower() in titles
    }
    layout = ColumnLayout(len(rows[0]), places)
    return Beginning(layout, layout.titles(rows[0]) if titles else {}, format=name)


def _needed(dump: str) -> set[str]:
    """Return the columns that a dump must have, in lower case."""
    return {column.lower() for role, column in DUMPS[dump].items() if " " not in role}


@dataclass(slots=True)
class DumpCounts:
    """How often each entity occurs with each type, and how many rows of dumps are not facts."""

    types: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # kind, entity, type
    left_out: int = 0

    def keep(self, part: Part) -> Part:
        """Return the rows that have both actors and a predicate."""
        lacking = lacks_name(part, NAME_ROLES)
        self.left_out += int(lacking.sum())
        return part.without(lacking)

    def count(self, part: Part) -> None:
        """Count the types in a batch of good rows."""
        for title in part.table.column_names:
            role, _, kind = title.partition(" ")
            if not kind:
                continue
            columns = [part.table.column(name).cast(pa.string()) for name in (role, title)]
            pairs = pa.table(columns, ["name", "value"]).group_by(["name", "value"])
            found = pairs.aggregate([([], "count_all")])
            for name, value, count in zip(*(c.to_pylist() for c in found.columns), strict=True):
                first = value.partition(",")[0]  # there may be several sectors
                if first not in NOBODY:
                    self.types[kind, name, first] += count

    def usual_types(self) -> dict[str, dict[str, str]]:
        """Return kind of type -> entity -> its most frequent type. On ties the first wins."""
        usual: dict[str, dict[str, str]] = {}
        for kind, name, value in sorted(self.types, key=lambda key: (-self.types[key], key)):
            usual.setdefault(kind, {}).setdefault(name, value)
        return usual


def lacks_name(part: Part, roles: Sequence[str]) -> Bools:
    """Return the rows of a dump in which a name of these roles means that the name is missing."""
    lacking = np.zeros(part.table.num_rows, np.bool_)
    for role in roles:
        column = texts_of(part.table.column(role))
        lacking |= rows_where(column, pc.is_in(column.dictionary, value_set=pa.array(NOBODY)))
    return lacking


def find_ids(rows: list[list[str]], folder: Path) -> Beginning | None:
    """Detect a file of ids by its first rows and the tables next to it. Otherwise, return None.

    If there are tables of names, every row must have four or five numbers. Without them, only a
    fifth column that is always 0 distinguishes ids from an interval.
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
    """Return id -> name from rows that contain a name and an id, in either order.

    A name shared by several ids is extended with the id, to keep the entities separate.
    """
    names: dict[str, str] = {}
    text = b"".join(block.text for block in read_blocks(file, None, None)).decode()
    for line, row in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not row or (line == 1 and row.strip().isdecimal()):  # OpenKE files begin with a count
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
