"""The HTTP service: typed routes over a served model, and the pages of the explorer."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request, Response
from pydantic import BaseModel, BeforeValidator
from starlette.exceptions import HTTPException

from apptek import __version__
from apptek.service import catalogue, problems
from apptek.service.answers import explained, predict
from apptek.service.limits import Limits
from apptek.service.loaded_model import Served
from apptek.service.pages import read_pages
from apptek.service.problems import TITLES, ServiceError
from apptek.service.schemas import (
    Answers,
    Entities,
    EntityTimeline,
    ExplainBody,
    ExplanationOut,
    Health,
    ManyQuestions,
    ModelInfo,
    PairHistory,
    Predicates,
    PredictBody,
    Topologies,
)

ABOUT = """Which predicate holds between a subject and an object at a time, and why.

Errors are problem JSON (RFC 9457) that says what is wrong, where, and what to do."""
Limit = Annotated[int, Query(ge=1, le=5000, description="At most so many.")]
NameQuery = Annotated[str, Query(min_length=1, max_length=10_000)]
From = Annotated[str | None, Query(alias="from", max_length=100, description="The first time.")]
To = Annotated[str | None, Query(max_length=100, description="The last time.")]


class _Desk:
    """Where requests are worked on: a few at a time, none of them for too long.

    What is given up while it is being worked on keeps its worker until it is done.
    """

    def __init__(self, limits: Limits) -> None:
        self._seconds = limits.seconds
        self._workers = ThreadPoolExecutor(limits.workers)

    async def answer(self, work: Callable[[], BaseModel]) -> Response:
        """What the work gives, as JSON; a ServiceError where it takes too long."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._seconds):
                text = await loop.run_in_executor(self._workers, lambda: work().model_dump_json())
        except TimeoutError:
            raise ServiceError(
                503,
                TITLES[503],
                f"No answer within {self._seconds:g} seconds.",
                advice="Ask for less at once, or try again in a while.",
            ) from None
        return Response(text, media_type="application/json")


def create_app(served: Served, limits: Limits | None = None) -> FastAPI:
    """The app of a served model; `guarded` puts it behind its guard."""
    limits = limits or Limits()
    app = FastAPI(
        title="APPTeK",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        responses=problems.responses(400, 401, 408, 413, 422, 503),
    )
    problems.install(app)
    _add_catalogue(app, served, _Desk(limits))  # a desk of its own: names wait behind no batch
    _add_answers(app, served, _Desk(limits), limits)
    _add_pages(app)
    problems.describe(app)
    return app


def _add_catalogue(app: FastAPI, served: Served, desk: _Desk) -> None:
    missing = problems.responses(404)

    @app.get("/api/health", response_model=Health, tags=["model"])
    async def health() -> Response:
        """Whether the service answers."""
        return await desk.answer(partial(catalogue.health, served))

    @app.get("/api/model", response_model=ModelInfo, tags=["model"])
    async def model() -> Response:
        """Data set, settings, metrics, counts and time span of the model; sample queries."""
        return await desk.answer(partial(catalogue.model_info, served))

    @app.get("/api/entities", response_model=Entities, tags=["names"])
    async def entities(
        q: Annotated[str, Query(max_length=10_000, description="What was typed.")] = "",
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
    ) -> Response:
        """Entities whose name, or a word of it, begins with what was typed; most used first."""
        return await desk.answer(partial(catalogue.entities, served, q, limit))

    @app.get("/api/predicates", response_model=Predicates, tags=["names"])
    async def predicates() -> Response:
        """All predicates and how often each is used."""
        return await desk.answer(partial(catalogue.predicates, served))

    @app.get("/api/topologies", response_model=Topologies, tags=["model"], responses=missing)
    async def topologies(
        predicate: Annotated[str | None, Query(min_length=1, max_length=10_000)] = None,
        limit: Limit = 5,
    ) -> Response:
        """Mined topologies of each predicate, or of one."""
        return await desk.answer(partial(catalogue.topologies, served, predicate, limit))

    @app.get(
        "/api/entity/{name:path}/timeline",
        response_model=EntityTimeline,
        tags=["histories"],
        responses=missing,
    )
    async def timeline(
        name: Annotated[str, Path(min_length=1, max_length=10_000)],
        since: From = None,
        to: To = None,
        limit: Limit = 500,
    ) -> Response:
        """The training facts of an entity in the order of time."""
        within = catalogue.window(served, since, to)
        return await desk.answer(partial(catalogue.entity_timeline, served, name, within, limit))

    @app.get("/api/pair", response_model=PairHistory, tags=["histories"], responses=missing)
    async def pair(
        subject: NameQuery,
        object_: Annotated[str, Query(alias="object", min_length=1, max_length=10_000)],
        since: From = None,
        to: To = None,
        limit: Limit = 500,
    ) -> Response:
        """The training facts between two entities, in both directions."""
        within = catalogue.window(served, since, to)
        ask = partial(catalogue.pair_history, served, subject, object_, within, limit)
        return await desk.answer(ask)


def _add_answers(app: FastAPI, served: Served, desk: _Desk, limits: Limits) -> None:
    def few(body: Any) -> Any:
        """The body as it is; counted before its queries are looked at, as their errors cost."""
        queries = body.get("queries") if isinstance(body, dict) else None
        if isinstance(queries, list) and len(queries) > limits.batch:
            raise _too_large(f"at most {limits.batch:,} queries, not {len(queries):,}")
        return body

    @app.post("/api/predict", response_model=Answers, tags=["answers"])
    async def predictions(body: Annotated[PredictBody, BeforeValidator(few)]) -> Response:
        """The most probable predicates of one query, or of a batch."""
        if isinstance(body, ManyQuestions) and len(body.queries) * body.top > limits.pairs:
            raise _too_large(
                f"at most {limits.pairs:,} predicates to return, "
                f"not {len(body.queries):,} queries x top {body.top:,}"
            )
        return await desk.answer(partial(predict, served, body))

    @app.post("/api/explain", response_model=ExplanationOut, tags=["answers"])
    async def explanation(body: ExplainBody) -> Response:
        """Why a predicate: contributions, the facts behind them, and the drawn graphs."""
        return await desk.answer(partial(explained, served, body))


def _too_large(limit: str) -> ServiceError:
    return ServiceError(
        422,
        "The batch is too large",
        f"A batch has {limit}.",
        advice="Send it in several requests.",
        where="queries",
    )


def _add_pages(app: FastAPI) -> None:
    pages = read_pages()

    def send(request: Request, name: str) -> Response:
        if name not in pages:
            raise HTTPException(404, "there is no such page")
        return pages[name].response(request)

    @app.get("/", include_in_schema=False)
    async def explorer(request: Request) -> Response:
        return send(request, "index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return send(request, "docs.html")

    @app.get("/explorer/{name:path}", include_in_schema=False)
    async def file(request: Request, name: str) -> Response:
        return send(request, name)
