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
from apptek.explain.html_report import STYLE
from apptek.explain.wording import counted, percent, period_text, points
from apptek.files import new_file, writing
from apptek.forecasting.watch import PREDICATES, WatchList, WatchRow
from apptek.safe_text import printable

_STYLE = """
main { max-width: 1400px; }
.watch td { vertical-align: middle; }
.watch .bar { display: inline-block; width: 90px; height: 12px; margin-right: 8px;
  background: var(--edge); border-radius: 3px; overflow: hidden; vertical-align: -1px; }
.watch .bar i { display: block; height: 100%; background: var(--bar); }
.watch .number { white-space: nowrap; font-variant-numeric: tabular-nums; }
.watch .up { color: var(--plus); } .watch .down { color: var(--minus); }
.watch svg { display: block; } .watch polyline { fill: none; stroke: var(--bar);
  stroke-width: 1.5; } .watch circle { fill: var(--best); }
.watch ol { margin: 0; padding: 0; list-style: none; }
"""
_HEADS = (
    "pair", "chance of anything", "change", "expected facts", "most probable, at least once",
    "strongest reason", "facts so far",
)  # fmt: skip


def watch_html(listed: WatchList) -> str:
    """The whole page. Every name is escaped; the policy in its head forbids scripts and loading."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    title = f"Watch list, {period_text(listed.first, listed.last)}"
    heads = "".join(f"<th>{head}</th>" for head in _HEADS)
    rows = "\n".join(_html_row(row) for row in listed.rows)
    notes = "".join(f'<p class="note">{_text(note)}</p>' for note in listed.notes)
    length = counted(listed.length, listed.unit)
    about = (
        f"{counted(len(listed.rows), 'pair')} of {listed.data}, a window of {length}. The chance "
        f"of anything counts both directions; the change is that against the {length} before, as "
        "they were forecast then, in percentage points. The small curves count the facts of each "
        "such window in the past."
    )
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_text(title)}</title><style>{STYLE}{_STYLE}</style></head><body><main>",
            f'<h1>{_text(title)}</h1><p class="soft">{_text(about)}</p>{notes}',
            f'<section><table class="watch"><thead><tr>{heads}</tr></thead><tbody>',
            rows,
            "</tbody></table></section></main></body></html>\n",
        ]
    )


def _text(text: str) -> str:
    return escape(printable(text), quote=True)


def _html_row(row: WatchRow) -> str:
    change = points(row.change)
    direction = {"+": " up", "\N{MINUS SIGN}": " down"}.get(change[0], "")
    remarks = "".join(f'<div class="soft">{_text(note)}</div>' for note in row.notes)
    predicates = "".join(
        f"<li>{percent(part.probability)} {_text(part.shown)} "
        f'<span class="soft">{_text(part.subject)} → {_text(part.object)}</span></li>'
        for part in row.predicates
    )
    return (
        f"<tr><td><b>{_text(row.subject)}</b> and <b>{_text(row.object)}</b>{remarks}</td>"
        f'<td class="number"><span class="bar"><i style="width:{100 * row.probability:.1f}%"></i>'
        f"</span>{percent(row.probability)}</td>"
        f'<td class="number{direction}">{change}</td>'
        f'<td class="number">{row.expected:.1f}</td><td><ol>{predicates}</ol></td>'
        f"<td>{_text(row.reason)}</td><td>{sparkline(row.past)}</td></tr>"
    )


def sparkline(counts: tuple[int, ...], width: int = 120, height: int = 28) -> str:
    """Counts as a small curve; the last one has a dot."""
    most, step = max(1, *counts), (width - 8) / max(1, len(counts) - 1)
    points = [
        (4 + index * step, height - 4 - (height - 8) * count / most)
        for index, count in enumerate(counts)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    words = f"{sum(counts)} facts, at most {max(counts)} in one window"
    return (
        f'<svg width="{width}" height="{height}" role="img" aria-label="{words}">'
        f'<polyline points="{line}"/><circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/></svg>'
    )


def watch_table(listed: WatchList) -> pa.Table:
    """One row for each pair; the most probable predicates in columns of their own."""
    rows: list[dict[str, Any]] = []
    for row in listed.rows:
        cells: dict[str, Any] = {
            "subject": row.subject,
            "object": row.object,
            "first": listed.first,
            "last": listed.last,
            "probability": row.probability,
            "expected": row.expected,
            "previous": row.previous,
            "change": row.change,
            "reason": row.reason,
            "unseen": "; ".join(row.unseen),
        }
        for number in range(PREDICATES):
            part = row.predicates[number] if number < len(row.predicates) else None
            cells[f"predicate_{number + 1}"] = part.predicate if part else ""
            cells[f"actor_{number + 1}"] = part.subject if part else ""
            cells[f"probability_{number + 1}"] = part.probability if part else None
        rows.append(cells)
    return pa.Table.from_pylist(rows)


def _write_csv(table: pa.Table, path: Path, delimiter: str) -> None:
    csv.write_csv(table, path, csv.WriteOptions(delimiter=delimiter))


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
    return f'<c t="inlineStr"><is><t xml:space="preserve">{_text(value)}</t></is></c>'


_WRITERS: dict[str, Callable[[WatchList, Path], None]] = {
    ".html": lambda listed, path: _put(path, watch_html(listed)),
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
