"""Queries as text, given in Python or as the rows of a file.

The functions that read files import their readers lazily, so that predictions start faster.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from apptek.databases import Database
from apptek.errors import ApptekError, DataError
from apptek.facts.calendar import SECONDS
from apptek.facts.facts import Dataset, Facts
from apptek.facts.times import TimeAxis
from apptek.reading.frames import is_frame, read_query_texts
from apptek.reading.options import ReadOptions
from apptek.reading.time_votes import without_midnight, without_midnights
from apptek.results import Query

USUAL = ReadOptions()


def query_of_fact(data: Dataset, facts: Facts, row: int) -> Query:
    """Return the query that a fact answers."""
    return Query(
        data.entities[int(facts.subjects[row])],
        data.entities[int(facts.objects[row])],
        data.axis.format(int(facts.times[row])),
    )


def asked_queries(asked: Any, axis: TimeAxis) -> list[Query]:
    """Return queries from a Query, from tuples (subject, object, time), or from a frame.

    A frame needs the columns subject, object and time. Raise ApptekError for anything else. If the
    axis has days or longer units, midnight means that day.
    """
    queries = queries_in(asked)
    if axis.unit in SECONDS:
        return queries
    return [replace(query, time=without_midnight(query.time)) for query in queries]


def queries_in(asked: Any) -> list[Query]:
    """Return queries from the inputs that `asked_queries` accepts, with the times as given."""
    if is_frame(asked):
        return [Query(*texts) for texts in read_query_texts(asked)]
    if is_single(asked):
        asked = [asked]
    is_parts = isinstance(asked, tuple) and all(isinstance(part, str) for part in asked)
    if is_parts or isinstance(asked, str | Mapping) or not isinstance(asked, Iterable):
        raise _no_query(asked)
    return [one_query(query) for query in asked]


def is_single(asked: Any) -> bool:
    """Return whether the input is a single question: a Query or a tuple (subject, object, time)."""
    return isinstance(asked, Query) or (isinstance(asked, tuple) and _is_query(asked))


def one_query(asked: Any) -> Query:
    """Return a Query from a Query or a tuple (subject, object, time), or raise ApptekError."""
    if isinstance(asked, Query):
        return asked
    if isinstance(asked, tuple | list | np.ndarray) and _is_query(asked):
        return Query(*asked)
    raise _no_query(asked)


def _is_query(asked: Any) -> bool:
    return len(asked) == 3 and isinstance(asked[0], str) and isinstance(asked[1], str)


def _no_query(asked: Any) -> ApptekError:
    return ApptekError(
        f"found {asked!r}, expected a query: Query or tuple (subject, object, time); None "
        "means an unknown time"
    )


class LeftOut(str):
    """The reason why a row of an event dump is not a query. The row is skipped without an error."""

    __slots__ = ()


def good_rows_of(
    file: Path | Database, names: tuple[str, ...], options: ReadOptions,
    check: Callable[[list[str]], None], left_out: list[str], advice: str = "",
) -> Iterator[list[str]]:  # fmt: skip
    """Yield the valid rows of a file. At an invalid row, raise DataError, or skip it and note why.

    check     raises an ApptekError for an invalid row
    left_out  receives the skipped rows
    """
    for line, row in read_rows(file, names, options):
        problem = row
        if not isinstance(row, str):
            try:
                check(row)
                yield row
                continue
            except ApptekError as error:
                problem = str(error).removesuffix(".")
        if not options.skip_bad and not isinstance(problem, LeftOut):
            raise DataError(f"{file.name}:{line}: {problem}{advice}")
        left_out.append(f"{file.name}:{line}: {problem}")


def read_rows(
    file: Path | Database, names: tuple[str, ...], options: ReadOptions = USUAL
) -> Iterator[tuple[int, list[str] | str]]:
    """Yield the line number and some columns of each row of a file, or the row's error.

    Columns are found by their names in the header. A file without a header must have exactly these
    columns. In an event dump, they are the columns of its facts.
    """
    from apptek.reading.dumps import lacks_name
    from apptek.reading.parts import good_rows
    from apptek.reading.sources import open_file

    content = open_file(file, options, names)
    for whole in content.parts:
        rows: list[tuple[int, list[str] | str]] = []
        part = replace(whole, table=whole.table.select(list(names)))
        if content.dump is not None:
            empty = lacks_name(part, names[:2])
            lines = np.asarray(part.numbers)[empty].tolist()
            rows += [(line, LeftOut("one of its actors is missing")) for line in lines]
            part = part.without(empty)
        part = good_rows(part, file.name, content.names)
        rows += [(bad.line, f"{bad.column}: found {bad.found}, expected {bad.expected}")
                 for bad in part.defects]  # fmt: skip
        columns = [column.cast(pa.string()).combine_chunks() for column in part.table.columns]
        columns[2:] = [without_midnights(column) for column in columns[2:]]
        cells = zip(*(column.to_pylist() for column in columns), strict=True)
        rows += [(int(n), list(row)) for n, row in zip(part.numbers, cells, strict=True)]
        yield from sorted(rows, key=lambda row: row[0])
