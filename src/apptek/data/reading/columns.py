"""Which column of a file holds what: by `--columns`, by the header, or in the usual order."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from apptek.errors import DataError

ROLES = ("subject", "predicate", "object", "time", "since", "until")
COLUMNS_HELP = "subject=NAME,predicate=NAME,object=NAME,time=NAME (or since=, until=)"
_HEADER_WORDS = {  # where several of a role occur, the first of these is taken
    "subject": ("subject", "head", "source", "actor1"),
    "predicate": ("predicate", "relation", "event"),
    "object": ("object", "tail", "target", "actor2"),
    "time": ("time", "date", "timestamp", "day", "year"),
    "since": ("since", "start", "from", "begin"),
    "until": ("until", "end", "to"),
}


@dataclass(frozen=True, slots=True)
class Extra:
    """A column beside those of facts: a kind of type or class of what stands in a role."""

    role: str
    kind: str
    column: int


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """The column of each role in rows of `width` cells, counted from 0.

    A *free* layout is the usual order without a header: subject, predicate, object, then nothing,
    a time, or since and until; each row may have 3, 4 or 5 cells. A fourth cell <occursSince> or
    <occursUntil> says which end the fifth one is.

    names   by role, what the texts in a column stand for, where they are ids
    extras  columns of types and classes
    note    what there is to say about the names
    nobody  names that stand for nobody: such rows are left out, where they would be bad else
    """

    width: int
    columns: dict[str, int] = field(default_factory=dict)
    free: bool = False
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    extras: tuple[Extra, ...] = ()
    nobody: frozenset[str] = frozenset()
    note: str = ""

    def label(self, column: int, role: str | None = None) -> str:
        """A column as an error message names it; `role` where the layout alone cannot tell."""
        roles = (name for name, number in self.columns.items() if number == column)
        name = role or next(roles, None)
        return f"column {column + 1}" + (f" ({name})" if name else "")


FREE = ColumnLayout(4, {"subject": 0, "predicate": 1, "object": 2}, free=True)


def parse_columns(text: str) -> dict[str, str]:
    """Role -> column from `subject=Actor,...`, or from a plain list in the file's order.

    A column is a name in the header, or a number counted from 1. In a plain list `-` skips one.
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
        raise DataError(f"--columns names a role twice: {text}")
    _check_roles(column_of, "--columns")
    return column_of


def _check_roles(column_of: dict[str, str], where: str) -> None:
    missing = [role for role in ROLES[:3] if role not in column_of]
    if missing:
        raise DataError(f"{where}: no {' and no '.join(missing)}; expected {COLUMNS_HELP}")
    if "time" in column_of and ("since" in column_of or "until" in column_of):
        raise DataError(f"{where}: either time, or since and until, not both")


def find_layout(
    first_row: list[str], column_of: dict[str, str] | None, header: bool | None, where: str
) -> tuple[ColumnLayout, bool]:
    """The layout of a file that starts with `first_row`, and whether that row is a header.

    `column_of` is what parse_columns gives. A number there is a position, unless the header has a
    column of that name.
    """
    if column_of is None:
        if header is False or (header is None and not _is_header(first_row)):
            return FREE, False
        return ColumnLayout(len(first_row), _columns_by_word(first_row, where)), True
    by_number = all(column.isdecimal() for column in column_of.values())
    if header is False and not by_number:
        raise DataError(f"{where}: without a header, --columns takes column numbers: subject=1,...")
    has_header = not by_number or (_is_header(first_row) if header is None else header)
    names = first_row if has_header else []  # a cell of a first fact may look like a number, too
    columns = {role: _find(column, names, first_row, where) for role, column in column_of.items()}
    if len(set(columns.values())) < len(columns):
        raise DataError(f"{where}: --columns uses one column twice")
    return ColumnLayout(len(first_row), columns), has_header


FindLayout = Callable[
    [list[str], dict[str, str] | None, bool | None, str], tuple[ColumnLayout, bool]
]


def layout_finder(roles: tuple[str, ...]) -> FindLayout:
    """What finds the layout of other files than those of facts: by a header, else in this order."""

    def find(
        first_row: list[str], _columns: dict[str, str] | None, _header: bool | None, where: str
    ) -> tuple[ColumnLayout, bool]:
        columns = columns_of(roles, first_row)
        if columns is None and len(first_row) != len(roles):
            listed = f"{', '.join(roles[:-1])} and {roles[-1]}"
            raise DataError(
                f"{where}: found {len(first_row)} columns without the names {listed}; "
                "expected these, in this order or under a header"
            )
        places = range(len(roles)) if columns is None else columns
        return ColumnLayout(len(first_row), dict(zip(roles, places, strict=True))), bool(columns)

    return find


def left_out_note(header: list[str], layout: ColumnLayout, where: str) -> str | None:
    """A warning where no column is taken for the time, though one is left out."""
    others = [cell for column, cell in enumerate(header) if column not in layout.columns.values()]
    if not others or layout.columns.keys() & {"time", "since", "until"}:
        return None
    return (
        f"{where}: no column is read as the time, so all its facts are undated; left out: "
        f"{', '.join(others[:5])} (a header 'time', or --columns, says which is the time)"
    )


def _is_header(first_row: list[str]) -> bool:
    words = {cell.strip().lower() for cell in first_row}
    return all(words.intersection(_HEADER_WORDS[role]) for role in ROLES[:3])


def query_columns(header: list[str]) -> list[int] | None:
    """The columns of subject, object and time; None where a header lacks one, or has two."""
    return columns_of(("subject", "object", "time"), header)


def columns_of(roles: tuple[str, ...], header: list[str]) -> list[int] | None:
    """The columns of these roles; None where a header lacks one, or has two."""
    words = [cell.strip().lower() for cell in header]
    columns = [
        next((words.index(word) for word in _HEADER_WORDS[role] if words.count(word) == 1), None)
        for role in roles
    ]
    found = [column for column in columns if column is not None]
    return found if len(found) == len(roles) else None


def _columns_by_word(header: list[str], where: str) -> dict[str, int]:
    words = [cell.strip().lower() for cell in header]
    column_of = {
        role: next(word for word in synonyms if word in words)
        for role, synonyms in _HEADER_WORDS.items()
        if not set(words).isdisjoint(synonyms)
    }
    if "since" in column_of or "until" in column_of:
        column_of.pop("time", None)
    _check_roles(column_of, f"{where}: header {_show(header)} without --columns")
    return {role: _find(word, words, header, where) for role, word in column_of.items()}


def _find(column: str, names: list[str], first_row: list[str], where: str) -> int:
    """The position of a column, which is one of the header's `names` or a number from 1."""
    if names.count(column) > 1:
        raise DataError(f"{where}: {names.count(column)} columns are called {column!r}")
    if column in names:
        return names.index(column)
    if column.isdecimal() and 1 <= int(column) <= len(first_row):
        return int(column) - 1
    raise DataError(
        f"{where}: there is no column {column!r}; "
        f"the first row has {len(first_row)}: {_show(first_row)}"
    )


def _show(first_row: list[str]) -> str:
    text = str(first_row)
    return text if len(text) <= 200 else text[:197] + "..."
