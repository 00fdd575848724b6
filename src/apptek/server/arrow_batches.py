"""Batches of queries as Arrow streams, answered as Arrow streams: no JSON on the way.

A body of 4 MiB must not become gigabytes: rows and lengths of names are limited as in JSON, and
compressed streams are refused.
"""

from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from fastapi import FastAPI, Query, Request, Response
from fastapi.routing import APIRoute
from pyarrow import ipc
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import Scope

from apptek.config import View
from apptek.models.answer_tables import AskedColumns
from apptek.present.wording import shortened
from apptek.reading.frames import query_text_columns
from apptek.server.problem_json import MAX_QUOTED, ServiceError
from apptek.server.requests import check_batch
from apptek.server.served_model import ServedModel
from apptek.server.workers import WorkerPool

ARROW = "application/vnd.apache.arrow.stream"
MAX_NAME_BYTES = 10_000
# Every compressed part of a stream has one of these; texts and small numbers have neither.
_COMPRESSED = (b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")  # zstd, lz4


class _ArrowRoute(APIRoute):
    """A route for bodies that are Arrow streams; others are left to the route of JSON."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match the path, the method and the type of the body."""
        body_type = Headers(scope=scope).get("content-type", "") if scope["type"] == "http" else ""
        if body_type.partition(";")[0].strip().lower() != ARROW:
            return Match.NONE, {}
        return super().matches(scope)


def add_arrow_predictions(app: FastAPI, served: ServedModel, pool: WorkerPool) -> None:
    """Add the route. Call it before the route of JSON is added, which takes any body."""

    async def predictions(
        request: Request,
        top: Annotated[int, Query(ge=1, le=1000)] = 10,
        coverage: Annotated[float | None, Query(gt=0, lt=1)] = None,
        view: Annotated[View | None, Query()] = None,
    ) -> Response:
        body = await request.body()

        def work() -> bytes:
            queries = read_stream(body)
            check_batch(queries.num_rows, top)
            asked = AskedColumns(*query_text_columns(queries, "the body"))
            ids = served.batch(asked, lambda column, row: f"{column} of row {row + 1}")
            answerer = served.answerer(view)
            if coverage is not None:
                check_batch(len(ids), len(answerer.model.dataset.predicates))
            table = answerer.table(answerer.ranked(ids), top=top, coverage=coverage)
            return write_stream(table.arrow(asked))

        return Response(await pool.run(work), media_type=ARROW)

    app.router.add_api_route(
        "/api/predict", predictions, methods=["POST"], include_in_schema=False,
        route_class_override=_ArrowRoute,
    )  # fmt: skip


def read_stream(body: bytes) -> pa.Table:
    """Return the table of a body. Raises a ServiceError if it is damaged, too large or empty."""
    if any(mark in body for mark in _COMPRESSED):
        raise _not_valid("The body is compressed.", "Write the Arrow stream without compression.")
    batches: list[pa.RecordBatch] = []
    try:
        for batch in ipc.open_stream(body):
            check_batch(sum(part.num_rows for part in batches) + batch.num_rows, 0)
            batch.validate(full=True)
            _check_lengths(batch)
            batches.append(batch)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        said = f"The body cannot be read as {ARROW}: {shortened(reason, 2 * MAX_QUOTED)}"
        raise _not_valid(said) from None
    if not any(batch.num_rows for batch in batches):
        raise _not_valid("The body has no rows.")
    return pa.Table.from_batches(batches)


def _check_lengths(batch: pa.RecordBatch) -> None:
    """Refuse long texts before they are copied: many rows may share one that is stored once."""
    for column in batch.columns:
        texts = column.dictionary if pa.types.is_dictionary(column.type) else column
        if pa.types.is_string_view(texts.type):  # Arrow cannot measure these
            views = np.frombuffer(texts.buffers()[1], np.int32).reshape(-1, 4)
            longest = int(views[texts.offset : texts.offset + len(texts), 0].max(initial=0))
        elif pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type):
            longest = pc.max(pc.binary_length(texts)).as_py() or 0
        else:
            continue
        if longest > MAX_NAME_BYTES:
            raise _not_valid(f"A text has {longest:,} bytes; a name may have {MAX_NAME_BYTES:,}.")


def write_stream(table: pa.Table) -> bytes:
    """Write a table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _not_valid(detail: str, advice: str = "") -> ServiceError:
    advice = advice or "Send a table with the columns subject, object and time."
    return ServiceError(422, detail, advice=advice, where="body")
