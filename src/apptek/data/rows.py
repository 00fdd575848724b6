"""One row of a file, read with care: the definition of what is a good row, and what is wrong.

This is the slow and exact way. The fast way of readers.py takes whole blocks, and hands a block
over to this one as soon as anything in it looks wrong.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apptek.data.columns import Layout
from apptek.data.facts import Defect
from apptek.data.times import TimeBook
from apptek.errors import TimeFormatError

NAMED = ("subject", "predicate", "object")
SINCE_MARKS = frozenset({"<occursSince>", "occursSince"})
UNTIL_MARKS = frozenset({"<occursUntil>", "occursUntil"})


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


def split_lines(text: bytes, delimiter: str, quoted: bool) -> Iterator[list[bytes]]:
    """The cells of each line, none for an empty one. Lines end with a newline, also CR LF."""
    for line in text.split(b"\n")[:-1]:
        bare = line.removesuffix(b"\r")
        if not bare:
            yield []
        elif quoted and b'"' in bare:
            cells = next(csv.reader([bare.decode("utf-8", "surrogateescape")], delimiter=delimiter))
            yield [cell.encode("utf-8", "surrogateescape") for cell in cells]
        else:
            yield bare.split(delimiter.encode())


def read_row(cells: Sequence[bytes], layout: Layout, book: TimeBook) -> Row:
    """The row of these cells; RowError where it is bad."""
    if layout.free:
        if not 3 <= len(cells) <= 5:
            raise RowError("row", _columns(len(cells)), "3, 4 or 5 columns")
    elif len(cells) != layout.width:
        raise RowError("row", _columns(len(cells)), str(layout.width))
    texts = [_text(cell, layout, place) for place, cell in enumerate(cells)]
    subject, predicate, object_ = (_name(texts, layout, role) for role in NAMED)
    since, until = _times(texts, layout, book)
    return Row(subject, predicate, object_, since, until)


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
    ids = [
        book.add("") if place is None else _time(texts[place], layout.label(place), book)
        for place in (since, until)
    ]
    low, high = book.bounds_of(ids[0])[0], book.bounds_of(ids[1])[1]
    if since is not None and until is not None and low > high:
        found = f"since {texts[since]} after until {texts[until]}"
        raise RowError(layout.label(until), found, "since not after until")
    return ids[0], ids[1]


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
