"""Files that are known by their columns: dumps of event data, and files of ids.

The dumps are those of GDELT, ICEWS, POLECAT and ACLED, as their publishers write them:

| dump    | subject     | predicate      | object         | time       | types and classes    |
|---------|-------------|----------------|----------------|------------|----------------------|
| gdelt   | Actor1Name  | EventCode      | Actor2Name     | SQLDATE    | country, sector; CAMEO |
| icews   | Source Name | Event Text     | Target Name    | Event Date | sector, country; CAMEO |
| polecat | Actor Name  | Event Type     | Recipient Name | Event Date | country, sector; quad |
| acled   | actor1      | sub_event_type | actor2         | event_date | sector; event type   |

GDELT has no header: 61 columns (version 1: 58, before April 2013: 57), separated by tabs; copies of
it may have the names of its columns, or commas. A row without one of its two actors, or without a
predicate, is no fact; such rows are counted and left out.

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
from apptek.facts.predicate_table import PredicateEntry, PredicateTable, cameo_table
from apptek.reading.columns import Beginning, ColumnLayout, find_column
from apptek.reading.parts import Part, rows_where, texts_of
from apptek.reading.streams import TextSource, read_blocks

NOBODY = frozenset({"", "None", "NULL", "---"})
_GDELT_WIDTHS = (61, 58, 57)
_ALIKE = 0.9  # of the first rows
_NEEDED = {"one of their actors": ("subject", "object"), "a predicate": ("predicate",)}
_ID_COLUMNS = {"subject": 0, "predicate": 1, "object": 2, "time": 3}
_ID_TABLES = {"entity": "entity2id.txt", "predicate": "relation2id.txt"}
_FIFTH = ("0", "-1")  # what the fifth column holds
_QUADS = {
    "1": "verbal cooperation",
    "2": "material cooperation",
    "3": "verbal conflict",
    "4": "material conflict",
}


@dataclass(frozen=True, slots=True)
class Dump:
    """The columns of a dump, by name or, without a header, by number from 1.

    columns  by role; and by "role kind", those of types and classes, which may be missing
    value    what a cell of a column means, by the kind; the cell itself where nothing is said
    """

    name: str
    columns: Mapping[str, str]
    value: Mapping[str, Callable[[str], str]]


def _first_of_list(text: str) -> str:
    """Return the first of several sectors, which ICEWS separates by commas."""
    return text.partition(",")[0]


def _cameo_root(code: str) -> str:
    """Return the name of the root class of a CAMEO code; 40 means 040."""
    digits = code if len(code) != 2 or code in cameo_table().entries else f"0{code}"
    entry = cameo_table().entries.get(digits) or cameo_table().entries.get(digits[:2])
    return entry.kind if entry else code


_GDELT = {  # by column: its name in copies that have a header, and what it holds
    7: ("Actor1Name", "subject"),
    8: ("Actor1CountryCode", "subject country"),
    13: ("Actor1Type1Code", "subject sector"),
    17: ("Actor2Name", "object"),
    2: ("SQLDATE", "time"),
    18: ("Actor2CountryCode", "object country"),
    23: ("Actor2Type1Code", "object sector"),
    27: ("EventCode", "predicate"),
    29: ("EventRootCode", "predicate class"),
    30: ("QuadClass", "predicate group"),
}
_GDELT_VALUES: dict[str, Callable[[str], str]] = {
    "class": _cameo_root,
    "group": lambda quad: _QUADS.get(quad, ""),
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
    "predicate class": "CAMEO Code",
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
_NAMED = (
    Dump("gdelt", {what: name for name, what in _GDELT.values()}, _GDELT_VALUES),
    Dump("icews", _ICEWS, {"sector": _first_of_list, "class": _cameo_root}),
    Dump("polecat", _POLECAT, {"group": str.lower}),
    Dump("acled", _ACLED, {}),
)
_NUMBERED = {what: str(number) for number, (_, what) in _GDELT.items()}
DUMPS = {dump.name: dump for dump in _NAMED} | {"gdelt": Dump("gdelt", _NUMBERED, _GDELT_VALUES)}


def is_gdelt(rows: list[list[str]]) -> bool:
    """Return whether these rows are GDELT's: by its header, or by their number, an id and a day.

    A few may be damaged: reading says so.
    """
    if rows and _has_columns(rows[0], _NAMED[0]):
        return True
    widths = Counter(map(len, rows)).most_common(1)
    if not widths or widths[0][0] not in _GDELT_WIDTHS:
        return False
    alike = sum(
        len(row) == widths[0][0] and row[0].isdigit() and row[1].isdigit() and len(row[1]) == 8
        for row in rows
    )
    return alike >= _ALIKE * len(rows)


def find_dump(wanted: str, first_row: list[str], rows: list[list[str]]) -> Dump | None:
    """Return the dump that is asked for, or the one that a file looks like."""
    named = next((dump for dump in _NAMED if _has_columns(first_row, dump)), None)
    if wanted:
        return named if named is not None and named.name == wanted else DUMPS[wanted]
    return DUMPS["gdelt"] if named is None and is_gdelt(rows) else named


def _has_columns(header: list[str], dump: Dump) -> bool:
    needed = {dump.columns[role].lower() for role in ("subject", "predicate", "object", "time")}
    return needed <= {cell.lower() for cell in header}


def dump_columns(
    dump: Dump, first_row: list[str], columns: dict[str, str] | None, where: str
) -> dict[str, int]:
    """Return the column of each role, and of "role kind" for each type or class.

    `columns` (role -> column) takes other columns for some roles.
    """
    has_header = dump is not DUMPS["gdelt"]
    titles = [title.lower() for title in first_row] if has_header else []
    return {
        role: find_column(column.lower(), titles, first_row, f"{where}: {dump.name}")
        for role, column in {**dump.columns, **(columns or {})}.items()
        if " " not in role or column.isdecimal() or column.lower() in titles
    }


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
        """Classes of predicates by the columns of the dump, with the labels of CAMEO if it is."""
        found = self._by_kind(dump, predicates=True)
        names = sorted({name for by_name in found.values() for name in by_name})
        shipped = cameo_table().entries if dump.name in ("gdelt", "icews") else {}
        entries = {
            name: shipped.get(name)
            or PredicateEntry(
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
    missing = [name for name in _ID_TABLES.values() if not (folder / name).is_file()]
    fifth = width == 5 and len({row[4] for row in rows}) == 1 and rows[0][4].strip(" ") in _FIFTH
    if not (fifth or (width == 4 and not missing)):
        return None
    layout = ColumnLayout(width, _ID_COLUMNS)
    if missing:
        note = f"ids are not named: there is no {' and '.join(missing)}"
        return Beginning(layout, has_header=False, format="ids", notes=[note])
    entities, predicates = (_read_names(folder / name) for name in _ID_TABLES.values())
    note = f"{len(entities):,} entities and {len(predicates):,} predicates are named by their ids"
    names = {"subject": entities, "predicate": predicates, "object": entities}
    return Beginning(layout, has_header=False, format="ids", notes=[note], names=names)


def _read_names(file: Path) -> dict[str, str]:
    """Id -> name from rows of a name and an id, in this order or the other.

    A name that several ids share gets its id, so that they stay apart.
    """
    names: dict[str, str] = {}
    line = 0
    for block in read_blocks(TextSource(file)):
        for row in block.text.split(b"\n")[:-1]:
            line += 1
            text = row.removesuffix(b"\r")
            if not text or (line == 1 and text.strip().isdigit()):  # OpenKE begins with a count
                continue
            pair = _pair(text)
            if pair is None:
                raise DataError(
                    f"{file.name}:{line}: found {text[:60]!r}, expected a name and an id"
                )
            names[pair[1]] = pair[0]
    shared = {name for name, count in Counter(names.values()).items() if count > 1}
    return {key: f"{name} ({key})" if name in shared else name for key, name in names.items()}


def _pair(text: bytes) -> tuple[str, str] | None:
    """Return the name and the id of a row; further columns are left out."""
    cells = text.split(b"\t") if b"\t" in text else text.rsplit(None, 1)
    if len(cells) < 2:
        return None
    name, key = (cells[0], cells[1]) if cells[1].strip().isdigit() else (cells[1], cells[0])
    if not key.strip().isdigit() or not name:
        return None
    try:
        return name.decode(), str(int(key))
    except ValueError:
        return None
