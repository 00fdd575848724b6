"""Answers to a file of queries: streamed in order, in bounded memory, written whole."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from apptek.data.reading.text_blocks import BYTE_ORDER_MARK, read_blocks, stem_and_suffix
from apptek.data.reading.text_cells import TEXT_FORMATS, TextFormat, split_lines
from apptek.errors import DataError, TimeFormatError
from apptek.files import new_file, writing
from apptek.models.answers import Answer, Answering, Query
from apptek.safe_text import without_formulas

BATCH = 10_000  # queries that are answered at a time
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
        ("label", pa.string()),
        ("class", pa.string()),
        ("class_probability", pa.float64()),
        ("group", pa.string()),
        ("group_probability", pa.float64()),
    ]
)
Numbered = tuple[int, Query | str]  # the line, and the query or what is wrong with it


def answer_file(
    predictor: Answering, queries: Path, out: Path, *, top: int = 10, skip_bad: bool = False
) -> tuple[int, list[str]]:
    """Writes the answers to a file of queries; returns how many, and the rows that were left out.

    The answers stand in the order of the queries, `top` rows for each, numbered by `query` from 1.
    """
    left_out: list[str] = []
    numbered = _check(predictor, queries, read_queries(queries), skip_bad, left_out)
    answered = 0
    with _writing(out) as write:
        while batch := list(islice(numbered, BATCH)):
            answers = predictor.predict(batch, top=top)
            write(answer_table(answers, answered))
            answered += len(batch)
    return answered, left_out


def _check(
    predictor: Answering, file: Path, rows: Iterable[Numbered], skip_bad: bool, left_out: list[str]
) -> Iterator[Query]:
    """The good queries; a bad one raises, or is noted and left out."""
    axis = predictor.model.dataset.axis
    for line, query in rows:
        problem = query if isinstance(query, str) else None
        if isinstance(query, Query):
            try:
                axis.parse(query.time)
                yield query
                continue
            except TimeFormatError as error:
                problem = str(error)
        if not skip_bad:
            raise DataError(f"{file.name}:{line}: {problem}")
        left_out.append(f"{file.name}:{line}: {problem}")


def read_queries(file: Path) -> Iterator[Numbered]:
    """The queries of a file with the columns subject, object and time, each with its line."""
    for line, cells in read_rows(file, COLUMNS):
        yield line, cells if isinstance(cells, str) else Query(*cells)


def read_rows(file: Path, names: tuple[str, ...]) -> Iterator[tuple[int, list[str] | str]]:
    """Some columns of a file, row by row with its line; or what is wrong with a row.

    They are found by their names in a header; without one, the file has these and no others.
    """
    suffix = stem_and_suffix(file)[1]
    if suffix == ".parquet":
        yield from _parquet_rows(file, names)
    elif suffix in TEXT_FORMATS:
        yield from _text_rows(file, TEXT_FORMATS[suffix], names)
    else:
        raise DataError(f"{file}: unknown kind of file; expected .csv, .tsv, .txt or .parquet")


def _text_rows(
    file: Path, form: TextFormat, names: tuple[str, ...]
) -> Iterator[tuple[int, list[str] | str]]:
    line, columns = 0, None
    for number, block in enumerate(read_blocks(file)):
        text = block.text if number else block.text.removeprefix(BYTE_ORDER_MARK)
        for cells in split_lines(text, form):
            line += 1
            if not cells:
                continue
            texts = [cell.decode("utf-8", "replace") for cell in cells]
            if columns is None:
                columns, is_header = _find_columns(file, texts, names)
                if is_header:
                    continue
            yield line, _cells(texts, columns)
    if columns is None:
        raise DataError(f"{file.name}:1: the file is empty; expected rows of {', '.join(names)}")


def _find_columns(file: Path, first: list[str], names: tuple[str, ...]) -> tuple[list[int], bool]:
    """Where the columns of these names are, and whether the first row is a header."""
    words = [cell.strip().lower() for cell in first]
    if all(column in words for column in names):
        return [words.index(column) for column in names], True
    if len(first) == len(names):
        return list(range(len(names))), False
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    raise DataError(
        f"{file.name}:1: found {len(first)} columns without the names {listed}; "
        "expected these, in this order or under a header"
    )


def _cells(texts: list[str], columns: list[int]) -> list[str] | str:
    """The cells of a row, or what is wrong with it; subject and object come first."""
    if max(columns) >= len(texts):
        return f"found {len(texts)} columns, expected {max(columns) + 1}"
    cells = [texts[column] for column in columns]
    if not cells[0] or not cells[1]:
        return "found an empty name, expected a subject and an object"
    return cells


def _parquet_rows(file: Path, names: tuple[str, ...]) -> Iterator[tuple[int, list[str] | str]]:
    try:
        opened = parquet.ParquetFile(file)
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(f"{file}: cannot be read ({str(error).splitlines()[0]})") from None
    missing = [name for name in names if name not in opened.schema_arrow.names]
    if missing:
        raise DataError(f"{file.name}: there is no column {', '.join(missing)}")
    row = 0
    for batch in opened.iter_batches(BATCH, columns=list(names)):
        columns = [batch.column(name).cast(pa.string()).to_pylist() for name in names]
        for texts in zip(*columns, strict=True):
            row += 1
            yield row, _cells([text or "" for text in texts], list(range(len(names))))


def answer_table(answers: Sequence[Answer], before: int = 0) -> pa.Table:
    """A row for each predicate of each answer, numbered from `before` + 1."""
    columns: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    for number, answer in enumerate(answers, before + 1):
        flags = (answer.unseen_subject, answer.unseen_object, answer.unseen_time)
        query = (number, answer.query.subject, answer.query.object, answer.query.time)
        pairs = zip(answer.predicates, answer.probabilities, strict=True)
        classes, groups = dict(answer.by_class), dict(answer.by_group)
        for rank, (predicate, probability) in enumerate(pairs, 1):
            kind, group = answer.kinds[rank - 1]
            row = (
                *query,
                rank,
                predicate,
                probability,
                *flags,
                predicate in answer.known,
                answer.view,
                answer.labels[rank - 1],
                kind or None,
                classes.get(kind),
                group or None,
                groups.get(group),
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
