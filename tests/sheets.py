"""Small .xlsx files for tests, written by hand: a zip of XML."""

import zipfile
from datetime import date, datetime
from pathlib import Path
from xml.sax.saxutils import escape

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_KINDS = "application/vnd.openxmlformats-officedocument.spreadsheetml"
Cell = str | int | float | date | datetime | None


class Formula(str):
    """A formula and the text that was stored for it: Formula('A1&"x"|stored')."""


def write_sheets(
    path: Path, sheets: dict[str, list[list[Cell]]], merged: tuple[str, ...] = ()
) -> Path:
    """A workbook with these sheets; `merged` are ranges of the first one, such as A2:A4."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in _parts(sheets, merged).items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{content}')
    return path


def _parts(sheets: dict[str, list[list[Cell]]], merged: tuple[str, ...]) -> dict[str, str]:
    numbers = range(1, len(sheets) + 1)
    overrides = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{_KINDS}.worksheet+xml"/>'
        for n in numbers
    )
    names = "".join(
        f'<sheet name="{escape(name)}" sheetId="{n}" r:id="rId{n}"/>'
        for n, name in zip(numbers, sheets, strict=True)
    )
    relations = "".join(
        f'<Relationship Id="rId{n}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in numbers
    )
    styles = f'<Relationship Id="rId99" Type="{_OFFICE}/styles" Target="styles.xml"/>'
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/'
        'content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-'
        'package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_KINDS}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_KINDS}.styles+xml"/>{overrides}'
        "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="rId1" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
        f"<sheets>{names}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELATIONS}">{relations}{styles}'
        "</Relationships>",
        # Style 1 is a date, style 2 a date with a time.
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><fonts count="1"><font/></fonts>'
        '<fills count="1"><fill/></fills><borders count="1"><border/></borders>'
        '<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="3"><xf numFmtId="0"/>'
        '<xf numFmtId="14" applyNumberFormat="1"/><xf numFmtId="22" applyNumberFormat="1"/>'
        "</cellXfs></styleSheet>",
    }
    for n, rows in zip(numbers, sheets.values(), strict=True):
        ranges = "".join(f'<mergeCell ref="{place}"/>' for place in merged) if n == 1 else ""
        cells = "".join(_row(number, row) for number, row in enumerate(rows, 1))
        parts[f"xl/worksheets/sheet{n}.xml"] = (
            f'<worksheet xmlns="{_MAIN}"><sheetData>{cells}</sheetData>'
            + (f"<mergeCells>{ranges}</mergeCells>" if ranges else "")
            + "</worksheet>"
        )
    return parts


def _row(number: int, row: list[Cell]) -> str:
    cells = "".join(_cell(f"{chr(65 + c)}{number}", cell) for c, cell in enumerate(row))
    return f'<row r="{number}">{cells}</row>'


def _cell(place: str, cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Formula):
        formula, _, stored = cell.partition("|")
        return f'<c r="{place}" t="str"><f>{escape(formula)}</f><v>{escape(stored)}</v></c>'
    if isinstance(cell, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
    if isinstance(cell, date):
        moment = cell if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)
        days = (moment - datetime(1899, 12, 30)).total_seconds() / 86_400
        return f'<c r="{place}" s="{2 if isinstance(cell, datetime) else 1}"><v>{days!r}</v></c>'
    return f'<c r="{place}"><v>{cell}</v></c>'
