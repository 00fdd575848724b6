"""Files whose cells are values, not texts: JSON, and a sheet of an .xlsx, .xls or .ods file.

JSON is one object on each line, or an array of objects or rows. In a sheet, a formula counts with
the value that was stored for it, and a merged cell with its value in each of the cells that it
covers.
"""

import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any

from apptek.errors import DataError, NoFactsError
from apptek.facts.facts import Defect
from apptek.reading.columns import ColumnLayout, FindLayout, examine_rows, find_layout, named_layout
from apptek.reading.options import ReadOptions
from apptek.reading.parts import NAME_ROLES, Content, Part, Row, parts_of_rows, shown, text_of
from apptek.reading.streams import (
    DAMAGE,
    Block,
    TextSource,
    check_growth,
    damaged,
    read_blocks,
    read_start,
)
from apptek.reading.text import (
    SAMPLE_BYTES,
    SAMPLE_LINES,
    check_encoding,
    find_encoding,
    skip_lines,
)
from apptek.safe_text import counted

EXPECTED = "a JSON object such as {...} on each line, or an array of them or of rows"
CELL_BYTES = 32  # the least memory of a cell of a sheet, even if it is empty
MAX_MERGED = 1_000_000  # cells that merged ones may cover together
_CELL = re.compile(rb'<c r="([A-Z]{1,3})([0-9]{1,7})"')
_PIECE = 1 << 22
_SHEET_VALUE = "a text, a whole number or a date (numbers beyond 2^53 as text)"


def open_json(
    file: Path,
    options: ReadOptions,
    columns: dict[str, str] | None,
    find: FindLayout = find_layout,
) -> Content:
    """Open a file of JSON; the keys of the first objects are its columns."""
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
            return _open_rows(list(enumerate(entries, 1)), options, columns, file.name, find, how)
        text = b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)
        first, line = Block(text, first.position), 1  # errors count objects from 1
    lines = first.text[:SAMPLE_BYTES].split(b"\n")
    objects = [_load(text) for text in islice(lines, SAMPLE_LINES) if text.strip()]
    if not isinstance(objects[0], dict):
        found = shown(lines[0].decode())
        raise DataError(f"{file.name}:{line}: found {found}, expected {EXPECTED}")
    known = (sample for sample in objects if isinstance(sample, dict))
    keys: list[str] = list(dict.fromkeys(key for sample in known for key in sample))
    layout, notes = named_layout(keys, columns, f"{file.name}:{line}", find)
    parts = _parts_of_lines(chain([first], blocks), line, keys, layout, file.name)
    return Content(parts, how, notes)


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


def _load(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _parts_of_lines(
    blocks: Iterator[Block], line: int, keys: list[str], layout: ColumnLayout, name: str
) -> Iterator[Part]:
    for block in blocks:
        lines = block.text.split(b"\n")[:-1]
        found = [(n, _load(text), text) for n, text in enumerate(lines, line) if text.strip()]
        rows = ((n, [row.get(k) for k in keys]) for n, row, _ in found if isinstance(row, dict))
        defects = [
            Defect(name, n, "row", shown(text.decode()), EXPECTED)
            for n, row, text in found
            if not isinstance(row, dict)
        ]
        yield from parts_of_rows(rows, layout, name, defects=defects, position=block.position)
        line += len(lines)


def _open_rows(
    rows: list[Row],
    options: ReadOptions,
    columns: dict[str, str] | None,
    name: str,
    find: FindLayout,
    how: dict[str, str],
    expected: str = "a text or a whole number",
) -> Content:
    """Open rows of values in memory; the first may be a header that occurs again."""
    samples = [(n, [text_of(_dated(cell)) or "" for cell in row]) for n, row in rows[:SAMPLE_LINES]]
    if columns is None:
        width = max(max((n for n, c in enumerate(row, 1) if c), default=0) for _, row in samples)
        samples = [(n, row[:width]) for n, row in samples]
    begin = examine_rows(samples, columns, options.header, name, find)
    rows = rows[begin.above :]
    if begin.has_header:
        rows = [row for row in rows if row[1] != rows[0][1]]
    texts = []
    for number, row in rows:
        cells = [_dated(cell) for cell in row]
        while begin.layout.free and len(cells) > len(NAME_ROLES) and cells[-1] in ("", None):
            cells.pop()
        texts.append((number, cells))
    return Content(
        parts_of_rows(texts, begin.layout, name, expected), how, begin.notes, begin.first
    )


def _dated(cell: Any) -> Any:
    """Return a date of a sheet as a text, other values as they are.

    A midnight comes as a date, also beside times of day. If all are midnights, they are days.
    """
    return datetime(*cell.timetuple()[:6]).isoformat() if isinstance(cell, date) else cell


def open_sheet(
    file: Path,
    options: ReadOptions,
    columns: dict[str, str] | None,
    find: FindLayout = find_layout,
) -> Content:
    """Open a sheet: the one that is named or numbered, else the first."""
    if find_spec("python_calamine") is None:
        raise DataError(f"{file.name}: sheets need python-calamine: pip install 'apptek[excel]'")
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        _check_size(file, options.max_bytes)
        workbook = CalamineWorkbook.from_path(str(file))
        names = list(workbook.sheet_names)
        name = _choose(file, names, options.sheet)
        rows = _rows(workbook.get_sheet_by_name(name))
    except (*DAMAGE, CalamineError) as error:
        raise damaged(file, error) from None
    others = [repr(other) for other in names if other != name]
    advice = f" (--read sheet=NAME takes another: {', '.join(others)})" if others else ""
    filled = (n for _, row in rows[:SAMPLE_LINES] for n, cell in enumerate(row, 1) if cell != "")
    if (width := max(filled, default=0)) < len(NAME_ROLES):
        found = f"the sheet {name!r} has {counted(width, 'column')}"
        raise DataError(f"{file.name}: {found}, expected at least 3{advice}")
    how = {"format": "sheet", "sheet": name}
    content = _open_rows(rows, options, columns, file.name, find, how, _SHEET_VALUE)
    if not others or options.sheet:
        return content
    note = f"{file.name}: the sheet {name!r} is read, one of {len(names)} (--read sheet=NAME)"
    return replace(content, notes=[*content.notes, note])


def _choose(file: Path, names: list[str], wanted: str) -> str:
    by_number = {str(number): name for number, name in enumerate(names, 1)}
    if wanted not in names and (wanted or "1") not in by_number:
        raise DataError(f"{file.name}: there is no sheet {wanted!r}; there are {', '.join(names)}")
    return wanted if wanted in names else by_number[wanted or "1"]


def _rows(sheet: Any) -> list[Row]:
    """Return the rows that are not empty, with their numbers from 1, merged cells filled in."""
    top, left = sheet.start or (0, 0)
    ranges = getattr(sheet, "merged_cell_ranges", None) or []
    size = sum((bottom - first + 1) * (right - start + 1)
               for (first, start), (bottom, right) in ranges)  # fmt: skip
    rows = [list(row) for row in sheet.iter_rows()]
    for (first, start), (bottom, right) in ranges if size <= MAX_MERGED else ():
        row, column = first - top, start - left
        if 0 <= row < len(rows) and 0 <= column < len(rows[row]):
            width = min(right - left + 1, len(rows[row])) - column
            for covered in rows[row : bottom - top + 1]:
                covered[column : column + width] = [rows[row][column]] * width
    return [(n, row) for n, row in enumerate(rows, top + 1) if any(cell != "" for cell in row)]


def _check_size(file: Path, max_bytes: int | None) -> None:
    """Refuse a file whose parts, or whose cells as a full table, would grow too large."""
    if not zipfile.is_zipfile(file):
        return
    with zipfile.ZipFile(file) as archive:
        check_growth(file, sum(part.file_size for part in archive.infolist()), max_bytes)
        for part in archive.namelist():
            if part.startswith("xl/worksheets/") and part.endswith(".xml"):
                with archive.open(part) as stream:
                    check_growth(file, _table_size(stream) * CELL_BYTES, max_bytes)


def _table_size(stream: Any) -> int:
    """Return the cells of the table from A1 to the last cell that a sheet has."""
    rest, width, height = b"", 0, 0
    while piece := stream.read(_PIECE):
        text = rest + piece
        for letters, number in set(_CELL.findall(text)):
            column = 0
            for letter in letters:
                column = column * 26 + letter - 64
            width, height = max(width, column), max(height, int(number))
        rest = text[-32:]
    return width * height
