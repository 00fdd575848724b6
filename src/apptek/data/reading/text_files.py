"""A file of text, opened: its encoding, its delimiter, its layout, and its rows in chunks."""

import os
import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from pathlib import Path

from apptek.data.reading.arrow_tables import count_lines, parse_block
from apptek.data.reading.batches import Chunk, Content
from apptek.data.reading.columns import ColumnLayout, FindLayout, find_layout, left_out_note
from apptek.data.reading.formats.dumps import DUMPS, dump_layout, find_dump, is_gdelt
from apptek.data.reading.formats.id_files import find_id_layout
from apptek.data.reading.options import ReadOptions
from apptek.data.reading.sniffing import (
    SAMPLE_BYTES,
    check_delimiter,
    check_encoding,
    find_delimiter,
    find_encoding,
    first_rows,
    lines_of,
)
from apptek.data.reading.text_blocks import (
    BYTE_ORDER_MARK,
    Block,
    TextSource,
    read_blocks,
    read_start,
    stem_and_suffix,
    whole_rows,
)
from apptek.data.reading.text_cells import LONGEST_ROW, TEXT_FORMATS, TextFormat, split_lines
from apptek.errors import DataError

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
    if has_header:
        first = Block(first.text[first.text.index(b"\n") + 1 :], first.position)
        line += 1
    note = left_out_note(cells, layout, file.name) if has_header and columns is None else None
    return Content(
        layout,
        _chunks(line, first, blocks, layout, form),
        {
            "format": "ids" if ids is not None else "text" if dump is None else dump.name,
            "delimiter": form.delimiter,
            "encoding": source.encoding or "utf-8",
        },
        tuple(line for line in (note, layout.note) if line),
        None if dump is None else dump.name,
    )


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
    for number, block in enumerate(blocks):
        text = block.text if number else block.text.removeprefix(BYTE_ORDER_MARK)
        blank = _BLANK_LINES.match(text)
        start = blank.end() if blank else 0
        line += count_lines(text[:start])
        if start < len(text):
            return Block(text[start:], block.position), line
    return None, line


def _chunks(
    line: int, first: Block, blocks: Iterator[Block], layout: ColumnLayout, form: TextFormat
) -> Iterator[Chunk]:
    """Every block parsed, in order, while threads parse the next ones.

    Only a block or so per thread waits at a time, so that memory stays bounded.
    """

    def parse(block: Block) -> tuple[Chunk, int]:
        table = parse_block(block.text, layout, form)
        chunk = Chunk(0, table, split_lines(block.text, form), block.position)
        return chunk, count_lines(block.text)

    workers = max(1, min(4, os.cpu_count() or 1))
    waiting: deque[Future[tuple[Chunk, int]]] = deque()

    def done() -> Chunk:
        nonlocal line
        chunk, line_count = waiting.popleft().result()
        start, line = line, line + line_count
        return Chunk(start, chunk.table, chunk.rows, chunk.position)

    rest = chain([first], blocks)
    with ThreadPoolExecutor(workers) as pool:
        for block in whole_rows(rest, LONGEST_ROW) if form.quoted else rest:
            waiting.append(pool.submit(parse, block))
            if len(waiting) > workers:
                yield done()
        while waiting:
            yield done()
