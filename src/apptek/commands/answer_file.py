"""Answers to a file of queries: streamed in order, with bounded memory, and written atomically."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from apptek.databases import Database
from apptek.errors import DataError, TimeFormatError, UnknownName
from apptek.models.answer_tables import SCHEMA
from apptek.models.asked_queries import USUAL, LeftOut, read_queries
from apptek.predictor import Predictor
from apptek.present.tables import answer_writer
from apptek.reading.options import ReadOptions
from apptek.results import Query

BATCH = 10_000  # queries per written batch


@dataclass(slots=True)
class AnsweredFile:
    """The number of answered queries, and what was unusual about the queries.

    skipped    the rows that were dropped, each with the reason
    names      the names that are not in the data
    unknown    the number of queries with such a name
    far_times  the number of queries with a time far from all facts
    """

    queries: int = 0
    skipped: list[str] = field(default_factory=list)
    names: Counter[str] = field(default_factory=Counter)
    unknown: int = 0
    far_times: int = 0

    def count(self, rows: pa.Table) -> None:
        """Count the unknown names of some queries, given one answer row per query."""
        unknown = {name: rows.column(f"meant_{name}").is_null() for name in ("subject", "object")}
        for name, is_unknown in unknown.items():
            self.names.update(rows.column(name).filter(is_unknown).to_pylist())
        self.unknown += pc.sum(pc.or_(unknown["subject"], unknown["object"])).as_py() or 0
        self.far_times += pc.sum(rows.column("far_time")).as_py() or 0


def answer_file(
    predictor: Predictor,
    queries: Path | Database,
    out: Path | Database,
    *,
    top: int = 10,
    coverage: float | None = None,
    reading: ReadOptions = USUAL,
) -> AnsweredFile:
    """Answer a file of queries and write the answers; return their number, and what was unusual.

    Answers are in the order of the queries, with `top` rows for each; column `query` numbers the
    queries from 1. With a coverage, the rows form a prediction set.
    """
    answered = AnsweredFile()
    numbered = _check(predictor, queries, reading, answered.skipped)
    with answer_writer(out, predictor.model.dataset) as write:
        while batch := list(islice(numbered, BATCH)):
            rows = predictor.predict_table(batch, top=top, coverage=coverage)
            numbers = pa.array(rows.column("query").to_numpy() + answered.queries)
            rows = rows.set_column(0, SCHEMA.field("query"), numbers)
            write(rows)
            answered.count(rows.filter(pc.equal(rows.column("rank"), 1)))
            answered.queries += len(batch)
    return answered


def _check(
    predictor: Predictor, file: Path | Database, reading: ReadOptions, left_out: list[str]
) -> Iterator[Query]:
    """Yield the valid queries. At an invalid one, raise an error, or skip it and note why."""
    entities = predictor.answerer.entities
    for line, query in read_queries(file, reading):
        problem = query if isinstance(query, str) else None
        if isinstance(query, Query):
            try:
                predictor.model.dataset.axis.parse(query.time)
                entities.check(query.subject, query.object, allow_unknown=True)
                yield query
                continue
            except (TimeFormatError, UnknownName) as error:
                problem = str(error).removesuffix(".")
        if not reading.skip_bad and not isinstance(problem, LeftOut):
            raise DataError(f"{file.name}:{line}: {problem}")
        left_out.append(f"{file.name}:{line}: {problem}")
