"""A file of text, opened: its encoding, its delimiter, its layout, and its rows in chunks."""

import os
import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from apptek.errors import DataError
from apptek.reading.arrow_tables import count_lines, parse_block
from apptek.reading.batches import Chunk, Content
from apptek.reading.columns import (
    ColumnLayout,
    FindLayout,
    check_order,
    find_layout,
    has_titles,
    left_out_note,
    untold_header_note,
)
from apptek.reading.formats.dumps import DUMPS, dump_layout, find_dump, is_gdelt
from apptek.reading.formats.id_files import find_id_layout
from apptek.reading.options import ReadOptions
from apptek.reading.sniffing import (
    SAMPLE_BYTES,
    check_delimiter,
    check_encoding,
    find_delimiter,
    find_encoding,
    first_rows,
    lines_of,
)
from apptek.reading.text_blocks import (
    Block,
    TextSource,
    read_blocks,
    read_start,
    stem_and_suffix,
    whole_rows,
)
from apptek.reading.text_cells import (
    LONGEST_ROW,
    TEXT_FORMATS,
    BrokenRow,
    TextFormat,
    split_lines,
)
from apptek.safe_text import counted

_OF_GDELT = (TextFormat("\t", quoted=False), TextFormat(",", quoted=True))
_BLANK_LINES = re.compile(rb"(?:\r?\n)*+")


def open_text(
    file: Path,
    options: ReadOptions,
    columns: dict[str, str] | None,
    find: FindLayout = find_layout,
) -> Content:
    """The content of a file of text; `find` is another for files of queries."""
    source, form, start = examine(file, options)
    blocks = read_blocks(source)
    first, line = skip_blank_lines(blocks)
    if first is None:
        raise DataError(f"{file.name}:1: the file is empty; expected a fact on each line")
    where = f"{file.name}:{line}"
    cells = _first_cells(first.text, form)
    rows = first_rows(start, form)
    dump = ids = None
    if columns is None or options.format:
        dump = find_dump(options.format, cells, rows)
    if find is find_layout and columns is None and dump is None and not options.header:
        ids = find_id_layout(rows, file.parent)
    if dump is not None:
        layout = dump_layout(dump, cells, columns, where)
        has_header = dump is not DUMPS["gdelt"]
    else:
        found = find(cells, columns, options.header, where) if ids is None else (ids, False)
        layout, has_header = found
        if find is find_layout and ids is None and not has_header and options.header is None:
            has_header = _has_unknown_header(rows, layout, columns, where)
    header = first.text[: first.text.index(b"\n") + 1] if has_header else b""
    first = replace(first, text=first.text[len(header) :])
    note = left_out_note(cells, layout, file.name) if has_header and columns is None else None
    if layout.free and columns is None and options.header is None:
        texts = [[cell.decode("utf-8", "replace") for cell in row] for row in rows]
        note = untold_header_note(texts, where)
    notes = [line for line in (note, layout.note) if line]
    narrowest = min((len(row) for row in rows[:-1]), default=0)  # the last may be cut
    lines = _Lines(line, header, layout, form, notes, narrowest)
    return Content(
        layout,
        lines.chunks(chain([first], blocks)),
        {
            "format": "ids" if ids is not None else "text" if dump is None else dump.name,
            "delimiter": form.delimiter,
            "encoding": source.encoding or "utf-8",
        },
        notes,
        None if dump is None else dump.name,
    )


def _has_unknown_header(
    rows: list[list[bytes]], layout: ColumnLayout, columns: dict[str, str] | None, where: str
) -> bool:
    """Whether the first row is a header; DataError where nothing says what its columns are."""
    texts = [[cell.decode("utf-8", "backslashreplace") for cell in row] for row in rows]
    if not texts:
        return False
    if columns is None:
        check_order(texts, where)
    return has_titles(texts, layout)


def examine(file: Path, options: ReadOptions) -> tuple[TextSource, TextFormat, bytes]:
    """How a file is to be read, by the options and its first megabyte, and its first lines."""
    sample = read_start(TextSource(file), SAMPLE_BYTES)
    encoding = check_encoding(options.encoding) if options.encoding else find_encoding(sample)
    start = lines_of(sample, encoding)
    form = TEXT_FORMATS[stem_and_suffix(file)[1]]
    usual = _OF_GDELT[0] if options.format == "gdelt" else None
    gdelt = next((f for f in _OF_GDELT if is_gdelt(first_rows(start, f))), usual)
    if gdelt is not None and not options.delimiter:
        form = gdelt  # tabs, under the suffix .CSV
    elif options.delimiter:
        delimiter = check_delimiter(options.delimiter)
        form = TextFormat(delimiter, form.quoted or delimiter not in ("\t", " "))
    else:
        form = find_delimiter(start, form)
    return TextSource(file, encoding, options.max_bytes), form, start


def _first_cells(text: bytes, form: TextFormat) -> list[str]:
    line = text[: text.index(b"\n") + 1]
    return [cell.decode("utf-8", "backslashreplace") for cell in next(split_lines(line, form))]


def skip_blank_lines(blocks: Iterator[Block]) -> tuple[Block | None, int]:
    """The first block from its first line on that is not empty, and the number of that line."""
    line = 1
    for block in blocks:
        text = block.text
        blank = _BLANK_LINES.match(text)
        start = blank.end() if blank else 0
        line += count_lines(text[:start])
        if start < len(text):
            return replace(block, text=text[start:]), line
    return None, line


@dataclass(slots=True)
class _Lines:
    """The lines of a file from `line` on, parsed in blocks.

    header     the first line with its newline, if it is a header: a copy of it is no fact
    narrowest  the fewest cells of the first rows
    """

    line: int
    header: bytes
    layout: ColumnLayout
    form: TextFormat
    notes: list[str]
    narrowest: int

    def chunks(self, blocks: Iterator[Block]) -> Iterator[Chunk]:
        """Every block parsed, in order, while threads parse the next ones.

        Only a block or so per thread waits at a time, so that memory stays bounded.
        """
        workers = max(1, min(4, os.cpu_count() or 1))
        waiting: deque[Future[tuple[Chunk, int]]] = deque()
        line, starts_file = self.line + bool(self.header), not self.header

        def done() -> Chunk:
            nonlocal line, starts_file
            chunk, line_count = waiting.popleft().result()
            chunk = replace(chunk, line=line, starts_file=starts_file)
            line, starts_file = line + line_count, False
            return chunk

        with ThreadPoolExecutor(workers) as pool:
            for block in whole_rows(blocks, LONGEST_ROW) if self.form.quoted else blocks:
                text = self._without_headers(block.text)
                waiting.append(pool.submit(self._parse, replace(block, text=text)))
                if len(waiting) > workers:
                    yield done()
            while waiting:
                yield done()

    def _without_headers(self, text: bytes) -> bytes:
        """The lines with an empty one for each further header, as in files that were joined."""
        again = b"\n" + self.header
        if not self.header or again not in (b"\n" + text):
            return text
        text = b"\n" + text
        while again in text:
            text = text.replace(again, b"\n\n")
        note = "the header occurs again further down; those rows are left out"
        if note not in self.notes:
            self.notes.append(note)
        return text[1:]

    def _parse(self, block: Block) -> tuple[Chunk, int]:
        table = parse_block(block.text, self.layout, self.form)
        rows = split_lines(block.text, self.form)
        if block.is_cut and self.layout.free:
            widths = [len(row) for row in split_lines(block.text, self.form) if row]
            if widths and widths[-1] < min([self.narrowest, *widths[:-1]]):
                table, rows = None, _with_cut_end(list(rows))
        return Chunk(0, table, rows, block.position), count_lines(block.text)


def _with_cut_end(rows: list[list[bytes]]) -> Iterator[list[bytes]]:
    """The rows, the last one as a bad one: it has fewer cells than all others, and no newline."""
    found = f"{counted(len(rows[-1]), 'column')} in a last row without a newline"
    return iter([*rows[:-1], BrokenRow("row", found, "as many columns as before (cut off?)")])
