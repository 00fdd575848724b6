"""Which column of a file is what: from `--columns`, from a header, or from the usual order."""

from dataclasses import dataclass, field

from apptek.errors import DataError

ROLES = ("subject", "predicate", "object", "time", "since", "until")
COLUMNS_HELP = "subject=NAME,predicate=NAME,object=NAME,time=NAME (or since=, until=)"
_HEADER_WORDS = {
    "subject": {"subject", "head", "source", "actor1"},
    "predicate": {"predicate", "relation", "event"},
    "object": {"object", "tail", "target", "actor2"},
    "time": {"time", "date", "timestamp", "day", "year"},
    "since": {"since", "start", "from", "begin"},
    "until": {"until", "end", "to"},
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

    def label(self, place: int) -> str:
        """A column as an error message names it."""
        roles = [role for role, where in self.places.items() if where == place]
        if self.free and not roles:
            roles = [("subject", "predicate", "object", "time", "until")[place]]
        return f"column {place + 1}" + (f" ({roles[0]})" if roles else "")


FREE = Layout(4, {"subject": 0, "predicate": 1, "object": 2}, free=True)


def parse_columns(text: str) -> dict[str, str]:
    """Role -> column from `subject=Actor,...`, or from a plain list in the file's order.

    A column is a header's name or a place counted from 1. In a plain list `-` passes over one.
    """
    parts = [part.strip() for part in text.split(",")]
    if any("=" in part for part in parts):
        split = [part.partition("=") for part in parts]
        pairs = [(role, column) for role, _, column in split]
    else:
        pairs = [(role, str(place)) for place, role in enumerate(parts, 1) if role != "-"]
    for role, column in pairs:
        if role not in ROLES or not column:
            raise DataError(f"--columns: {role!r} is not one of {', '.join(ROLES)}")
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
    """The layout of a file whose first row is `first`, and whether that row is a header."""
    if wanted is None:
        if header is False or (header is None and not _is_header(first)):
            return FREE, False
        return Layout(len(first), _places_by_word(first, where)), True
    by_place = all(column.isdecimal() for column in wanted.values())
    if header is False and not by_place:
        raise DataError(f"{where}: without a header, --columns takes places: subject=1,...")
    has_header = not by_place or (_is_header(first) if header is None else header)
    places = {role: _place(column, first, where) for role, column in wanted.items()}
    if len(set(places.values())) < len(places):
        raise DataError(f"{where}: --columns uses one column twice")
    return Layout(len(first), places), has_header


def _is_header(first: list[str]) -> bool:
    words = {cell.strip().lower() for cell in first}
    return all(words & _HEADER_WORDS[role] for role in ROLES[:3])


def _places_by_word(first: list[str], where: str) -> dict[str, int]:
    words = [cell.strip().lower() for cell in first]
    found = {
        role: next((place for place, word in enumerate(words) if word in synonyms), None)
        for role, synonyms in _HEADER_WORDS.items()
    }
    places = {role: place for role, place in found.items() if place is not None}
    if "since" in places or "until" in places:
        places.pop("time", None)
    _checked({role: str(place) for role, place in places.items()}, f"{where}: header {first}")
    return places


def _place(column: str, first: list[str], where: str) -> int:
    if column in first:
        return first.index(column)
    if column.isdecimal() and 1 <= int(column) <= len(first):
        return int(column) - 1
    raise DataError(
        f"{where}:1: there is no column {column!r}; the first row has {len(first)}: {first}"
    )
