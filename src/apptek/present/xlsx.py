"""A table as an .xlsx file: one sheet, as little of the format as a spreadsheet needs."""

import math
import zipfile
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa

from apptek.safe_text import printable

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_SHARES = ("probability", "previous", "change", "suspicion")  # in names of columns: percentages
_PLAIN, _BOLD, _PERCENT, _DECIMAL = range(4)  # the styles below, in this order
_STYLES = (
    f'{_HEAD}<styleSheet xmlns="{_MAIN}"><numFmts count="1"><numFmt numFmtId="164" '
    'formatCode="0.0%"/></numFmts><fonts count="2"><font/><font><b/></font></fonts>'
    '<fills count="1"><fill/></fills><borders count="1"><border/></borders><cellXfs count="4">'
    '<xf/><xf fontId="1" applyFont="1"/><xf numFmtId="164" applyNumberFormat="1"/>'
    '<xf numFmtId="2" applyNumberFormat="1"/></cellXfs></styleSheet>'
)
_LONGEST, _SAMPLED = 60, 200  # characters of the widest column; rows that widths are measured from
_MOST_ROWS = 1_048_575  # that a spreadsheet can have below the header


def write_xlsx(table: pa.Table, path: Path, sheet: str) -> None:
    """Write a table: a frozen header, columns as wide as their texts, numbers with a format.

    Rows beyond what a spreadsheet can have are left out.
    """
    rows = [list(row.values()) for row in table.slice(0, _MOST_ROWS).to_pylist()]
    names = table.column_names
    styles = [_PERCENT if any(word in name for word in _SHARES) else _DECIMAL for name in names]
    cells = ["".join(_cell(name, _BOLD) for name in names)]
    cells += ["".join(map(_cell, row, styles)) for row in rows]
    widths = (
        max(len(_text(value)) for value in column)
        for column in zip(names, *rows[:_SAMPLED], strict=True)
    )
    columns = "".join(
        f'<col min="{number}" max="{number}" width="{min(width, _LONGEST) + 2}" customWidth="1"/>'
        for number, width in enumerate(widths, start=1)
    )
    content = (
        f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0"><pane '
        'ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView>'
        f"</sheetViews><cols>{columns}</cols><sheetData>"
        f"{''.join(f'<row>{line}</row>' for line in cells)}</sheetData></worksheet>"
    )
    files = _around(sheet) | {"xl/worksheets/sheet1.xml": content}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            # A fixed date: the same table, the same bytes.
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text.encode())


def _around(sheet: str) -> dict[str, str]:
    """The files that every workbook has, by name."""
    relations = f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">'
    override = '<Override PartName="/xl/{}" ContentType="{}.{}+xml"/>'.format
    parts = (
        ("workbook.xml", _KIND, "sheet.main"),
        ("worksheets/sheet1.xml", _KIND, "worksheet"),
        ("styles.xml", _KIND, "styles"),
    )
    return {
        "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types"><Default '
        'Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"'
        f"/>{''.join(override(*part) for part in parts)}</Types>",
        "_rels/.rels": f'{relations}<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'{_HEAD}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        f'<sheet name="{escape(sheet)}" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'{relations}<Relationship Id="rId1" Type="{_OFFICE}/'
        'worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" '
        f'Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": _STYLES,
    }


def _text(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "" if value is None else str(value)


def _cell(value: Any, style: int) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "<c/>"
    if isinstance(value, int | float):
        number = _PLAIN if isinstance(value, int) else style
        return f'<c s="{number}"><v>{value!r}</v></c>'
    bold = f' s="{_BOLD}"' if style == _BOLD else ""
    text = escape(printable(value), quote=True)
    return f'<c{bold} t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
