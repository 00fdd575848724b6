"""A sheet of an .xlsx, .xls or .ods file: the values of its cells, as texts.

A formula counts with the value that was stored for it, and a merged cell with its value in each
of the cells that it covers.
"""

import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from apptek.errors import DataError
from apptek.reading.columns import ColumnLayout, FindLayout, examine_rows, find_layout
from apptek.reading.json_lines import Row, parts_of_rows, text_of
from apptek.reading.options import ReadOptions
from apptek.reading.parts import Content, Part
from apptek.reading.streams import DAMAGE, check_growth, damaged
from apptek.reading.text import SAMPLE_LINES

CELL_BYTES = 32  # what a cell takes at least in memory, be it empty
MAX_MERGED = 1_000_000  # cells that merged ones may cover together
_CELL = re.compile(rb'<c r="([A-Z]{1,3})([0-9]{1,7})"')
_PIECE = 1 << 22
_EXPECTED = "a text, a whole number or a date (numbers beyond 2^53 as text)"


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
    if not rows:
        raise DataError(
            f"{file.name}: the sheet {name!r} is empty; expected a fact in each row{advice}"
        )
    samples = [(n, [_text(cell) for cell in row]) for n, row in rows[:SAMPLE_LINES]]
    if columns is None:
        width = max(max((n for n, c in enumerate(row, 1) if c), default=0) for _, row in samples)
        samples = [(n, row[:width]) for n, row in samples]
    if len(samples[0][1]) < 3:
        raise DataError(
            f"{file.name}:{rows[0][0]}: the sheet {name!r} has {len(samples[0][1])} of the at "
            f"least 3 columns of facts{advice}"
        )
    begin = examine_rows(samples, columns, options.header, file.name, find)
    notes, rows = begin.notes, rows[begin.above :]
    if others and not options.sheet:
        notes.append(
            f"{file.name}: the sheet {name!r} is read, one of {len(names)} (--read sheet=NAME)"
        )
    if begin.has_header:
        rows = [row for row in rows if row[1] != rows[0][1]]
    return Content(
        _parts(rows, begin.layout, file.name),
        {"format": "sheet", "sheet": name},
        notes,
        first=begin.first,
    )


def _parts(rows: list[Row], layout: ColumnLayout, name: str) -> Iterator[Part]:
    """Yield the rows, with dates as texts."""
    timed = {  # columns in which some cell has a time of day: there a date is one at midnight
        column
        for _, row in rows
        for column, cell in enumerate(row)
        if isinstance(cell, datetime) and (cell.hour or cell.minute or cell.second)
    }
    texts = [(n, [_dated(cell, column in timed) for column, cell in enumerate(row)])
             for n, row in rows]  # fmt: skip
    yield from parts_of_rows(texts, layout, name, _EXPECTED)


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


def _choose(file: Path, names: list[str], wanted: str) -> str:
    if not names:
        raise DataError(f"{file.name}: there is no sheet in it")
    if not wanted:
        return names[0]
    if wanted in names:
        return wanted
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return names[int(wanted) - 1]
    raise DataError(f"{file.name}: there is no sheet {wanted!r}; there are {', '.join(names)}")


def _dated(cell: Any, timed: bool) -> Any:
    """Return a date of a sheet as a text, other values as they are."""
    if not isinstance(cell, date):
        return cell
    if not timed:
        return (cell.date() if isinstance(cell, datetime) else cell).isoformat()
    moment = cell if isinstance(cell, datetime) else datetime(*cell.timetuple()[:3])
    return moment.isoformat(" ")


def _text(cell: Any) -> str:
    return text_of(_dated(cell, False)) or ""
