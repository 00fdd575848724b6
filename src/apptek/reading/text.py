"""Files of text: encoding and delimiter are found, Arrow parses blocks of lines."""

import codecs
import csv
import io
import os
import re
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from apptek.arrays import Longs
from apptek.errors import DataError
from apptek.facts.facts import Defect
from apptek.reading.columns import (
    FREE_LAYOUTS,
    Beginning,
    ColumnLayout,
    FindLayout,
    examine_rows,
    find_layout,
)
from apptek.reading.dumps import DUMPS, dump_columns, find_dump, find_ids, is_gdelt
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
)
from apptek.reading.streams import (
    BYTE_ORDER_MARK,
    LONGEST_ROW,
    Block,
    TextSource,
    read_blocks,
    read_start,
    stem_and_suffix,
)
from apptek.safe_text import counted

SAMPLE_BYTES = 1 << 20
SAMPLE_LINES = 200
NEARLY_ALL = 0.9
DELIMITERS = (",", "\t", ";", "|")
_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Well-formed characters of UTF-8 beyond ASCII; bytes that are no character of Windows-1252, or a
# very rare one; and its letters next to an ASCII letter, where most are in words.
_WIDE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_STRANGE = re.compile(rb"[\x81-\x84\x86-\x89\x8b\x8d\x8f\x90\x98\x99\x9b\x9d\xd7\xf7\xfe\xff]")
_IN_WORDS = re.compile(rb"(?<=[A-Za-z])[\x8a\x9a\xc0-\xfd]|[\x8a\x9a\xc0-\xfd](?=[A-Za-z])")
_HIGH = re.compile(rb"[\x80-\xff]")
_BLANK_LINES = re.compile(rb"(?:\r?\n)*+")
_DELIMITER_LINE = re.compile(r'"?sep=(.)"?\r?\n')  # the first line, for Excel
# A cell of .csv: quoted, where whatever follows the closing quote belongs to it as it is, or plain.
_CELL = r'"([^"]*+(?:""[^"]*+)*+)"([^{0}]*)|(?!")[^{0}]*'
# A row whose cells may hold line breaks: only a delimiter or the line's end follows a quote.
_LONG_CELL = r'(?:"[^"]*+(?:""[^"]*+)*+"|(?!")[^{0}\r\n]*+)'
_LONG_ROW = f"(?:{_LONG_CELL}{{0}})*+{_LONG_CELL}\\r?\\n"


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How the cells of a text file are separated."""

    delimiter: str
    quoted: bool  # .csv; in .txt and .tsv a quote is a character like any other


TEXT_FORMATS = {
    ".txt": TextFormat("\t", quoted=False),
    ".tsv": TextFormat("\t", quoted=False),
    ".tab": TextFormat("\t", quoted=False),
    ".csv": TextFormat(",", quoted=True),
}
_OF_GDELT = (TextFormat("\t", quoted=False), TextFormat(",", quoted=True))


def open_text(
    file: Path,
    options: ReadOptions,
    columns: dict[str, str] | None,
    find: FindLayout = find_layout,
) -> Content:
    """Open a file of text; `find` is another for files of queries."""
    source, form, start = examine(file, options)
    skipped = int(_DELIMITER_LINE.match(start) is not None)
    rows = first_rows(start, form)[skipped:]
    begin = _begin(file, options, columns, rows, find) if rows else None
    blocks = read_blocks(source, quoted=form.quoted)
    first, line = skip_lines(blocks, rows[begin.above - 1][0] if begin and begin.above else skipped)
    if first is None or begin is None:
        raise DataError(f"{file.name}:1: the file is empty; expected a fact on each line")
    header = first.text[: first.text.index(b"\n") + 1] if begin.has_header else b""
    first = replace(first, text=first.text[len(header) :])
    widths = [len(row) for _, row in rows[begin.above : -1]]  # the last may be cut
    lines = _Lines(file.name, header, begin.layout, form, begin.notes, widths)
    return Content(
        lines.parts(chain([first], blocks), line + begin.has_header),
        {
            "format": begin.format,
            "delimiter": form.delimiter,
            "encoding": source.encoding or "utf-8",
        },
        begin.notes,
        first=begin.first,
        names=begin.names,
        dump=begin.format if begin.format in DUMPS else None,
    )


def _begin(
    file: Path,
    options: ReadOptions,
    columns: dict[str, str] | None,
    numbered: list[tuple[int, list[str]]],
    find: FindLayout,
) -> Beginning:
    """Return what the first rows tell, of a dump of event data, of ids, or of another file."""
    rows = [row for _, row in numbered]
    line, cells = numbered[0]
    if columns is None or options.format:
        dump = find_dump(options.format, cells, rows)
        if dump is not None:
            places = dump_columns(dump, cells, columns, f"{file.name}:{line}")
            layout, has_header = ColumnLayout(len(cells), places), dump is not DUMPS["gdelt"]
            return Beginning(layout, has_header, format=dump.name)
    ids = None
    if find is find_layout and columns is None and not options.header:
        ids = find_ids(rows, file.parent)
    return ids or examine_rows(numbered, columns, options.header, file.name, find)


def skip_lines(blocks: Iterator[Block], count: int = 0) -> tuple[Block | None, int]:
    """Return the first block from the first line on that is not empty, and that line's number.

    count  lines to be skipped before
    """
    line = 1
    for block in blocks:
        start = 0
        while line <= count and start < len(block.text):
            start, line = block.text.index(b"\n", start) + 1, line + 1
        blank = _BLANK_LINES.match(block.text, start)
        end = blank.end() if blank else start
        line += block.text.count(b"\n", start, end)
        if end < len(block.text):
            return replace(block, text=block.text[end:]), line
    return None, line


def examine(file: Path, options: ReadOptions) -> tuple[TextSource, TextFormat, str]:
    """Find how a file is to be read, by the options and its first megabyte, and its first lines."""
    sample = read_start(file, SAMPLE_BYTES)
    encoding = check_encoding(options.encoding) if options.encoding else find_encoding(sample)
    start = lines_of(sample, encoding)
    said = _DELIMITER_LINE.match(start)
    wanted = options.delimiter or (said[1] if said else "")
    form = TEXT_FORMATS[stem_and_suffix(file)[1]]
    usual = _OF_GDELT[0] if options.format == "gdelt" else None
    samples = ((f, [row for _, row in first_rows(start, f)]) for f in _OF_GDELT)
    gdelt = next((form for form, rows in samples if is_gdelt(rows)), usual)
    if gdelt is not None and not wanted:
        form = gdelt  # tabs, under the suffix .CSV
    elif wanted:
        delimiter = _WORDS.get(wanted.lower(), wanted)
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
            raise DataError(
                f"--read delimiter={wanted}: expected one character, such as ';', or tab"
            )
        form = TextFormat(delimiter, form.quoted or delimiter not in ("\t", " "))
    else:
        form = find_delimiter(start, form)
    return TextSource(file, encoding, options.max_bytes), form, start


def find_encoding(sample: bytes) -> str | None:
    """Return the encoding of a file that starts with `sample`; None for UTF-8.

    UTF-16 shows by its byte order mark. Bytes that are no UTF-8 are Windows-1252 (which holds
    Latin-1's letters) if at least half of them are letters within words there, none is strange,
    and nothing looks like UTF-8: else the file is damaged UTF-8, and the error should say so.
    """
    if sample.startswith(_UTF16):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # which may end within a character
    except UnicodeDecodeError:
        in_words = len(_IN_WORDS.findall(sample))
        plausible = 2 * in_words >= len(_HIGH.findall(sample))
        if plausible and not _WIDE.search(sample) and not _STRANGE.search(sample):
            return "windows-1252"
    return None


def check_encoding(name: str) -> str | None:
    """Return an encoding as a user names it; None for UTF-8, DataError if it is unknown."""
    try:
        found = codecs.lookup(name).name
        "".encode(found)
    except LookupError:
        raise DataError(
            f"--read encoding={name} is unknown; expected utf-8, windows-1252, latin-1 or the like"
        ) from None
    return None if found == "utf-8" else name


def lines_of(sample: bytes, encoding: str | None) -> str:
    """Return the whole lines of a sample; bytes that cannot be decoded are replaced."""
    is_cut = len(sample) >= SAMPLE_BYTES
    if encoding is None:
        sample = sample.removeprefix(BYTE_ORDER_MARK)
    decoder = codecs.getincrementaldecoder(encoding or "utf-8")("backslashreplace")
    try:
        text = decoder.decode(sample)
    except UnicodeError:  # UTF-16 without a byte order mark: reading will say so
        return ""
    text = text.removeprefix("\ufeff").replace("\n\ufeff", "\n")
    end = text.rfind("\n") + 1
    return text[:end] if end and is_cut else text


def find_delimiter(sample: str, usual: TextFormat, fewest: int = 3) -> TextFormat:
    """Return the format of a file that starts with `sample`.

    It is the usual one for the file's suffix, unless that splits the first lines in fewer than
    `fewest` cells and another delimiter splits nearly all of them: facts alike, rows of a small
    table into any number. A space counts only where all cells are numbers, as in files of ids.
    """
    others = (TextFormat(mark, usual.quoted or mark != "\t") for mark in DELIMITERS)
    for form in (usual, *others, TextFormat(" ", quoted=False)):
        rows = [row for _, row in first_rows(sample, form)]
        counts = [len(row) for row in rows]
        if not counts or counts[0] < fewest:
            continue
        if form.delimiter == " " != usual.delimiter and not all(
            re.fullmatch("-?[0-9]+", cell) for row in rows for cell in row
        ):
            continue
        commonest = Counter(counts).most_common(1)[0][0]
        alike = fewest > 2 and form != usual
        fitting = sum(count == commonest if alike else count >= fewest for count in counts)
        if fitting >= NEARLY_ALL * len(counts):
            return form
    return usual


class _Unquoted(csv.excel):
    """Cells in which a quote is a character like any other."""

    quoting = csv.QUOTE_NONE


def rows_of(text: str, form: TextFormat) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a small text with the number of their last line; blank ones are skipped."""
    dialect = "excel" if form.quoted else _Unquoted
    reader = csv.reader(io.StringIO(text, ""), dialect, delimiter=form.delimiter)
    yield from ((reader.line_num, row) for row in reader if row)


def first_rows(sample: str, form: TextFormat) -> list[tuple[int, list[str]]]:
    """Return the first rows that are not empty, with the number of their last line."""
    rows: list[tuple[int, list[str]]] = []
    with suppress(csv.Error):  # a cell that is longer than csv allows: reading will say so
        rows.extend(islice(rows_of(sample, form), SAMPLE_LINES))
    return rows


@dataclass(slots=True)
class _Lines:
    """The lines of a file, parsed in blocks.

    header  the first line with its newline, if it is a header: a copy of it is no fact
    widths  the cells of the first rows
    """

    file: str
    header: bytes
    layout: ColumnLayout
    form: TextFormat
    notes: list[str]
    widths: list[int]

    def parts(self, blocks: Iterator[Block], line: int) -> Iterator[Part]:
        """Yield every block parsed, in order, while threads parse the next ones.

        Only a block or so per thread waits at a time, so that memory stays bounded.
        """
        workers = max(1, min(4, os.cpu_count() or 1))
        waiting: deque[Future[tuple[list[Part], int]]] = deque()

        def done() -> Iterator[Part]:
            nonlocal line
            parts, row_count = waiting.popleft().result()
            for part in parts:
                defects = [replace(d, line=d.line + line) for d in part.defects]
                yield replace(part, numbers=_shifted(part.numbers, line), defects=defects)
            line += row_count

        with ThreadPoolExecutor(workers) as pool:
            for block in blocks:
                waiting.append(pool.submit(self._parse, replace(block, text=self._facts(block))))
                if len(waiting) > workers:
                    yield from done()
            while waiting:
                yield from done()

    def _facts(self, block: Block) -> bytes:
        """Return the lines with an empty one for each further header, as in files joined."""
        again, text = b"\n" + self.header, b"\n" + block.text
        if not self.header or again not in text:
            return block.text
        while again in text:
            text = text.replace(again, b"\n\n")
        note = "the header occurs again further down; those rows are left out"
        if note not in self.notes:
            self.notes.append(note)
        return text[1:]

    def _parse(self, block: Block) -> tuple[list[Part], int]:
        """Return the parts of a block, whose rows are counted from 0, and how many it has."""
        text, faults = block.text, dict[int, tuple[int | None, str, str]]()
        if self.form.quoted and not _are_clean(text, self.form.delimiter):
            text, faults = _without_bad_quotes(text, self.form.delimiter)
        layout = FREE_LAYOUTS[self.usual_width()] if self.layout.free else self.layout
        table, others = parse_rows(text, layout.width, self.form)
        row_count = table.num_rows + len(others)
        numbers: range | Longs = range(row_count)
        if others:
            numbers = np.delete(np.arange(row_count), [number for number, _, _ in others])
        defects = [self._defect(row, *fault) for row, fault in faults.items()]
        if block.is_cut and self.layout.free and others and others[-1][0] == row_count - 1:
            widths = [width for _, width, _ in others[:-1]] + [layout.width] * bool(table.num_rows)
            if others[-1][1] < min([*self.widths, *widths], default=0):
                number, width, _ = others.pop()
                found = f"{counted(width, 'column')} in a last row without a newline"
                expected = "as many columns as before (cut off?)"
                defects.append(self._defect(number, None, found, expected))
        first = self._part(table, numbers, layout, block)
        parts = by_mark(first) if self.layout.free else [first]
        cells = (
            (number, row)
            for number, _, line in others
            for _, row in rows_of(line, self.form)
            if any(row)
        )
        for part in parts_of_rows(
            cells, self.layout, self.file, position=block.position, exact=True
        ):
            parts.append(replace(part, defects=()))
            defects += part.defects
        parts[0] = replace(parts[0], defects=defects)
        return parts, row_count

    def usual_width(self) -> int:
        """Return the number of cells that most of the first rows have."""
        usual = Counter(width for width in self.widths if width in FREE_LAYOUTS).most_common(1)
        return usual[0][0] if usual else 4

    def _defect(self, row: int, column: int | None, found: str, expected: str) -> Defect:
        roles = {number: role for role, number in self.layout.columns.items()}
        label = "row"
        if column is not None:
            label = f"column {column + 1}" + (f" ({roles[column]})" if column in roles else "")
        return Defect(self.file, row, label, found, expected)

    def _part(
        self, table: pa.Table, numbers: range | Longs, layout: ColumnLayout, block: Block
    ) -> Part:
        """Return the rows that are not blank, with the columns in use under their roles."""
        columns = {role: texts_of(table.column(n)) for role, n in layout.columns.items()}
        blank = np.ones(table.num_rows, np.bool_)
        for column in columns.values():
            blank &= rows_where(column, pc.equal(column.dictionary, ""))
        for n in range(table.num_columns) if blank.any() else ():
            column = texts_of(table.column(n))
            blank &= rows_where(column, pc.equal(column.dictionary, ""))
        part = Part(pa.table(columns), numbers, layout.labels, position=block.position)
        return part.without(blank)


def _shifted(numbers: range | Longs, by: int) -> range | Longs:
    if isinstance(numbers, range):
        return range(numbers.start + by, numbers.stop + by)
    return numbers + by


def parse_rows(
    text: bytes, width: int, form: TextFormat
) -> tuple[pa.Table, list[tuple[int, int, str]]]:
    """Return the rows of this width, and of each other row its number from 0, width and text."""
    others: list[tuple[int, int, str]] = []

    def keep(row: arrow_csv.InvalidRow) -> str:
        others.append((row.number - 1, row.actual_columns, row.text))
        return "skip"

    if text.startswith(BYTE_ORDER_MARK):
        text = BYTE_ORDER_MARK + text  # Arrow removes one from the front of whatever it parses
    types = {str(column): TEXT_TYPE for column in range(width)}
    if not text:
        return pa.schema(types.items()).empty_table(), others
    # One thread and one Arrow block per text: blocks are parsed in parallel already, and a column
    # of one chunk has one dictionary. Bytes that are no UTF-8 are marked already.
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
    """Return whether every quote opens or closes a whole cell: then Arrow reads it correctly."""
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


def _without_bad_quotes(
    text: bytes, delimiter: str
) -> tuple[bytes, dict[int, tuple[int | None, str, str]]]:
    """Return the rows with an empty one for each whose quotes are wrong, and what is wrong.

    A quote that is missing makes one bad row and swallows no other.
    """
    mark = re.escape(delimiter)
    cell, long_row = (re.compile(form.format(mark).encode()) for form in (_CELL, _LONG_ROW))
    rows, faults, start = list[bytes](), dict[int, tuple[int | None, str, str]](), 0
    while start < len(text):
        end = text.index(b"\n", start) + 1
        line = text[start:end]
        fault = _quote_fault(line.rstrip(b"\r\n"), cell) if b'"' in line else None
        if fault is not None and fault[0] is not None:
            long = long_row.match(text, start, start + LONGEST_ROW)
            if long is not None:  # a cell goes on in the next line
                end, fault = long.end(), None
        if fault is not None:
            faults[len(rows)] = fault
        rows.append(b"\n" if fault is not None else text[start:end])
        start = end
    return b"".join(rows), faults


def _quote_fault(line: bytes, cell: "re.Pattern[bytes]") -> tuple[int | None, str, str] | None:
    """Return the column of a wrong quote, what was found and what is expected."""
    start, column = 0, 0
    while start <= len(line):  # == too: a delimiter at the end is followed by an empty cell
        match = cell.match(line, start)
        if match is None:
            found = f"a quote that the line does not close in {shown(line[start:].decode())}"
            return column, found, 'a closing " on the same line'
        if match[2] and match[1].endswith(b"\\"):
            found = f"a backslash before a quote in {shown(match[0].decode())}"
            return None, found, 'quotes within quotes to be doubled: ""'
        start, column = match.end() + 1, column + 1
    return None
