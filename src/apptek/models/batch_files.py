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
    suffix = stem_and_suffix(file)[1]
    if suffix == ".parquet":
        yield from _parquet_queries(file)
    elif suffix in TEXT_FORMATS:
        yield from _text_queries(file, TEXT_FORMATS[suffix])
    else:
        raise DataError(f"{file}: unknown kind of file; expected .csv, .tsv, .txt or .parquet")


def _text_queries(file: Path, form: TextFormat) -> Iterator[Numbered]:
    line, columns = 0, None
    for number, block in enumerate(read_blocks(file)):
        text = block.text if number else block.text.removeprefix(BYTE_ORDER_MARK)
        for cells in split_lines(text, form):
            line += 1
            if not cells:
                continue
            texts = [cell.decode("utf-8", "replace") for cell in cells]
            if columns is None:
                columns, is_header = _find_columns(file, texts)
                if is_header:
                    continue
            yield line, _query(texts, columns)
    if columns is None:
        raise DataError(f"{file.name}:1: the file is empty; expected queries")


def _find_columns(file: Path, first: list[str]) -> tuple[list[int], bool]:
    """The columns of subject, object and time, and whether the first row is a header."""
    words = [cell.strip().lower() for cell in first]
    if all(column in words for column in COLUMNS):
        return [words.index(column) for column in COLUMNS], True
    if len(first) == len(COLUMNS):
        return [0, 1, 2], False
    raise DataError(
        f"{file.name}:1: found {len(first)} columns without the names subject, object and time; "
        "expected these three, in this order or under a header"
    )


def _query(texts: list[str], columns: list[int]) -> Query | str:
    """The query of a row, or what is wrong with it."""
    if max(columns) >= len(texts):
        return f"found {len(texts)} columns, expected {max(columns) + 1}"
    subject, object_, time = (texts[column] for column in columns)
    if not subject or not object_:
        return "found an empty name, expected a subject and an object"
    return Query(subject, object_, time)


def _parquet_queries(file: Path) -> Iterator[Numbered]:
    try:
        opened = parquet.ParquetFile(file)
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(f"{file}: cannot be read ({str(error).splitlines()[0]})") from None
    missing = [name for name in COLUMNS if name not in opened.schema_arrow.names]
    if missing:
        raise DataError(f"{file.name}: there is no column {', '.join(missing)}")
    row = 0
    for batch in opened.iter_batches(BATCH, columns=list(COLUMNS)):
        columns = [batch.column(name).cast(pa.string()).to_pylist() for name in COLUMNS]
        for texts in zip(*columns, strict=True):
            row += 1
            yield row, _query([text or "" for text in texts], [0, 1, 2])


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
                writer.write_table(rows)

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
