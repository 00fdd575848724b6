"""A block of a file becomes a piece: names as Arrow dictionaries, times as ids of a TimeBook.

Fast way: Arrow parses the whole block and only distinct values are looked at. Whatever looks
wrong there sends the block the careful way, row by row, which finds the line and the reason.
Both ways give the same facts.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from apptek.arrays import Ints
from apptek.data.reading.columns import Layout
from apptek.data.reading.exact_rows import NAMED, SINCE_MARKS, UNTIL_MARKS, Row, RowError, read_row
from apptek.data.reading.text_blocks import BYTE_ORDER_MARK
from apptek.data.times import TimeBook
from apptek.errors import TimeFormatError

NAME_TYPE = pa.dictionary(pa.int32(), pa.string())
Report = Callable[[int, RowError], None]  # which row of the block, counted from 0, and its fault
_SAME = "\x1f"  # stands in the fifth cell of a padded row that had four: until is since


@dataclass(frozen=True, slots=True)
class Piece:
    """Some facts: an Arrow dictionary array by role, and two arrays of time ids (one, if points).

    Whoever has numbered the names of a role takes it out of `names`, so that memory is given back.
    """

    names: dict[str, pa.DictionaryArray]
    since: Ints
    until: Ints

    def __len__(self) -> int:
        return len(self.since)


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How the cells of a text file are told apart."""

    delimiter: str
    quoted: bool  # .csv; in .txt and .tsv a quote is a character like any other


def parse_block(text: bytes, layout: Layout, form: TextFormat) -> pa.Table | None:
    """The cells of some lines as a table of dictionary columns "0", "1", ...; None: look closer."""
    if not text or b"\0" in text or _has_bare_return(text):
        return None
    if text.endswith((b"\n\n", b"\n\r\n")):
        text = text.rstrip(b"\r\n") + b"\n"
    if text.startswith(BYTE_ORDER_MARK):
        text = BYTE_ORDER_MARK + text  # Arrow takes one away from the front of whatever it parses
    table = _parse(text, layout.width, form)
    if table is None and layout.free:
        table = _parse_free(text, form)
    if table is None or table.num_rows != count_lines(text):
        return None
    if form.quoted and "\n" in table.column(table.num_columns - 1)[-1].as_py():
        return None  # a last quote that nothing closes takes the end of the block with it
    return table


def _has_bare_return(text: bytes) -> bool:
    """Whether a CR stands without LF: a line's end for Arrow, for us a character."""
    if b"\r" not in text:
        return False
    data = np.frombuffer(text, np.uint8)
    after = np.flatnonzero(data == ord("\r")) + 1  # within bounds: the text ends with LF
    return bool(np.any(data[after] != ord("\n")))


def _parse_free(text: bytes, form: TextFormat) -> pa.Table | None:
    """Rows of 3 to 5 cells. Where quotes hide delimiters, only if all rows are equally wide."""
    if _SAME.encode() in text:
        return None
    if not (form.quoted and b'"' in text):
        width, text = pad_rows(text, form.delimiter)
        return _parse(text, width, form) if width else None
    tables = (_parse(text, width, form) for width in (5, 3))
    return next((table for table in tables if table is not None), None)


def count_lines(text: bytes) -> int:
    """How many newlines there are (by numpy, which lets other threads run meanwhile)."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


def _parse(text: bytes, width: int, form: TextFormat) -> pa.Table | None:
    names = [str(place) for place in range(width)]
    try:
        return csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(column_names=names, use_threads=False, block_size=len(text) + 1),
            csv.ParseOptions(delimiter=form.delimiter, quote_char='"' if form.quoted else False),
            csv.ConvertOptions(column_types=dict.fromkeys(names, NAME_TYPE)),
        )
    except pa.ArrowInvalid:  # a wrong number of cells, or no UTF-8: the careful way says which
        return None


def pad_rows(text: bytes, delimiter: str) -> tuple[int, bytes]:
    """The same rows, all as wide as the widest of 3 to 5 cells; width 0 if one is not of these."""
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    places = np.flatnonzero(data == ord(delimiter))
    widths = np.diff(np.searchsorted(places, ends), prepend=0) + 1
    if widths.min() < 3 or widths.max() > 5:
        return 0, text
    if widths.min() == widths.max():
        return int(widths[0]), text
    ends = ends - ((data[np.maximum(ends - 1, 0)] == ord("\r")) & (ends > 0))
    three, four = ends[widths == 3], ends[widths == 4]
    where = np.concatenate([three, three, four, four])
    comma, same = np.uint8(ord(delimiter)), np.uint8(ord(_SAME))
    what = np.repeat([comma, comma, comma, same], [len(three), len(three), len(four), len(four)])
    return 5, np.insert(data, where, what).tobytes()


def make_piece(table: pa.Table, layout: Layout, book: TimeBook) -> Piece | None:
    """The piece of a parsed table; None where something in it needs a closer look."""
    columns = [column.combine_chunks() for column in table.columns]
    names = {role: columns[layout.places[role]] for role in NAMED}
    if any(pc.any(pc.equal(name.dictionary, "")).as_py() for name in names.values()):
        return None
    try:
        since, until = _time_ids(columns, layout, book)
    except TimeFormatError:
        return None
    if since is not until and _any_inverted(since, until, book):
        return None
    return Piece(names, since, since if np.array_equal(since, until) else until)


def _any_inverted(since: Ints, until: Ints, book: TimeBook) -> bool:
    bounds = np.zeros((len(book.written), 2), np.int64)
    met = np.zeros(len(bounds), np.bool_)
    met[since] = met[until] = True
    for known in np.flatnonzero(met).tolist():
        bounds[known] = book.bounds_of(known)
    return bool(np.any(bounds[since, 0] > bounds[until, 1]))


def _time_ids(columns: list[Any], layout: Layout, book: TimeBook) -> tuple[Ints, Ints]:
    """Ids of since and until by row. Where every row is a point, both are one array."""
    unknown = np.full(len(columns[0]), book.add(""), np.int32)
    if layout.free and len(columns) == 5:
        return _free_time_ids(columns[3], columns[4], book)
    if layout.free:
        places = dict.fromkeys(("since", "until"), 3 if len(columns) == 4 else None)
    else:
        point = layout.places.get("time")
        places = {end: layout.places.get(end, point) for end in ("since", "until")}
    since = unknown if places["since"] is None else _ids(columns[places["since"]], book)
    if places["until"] == places["since"]:
        return since, since
    return since, unknown if places["until"] is None else _ids(columns[places["until"]], book)


def _ids(column: Any, book: TimeBook) -> Ints:
    known = [book.add(text or "") for text in column.dictionary.to_pylist()]
    ids: Ints = np.asarray(known, np.int32).take(column.indices.to_numpy())
    return ids


def _free_time_ids(fourth: Any, fifth: Any, book: TimeBook) -> tuple[Ints, Ints]:
    """Ids from rows of five cells: since and until, or a mark and a time, or a padded point."""
    texts, unknown = fourth.dictionary.to_pylist(), book.add("")
    marks = np.asarray([(t in SINCE_MARKS) + 2 * (t in UNTIL_MARKS) for t in texts], np.int8)
    firsts = [unknown if mark else book.add(t) for t, mark in zip(texts, marks, strict=True)]
    seconds = [-1 if t == _SAME else book.add(t) for t in fifth.dictionary.to_pylist()]
    mark = marks[fourth.indices.to_numpy()]
    first = np.asarray(firsts, np.int32)[fourth.indices.to_numpy()]
    second = np.asarray(seconds, np.int32)[fifth.indices.to_numpy()]
    if np.any((second == -1) & (mark > 0)):
        raise TimeFormatError("a time after the mark")
    second = np.where(second == -1, first, second)
    since = np.where(mark == 1, second, first)
    until = np.where(mark == 1, np.int32(unknown), second)
    return since, until


def make_piece_carefully(
    rows: Iterable[list[bytes]], layout: Layout, book: TimeBook, report: Report
) -> Piece:
    """The piece of all good rows; `report` is told of each bad one (and may raise)."""
    good = []
    for number, cells in enumerate(rows):
        if not cells:
            continue
        kind = book.kind
        try:
            good.append(read_row(cells, layout, book))
        except RowError as error:
            book.kind = kind  # a bad row does not decide what times are
            report(number, error)
    return _piece_of_rows(good)


def _piece_of_rows(rows: list[Row]) -> Piece:
    texts = {role: [getattr(row, role) for row in rows] for role in NAMED}
    names = {role: pa.array(texts[role], pa.string()).dictionary_encode() for role in NAMED}
    since = np.asarray([row.since for row in rows], np.int32)
    until = np.asarray([row.until for row in rows], np.int32)
    return Piece(names, since, since if np.array_equal(since, until) else until)
