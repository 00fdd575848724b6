"""Answers to a file of queries: streamed in order, with bounded memory, and written atomically."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from apptek.databases import Database
from apptek.models.answer_tables import SCHEMA
from apptek.models.asked_queries import USUAL, good_rows_of
from apptek.predictor import Predictor
from apptek.present.tables import answer_writer
from apptek.reading.frames import QUERY_ROLES
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
        """Count the unknown names of the given queries, given one answer row per query."""
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

    def check(row: list[str]) -> None:
        predictor.model.dataset.axis.parse(row[2])
        predictor.answerer.entities.check(*row[:2], allow_unknown=True)

    rows_of_file = good_rows_of(queries, QUERY_ROLES, reading, check, answered.skipped)
    with answer_writer(out, predictor.model.dataset) as write:
        while batch := [Query(*row) for row in islice(rows_of_file, BATCH)]:
            rows = predictor.predict_table(batch, top=top, coverage=coverage)
            numbers = pa.array(rows.column("query").to_numpy() + answered.queries)
            rows = rows.set_column(0, SCHEMA.field("query"), numbers)
            write(rows)
            answered.count(rows.filter(pc.equal(rows.column("rank"), 1)))
            answered.queries += len(batch)
    return answered
