"""A watch list as a file: one HTML page, or a table as CSV, TSV, Parquet, XLSX or JSON."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet

from apptek.data.xlsx import write_xlsx
from apptek.errors import DataError
from apptek.files import new_file, writing
from apptek.forecasting.watch_list import WatchList, watch_table
from apptek.safe_text import without_formulas


def _write_csv(table: pa.Table, path: Path, delimiter: str) -> None:
    csv.write_csv(without_formulas(table), path, csv.WriteOptions(delimiter=delimiter))


_WRITERS: dict[str, Callable[[WatchList, Path], None]] = {
    ".html": lambda listed, path: _put(path, listed.html()),
    ".json": lambda listed, path: _put(
        path, json.dumps(listed.as_json(), indent=1, ensure_ascii=False) + "\n"
    ),
    ".csv": lambda listed, path: _write_csv(watch_table(listed), path, ","),
    ".tsv": lambda listed, path: _write_csv(watch_table(listed), path, "\t"),
    ".parquet": lambda listed, path: parquet.write_table(watch_table(listed), path),
    ".xlsx": lambda listed, path: write_xlsx(watch_table(listed), path, "watch"),
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
