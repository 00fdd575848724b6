"""Which column of a file is what: from `--columns`, from a header, or from the usual order."""

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
class Layout:
    """Where the parts of a fact stand in a row of `width` cells (counted from 0).

    A *free* layout is the usual order without a header: subject, predicate, object, then nothing,
    a time, or since and until; each row may have 3, 4 or 5 cells. A cell <occursSince> or
    <occursUntil> in the fourth place says which end the fifth one is.
    """

    width: int
    places: dict[str, int] = field(default_factory=dict)
    free: bool = False

    def label(self, place: int, role: str | None = None) -> str:
        """A column as an error message names it; `role` where the layout alone cannot tell."""
        known = (name for name, where in self.places.items() if where == place)
        what = role or next(known, None)
        return f"column {place + 1}" + (f" ({what})" if what else "")


FREE = Layout(4, {"subject": 0, "predicate": 1, "object": 2}, free=True)


def parse_columns(text: str) -> dict[str, str]:
    """Role -> column from `subject=Actor,...`, or from a plain list in the file's order.

    A column is a header's name or a place counted from 1. In a plain list `-` passes over one.
    """
    parts = [part.strip() for part in text.split(",")]
    if any("=" in part for part in parts):
        split = [part.partition("=") for part in parts]
        pairs = [(role.strip(), column.strip()) for role, _, column in split]
    else:
        pairs = [(role, str(place)) for place, role in enumerate(parts, 1) if role != "-"]
    for role, column in pairs:
        if role not in ROLES:
            raise DataError(f"--columns: {role!r} is not one of {', '.join(ROLES)}")
        if not column:
            raise DataError(f"--columns: {role}= names no column; expected {COLUMNS_HELP}")
    wanted = dict(pairs)
    if len(wanted) < len(pairs):
        raise DataError(f"--columns names a role twice: {text}")
    return _checked(wanted, "--columns")


def _checked(wanted: dict[str, str], where: str) -> dict[str, str]:
    missing = [role for role in ROLES[:3] if role not in wanted]
    if missing:
        raise DataError(f"{where}: no {' and no '.join(missing)}; expected {COLUMNS_HELP}")
    if "time" in wanted and ("since" in wanted or "until" in wanted):
        raise DataError(f"{where}: either time, or since and until, not both")
    return wanted


def find_layout(
    first: list[str], wanted: dict[str, str] | None, header: bool | None, where: str
) -> tuple[Layout, bool]:
    """The layout of a file whose first row is `first`, and whether that row is a header.

    A number in `wanted` is a place, unless the header has a column of that name.
    """
    if wanted is None:
        if header is False or (header is None and not _is_header(first)):
            return FREE, False
        return Layout(len(first), _places_by_word(first, where)), True
    by_place = all(column.isdecimal() for column in wanted.values())
    if header is False and not by_place:
        raise DataError(f"{where}: without a header, --columns takes column numbers: subject=1,...")
    has_header = not by_place or (_is_header(first) if header is None else header)
    names = first if has_header else []  # a first fact may well hold the number of a place
    places = {role: _place(column, names, first, where) for role, column in wanted.items()}
    if len(set(places.values())) < len(places):
        raise DataError(f"{where}: --columns uses one column twice")
    return Layout(len(first), places), has_header


def _is_header(first: list[str]) -> bool:
    words = {cell.strip().lower() for cell in first}
    return all(words.intersection(_HEADER_WORDS[role]) for role in ROLES[:3])


def _places_by_word(first: list[str], where: str) -> dict[str, int]:
    words = [cell.strip().lower() for cell in first]
    found = {
        role: next((word for word in synonyms if word in words), None)
        for role, synonyms in _HEADER_WORDS.items()
    }
    chosen = {role: word for role, word in found.items() if word is not None}
    if "since" in chosen or "until" in chosen:
        chosen.pop("time", None)
    _checked(chosen, f"{where}: header {_show(first)} without --columns")
    return {role: _place(word, words, first, where) for role, word in chosen.items()}


def _place(column: str, names: list[str], first: list[str], where: str) -> int:
    """The place of a column among the header's `names`, or the place that it counts."""
    if names.count(column) > 1:
        raise DataError(f"{where}: {names.count(column)} columns are called {column!r}")
    if column in names:
        return names.index(column)
    if column.isdecimal() and 1 <= int(column) <= len(first):
        return int(column) - 1
    raise DataError(
        f"{where}: there is no column {column!r}; the first row has {len(first)}: {_show(first)}"
    )


def _show(first: list[str]) -> str:
    text = str(first)
    return text if len(text) <= 200 else text[:197] + "..."
