"""A sheet of an .xlsx, .xls or .ods file: the values of its cells, as texts.

A formula counts with the value that was stored for it, and a merged cell with its value in each
of the cells that it covers.
"""

import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from apptek.errors import DataError
from apptek.reading.batches import Chunk, Content
from apptek.reading.columns import (
    ColumnLayout,
    FindLayout,
    check_order,
    find_layout,
    has_titles,
    left_out_note,
)
from apptek.reading.formats.json_lines import cell_of
from apptek.reading.options import ReadOptions
from apptek.reading.parquet_tables import DAMAGE
from apptek.reading.sniffing import SAMPLE_LINES
from apptek.reading.text_blocks import allowed_bytes, damaged, too_large
from apptek.reading.text_cells import BrokenRow, shown

CELL_BYTES = 32  # what a cell takes at least in memory, be it empty
MOST_MERGED = 1_000_000  # cells that merged ones may cover together
_CELL = re.compile(rb'<c r="([A-Z]{1,3})([0-9]{1,7})"')
_PIECE = 1 << 22
_EXPECTED = "a text, a whole number or a date (numbers beyond 2^53 as text)"
Rows = dict[tuple[int, int], Any]


def open_sheet(
    file: Path,
    options: ReadOptions,
    columns: dict[str, str] | None,
    find: FindLayout = find_layout,
) -> Content:
    """The content of a sheet: the one that is named or numbered, else the first."""
    if find_spec("python_calamine") is None:
        raise DataError(f"{file.name}: sheets need python-calamine: pip install 'apptek[excel]'")
    from python_calamine import CalamineError, CalamineWorkbook

    _check_size(file, options.max_bytes)
    try:
        workbook = CalamineWorkbook.from_path(str(file))
        name = _choose(file, list(workbook.sheet_names), options.sheet)
        sheet = workbook.get_sheet_by_name(name)
        cells = _Cells(sheet)
        first = next(((row, line) for line, row in cells.rows() if any(row)), None)
    except (*DAMAGE, CalamineError) as error:
        raise damaged(file, error) from None
    others = [repr(other) for other in workbook.sheet_names if other != name]
    advice = f" (--read sheet=NAME takes another: {', '.join(others)})" if others else ""
    if first is None:
        raise DataError(
            f"{file.name}: the sheet {name!r} is empty; expected a fact in each row{advice}"
        )
    row, line = first
    titles = [_text(cell) for cell in row]
    if len(titles) < 3:
        raise DataError(
            f"{file.name}:{line}: the sheet {name!r} has {len(titles)} of the at least 3 columns "
            f"of facts{advice}"
        )
    layout, has_header = find(titles, columns, options.header, f"{file.name}:{line}")
    if find is find_layout and not has_header and options.header is None:
        has_header = _has_unknown_header(cells, layout, columns, f"{file.name}:{line}")
    notes = []
    if len(workbook.sheet_names) > 1 and not options.sheet:
        notes.append(
            f"{file.name}: the sheet {name!r} is read, one of {len(workbook.sheet_names)} "
            "(--read sheet=NAME)"
        )
    note = left_out_note(titles, layout, file.name) if has_header and columns is None else None
    start = line + has_header
    timed = cells.with_times(start)
    rows = (
        [] if has_header and again == row else _row(again, layout, timed)
        for number, again in cells.rows()
        if number >= start
    )
    how = {"format": "sheet", "sheet": name}
    notes += [] if note is None else [note]
    chunk = Chunk(start, None, rows, starts_file=not has_header)
    return Content(layout, iter([chunk]), how, tuple(notes))


def _has_unknown_header(
    cells: "_Cells", layout: ColumnLayout, columns: dict[str, str] | None, where: str
) -> bool:
    """Whether the first row is a header; DataError where nothing says what its columns are."""
    rows = islice((row for _, row in cells.rows() if any(row)), SAMPLE_LINES)
    texts = [[_text(cell) for cell in row] for row in rows]
    if columns is None:
        width = max(max((n for n, c in enumerate(row, 1) if c), default=0) for row in texts)
        check_order([row[:width] for row in texts], where)
    return has_titles(texts, layout)


def _check_size(file: Path, max_bytes: int | None) -> None:
    """Refuses a file whose parts, or whose cells as a full table, would grow too large."""
    try:
        allowed = allowed_bytes(file, max_bytes)
        if not zipfile.is_zipfile(file):
            return
        with zipfile.ZipFile(file) as archive:
            if sum(part.file_size for part in archive.infolist()) > allowed:
                raise too_large(file, allowed)
            for part in archive.namelist():
                if part.startswith("xl/worksheets/") and part.endswith(".xml"):
                    with archive.open(part) as stream:
                        if _table_size(stream) * CELL_BYTES > allowed:
                            raise too_large(file, allowed)
    except (*DAMAGE, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise damaged(file, error) from None


def _table_size(stream: Any) -> int:
    """The cells of the table from A1 to the last cell that a sheet has."""
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


class _Cells:
    """The rows of a sheet with their numbers, merged cells filled in."""

    def __init__(self, sheet: Any) -> None:
        self._sheet = sheet
        self._first = (sheet.start or (0, 0))[0] + 1
        self._left = (sheet.start or (0, 0))[1]
        self._merged = self._values_of_merged()

    def rows(self) -> Iterator[tuple[int, list[Any]]]:
        """The number of each row, counted from 1, and its cells."""
        for line, row in enumerate(self._sheet.iter_rows(), self._first):
            yield line, self._filled(line, list(row)) if self._merged else list(row)

    def _filled(self, line: int, row: list[Any]) -> list[Any]:
        places = ((line - 1, self._left + column) for column in range(len(row)))
        return [self._merged.get(place, c) for place, c in zip(places, row, strict=True)]

    def with_times(self, start: int) -> set[int]:
        """The columns in which some cell has a time of day: there a date is one at midnight."""
        timed: set[int] = set()
        for line, row in self.rows():
            if line >= start:
                timed.update(
                    column
                    for column, cell in enumerate(row)
                    if isinstance(cell, datetime) and (cell.hour or cell.minute or cell.second)
                )
        return timed

    def _values_of_merged(self) -> Rows:
        ranges = getattr(self._sheet, "merged_cell_ranges", None) or []
        size = sum((bottom - top + 1) * (right - left + 1)
                   for (top, left), (bottom, right) in ranges)  # fmt: skip
        if not ranges or size > MOST_MERGED:
            return {}
        owners = dict(ranges)
        values: Rows = {}
        for line, row in enumerate(self._sheet.iter_rows(), self._first):
            for column, cell in enumerate(row):
                corner = (line - 1, self._left + column)
                if corner in owners:
                    bottom, right = owners[corner]
                    for place in range(corner[0], bottom + 1):
                        values |= {(place, c): cell for c in range(corner[1], right + 1)}
        return values


def _row(row: list[Any], layout: Any, timed: set[int]) -> list[bytes]:
    if not any(cell != "" for cell in row):
        return []
    cells = []
    for column, cell in enumerate(row):
        text = _cell(cell, column in timed)
        if text is None and column in layout.columns.values():
            found = shown(str(cell).encode())
            return BrokenRow(layout.label(column), found, _EXPECTED)
        cells.append(text or b"")
    if layout.free:  # a sheet is as wide as its widest row
        while len(cells) > 3 and not cells[-1]:
            cells.pop()
    return cells


def _cell(cell: Any, timed: bool) -> bytes | None:
    if isinstance(cell, date):
        if isinstance(cell, datetime) or timed:
            moment = cell if isinstance(cell, datetime) else datetime(*cell.timetuple()[:3])
            return moment.isoformat(" ").encode() if timed else moment.date().isoformat().encode()
        return cell.isoformat().encode()
    return cell_of(cell)


def _text(cell: Any) -> str:
    return (_cell(cell, False) or b"").decode()
