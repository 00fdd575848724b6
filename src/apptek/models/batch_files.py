"""Answers to a file of queries: streamed in order, in bounded memory, written whole."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from apptek.errors import DataError, TimeFormatError
from apptek.files import new_file, writing
from apptek.models.answers import Answer, Query
from apptek.reading.columns import ColumnLayout, layout_finder
from apptek.reading.exact_rows import RowError, check_cells, text_of
from apptek.reading.options import ReadOptions
from apptek.reading.reader import open_file
from apptek.safe_text import counted, without_formulas

BATCH = 10_000  # queries whose answers are written at a time
USUAL = ReadOptions()
ToTable = Callable[[Sequence[Query], int], pa.Table]  # of queries, numbered after so many others
COLUMNS = ("subject", "object", "time")
SCHEMA = pa.schema(
    [
        ("query", pa.int64()),
        ("subject", pa.string()),
        ("object", pa.string()),
        ("time", pa.string()),
        ("rank", pa.int32()),
        ("predicate", pa.string()),
        ("probability", pa.float64()),
        ("unseen_subject", pa.bool_()),
        ("unseen_object", pa.bool_()),
        ("unseen_time", pa.bool_()),
        ("known", pa.bool_()),
        ("view", pa.string()),
        ("meant_subject", pa.string()),
        ("meant_object", pa.string()),
        ("label", pa.string()),
        ("class", pa.string()),
        ("class_probability", pa.float64()),
        ("group", pa.string()),
        ("group_probability", pa.float64()),
        ("calibrated", pa.bool_()),
        ("far_time", pa.bool_()),
    ]
)
Numbered = tuple[int, Query | str]  # the line, and the query or what is wrong with it


@dataclass(slots=True)
class UnknownNames:
    """The names in a file of queries that are not in the data, and how many queries have one.

    far_times  how many queries have a time that is far from all facts
    """

    names: Counter[str] = field(default_factory=Counter)
    queries: int = 0
    far_times: int = 0

    def count(self, rows: pa.Table) -> None:
        """Count those of some queries, with one row of the answers for each."""
        unknown = {name: rows.column(f"meant_{name}").is_null() for name in ("subject", "object")}
        for name, is_unknown in unknown.items():
            self.names.update(rows.column(name).filter(is_unknown).to_pylist())
        self.queries += pc.sum(pc.or_(unknown["subject"], unknown["object"])).as_py() or 0
        self.far_times += pc.sum(rows.column("far_time")).as_py() or 0


class LeftOut(str):
    """What a row of a dump lacks, so that it is none: it is left out, and no error."""

    __slots__ = ()


def answer_file(
    predictor: Any,
    queries: Path,
    out: Path,
    *,
    top: int = 10,
    reading: ReadOptions = USUAL,
    unknown: UnknownNames | None = None,
    at_once: int = BATCH,
    to_table: ToTable | None = None,
) -> tuple[int, list[str]]:
    """Writes the answers to a file of queries; returns how many, and the rows that were left out.

    The answers stand in the order of the queries, `top` rows for each, numbered by `query` from 1.

    unknown  counts the names that are not in the data, and the queries that have one
    at_once  queries that are answered at a time; what is written does not depend on it
    to_table answers queries at once as the rows of a table, the same as those of `predict`
    """
    left_out: list[str] = []
    numbered = _check(predictor, queries, reading, left_out)
    answered = 0
    with _writing(out) as write:
        while batch := list(islice(numbered, at_once)):
            if to_table is None:
                rows = answer_table(predictor.predict(batch, top=top), answered)
            else:
                rows = to_table(batch, answered)
            each = len(rows) // len(batch)
            for start in range(0, len(rows), BATCH * each):
                write(rows.slice(start, BATCH * each))
            if unknown is not None:
                unknown.count(rows.take(pa.array(range(0, len(rows), each))))
            answered += len(batch)
    return answered, left_out


def _check(
    predictor: Any, file: Path, reading: ReadOptions, left_out: list[str]
) -> Iterator[Query]:
    """The good queries; a bad one raises, or is noted and left out."""
    for line, query in read_queries(file, reading):
        problem = query if isinstance(query, str) else None
        if isinstance(query, Query):
            try:
                predictor.model.dataset.axis.parse(query.time)
                yield query
                continue
            except TimeFormatError as error:
                problem = str(error).removesuffix(".")
        if not reading.skip_bad and not isinstance(problem, LeftOut):
            raise DataError(f"{file.name}:{line}: {problem}")
        left_out.append(f"{file.name}:{line}: {problem}")


def read_queries(file: Path, options: ReadOptions = USUAL) -> Iterator[Numbered]:
    """The queries of a file with the columns subject, object and time, each with its line."""
    for line, cells in read_rows(file, COLUMNS, options):
        yield line, cells if isinstance(cells, str) else Query(*cells)


def read_rows(
    file: Path, names: tuple[str, ...], options: ReadOptions = USUAL
) -> Iterator[tuple[int, list[str] | str]]:
    """Some columns of a file, row by row with its line; or what is wrong with a row.

    They are found by their names in a header; without one, the file has these and no others. In a
    dump of events they are those of its facts.
    """
    content = open_file(file, options, None, layout_finder(names))
    columns = [content.layout.columns[name] for name in names]
    for chunk in content.chunks:
        for row, cells in enumerate(chunk.rows):
            if cells:
                yield chunk.number(row), _cells(cells, columns, content.layout)


def _cells(cells: list[bytes], columns: list[int], layout: ColumnLayout) -> list[str] | str:
    """The cells of a row, or what is wrong with it; subject and object come first."""
    try:
        check_cells(cells, layout)
        if max(columns) >= len(cells):
            return f"found {counted(len(cells), 'column')}, expected {max(columns) + 1}"
        texts = [text_of(cells[column], layout, column) for column in columns]
    except RowError as fault:
        return f"{fault.column}: found {fault.found}, expected {fault.expected}"
    if layout.nobody.intersection(texts[:2]):
        return LeftOut("it lacks one of its actors")
    if not texts[0] or not texts[1]:
        return "found an empty name, expected a subject and an object"
    return texts


def answer_table(answers: Sequence[Answer], before: int = 0) -> pa.Table:
    """A row for each predicate of each answer, numbered from `before` + 1."""
    columns: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    for number, answer in enumerate(answers, before + 1):
        flags = (answer.unseen_subject, answer.unseen_object, answer.unseen_time)
        query = (number, answer.query.subject, answer.query.object, answer.query.time)
        pairs = zip(answer.predicates, answer.probabilities, strict=True)
        classes, groups = (
            {one.name: one.probability for one in shares}
            for shares in (answer.by_class, answer.by_group)
        )
        for rank, (predicate, probability) in enumerate(pairs, 1):
            kind, group = answer.class_of[rank - 1], answer.group_of[rank - 1]
            row = (
                *query,
                rank,
                predicate,
                probability,
                *flags,
                predicate in answer.known,
                answer.view,
                answer.meant_subject,
                answer.meant_object,
                answer.labels[rank - 1],
                kind or None,
                classes.get(kind),
                group or None,
                groups.get(group),
                answer.calibrated,
                answer.far_time,
            )
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
    return pa.table(columns, schema=SCHEMA)


@contextmanager
def _writing(out: Path) -> Iterator[Callable[[pa.Table], None]]:
    """A function that appends rows to a file, which gets its name when all is well."""
    suffix = out.suffix.lower()
    if suffix not in (".csv", ".tsv", ".parquet"):
        raise DataError(f"{out}: unknown kind of file; expected .csv, .tsv or .parquet")
    with new_file(out) as temporary:
        with writing(out):
            writer = _table_writer(temporary, suffix)

        def write(rows: pa.Table) -> None:
            with writing(out):
                writer.write_table(rows if suffix == ".parquet" else without_formulas(rows))

        try:
            yield write
        except BaseException:
            with suppress(OSError):  # what went wrong before is the error to report
                writer.close()
            raise
        with writing(out):
            writer.close()


def _table_writer(path: Path, suffix: str) -> Any:
    if suffix == ".parquet":
        return parquet.ParquetWriter(path, SCHEMA)
    options = csv.WriteOptions(delimiter="," if suffix == ".csv" else "\t")
    return csv.CSVWriter(path, SCHEMA, write_options=options)
