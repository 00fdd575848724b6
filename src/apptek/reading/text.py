"""Text files: the delimiter is detected, and Arrow parses blocks of lines."""

import codecs
import csv
import io
import os
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from apptek.arrays import Longs
from apptek.errors import DataError
from apptek.facts.facts import Defect
from apptek.reading.columns import FREE_LAYOUTS, Beginning, ColumnLayout, Roles, examine_rows
from apptek.reading.dumps import DUMPS, dump_layout, find_ids
from apptek.reading.options import ReadOptions
from apptek.reading.parts import (
    TEXT_TYPE,
    Content,
    Part,
    by_mark,
    parts_of_rows,
    rows_where,
    shown,
    texts_of,
    without_titles,
)
from apptek.reading.streams import (
    BYTE_ORDER_MARK,
    LONGEST_LINE,
    Block,
    read_blocks,
    read_start,
    stem_and_suffix,
    undecodable,
)
from apptek.safe_text import counted

SAMPLE_BYTES = 1 << 20
SAMPLE_LINES = 200
LONGEST = 100  # maximum number of lines in a row with wrong quotes
NEARLY_ALL = 0.9
DELIMITERS = (",", "\t", ";", "|")
_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
csv.field_size_limit(LONGEST_LINE)


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How the cells of a text file are separated."""

    delimiter: str
    quoted: bool  # .csv; in .txt and .tsv files, a quote is an ordinary character


_TABS = TextFormat("\t", quoted=False)
TEXT_FORMATS = {".txt": _TABS, ".tsv": _TABS, ".tab": _TABS, ".csv": TextFormat(",", quoted=True)}


def open_text(file: Path, options: ReadOptions, name: str, roles: Roles = None) -> Content:
    """Open a text file."""
    encoding, form, rows = examine(file, options, 3 if roles is None else len(roles))
    if not rows:
        raise DataError(f"{name}:1: the file is empty; expected a fact on each line")
    begin = _begin(file, options, rows, roles)
    widths = [len(row) for _, row in rows[:-1]]  # the last row may be cut off
    lines = _Lines(name, begin.layout, form, widths)
    blocks = read_blocks(file, encoding, options.max_bytes, quoted=form.quoted)
    return Content(
        without_titles(lines.parts(blocks), begin),
        {"format": begin.format, "delimiter": form.delimiter, "encoding": encoding or "utf-8"},
        begin.notes,
        first=begin.first,
        names=begin.names,
        dump=begin.format if begin.format in DUMPS else None,
    )


def _begin(
    file: Path, options: ReadOptions, numbered: list[tuple[int, list[str]]], roles: Roles
) -> Beginning:
    """Return what the first rows reveal about a dump of event data, ids, or another file."""
    rows, columns = [row for _, row in numbered], options.column_of()
    found = None
    if columns is None or options.format:
        found = dump_layout(options.format, rows, columns, f"{file.name}:{numbered[0][0]}")
    if found is None and roles is None and columns is None and not options.header:
        found = find_ids(rows, file.parent)
    return found or examine_rows(numbered, columns, options.header, file.name, roles)


def examine(
    file: Path, options: ReadOptions, fewest: int
) -> tuple[str | None, TextFormat, list[tuple[int, list[str]]]]:
    """Return a file's encoding (None: UTF-8), delimiter and first rows."""
    sample = read_start(file, SAMPLE_BYTES)
    encoding = find_encoding(sample, options.encoding)
    start, form = lines_of(sample, encoding, file.name), TEXT_FORMATS[stem_and_suffix(file)[1]]
    if options.delimiter:
        delimiter = _WORDS.get(options.delimiter.lower(), options.delimiter)
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
            raise DataError(
                f"--read delimiter={delimiter}: expected one character, such as ';', or tab"
            )
        form = TextFormat(delimiter, form.quoted or delimiter not in ("\t", " "))
    elif options.format == "gdelt":
        form = _TABS  # with the suffix .CSV
    else:
        form = find_delimiter(start, form, fewest)
    return encoding, form, first_rows(start, form)


def find_encoding(sample: bytes, given: str = "") -> str | None:
    """Return the user's encoding, or UTF-16 if there is a byte order mark, or None for UTF-8."""
    if not given:
        return "utf-16" if sample.startswith(_UTF16) else None
    try:
        found = codecs.lookup(given).name
        "".encode(found)
    except LookupError:
        raise DataError(
            f"--read encoding={given} is unknown; expected utf-8, windows-1252, latin-1 or similar"
        ) from None
    return None if found == "utf-8" else given


def lines_of(sample: bytes, encoding: str | None, name: str) -> str:
    """Return the whole lines of a sample. Bytes that cannot be decoded are replaced."""
    is_cut = len(sample) >= SAMPLE_BYTES
    if encoding is None:
        sample = sample.removeprefix(BYTE_ORDER_MARK)
    decoder = codecs.getincrementaldecoder(encoding or "utf-8")("backslashreplace")
    try:
        text = decoder.decode(sample)
    except UnicodeError as error:  # UTF-16 without a byte order mark
        raise undecodable(name, error, encoding or "utf-8") from None
    text = text.removeprefix("\ufeff").replace("\n\ufeff", "\n")
    end = text.rfind("\n") + 1
    return text[:end] if end and is_cut else text


def find_delimiter(sample: str, usual: TextFormat, fewest: int = 3) -> TextFormat:
    """Return the format of a file that starts with `sample`.

    It is the usual format for the file's suffix, unless that splits the first lines into fewer than
    `fewest` cells and another delimiter splits nearly all of them. Rows of facts must have equal
    numbers of cells; rows of a small table need not.
    """
    others = (TextFormat(mark, usual.quoted or mark != "\t") for mark in DELIMITERS)
    for form in (usual, *others):
        counts = [len(row) for _, row in first_rows(sample, form)]
        if not counts or counts[0] < fewest:
            continue
        commonest = Counter(counts).most_common(1)[0][0]
        alike = fewest > 2 and form != usual
        fitting = sum(count == commonest if alike else count >= fewest for count in counts)
        if fitting >= NEARLY_ALL * len(counts):
            return form
    return usual


class _Unquoted(csv.excel):
    """Cells in which a quote is an ordinary character."""

    quoting = csv.QUOTE_NONE


def rows_of(text: str, form: TextFormat) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a small text with the number of their last line. Blank rows are skipped."""
    dialect = "excel" if form.quoted else _Unquoted
    reader = csv.reader(io.StringIO(text, ""), dialect, delimiter=form.delimiter)
    yield from ((reader.line_num, row) for row in reader if row)


def first_rows(sample: str, form: TextFormat) -> list[tuple[int, list[str]]]:
    """Return the first rows that are not empty, with the number of their last line."""
    return list(islice(rows_of(sample, form), SAMPLE_LINES))


@dataclass(frozen=True, slots=True)
class _Lines:
    """A file's lines, parsed in blocks. `widths` contains the cell counts of the first rows."""

    file: str
    layout: ColumnLayout
    form: TextFormat
    widths: list[int]

    def parts(self, blocks: Iterator[Block]) -> Iterator[Part]:
        """Yield the parsed blocks in order, while threads parse the next ones.

        Only about one block per thread is queued at a time, so that memory use is bounded.
        """
        workers, line = max(1, min(4, os.cpu_count() or 1)), 1
        waiting: deque[Future[tuple[list[Part], int]]] = deque()

        def done() -> Iterator[Part]:
            nonlocal line
            parts, row_count = waiting.popleft().result()
            yield from (part.shifted(line) for part in parts)
            line += row_count

        with ThreadPoolExecutor(workers) as pool:
            for block in blocks:
                waiting.append(pool.submit(self._parse, block))
                if len(waiting) > workers:
                    yield from done()
            while waiting:
                yield from done()

    def _parse(self, block: Block) -> tuple[list[Part], int]:
        """Return the parts of a block, with rows counted from 0, and the number of its rows."""
        text, faults = block.text, dict[int, str]()
        if self.form.quoted and not _are_clean(text, self.form.delimiter):
            text, faults = _without_bad_quotes(text, self.form)
        layout = FREE_LAYOUTS[self._usual_width()] if self.layout.free else self.layout
        table, others = parse_rows(text, layout.width, self.form)
        row_count = table.num_rows + len(others)
        numbers: range | Longs = range(row_count)
        if others:
            numbers = np.delete(np.arange(row_count), [number for number, _, _ in others])
        expected = 'quotes around whole cells, doubled within them: ""'
        defects = [
            Defect(self.file, row, "row", f"a misplaced quote in {shown(line)}", expected)
            for row, line in faults.items()
        ]
        if block.is_cut and self.layout.free and others and others[-1][0] == row_count - 1:
            number, width, _ = others[-1]
            if width < min(self.widths, default=0):
                found = f"{counted(width, 'column')} in a last row without a newline"
                expected = "as many columns as before (cut off?)"
                defects.append(Defect(self.file, number, "row", found, expected))
                others.pop()
        first = self._part(table, numbers, layout, block.position)
        parts = by_mark(first) if self.layout.free else [first]
        cells = (
            (number, row)
            for number, _, line in others
            for _, row in rows_of(line, self.form)
            if any(row)
        )
        position = block.position
        parts += parts_of_rows(
            cells, self.layout, self.file, defects=defects, position=position, exact=True
        )
        return parts, row_count

    def _usual_width(self) -> int:
        """Return the number of cells in most of the first rows."""
        usual = Counter(width for width in self.widths if width in FREE_LAYOUTS).most_common(1)
        return usual[0][0] if usual else 4

    def _part(
        self, table: pa.Table, numbers: range | Longs, layout: ColumnLayout, position: int
    ) -> Part:
        """Return the rows that are not blank, with the columns in use under their roles."""
        columns = {role: texts_of(table.column(n)) for role, n in layout.columns.items()}
        blank = np.ones(table.num_rows, np.bool_)
        for column in columns.values():
            blank &= rows_where(column, pc.equal(column.dictionary, ""))
        for n in range(table.num_columns) if blank.any() else ():
            column = texts_of(table.column(n))
            blank &= rows_where(column, pc.equal(column.dictionary, ""))
        part = Part(pa.table(columns), numbers, layout.labels, position=position)
        return part.without(blank)


def parse_rows(
    text: bytes, width: int, form: TextFormat
) -> tuple[pa.Table, list[tuple[int, int, str]]]:
    """Return the rows with this width. For others, return number (from 0), width and text."""
    others: list[tuple[int, int, str]] = []

    def keep(row: arrow_csv.InvalidRow) -> str:
        others.append((row.number - 1, row.actual_columns, row.text))
        return "skip"

    if text.startswith(BYTE_ORDER_MARK):
        text = BYTE_ORDER_MARK + text  # Arrow removes one from the front of any text
    types = {str(column): TEXT_TYPE for column in range(width)}
    if not text:
        return pa.schema(types.items()).empty_table(), others
    # One thread and one Arrow block per text: blocks are already parsed in parallel, and a column
    # with one chunk has one dictionary.
    table = arrow_csv.read_csv(
        pa.BufferReader(text),
        arrow_csv.ReadOptions(
            column_names=list(types), use_threads=False, block_size=len(text) + 1
        ),
        arrow_csv.ParseOptions(
            delimiter=form.delimiter,
            quote_char='"' if form.quoted else False,
            newlines_in_values=form.quoted,
            ignore_empty_lines=False,
            invalid_row_handler=keep,
        ),
        arrow_csv.ConvertOptions(column_types=types, check_utf8=False),
    )
    return table, others


def _are_clean(text: bytes, delimiter: str) -> bool:
    """Return whether every quote opens or closes a whole cell, so that Arrow reads it correctly."""
    if b'"' not in text:
        return True
    data = np.frombuffer(b"\n" + text, np.uint8)
    quotes = np.flatnonzero(data == ord('"'))
    if len(quotes) % 2:
        return False
    before = np.frombuffer(b'"\n' + delimiter.encode(), np.uint8)
    after = np.frombuffer(b'"\r\n' + delimiter.encode(), np.uint8)
    opening, closing = data[quotes[::2] - 1], data[quotes[1::2] + 1]
    return bool(np.isin(opening, before).all() and np.isin(closing, after).all())


def _without_bad_quotes(text: bytes, form: TextFormat) -> tuple[bytes, dict[int, str]]:
    """Replace rows with misplaced quotes by empty rows. Return the text and the replaced rows.

    A missing quote makes one row bad and does not affect other rows.
    """
    lines, rows, faults, start = text.split(b"\n")[:-1], list[bytes](), dict[int, str](), 0
    while start < len(lines):
        row, stop = lines[start], start + 1
        while (is_whole := _is_whole(row, form)) is None and stop < min(
            len(lines), start + LONGEST
        ):
            row, stop = row + b"\n" + lines[stop], stop + 1  # a cell continues on the next line
        if not is_whole:
            faults[len(rows)] = lines[start].decode()
            row, stop = b"", start + 1
        rows.append(row)
        start = stop
    return b"\n".join([*rows, b""]), faults


def _is_whole(row: bytes, form: TextFormat) -> bool | None:
    """Return whether a row's quotes surround whole cells, or None if a quote is still open."""
    if b'"' not in row:
        return True
    try:
        next(csv.reader([row.decode()], delimiter=form.delimiter, strict=True))
    except csv.Error as error:
        return None if "end of data" in str(error) else False
    return True
