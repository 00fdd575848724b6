"""Finds the column of each role from `--columns`, the header, or the usual order."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from apptek.errors import DataError, UnfitOptionsError
from apptek.facts.written_times import UNKNOWN_TEXTS
from apptek.safe_text import counted

ROLES = ("subject", "predicate", "object", "time", "since", "until", "split")
COLUMNS_HELP = "subject=NAME,predicate=NAME,object=NAME,time=NAME (or since=, until=)"
Roles = tuple[str, ...] | None  # the columns of queries or pairs; None means the columns of facts
SPLIT = "split"  # the usual name of the column that contains train, valid or test
_HEADER_WORDS = {  # if several words for a role occur, the first of these is used
    "subject": ("subject", "head", "source", "actor1", "subj"),
    "predicate": ("predicate", "relation", "event", "rel"),
    "object": ("object", "tail", "target", "actor2", "obj"),
    "time": ("time", "date", "timestamp", "day", "year"),
    "since": ("since", "start", "from", "begin"),
    "until": ("until", "end", "to"),
}
# Words of titles: a first row with no other words is a header, even an unknown one.
_TITLE_WORDS = {
    *(word for words in _HEADER_WORDS.values() for word in words),
    *("actor", "action", "code", "class", "company", "country", "dst", "edge", "entity", "field"),
    *("happened", "id", "kind", "label", "name", "node", "person", "property", "receiver"),
    *("recipient", "relationship", "sender", "src", "text", "type", "value", "verb", "what"),
    *("when", "who", "whom"),
}
SINCE_MARKS = ("<occursSince>", "occursSince")
UNTIL_MARKS = ("<occursUntil>", "occursUntil")
_NEARLY_ALL = 0.9  # of the first rows
_ROWS_SHOWN, _COLUMNS_SHOWN = 3, 12
_HEADER_ROWS = 20  # the first rows, among which a header may follow a title


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """The column of each role in rows of `width` cells, counted from 0.

    A *free* layout is the usual order without a header: subject, predicate, object, then nothing,
    a time, or since and until. Each row may have 3, 4 or 5 cells. If the fourth cell is
    <occursSince> or <occursUntil>, the fifth is that end.
    """

    width: int
    columns: dict[str, int] = field(default_factory=dict)
    free: bool = False

    def titles(self, header: list[str]) -> dict[str, str]:
        """Return the cells of a header by role."""
        return {role: header[column] for role, column in self.columns.items()}

    @property
    def labels(self) -> dict[str, str]:
        """The columns by role, as named in error messages."""
        return {role: f"column {column + 1} ({role})" for role, column in self.columns.items()}


_NAMES = {"subject": 0, "predicate": 1, "object": 2}
FREE = ColumnLayout(4, _NAMES, free=True)
FREE_LAYOUTS = {  # by width
    3: ColumnLayout(3, _NAMES),
    4: ColumnLayout(4, _NAMES | {"time": 3}),
    5: ColumnLayout(5, _NAMES | {"since": 3, "until": 4}),
}


def parse_columns(text: str) -> dict[str, str]:
    """Return role -> column from `subject=Actor,...`, or from a plain list in file order.

    A column is a name in the header, or a number counted from 1. In a plain list, `-` skips one.
    """
    parts = [part.strip() for part in text.split(",")]
    if any("=" in part for part in parts):
        split = [part.partition("=") for part in parts]
        pairs = [(role.strip(), column.strip()) for role, _, column in split]
    else:
        pairs = [(role, str(number)) for number, role in enumerate(parts, 1) if role != "-"]
    for role, column in pairs:
        if role not in ROLES:
            raise DataError(f"--columns: {role!r} is not one of {', '.join(ROLES)}")
        if not column:
            raise DataError(f"--columns: {role}= names no column; expected {COLUMNS_HELP}")
    column_of = dict(pairs)
    if len(column_of) < len(pairs):
        raise DataError(f"--columns has a role twice: {text}")
    check_roles(column_of, "--columns")
    return column_of


def check_roles(column_of: Mapping[str, str], where: str) -> None:
    """Reject columns that lack a role of facts, or that contain both kinds of times."""
    missing = [role for role in ROLES[:3] if role not in column_of]
    if missing:
        raise DataError(f"{where}: no {' and no '.join(missing)}; expected {COLUMNS_HELP}")
    if "time" in column_of and ("since" in column_of or "until" in column_of):
        raise DataError(f"{where}: expected either time, or since and until, not both")


def find_layout(
    first_row: list[str],
    column_of: Mapping[str, str] | None,
    header: bool | None,
    where: str,
    roles: Roles = None,
) -> tuple[ColumnLayout, bool]:
    """Return the layout of a file that starts with `first_row`, and whether that row is a header.

    `column_of` is the result of parse_columns, or contains only the split column. A number in it is
    a position, unless the header has a column with that name. A column `split` is always read.
    """
    if roles is not None:
        return _layout_of(roles, first_row, header, where)
    given = dict(column_of or {})
    split = given.pop(SPLIT, None)
    if given:
        layout, has_header = _chosen_layout(first_row, given, header, where)
    elif header is False or (header is None and not _is_header(first_row)):
        layout, has_header = FREE, False
    else:
        layout, has_header = ColumnLayout(len(first_row), _columns_by_word(first_row, where)), True
    names = first_row if has_header else []
    if split is None:
        found = [name for name in names if name.strip().lower() == SPLIT]
        split = found[0] if len(found) == 1 else None
    column = None if split is None else find_column(split, names, first_row, where)
    if column is None or column in layout.columns.values():
        return layout, has_header
    return replace(layout, columns={**layout.columns, SPLIT: column}), has_header


def _chosen_layout(
    first_row: list[str], column_of: Mapping[str, str], header: bool | None, where: str
) -> tuple[ColumnLayout, bool]:
    by_number = all(column.isdecimal() for column in column_of.values())
    if header is False and not by_number:
        raise UnfitOptionsError(
            f"{where}: without a header, --columns needs column numbers: subject=1,..."
        )
    has_header = not by_number or (_is_header(first_row) if header is None else header)
    names = first_row if has_header else []  # a cell of a first fact may look like a number too
    columns = {
        role: find_column(column, names, first_row, where) for role, column in column_of.items()
    }
    if len(set(columns.values())) < len(columns):
        raise DataError(f"{where}: --columns uses one column twice")
    return ColumnLayout(len(first_row), columns), has_header


def _layout_of(
    roles: tuple[str, ...], first_row: list[str], header: bool | None, where: str
) -> tuple[ColumnLayout, bool]:
    """Find the columns of queries or pairs by their header, or in this order without one."""
    words = [cell.strip().lower() for cell in first_row]
    found = {
        role: words.index(word)
        for role in roles
        for word in reversed(_HEADER_WORDS[role])
        if words.count(word) == 1
    }
    has_header = len(found) == len(roles)
    if not has_header and (header or len(first_row) != len(roles)):
        names = f"{', '.join(roles[:-1])} and {roles[-1]}"
        order = "" if header else ", in this order or under a header"
        raise DataError(
            f"{where}: found the columns {shown_row(first_row)}; expected {names}{order}"
        )
    columns = found if has_header else {role: place for place, role in enumerate(roles)}
    return ColumnLayout(len(first_row), columns), has_header


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the first rows of a file reveal.

    format        text, ids, or the name of an event data dump
    titles        the header's cells by role; empty without a header
    first, names  see Content
    """

    layout: ColumnLayout
    titles: Mapping[str, str] = field(default_factory=dict)
    first: int | None = None
    format: str = "text"
    notes: list[str] = field(default_factory=list)
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def examine_rows(
    rows: list[tuple[int, list[str]]],
    column_of: Mapping[str, str] | None,
    header: bool | None,
    file: str,
    roles: Roles = None,
) -> Beginning:
    """Find a file's layout from its first numbered rows, and whether it has a header.

    Raise DataError if the rows are not in the usual order and their order is unknown.
    """
    line, cells = rows[0]
    where = f"{file}:{line}"
    layout, has_header = find_layout(cells, column_of, header, where, roles)
    if roles is None and not has_header and header is None:
        _refuse_rows_above(rows[:_HEADER_ROWS], file)
        samples = [row for _, row in rows]
        if not column_of:
            check_order(samples, where)
        has_header = has_titles(samples, layout)
    notes = left_out_notes(cells, layout, file) if has_header and not column_of else []
    first = None if has_header or header is False else line
    return Beginning(layout, layout.titles(cells) if has_header else {}, first, notes=notes)


def _refuse_rows_above(rows: list[tuple[int, list[str]]], file: str) -> None:
    """Raise DataError if a header of known words follows other rows, such as a title."""
    known = {SPLIT, *(word for words in _HEADER_WORDS.values() for word in words)}
    for line, row in rows[1:]:
        if _is_header(row) and known.issuperset(cell.strip().lower() for cell in row):
            raise DataError(
                f"{file}:{line}: found a header below {shown_row(rows[0][1])}; remove the rows "
                "above it, or use --read header=no if it is a fact"
            )


def has_titles(rows: list[list[str]], layout: ColumnLayout) -> bool:
    """Return whether the first of these rows is a header with unknown words.

    It is a header if it has only title words that do not occur in their columns again, or if it has
    a word where nearly all other rows have a time.
    """
    first, others = rows[0], rows[1:]
    if len(first) < 3:
        return False
    again = (column < len(row) and row[column] == cell
             for row in others for column, cell in enumerate(first))  # fmt: skip
    if all(map(_is_title, first)) and not any(again):
        return True
    if not others or not _lacks_time(first, layout):
        return False
    return sum(_lacks_time(row, layout) for row in others) <= (1 - _NEARLY_ALL) * len(others)


def check_order(rows: list[list[str]], where: str) -> None:
    """Raise DataError, showing the columns, for rows in an unusual order or below a header."""
    wide = sum(len(row) > 5 for row in rows) >= _NEARLY_ALL * len(rows)
    untimed = sum(_lacks_time(row, FREE) for row in rows) >= _NEARLY_ALL * len(rows)
    if has_titles(rows, FREE):
        what = "the first row looks like a header without the words subject, predicate and object"
        advice = f"use --columns {COLUMNS_HELP}; or --read header=no if it is a fact"
    elif wide or (untimed and len(rows) > 1):
        columns = counted(len(rows[0]), "column")
        what = f"found {columns}, expected subject, predicate, object and a time"
        advice = f"use --columns {COLUMNS_HELP}, or numbers from 1; or --format gdelt"
    else:
        return
    below = "; ".join(shown_row(row) for row in rows[1 : 1 + _ROWS_SHOWN])
    raise DataError(f"{where}: {what}: {shown_row(rows[0])} (below it: {below}); {advice}")


def _is_title(cell: str) -> bool:
    """Return whether a cell has only title words, such as Actor1Name or entity_a."""
    words = re.split(r"[\W\d_]+|(?<=[a-z])(?=[A-Z])", cell.strip())
    long = [word.lower() for word in words if len(word) > 1]
    return bool(long) and _TITLE_WORDS.issuperset(long)


def _lacks_time(row: list[str], layout: ColumnLayout) -> bool:
    """Return whether a row has a word without digits where a time is expected."""
    columns = [layout.columns.get(role, len(row)) for role in ("time", "since", "until")]
    cells = row[3:5] if layout.free else [row[column] for column in columns if column < len(row)]
    texts = {cell.strip() for cell in cells} - UNKNOWN_TEXTS - {*SINCE_MARKS, *UNTIL_MARKS}
    return bool(texts) and not any(re.search("[0-9#]", text) for text in texts)


def shown_row(cells: list[str]) -> str:
    """Return a row's cells in the form used in messages."""
    shown = [repr(cell if len(cell) <= 40 else f"{cell[:37]}...") for cell in cells]
    more = len(shown) - _COLUMNS_SHOWN
    return ", ".join(shown[:_COLUMNS_SHOWN]) + (f" and {more} more" if more > 0 else "")


def left_out_notes(header: list[str], layout: ColumnLayout, where: str) -> list[str]:
    """Return a warning if no column is used as the time although some columns are left out."""
    others = [cell for column, cell in enumerate(header) if column not in layout.columns.values()]
    if not others or layout.columns.keys() & {"time", "since", "until"}:
        return []
    note = f"{where}: no column is read as the time, so all its facts are undated; left out:"
    advice = "(choose the time with a header 'time' or with --columns)"
    return [f"{note} {', '.join(others[:5])} {advice}"]


def named_layout(
    names: list[str], column_of: Mapping[str, str] | None, where: str, roles: Roles = None
) -> tuple[ColumnLayout, list[str]]:
    """Return the layout of named columns, and notes about it."""
    layout, _ = find_layout(names, column_of, True, where, roles)
    return layout, [] if column_of or roles else left_out_notes(names, layout, where)


def _is_header(first_row: list[str]) -> bool:
    words = {cell.strip().lower() for cell in first_row}
    return all(words.intersection(_HEADER_WORDS[role]) for role in ROLES[:3])


def _columns_by_word(header: list[str], where: str) -> dict[str, int]:
    words = [cell.strip().lower() for cell in header]
    column_of = {
        role: next(word for word in synonyms if word in words)
        for role, synonyms in _HEADER_WORDS.items()
        if not set(words).isdisjoint(synonyms)
    }
    if "since" in column_of or "until" in column_of:
        column_of.pop("time", None)
    check_roles(column_of, f"{where}: the columns {shown_row(header)} without --columns")
    return {role: find_column(word, words, header, where) for role, word in column_of.items()}


def find_column(column: str, names: list[str], first_row: list[str], where: str) -> int:
    """Return the position of a column: one of the header's `names`, or a number from 1."""
    if names.count(column) > 1:
        raise DataError(f"{where}: {names.count(column)} columns have the name {column!r}")
    if column in names:
        return names.index(column)
    if column.isdecimal() and 1 <= int(column) <= len(first_row):
        return int(column) - 1
    raise UnfitOptionsError(
        f"{where}: there is no column {column!r}; there are {len(first_row)}: "
        f"{shown_row(first_row)}"
    )
