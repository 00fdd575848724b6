"""Results as tables, and the files that a table can be written to, in every format."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import singledispatch
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from apptek import results
from apptek.databases import Database
from apptek.errors import DataError
from apptek.extras import require
from apptek.facts.facts import Dataset
from apptek.files import new_file, writing
from apptek.models.answer_tables import SCHEMA
from apptek.present.rdf_answers import RDF_SUFFIXES, stream_rdf
from apptek.safe_text import printable, without_formulas

PREDICATES = 3  # number of predicates in a watch-list row
FORECAST = ("predicate", "label", "actor", "probability")  # fields of each predicate
WATCH = pa.schema(
    [
        *((name, pa.string()) for name in ("subject", "object", "first", "last")),
        *((name, pa.float64()) for name in ("probability", "expected", "previous", "change")),
        *((name, pa.string()) for name in ("reason", "unseen", "alerts", "status")),
        ("since", pa.float64()),
        *(
            (f"{name}_{number}", pa.float64() if name == "probability" else pa.string())
            for number in range(1, PREDICATES + 1)
            for name in FORECAST
        ),
    ]
)
_SHARES = ("probability", "previous", "change", "since", "suspicion")  # percentages
_WIDEST, _SAMPLED = 60, 200  # maximum column width; number of rows used to measure it
_MAX_ROWS = 1_048_575  # maximum number of spreadsheet rows below the header
_DATE = datetime(2000, 1, 1, tzinfo=UTC)  # a fixed date, so that the same table has the same bytes


@singledispatch
def to_arrow(result: results.Result | pa.Table) -> pa.Table:
    """Return the rows of a result as a table; a table as it is."""
    if isinstance(result, pa.Table):
        return result
    raise TypeError(f"{type(result).__name__} is no table")


@to_arrow.register
def _answer(answer: results.Answer) -> pa.Table:
    return _answers(results.Answers([answer]))


@to_arrow.register
def _answers(answers: results.Answers) -> pa.Table:
    """Return one row per query and predicate; column `query` numbers the queries from 1."""
    rows = []
    for number, answer in enumerate(answers, 1):
        of_query = {name: getattr(answer, name) for name in SCHEMA.names if hasattr(answer, name)}
        of_query |= results.to_dict(answer.query) | {"query": number}
        shares = [
            {one.name: one.probability for one in of_level}
            for of_level in (answer.by_class, answer.by_group)
        ]
        columns = (answer.predicates, answer.probabilities, answer.labels)
        parts = zip(*columns, answer.class_of, answer.group_of, strict=True)
        for rank, (predicate, probability, label, kind, group) in enumerate(parts, 1):
            row = {
                "rank": rank,
                "predicate": predicate,
                "probability": probability,
                "known": predicate in answer.known,
                "label": label,
                "class": kind or None,
                "class_probability": shares[0].get(kind),
                "group": group or None,
                "group_probability": shares[1].get(group),
            }
            rows.append(of_query | row)
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@to_arrow.register
def _watch(watched: results.WatchList) -> pa.Table:
    """Return one row per pair, with the most probable predicates in separate columns."""
    texts = {field.name: "" for field in WATCH if field.type == pa.string()}  # for missing values
    rows = []
    for row in watched.rows:
        cells = texts | results.to_dict(row) | {"first": watched.first, "last": watched.last}
        cells |= {"unseen": "; ".join(row.unseen), "alerts": "; ".join(row.alerts)}
        for number, part in enumerate(row.predicates[:PREDICATES], 1):
            parts = (part.predicate, part.label, part.subject, part.probability)
            cells |= {f"{name}_{number}": each for name, each in zip(FORECAST, parts, strict=True)}
        rows.append(cells)
    return pa.Table.from_pylist(rows, schema=WATCH)


@to_arrow.register
def _audit(report: results.AuditReport) -> pa.Table:
    return pa.Table.from_pylist([results.to_dict(each) for each in report.suspects])


@contextmanager
def _stream(path: Path, schema: pa.Schema, suffix: str) -> Iterator[Callable[[pa.Table], None]]:
    """Yield a function that appends rows to a file."""
    if suffix == ".parquet":
        with parquet.ParquetWriter(path, schema) as writer:
            yield writer.write_table
        return
    options = csv.WriteOptions(delimiter="," if suffix == ".csv" else "\t")
    with csv.CSVWriter(path, schema, write_options=options) as lines:
        yield lambda rows: lines.write_table(without_formulas(rows))


def _write_json_lines(path: Path, table: pa.Table, _name: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in table.to_pylist():
            file.write(f"{json.dumps(results.to_dict(row), ensure_ascii=False)}\n")


def _write_sheet(path: Path, table: pa.Table, name: str) -> None:
    """Write a frozen header, columns as wide as their texts, and formatted numbers.

    Rows beyond the spreadsheet limit are left out.
    """
    import xlsxwriter

    options = {"strings_to_formulas": False, "strings_to_urls": False, "in_memory": True}
    with xlsxwriter.Workbook(path, options) as book:
        book.set_properties({"created": _DATE})
        sheet, bold = book.add_worksheet(name), book.add_format({"bold": True})
        percent, decimal = (book.add_format({"num_format": form}) for form in ("0.0%", "0.00"))
        sheet.freeze_panes(1, 0)
        sheet.write_row(0, 0, table.column_names, bold)
        for place, title in enumerate(table.column_names):
            values = table[title].slice(0, _MAX_ROWS).to_pylist()
            number = percent if any(word in title for word in _SHARES) else decimal
            for row, value in enumerate(values, start=1):
                if isinstance(value, str):
                    sheet.write_string(row, place, printable(value))
                elif isinstance(value, float) and math.isfinite(value):
                    sheet.write_number(row, place, value, number)
                elif isinstance(value, int):
                    sheet.write_number(row, place, value)
            texts = [f"{v:.2f}" if isinstance(v, float) else str(v) for v in values[:_SAMPLED]]
            sheet.set_column(place, place, min(max(map(len, [title, *texts])), _WIDEST) + 2)


_STREAMED = (".csv", ".tsv", ".parquet")
_WRITERS: dict[str, Callable[[Path, pa.Table, str], None]] = {
    ".xlsx": _write_sheet,
    ".jsonl": _write_json_lines,
}
TABLES = (*_STREAMED, *_WRITERS)
SUFFIXES = (".html", *TABLES, ".json")  # file types for a result


def check_suffix(path: Path | Database, suffixes: tuple[str, ...] = SUFFIXES) -> None:
    """Raise DataError if this file type, or a table in this database, cannot be written."""
    if isinstance(path, Database):
        path.check_writable()
        return
    if path.suffix.lower() not in suffixes:
        raise DataError(f"{path}: unknown kind of file; expected {', '.join(suffixes)}")
    if path.suffix.lower() == ".xlsx":
        require("an .xlsx file needs", "excel", "xlsxwriter")  # fails before the work is done
    if path.suffix.lower() in RDF_SUFFIXES:
        require("RDF needs", "rdf", "pyoxigraph")


@contextmanager
def answer_writer(path: Path | Database, data: Dataset) -> Iterator[Callable[[pa.Table], None]]:
    """Yield a function that appends answers to a table, an RDF file or a database. Atomic.

    data  the data behind the answers, which RDF output requires
    """
    if isinstance(path, Database):
        with path.appending() as append_rows:
            yield append_rows
        return
    check_suffix(path, (*_STREAMED, *RDF_SUFFIXES))
    suffix = path.suffix.lower()
    with new_file(path) as temporary, ExitStack() as stack:
        is_rdf = suffix in RDF_SUFFIXES
        rows = stream_rdf(temporary, suffix, data) if is_rdf else _stream(temporary, SCHEMA, suffix)
        with writing(path):
            write = stack.enter_context(rows)

        def append(rows: pa.Table) -> None:
            with writing(path):
                write(rows)

        try:
            yield append
        except BaseException:
            with suppress(OSError):  # the earlier error is the one to report
                stack.close()
            raise
        with writing(path):
            stack.close()


@contextmanager
def staged(
    path: Path | Database, result: results.Result | pa.Table, name: str = "table"
) -> Iterator[None]:
    """Write a result or a table; the file appears only if the block succeeds.

    The path's suffix selects the format: a page, all fields as JSON, or a table. `name` is the
    sheet's name.
    """
    if isinstance(path, Database):
        with path.appending() as append:
            append(to_arrow(result))
            yield
        return
    suffix = path.suffix.lower()
    check_suffix(path, TABLES if isinstance(result, pa.Table) else SUFFIXES)
    with new_file(path) as temporary:
        with writing(path):
            if suffix in TABLES:
                _write_table(temporary, to_arrow(result), suffix, name)
            else:
                text = result.html() if suffix == ".html" else json_text(result)
                temporary.write_text(text, encoding="utf-8")
        yield


def _write_table(path: Path, table: pa.Table, suffix: str, name: str) -> None:
    if suffix in _WRITERS:
        _WRITERS[suffix](path, table, name)
        return
    with _stream(path, table.schema, suffix) as write:
        write(table)


def write_result(
    path: Path | Database, result: results.Result | pa.Table, name: str = "table"
) -> None:
    """Write a result or a table, as `staged` does. Atomic."""
    with staged(path, result, name):
        pass


def json_text(result: Any) -> str:
    """Return a result as JSON text for a file."""
    return json.dumps(results.to_dict(result), indent=1, ensure_ascii=False) + "\n"
