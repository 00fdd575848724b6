"""The route of batches that are tables: the address of predictions, for other types of bodies."""

from typing import Annotated, Any

import pyarrow as pa
from fastapi import FastAPI, Query, Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import Scope

from apptek.config import View
from apptek.data.frames import query_text_columns
from apptek.service.network.request_limits import RequestLimits
from apptek.service.predict_explain import predict
from apptek.service.schemas.requests import PredictBatch, PredictQuery
from apptek.service.served_model import ServedModel
from apptek.service.tables.batches import (
    ARROW,
    JSON,
    PARQUET,
    answer_type,
    check_batch,
    predict_table,
    read_queries,
    write_table,
)
from apptek.service.worker_pool import WorkerPool

PATH = "/api/predict"


class _TableRoute(APIRoute):
    """A route for bodies that are tables; others are left to the route of JSON."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether the path, the method and the type of the body are those of this route."""
        if scope["type"] != "http" or _type_of(Headers(scope=scope)) not in (ARROW, PARQUET):
            return Match.NONE, {}
        return super().matches(scope)


def _type_of(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def add_table_predictions(
    app: FastAPI, served: ServedModel, pool: WorkerPool, limits: RequestLimits
) -> None:
    """Adds the route; to be called before that of JSON is added, which takes any body."""

    async def predictions(
        request: Request,
        top: Annotated[int, Query(ge=1, le=1000)] = 10,
        view: Annotated[View | None, Query()] = None,
    ) -> Response:
        body, body_type = await request.body(), _type_of(request.headers)
        wanted = answer_type(body_type, request.headers.get("accept", ""))

        options: dict[str, Any] = {"top": top, "view": view}

        def work() -> bytes:
            queries = read_queries(body, body_type, limits)
            check_batch(queries.num_rows, top, limits)
            if wanted == JSON:
                batch = _as_batch(queries, options)
                return predict(served, batch).model_dump_json(by_alias=True).encode()
            return write_table(predict_table(served, queries, **options), wanted)

        return Response(await pool.run(work), media_type=wanted)

    app.router.add_api_route(
        PATH, predictions, methods=["POST"], include_in_schema=False,
        route_class_override=_TableRoute,
    )  # fmt: skip


async def answer_as_table(
    served: ServedModel, pool: WorkerPool, body: PredictQuery | PredictBatch, wanted: str
) -> Response:
    """The answers to queries that came as JSON, as a table."""
    queries = body.queries if isinstance(body, PredictBatch) else [body]
    columns = {
        name: pa.array([getattr(query, name) for query in queries], pa.string())
        for name in ("subject", "object", "time")
    }

    options = body.model_dump(include={"top", "view"})

    def work() -> bytes:
        if isinstance(body, PredictQuery):
            served.query(body, allow_unknown=body.allow_unknown)
        return write_table(predict_table(served, pa.table(columns), **options), wanted)

    return Response(await pool.run(work), media_type=wanted)


def _as_batch(queries: pa.Table, options: dict[str, Any]) -> PredictBatch:
    texts = [column.cast(pa.string()) for column in query_text_columns(queries, "the body")]
    rows = pa.table(texts, names=["subject", "object", "time"]).to_pylist()
    return PredictBatch.model_validate({"queries": rows} | options)
