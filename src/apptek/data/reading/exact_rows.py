"""One row of a file, read with care: the definition of what is a good row, and what is wrong.

This is the slow and exact way. The fast way of readers.py takes whole blocks, and hands a block
over to this one as soon as anything in it looks wrong.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apptek.data.facts import Defect
from apptek.data.reading.columns import Layout
from apptek.data.times import TimeBook
from apptek.errors import TimeFormatError

NAMED = ("subject", "predicate", "object")
SINCE_MARKS = frozenset({"<occursSince>", "occursSince"})
UNTIL_MARKS = frozenset({"<occursUntil>", "occursUntil"})
# A cell of .csv: quoted, where whatever follows the closing quote belongs to it as it is, or plain.
_CSV_CELL = r'"([^"]*+(?:""[^"]*+)*+)"([^%s]*)|((?!")[^%s]*)'


class RowError(Exception):
    """What is wrong with one row."""

    def __init__(self, column: str, found: str, expected: str) -> None:
        super().__init__(column, found, expected)
        self.column, self.found, self.expected = column, found, expected

    def at(self, file: str, line: int) -> Defect:
        """The same with its place."""
        return Defect(
            file=file, line=line, column=self.column, found=self.found, expected=self.expected
        )


@dataclass(frozen=True, slots=True)
class Row:
    """A good row: three names and the ids of two times in the TimeBook."""

    subject: str
    predicate: str
    object: str
    since: int
    until: int


class OpenQuote(list[bytes]):
    """The cells of a line whose last one is a quote that the line does not close."""


def split_lines(text: bytes, delimiter: str, quoted: bool) -> Iterator[list[bytes]]:
    """The cells of each line, none for an empty one. Lines end with a newline, also CR LF."""
    for line in text.split(b"\n")[:-1]:
        bare = line.removesuffix(b"\r")
        if not bare:
            yield []
        elif quoted and b'"' in bare:
            yield _split_quoted(bare, delimiter)
        else:
            yield bare.split(delimiter.encode())


def _split_quoted(line: bytes, delimiter: str) -> list[bytes]:
    cell = re.compile((_CSV_CELL % (delimiter, delimiter)).encode())
    cells: list[bytes] = []
    start = 0
    while start <= len(line):
        match = cell.match(line, start)
        if match is None:
            return OpenQuote([*cells, line[start:]])
        inner, rest, plain = match.groups()
        cells.append(plain if inner is None else inner.replace(b'""', b'"') + rest)
        start = match.end() + 1
    return cells


def read_row(cells: Sequence[bytes], layout: Layout, book: TimeBook) -> Row:
    """The row of these cells; RowError where it is bad."""
    if isinstance(cells, OpenQuote):
        found = f"a quote that the line does not close in {_show(cells[-1])}"
        raise RowError(layout.label(len(cells) - 1), found, 'a closing " on the same line')
    if layout.free:
        if not 3 <= len(cells) <= 5:
            raise RowError("row", _found_columns(cells), "3, 4 or 5 columns")
    elif len(cells) != layout.width:
        raise RowError("row", _found_columns(cells), _columns(layout.width))
    texts = [_text(cell, layout, place) for place, cell in enumerate(cells)]
    subject, predicate, object_ = (_name(texts, layout, role) for role in NAMED)
    since, until = _times(texts, layout, book)
    return Row(subject, predicate, object_, since, until)


def _found_columns(cells: Sequence[bytes]) -> str:
    """How many columns a row has; with advice where they are very few or many."""
    found = _columns(len(cells))
    if len(cells) > 5:
        return f"{found} (--columns says which to take)"
    for separator in (b",", b"\t", b";", b"|", b" "):
        count = max(len(cell.split(separator)) for cell in cells)
        if len(cells) < 3 <= count:
            other = repr(separator.decode())
            return (
                f"{found} ({count} if separated by {other}: .csv takes commas, .tsv and .txt tabs)"
            )
    return found


def _columns(count: int) -> str:
    return f"{count} column{'s' if count != 1 else ''}"


def _text(cell: bytes, layout: Layout, place: int) -> str:
    if b"\0" in cell:
        raise RowError(layout.label(place), f"a NUL byte in {_show(cell)}", "text")
    try:
        return cell.decode()
    except UnicodeDecodeError as error:
        found = f"byte 0x{cell[error.start]:02x} in {_show(cell)}"
        raise RowError(layout.label(place), found, "valid UTF-8") from None


def _name(texts: list[str], layout: Layout, role: str) -> str:
    place = layout.places[role]
    if not texts[place]:
        raise RowError(layout.label(place), "nothing", "a name")
    return texts[place]


def _times(texts: list[str], layout: Layout, book: TimeBook) -> tuple[int, int]:
    """The ids of since and until."""
    since, until = time_places(texts, layout)
    roles = ("time", "time") if since == until else ("since", "until")
    first, last = (
        book.add("") if place is None else _time(texts[place], layout.label(place, role), book)
        for place, role in zip((since, until), roles, strict=True)
    )
    low, high = book.bounds_of(first)[0], book.bounds_of(last)[1]
    if since is not None and until is not None and low > high:
        found = f"since {texts[since]} after until {texts[until]}"
        raise RowError(layout.label(until, "until"), found, "since not after until")
    return first, last


def time_places(texts: list[str], layout: Layout) -> tuple[int | None, int | None]:
    """The places of since and until in a row, None where it has none."""
    if not layout.free:
        point = layout.places.get("time")
        return layout.places.get("since", point), layout.places.get("until", point)
    if len(texts) == 3:
        return None, None
    if len(texts) == 4:
        return 3, 3
    if texts[3] in SINCE_MARKS:
        return 4, None
    return (None, 4) if texts[3] in UNTIL_MARKS else (3, 4)


def _time(text: str, label: str, book: TimeBook) -> int:
    try:
        return book.add(text)
    except TimeFormatError as error:
        raise RowError(label, _show(text.encode()), str(error)) from None


def _show(cell: bytes) -> str:
    text = repr(cell.decode("utf-8", "backslashreplace"))
    return text if len(text) <= 60 else text[:57] + "..."
