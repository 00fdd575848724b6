"""A file with one JSON object on each line, or an array of objects or rows."""

import json
import math
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from apptek.errors import DataError, NoFactsError
from apptek.facts.facts import Defect
from apptek.reading.columnar import EXACT
from apptek.reading.columns import (
    ColumnLayout,
    FindLayout,
    examine_rows,
    find_layout,
)
from apptek.reading.options import ReadOptions
from apptek.reading.parts import NAME_ROLES, Content, Part, no_rows, shown, texts_of
from apptek.reading.streams import Block, TextSource, read_blocks, read_start
from apptek.reading.text import (
    FREE_LAYOUTS,
    SAMPLE_BYTES,
    SAMPLE_LINES,
    by_mark,
    check_encoding,
    find_encoding,
    skip_lines,
)
from apptek.safe_text import counted

EXPECTED = "a JSON object such as {...} on each line, or an array of them or of rows"
_VALUE = "a text or a whole number"
Row = tuple[int, list[Any]]


def open_json_lines(
    file: Path,
    options: ReadOptions,
    columns: dict[str, str] | None,
    find: FindLayout = find_layout,
) -> Content:
    """Open a file of JSON objects; the keys of the first ones are its columns."""
    encoding = check_encoding(options.encoding) if options.encoding else None
    encoding = encoding or find_encoding(read_start(file, SAMPLE_BYTES))
    blocks = read_blocks(TextSource(file, encoding, options.max_bytes))
    first, line = skip_lines(blocks)
    if first is None:
        raise NoFactsError(f"{file.name}:1: the file is empty; expected {EXPECTED}")
    how = {"format": "jsonl", "encoding": encoding or "utf-8"}
    if first.text.lstrip()[:1] == b"[":
        entries = _load_array([first, *blocks], file.name)
        if all(isinstance(entry, list) for entry in entries):
            rows: list[Row] = list(enumerate(entries, 1))
            samples = [(n, [text_of(c) or "" for c in row]) for n, row in rows[:SAMPLE_LINES]]
            begin = examine_rows(samples, columns, options.header, file.name, find)
            rows = rows[begin.above + begin.has_header :]
            parts = parts_of_rows(rows, begin.layout, file.name)
            return Content(parts, how, begin.notes, begin.first)
        text = b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)
        first, line = Block(text, first.position), 1  # errors count objects from 1
    lines = first.text[:SAMPLE_BYTES].split(b"\n")
    objects = [_load(text) for text in islice(lines, SAMPLE_LINES) if text.strip()]
    if not isinstance(objects[0], dict):
        found = shown(lines[0].decode())
        raise DataError(f"{file.name}:{line}: found {found}, expected {EXPECTED}")
    known = (sample for sample in objects if isinstance(sample, dict))
    keys: list[str] = list(dict.fromkeys(key for sample in known for key in sample))
    begin = examine_rows([(line, keys)], columns, True, file.name, find)
    parts = _parts(chain([first], blocks), line, keys, begin.layout, file.name)
    return Content(parts, how, begin.notes)


def _load_array(blocks: list[Block], name: str) -> list[Any]:
    try:
        entries: list[Any] = json.loads(b"".join(block.text for block in blocks))
    except (ValueError, RecursionError) as error:
        fault = str(error).partition(":")[0]
        raise DataError(
            f"{name}: the JSON array cannot be read ({fault}); is it cut off? expected {EXPECTED}"
        ) from None
    if not entries:
        raise NoFactsError(f"{name}: the JSON array is empty; expected facts")
    return entries


def parts_of_rows(
    rows: list[Row], layout: ColumnLayout, name: str, expected: str = _VALUE
) -> Iterator[Part]:
    """Yield rows of Python values as texts, those of a free layout by their width."""
    by_width: dict[int, list[Row]] = {}
    for number, row in rows:
        while layout.free and len(row) > len(NAME_ROLES) and row[-1] in ("", None):
            row.pop()
        by_width.setdefault(len(row), []).append((number, row))
    for width, some in by_width.items():
        if layout.free and width in FREE_LAYOUTS:
            yield from by_mark(
                part_of_rows(iter(some), FREE_LAYOUTS[width], name, expected=expected)
            )
        elif not layout.free and width > max(layout.columns.values()):
            yield part_of_rows(iter(some), layout, name, expected=expected)
        else:
            found = counted(width, "column") + " (--columns says which to take)" * (width > 5)
            wanted = "3, 4 or 5 columns" if layout.free else counted(layout.width, "column")
            yield no_rows([n for n, _ in some], name, found, wanted)


def _parts(
    blocks: Iterator[Block], line: int, keys: list[str], layout: ColumnLayout, name: str
) -> Iterator[Part]:
    for block in blocks:
        lines = block.text.split(b"\n")[:-1]
        rows = ((n, _load(text), text) for n, text in enumerate(lines, line) if text.strip())
        yield part_of_rows(
            (
                (n, [row.get(key) for key in keys] if isinstance(row, dict) else text)
                for n, row, text in rows
            ),
            layout,
            name,
            position=block.position,
        )
        line += len(lines)


def part_of_rows(
    rows: Iterator[tuple[int, list[Any] | bytes]],
    layout: ColumnLayout,
    name: str,
    *,
    expected: str = _VALUE,
    position: int = 0,
) -> Part:
    """Return rows of Python values, each with its number, as texts; a text is no row."""
    labels, defects = layout.labels, list[Defect]()
    columns: dict[str, list[str]] = {role: [] for role in layout.columns}
    numbers: list[int] = []

    def blame(number: int, column: str, found: str, expected: str) -> None:
        defects.append(
            Defect(file=name, line=number, column=column, found=found, expected=expected)
        )

    for number, row in rows:
        if isinstance(row, bytes):
            blame(number, "row", shown(row.decode()), EXPECTED)
            continue
        cells = {role: text_of(row[column]) for role, column in layout.columns.items()}
        wrong = next((role for role, cell in cells.items() if cell is None), None)
        if wrong is not None:
            value = row[layout.columns[wrong]]
            text = str(value) if isinstance(value, float) else json.dumps(value, default=str)
            blame(number, labels[wrong], shown(text), expected)
            continue
        numbers.append(number)
        for role, cell in cells.items():
            columns[role].append(cell or "")
    texts = {role: texts_of(pa.array(cells, pa.string())) for role, cells in columns.items()}
    found = pa.array(numbers, pa.int64()).to_numpy()
    return Part(pa.table(texts), found, labels, defects, position)


def text_of(value: Any) -> str | None:
    """Return the text of a value; None where it has none that could be a name or a time."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    try:
        text = str(value)
        text.encode()
    except ValueError:  # half of a surrogate pair, or more digits than Python prints
        return None
    return text


def _load(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
