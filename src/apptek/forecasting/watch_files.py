"""A watch list as a file: one HTML page, or a table as CSV, TSV, Parquet, XLSX or JSON."""

import json
import zipfile
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from apptek.errors import DataError
from apptek.files import new_file, writing
from apptek.forecasting.watch_list import WatchList, watch_table
from apptek.safe_text import printable, without_formulas


def _write_csv(table: pa.Table, path: Path, delimiter: str) -> None:
    csv.write_csv(without_formulas(table), path, csv.WriteOptions(delimiter=delimiter))


def _write_xlsx(table: pa.Table, path: Path) -> None:
    """One sheet, as little of the format as a spreadsheet needs to open it."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    lines = [table.column_names, *(list(row.values()) for row in table.to_pylist())]
    sheet = "".join(f"<row>{''.join(map(_xlsx_cell, line))}</row>" for line in lines)
    files = {
        "[Content_Types].xml": f'{head}<Types xmlns="{package}/content-types">'
        f'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
        f'relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main'
        f'+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"'
        "/></Types>",
        "_rels/.rels": f'{head}<Relationships xmlns="{package}/relationships"><Relationship '
        f'Id="rId1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'{head}<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="watch" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'{head}<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="rId1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/>'
        "</Relationships>",
        "xl/worksheets/sheet1.xml": f'{head}<worksheet xmlns="{main}"><sheetData>{sheet}'
        "</sheetData></worksheet>",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            # A fixed date: the same list, the same bytes.
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content.encode())


def _xlsx_cell(value: Any) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, int | float):
        return f"<c><v>{value!r}</v></c>"
    text = escape(printable(value), quote=True)
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


_WRITERS: dict[str, Callable[[WatchList, Path], None]] = {
    ".html": lambda listed, path: _put(path, listed.html()),
    ".json": lambda listed, path: _put(
        path, json.dumps(listed.as_json(), indent=1, ensure_ascii=False) + "\n"
    ),
    ".csv": lambda listed, path: _write_csv(watch_table(listed), path, ","),
    ".tsv": lambda listed, path: _write_csv(watch_table(listed), path, "\t"),
    ".parquet": lambda listed, path: parquet.write_table(watch_table(listed), path),
    ".xlsx": lambda listed, path: _write_xlsx(watch_table(listed), path),
}


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def check_suffix(out: Path) -> None:
    """DataError where a watch list cannot be written as a file of that kind."""
    if out.suffix.lower() not in _WRITERS:
        raise DataError(f"{out}: unknown kind of file; expected {', '.join(_WRITERS)}")


def write_watch(listed: WatchList, out: Path) -> None:
    """Writes a watch list in the form that the suffix of the file says; whole or not at all."""
    check_suffix(out)
    with new_file(out) as temporary, writing(out):
        _WRITERS[out.suffix.lower()](listed, temporary)
