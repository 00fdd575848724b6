"""The fast path: Arrow parses a whole block of text, and its table becomes a batch of facts.

Only distinct values are looked at. Whatever looks wrong sends the block to the careful path of
exact_rows.py, which goes row by row and finds the line and the reason. Both paths give the same
facts.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from apptek.arrays import Ints
from apptek.errors import TimeFormatError
from apptek.facts.calendar.time_dictionary import TimeDictionary
from apptek.reading.columns import SPLIT, ColumnLayout
from apptek.reading.exact_rows import SINCE_MARKS, UNTIL_MARKS
from apptek.reading.fact_batch import NAME_ROLES, NAME_TYPE, FactBatch, split_code
from apptek.reading.text_blocks import BYTE_ORDER_MARK
from apptek.reading.text_cells import TextFormat

_SAME = "\x1f"  # the fifth cell of a padded row that had four: until is since


def parse_block(text: bytes, layout: ColumnLayout, form: TextFormat) -> pa.Table | None:
    """The cells of some lines as a table of dictionary columns "0", "1", ...

    None where Arrow fails, or might read the lines in another way than the careful path.
    """
    if not text or b"\0" in text or _has_bare_return(text):
        return None
    if form.quoted and b'\\"' in text:  # the careful path says where quotes are escaped so
        return None
    # Arrow ignores blank lines. At the end of a block that shifts no line numbers; elsewhere the
    # number of rows gives it away below.
    if text.endswith((b"\n\n", b"\n\r\n")):
        text = text.rstrip(b"\r\n") + b"\n"
    if text.startswith(BYTE_ORDER_MARK):
        text = BYTE_ORDER_MARK + text  # Arrow removes one from the front of whatever it parses
    table = _parse(text, layout.width, form)
    if table is None and layout.free:
        table = _parse_free(text, form)
    if table is None:
        return None
    if table.num_rows != count_lines(text):
        is_whole = form.quoted and table.num_rows == _rows_of_clean_quotes(text, form)
        return table if is_whole else None
    if form.quoted and "\n" in table.column(table.num_columns - 1)[-1].as_py():
        return None  # a quote that nothing closes has swallowed the end of the block
    return table


def _has_bare_return(text: bytes) -> bool:
    """Whether there is a CR without LF: the end of a line for Arrow, a character for us."""
    if b"\r" not in text:
        return False
    data = np.frombuffer(text, np.uint8)
    after = np.flatnonzero(data == ord("\r")) + 1  # within bounds: the text ends with LF
    return bool(np.any(data[after] != ord("\n")))


def _parse_free(text: bytes, form: TextFormat) -> pa.Table | None:
    """Parses rows of 3 to 5 cells.

    Arrow needs rows of one width, so the others are padded; but not where quotes may hide
    delimiters, because then counting delimiters does not count cells.
    """
    if _SAME.encode() in text:
        return None
    if not (form.quoted and b'"' in text):
        width, text = pad_rows(text, form.delimiter)
        return _parse(text, width, form) if width else None
    tables = (_parse(text, width, form) for width in (5, 3))  # 4 is the width of FREE itself
    return next((table for table in tables if table is not None), None)


def count_lines(text: bytes) -> int:
    """The number of newlines; counted by numpy, which lets other threads run meanwhile."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


def _rows_of_clean_quotes(text: bytes, form: TextFormat) -> int | None:
    """The rows of some lines, where quoted cells hold line breaks and nothing stands beside quotes.

    None where anything does: then a quote may be missing, and rows would be taken for one.
    """
    data = np.frombuffer(b"\n" + text, np.uint8)
    quotes = np.flatnonzero(data == ord('"'))
    opening, closing = data[quotes[::2] - 1], data[quotes[1::2] + 1]
    before, after = b'"\n' + form.delimiter.encode(), b'"\r\n' + form.delimiter.encode()
    if len(quotes) % 2 or not (_all_in(opening, before) and _all_in(closing, after)):
        return None
    ends = np.flatnonzero(data == ord("\n"))[1:]
    return int(np.count_nonzero(np.searchsorted(quotes, ends) % 2 == 0))


def _all_in(characters: Any, allowed: bytes) -> bool:
    return bool(np.isin(characters, np.frombuffer(allowed, np.uint8)).all())


def _parse(text: bytes, width: int, form: TextFormat) -> pa.Table | None:
    names = [str(column) for column in range(width)]
    # One thread and one Arrow block per text: blocks are parsed in parallel already, and a column
    # of one chunk has one dictionary.
    try:
        return csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(column_names=names, use_threads=False, block_size=len(text) + 1),
            csv.ParseOptions(delimiter=form.delimiter, quote_char='"' if form.quoted else False),
            csv.ConvertOptions(column_types=dict.fromkeys(names, NAME_TYPE)),
        )
    except pa.ArrowInvalid:  # a wrong number of cells, or no UTF-8: the careful path says which
        return None


def pad_rows(text: bytes, delimiter: str) -> tuple[int, bytes]:
    """The same rows, padded to 5 cells where they differ in width, and that width.

    Width 0 if a row has fewer than 3 or more than 5 cells.
    """
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    delimiters = np.flatnonzero(data == ord(delimiter))
    widths = np.diff(np.searchsorted(delimiters, ends), prepend=0) + 1
    if widths.min() < 3 or widths.max() > 5:
        return 0, text
    if widths.min() == widths.max():
        return int(widths[0]), text
    ends = ends - ((data[np.maximum(ends - 1, 0)] == ord("\r")) & (ends > 0))  # before CR LF
    # A row of three gets two empty cells, a row of four the sign that its end is its start.
    three, four = ends[widths == 3], ends[widths == 4]
    positions = np.concatenate([three, three, four, four])
    comma, same = np.uint8(ord(delimiter)), np.uint8(ord(_SAME))
    padding = np.repeat([comma, comma, comma, same], [len(three), len(three), len(four), len(four)])
    return 5, np.insert(data, positions, padding).tobytes()


def batch_of_table(
    table: pa.Table, layout: ColumnLayout, times: TimeDictionary
) -> FactBatch | None:
    """The facts of a parsed table; None where something in it needs a closer look."""
    columns = [column.combine_chunks() for column in table.columns]
    names = {role: columns[layout.columns[role]] for role in NAME_ROLES}
    for role, named in layout.names.items():
        texts = [named.get(text.strip(" ")) for text in names[role].dictionary.to_pylist()]
        if None in texts:
            return None
        dictionary = pa.array(texts, pa.string())
        names[role] = pa.DictionaryArray.from_arrays(names[role].indices, dictionary)
    if any(pc.any(pc.equal(name.dictionary, "")).as_py() for name in names.values()):
        return None
    try:
        since, until = _time_ids(columns, layout, times)
    except TimeFormatError:
        return None
    if since is not until and _any_inverted(since, until, times):
        return None
    splits = _splits(columns, layout)
    if layout.splits and (splits < 0).any():
        return None
    return FactBatch.of(names, since, until, splits)


def _splits(columns: list[Any], layout: ColumnLayout) -> Any:
    """The codes of the rows' splits; None where no column says them."""
    if SPLIT not in layout.columns:
        return None
    column = columns[layout.columns[SPLIT]]
    codes = [split_code(text or "") for text in column.dictionary.to_pylist()]
    return np.asarray(codes, np.int8)[column.indices.to_numpy()]


def _any_inverted(since: Ints, until: Ints, times: TimeDictionary) -> bool:
    """Whether an interval ends before it starts. Bounds are computed once per distinct time."""
    bounds = np.zeros((len(times.written), 2), np.int64)
    occurs = np.zeros(len(bounds), np.bool_)
    occurs[since] = occurs[until] = True
    for time_id in np.flatnonzero(occurs).tolist():
        bounds[time_id] = times.bounds_of(time_id)
    return bool(np.any(bounds[since, 0] > bounds[until, 1]))


def _time_ids(columns: list[Any], layout: ColumnLayout, times: TimeDictionary) -> tuple[Ints, Ints]:
    """Ids of since and until by row. Where every row is a point, both are one array."""
    unknown = np.full(len(columns[0]), times.add(""), np.int32)
    if layout.free and len(columns) == 5:
        return _free_time_ids(columns[3], columns[4], times)
    if layout.free:
        first = last = 3 if len(columns) == 4 else None
    else:
        point = layout.columns.get("time")
        first, last = layout.columns.get("since", point), layout.columns.get("until", point)
    since = unknown if first is None else _ids(columns[first], times)
    if last == first:
        return since, since
    return since, unknown if last is None else _ids(columns[last], times)


def _ids(column: Any, times: TimeDictionary) -> Ints:
    distinct = times.add_all([text or "" for text in column.dictionary.to_pylist()])
    ids: Ints = np.asarray(distinct, np.int32).take(column.indices.to_numpy())
    return ids


def _free_time_ids(fourth: Any, fifth: Any, times: TimeDictionary) -> tuple[Ints, Ints]:
    """Ids from rows of five cells: since and until, or a mark and a time, or a padded point."""
    texts, unknown = fourth.dictionary.to_pylist(), times.add("")
    marks = np.asarray([(t in SINCE_MARKS) + 2 * (t in UNTIL_MARKS) for t in texts], np.int8)
    firsts = [unknown if mark else times.add(t) for t, mark in zip(texts, marks, strict=True)]
    seconds = [-1 if t == _SAME else times.add(t) for t in fifth.dictionary.to_pylist()]
    mark = marks[fourth.indices.to_numpy()]  # by row: 0 none, 1 since, 2 until
    first = np.asarray(firsts, np.int32)[fourth.indices.to_numpy()]
    second = np.asarray(seconds, np.int32)[fifth.indices.to_numpy()]
    if np.any((second == -1) & (mark > 0)):
        raise TimeFormatError("a time after the mark")
    second = np.where(second == -1, first, second)
    since = np.where(mark == 1, second, first)
    until = np.where(mark == 1, np.int32(unknown), second)
    return since, until
