"""Files whose cells are values, not texts: JSON, and sheets in .xlsx, .xls or .ods files.

JSON has one object per line, or an array of objects or rows. In a sheet, a formula counts as its
stored value, and a merged cell as the first of the cells that it covers.
"""

import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from apptek.errors import DataError, NoFactsError
from apptek.facts.facts import Defect
from apptek.reading.columns import ColumnLayout, Roles, examine_rows, named_layout
from apptek.reading.options import ReadOptions
from apptek.reading.parts import (
    NAME_ROLES,
    Content,
    Part,
    parts_of_rows,
    shown,
    text_of,
    without_titles,
)
from apptek.reading.streams import DAMAGE, Block, check_growth, damaged, read_blocks, read_start
from apptek.reading.text import SAMPLE_BYTES, SAMPLE_LINES, find_encoding, lines_of
from apptek.safe_text import counted

EXPECTED = "a JSON object such as {...} on each line, or an array of them or of rows"
CELL_BYTES = 32  # minimum memory of a sheet's cell, even if it is empty
_CELL = re.compile(rb'<c r="([A-Z]{1,3})([0-9]{1,7})"')
_PIECE = 1 << 22
_Chunk = tuple[list[tuple[int, Any]], int]  # numbered values, and the bytes read so far
_SHEET_VALUE = "a text, a whole number or a date (numbers beyond 2^53 as text)"


def open_json(file: Path, options: ReadOptions, name: str, roles: Roles = None) -> Content:
    """Open a JSON file. The keys of the first objects are its columns."""
    start = read_start(file, SAMPLE_BYTES)
    encoding = find_encoding(start, options.encoding)
    blocks = read_blocks(file, encoding, options.max_bytes)
    how = {"format": "jsonl", "encoding": encoding or "utf-8"}
    if lines_of(start, encoding, name).lstrip()[:1] == "[":
        entries = _load_array(blocks, name)
        if all(isinstance(entry, list) for _, entry in entries):
            return _open_rows(entries, options, name, roles, how)
        chunks = iter([(entries, 0)])  # errors count objects from 1
    else:
        chunks = _load_lines(blocks)
    first = next((chunk for chunk in chunks if chunk[0]), None)
    if first is None:
        raise NoFactsError(f"{name}:1: the file is empty; expected {EXPECTED}")
    line, entry = first[0][0]
    if not isinstance(entry, dict):
        raise DataError(f"{name}:{line}: found {_shown(entry)}, expected {EXPECTED}")
    known = (entry for _, entry in first[0][:SAMPLE_LINES] if isinstance(entry, dict))
    keys = list(dict.fromkeys(key for entry in known for key in entry))
    layout, notes = named_layout(keys, options.column_of(), f"{name}:{line}", roles)
    return Content(_parts_of(chain([first], chunks), keys, layout, name), how, notes)


def _load_array(blocks: Iterator[Block], name: str) -> list[tuple[int, Any]]:
    try:
        entries: list[Any] = json.loads(b"".join(block.text for block in blocks))
    except (ValueError, RecursionError) as error:
        fault = str(error).partition(":")[0]
        raise DataError(
            f"{name}: the JSON array cannot be read ({fault}); is it cut off? expected {EXPECTED}"
        ) from None
    if not entries:
        raise NoFactsError(f"{name}: the JSON array is empty; expected facts")
    return list(enumerate(entries, 1))


def _load_lines(blocks: Iterator[Block]) -> Iterator[_Chunk]:
    line = 1
    for block in blocks:
        lines = block.text.decode().split("\n")[:-1]
        entries = [(n, _load(text)) for n, text in enumerate(lines, line) if text.strip()]
        yield entries, block.position
        line += len(lines)


def _load(line: str) -> Any:
    """Return the value of a line, or the line itself if it is not JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line


def _shown(value: Any) -> str:
    return shown(value if isinstance(value, str) else json.dumps(value))


def _parts_of(
    chunks: Iterable[_Chunk], keys: list[str], layout: ColumnLayout, name: str
) -> Iterator[Part]:
    for entries, position in chunks:
        rows = ((n, [row.get(key) for key in keys]) for n, row in entries if isinstance(row, dict))
        defects = [
            Defect(name, n, "row", _shown(entry), EXPECTED)
            for n, entry in entries
            if not isinstance(entry, dict)
        ]
        yield from parts_of_rows(rows, layout, name, defects=defects, position=position)


def _open_rows(
    rows: list[tuple[int, Any]],
    options: ReadOptions,
    name: str,
    roles: Roles,
    how: dict[str, str],
    expected: str = "a text or a whole number",
) -> Content:
    """Open rows of values in memory. The first row may be a header that occurs again."""
    columns = options.column_of()
    rows = [(number, [_dated(cell) for cell in row]) for number, row in rows]
    samples = [(n, [text_of(cell) or "" for cell in row]) for n, row in rows[:SAMPLE_LINES]]
    if columns is None:
        width = max(max((n for n, c in enumerate(row, 1) if c), default=0) for _, row in samples)
        samples = [(n, row[:width]) for n, row in samples]
    begin = examine_rows(samples, columns, options.header, name, roles)
    for _, cells in rows:
        while begin.layout.free and len(cells) > len(NAME_ROLES) and cells[-1] in ("", None):
            cells.pop()
    parts = parts_of_rows(rows, begin.layout, name, expected)
    return Content(without_titles(parts, begin), how, begin.notes, begin.first)


def _dated(cell: Any) -> Any:
    """Return a date in a sheet as a text. Other values are unchanged.

    Midnight arrives as a date, even among times of day. If all times are midnight, they are days.
    """
    return datetime(*cell.timetuple()[:6]).isoformat() if isinstance(cell, date) else cell


def open_sheet(file: Path, options: ReadOptions, title: str, roles: Roles = None) -> Content:
    """Open a sheet by name or number, or the first sheet."""
    if find_spec("python_calamine") is None:
        raise DataError(f"{file.name}: sheets need python-calamine: pip install 'apptek[excel]'")
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        _check_size(file, options.max_bytes)
        workbook = CalamineWorkbook.from_path(str(file))
        names = list(workbook.sheet_names)
        name = _choose(file, names, options.sheet)
        sheet = workbook.get_sheet_by_name(name)
        numbered = enumerate(sheet.iter_rows(), 1 + (sheet.start or (0, 0))[0])
        rows = [(n, row) for n, row in numbered if any(cell != "" for cell in row)]
    except (*DAMAGE, CalamineError) as error:
        raise damaged(file, error) from None
    others = [repr(other) for other in names if other != name]
    advice = f" (--read sheet=NAME reads another: {', '.join(others)})" if others else ""
    filled = (n for _, row in rows[:SAMPLE_LINES] for n, cell in enumerate(row, 1) if cell != "")
    if (width := max(filled, default=0)) < len(NAME_ROLES):
        found = f"the sheet {name!r} has {counted(width, 'column')}"
        raise DataError(f"{title}: {found}, expected at least 3{advice}")
    how = {"format": "sheet", "sheet": name}
    content = _open_rows(rows, options, title, roles, how, _SHEET_VALUE)
    if not others or options.sheet:
        return content
    note = f"{title}: the sheet {name!r} is read, one of {len(names)} (--read sheet=NAME)"
    return replace(content, notes=[*content.notes, note])


def _choose(file: Path, names: list[str], wanted: str) -> str:
    by_number = {str(number): name for number, name in enumerate(names, 1)}
    if wanted not in names and (wanted or "1") not in by_number:
        raise DataError(f"{file.name}: there is no sheet {wanted!r}; there are {', '.join(names)}")
    return wanted if wanted in names else by_number[wanted or "1"]


def _check_size(file: Path, max_bytes: int | None) -> None:
    """Reject a file whose parts, or whose cells as a full table, would grow too large."""
    if not zipfile.is_zipfile(file):
        return
    with zipfile.ZipFile(file) as archive:
        check_growth(file, sum(part.file_size for part in archive.infolist()), max_bytes)
        for part in archive.namelist():
            if part.startswith("xl/worksheets/") and part.endswith(".xml"):
                with archive.open(part) as stream:
                    check_growth(file, _table_size(stream) * CELL_BYTES, max_bytes)


def _table_size(stream: Any) -> int:
    """Return the number of cells in the table from A1 to a sheet's last cell."""
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
