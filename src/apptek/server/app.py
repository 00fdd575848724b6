"""The HTTP service: typed routes over a served model, and the explorer's pages."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Path, Query, Request, Response
from pydantic import BeforeValidator
from starlette.exceptions import HTTPException

from apptek import __version__
from apptek.results import Contrast, Counterfactual, Forecast
from apptek.server import model_info, timelines
from apptek.server.answers import (
    ForecastQuestion,
    contrast,
    counterfactual,
    explain,
    forecast,
    predict,
)
from apptek.server.arrow_batches import add_arrow_predictions
from apptek.server.explorer_files import read_explorer_files
from apptek.server.network.request_limits import RequestLimits
from apptek.server.page_data.routes import add_page_data
from apptek.server.problem_json import (
    add_error_handlers,
    describe_as_problem_json,
    problem_responses,
    refuse_unknown_parameters,
)
from apptek.server.requests import (
    ContrastBody,
    CounterfactualBody,
    ExplainBody,
    ForecastBody,
    PredictBatch,
    PredictBody,
)
from apptek.server.responses import (
    Answers,
    Entities,
    EntityTimeline,
    Health,
    ModelInfo,
    PairHistory,
    Predicates,
    ServedExplanation,
    Topologies,
)
from apptek.server.served_model import ServedModel
from apptek.server.workers import WorkerPool

ABOUT = """Which predicate holds between a subject and an object at a time, and why.

Errors are problem JSON (RFC 9457): what is wrong, where, and what to do."""
Limit = Annotated[int, Query(ge=1, le=5000, description="The largest number to return.")]
NameQuery = Annotated[str, Query(min_length=1, max_length=10_000)]
From = Annotated[str | None, Query(alias="from", max_length=100, description="The first time.")]
To = Annotated[str | None, Query(max_length=100, description="The last time.")]


def create_app(served: ServedModel, limits: RequestLimits | None = None) -> FastAPI:
    """The app of a served model. `http_server` puts it behind its middleware."""
    limits = limits or RequestLimits()
    app = FastAPI(
        title="APPTeK",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        responses=problem_responses(400, 401, 403, 404, 408, 413, 422, 429, 503),
        dependencies=[Depends(refuse_unknown_parameters)],
    )
    add_error_handlers(app)
    _add_health(app, served, WorkerPool(replace(limits, workers=1)))  # waits for nobody
    _add_information(app, served, WorkerPool(limits))  # its own pool: names wait for no batch
    _add_predictions(app, served, WorkerPool(limits), limits)
    add_page_data(app, served, WorkerPool(limits).answer)
    _add_pages(app)
    describe_as_problem_json(app)
    _add_examples(app, served)
    return app


def _add_examples(app: FastAPI, served: ServedModel) -> None:
    """Puts example bodies into the OpenAPI description, about names and times of this model."""
    sample, times = served.samples[0], [query.time for query in served.samples]
    pair = {"subject": sample.subject, "object": sample.object}
    query = pair | {"time": sample.time}
    schemas = app.openapi()["components"]["schemas"]
    for name in ("QueryFields", "PredictQuery", "ExplainBody", "CounterfactualBody", "StepsBody"):
        schemas[name]["examples"] = [query]
    schemas["PredictBatch"]["examples"] = [{"queries": [query], "top": 3}]
    schemas["ContrastBody"]["examples"] = [query | {"versus": times[-1]}]
    schemas["ForecastBody"]["examples"] = [pair]


def _add_health(app: FastAPI, served: ServedModel, pool: WorkerPool) -> None:
    @app.get("/api/health", response_model=Health, tags=["model"])
    async def health() -> Response:
        """Whether the service is up."""
        return await pool.answer(partial(model_info.health, served))


def _add_information(app: FastAPI, served: ServedModel, pool: WorkerPool) -> None:
    @app.get("/api/model", response_model=ModelInfo, tags=["model"])
    async def model() -> Response:
        """Data set, settings, metrics, counts and time span of the model, and sample queries."""
        return await pool.answer(partial(model_info.describe_model, served))

    @app.get("/api/entities", response_model=Entities, tags=["names"])
    async def entities(
        q: Annotated[str, Query(max_length=10_000, description="What was typed.")] = "",
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
    ) -> Response:
        """Entities whose name, or a word in it, begins with what was typed; most used first."""
        return await pool.answer(partial(model_info.find_entities, served, q, limit))

    @app.get("/api/predicates", response_model=Predicates, tags=["names"])
    async def predicates() -> Response:
        """All predicates, and how often each is used."""
        return await pool.answer(partial(model_info.list_predicates, served))

    @app.get("/api/topologies", response_model=Topologies, tags=["model"])
    async def topologies(
        predicate: Annotated[str | None, Query(min_length=1, max_length=10_000)] = None,
        limit: Annotated[int, Query(ge=1, le=100, description="How many of each predicate.")] = 5,
        offset: Annotated[
            int, Query(ge=0, le=1_000_000, description="How many of each predicate to pass over.")
        ] = 0,
    ) -> Response:
        """Mined topologies and largest weights of each predicate, or of one; page by page."""
        page = range(offset, offset + limit)
        return await pool.answer(partial(model_info.list_topologies, served, predicate, page))

    @app.get("/api/entity/{name:path}/timeline", response_model=EntityTimeline, tags=["histories"])
    async def timeline(
        name: Annotated[str, Path(min_length=1, max_length=10_000)],
        since: From = None,
        to: To = None,
        limit: Limit = 500,
    ) -> Response:
        """The facts of an entity, in order of time."""
        window = timelines.read_window(served, since, to)
        return await pool.answer(partial(timelines.entity_timeline, served, name, window, limit))

    @app.get("/api/pair", response_model=PairHistory, tags=["histories"])
    async def pair(
        subject: NameQuery,
        object_: Annotated[str, Query(alias="object", min_length=1, max_length=10_000)],
        since: From = None,
        to: To = None,
        limit: Limit = 500,
    ) -> Response:
        """The facts between two entities, in both directions."""
        window = timelines.read_window(served, since, to)
        work = partial(timelines.pair_history, served, subject, object_, window, limit)
        return await pool.answer(work)


def _add_predictions(
    app: FastAPI, served: ServedModel, pool: WorkerPool, limits: RequestLimits
) -> None:
    def check_batch_size(body: Any) -> Any:
        # Before pydantic looks at each query: millions of invalid ones would cost much memory.
        queries = body.get("queries") if isinstance(body, dict) else None
        if isinstance(queries, list):
            limits.check_batch(len(queries), 0)
        return body

    add_arrow_predictions(app, served, pool, limits)

    @app.post("/api/predict", response_model=Answers, tags=["answers"])
    async def predictions(
        body: Annotated[PredictBody, BeforeValidator(check_batch_size)],
    ) -> Response:
        """The most probable predicates for one query, or for a batch.

        A batch may also be an Arrow stream, and is then answered by an Arrow stream.
        """
        if isinstance(body, PredictBatch):
            limits.check_batch(len(body.queries), body.top)
        return await pool.answer(partial(predict, served, body))

    @app.post("/api/explain", response_model=ServedExplanation, tags=["answers"])
    async def explanation(body: ExplainBody) -> Response:
        """Why a predicate: contributions, the facts behind them, and a drawing of the graph."""
        return await pool.answer(partial(explain, served, body))

    @app.post("/api/counterfactual", response_model=Counterfactual, tags=["answers"])
    async def counterfactuals(body: CounterfactualBody) -> Response:
        """A small set of facts whose removal changes the answer."""
        return await pool.answer(partial(counterfactual, served, body))

    @app.post("/api/contrast", response_model=Contrast, tags=["answers"])
    async def contrasts(body: ContrastBody) -> Response:
        """What changes between two times: the reasons of the answer at both."""
        return await pool.answer(partial(contrast, served, body))

    @app.post("/api/forecast", response_model=Forecast, tags=["answers"])
    async def forecasts(body: ForecastBody) -> Response:
        """What will happen between two entities in a window, and whether anything will."""

        def work() -> Forecast:
            return forecast(served, ForecastQuestion.of(served, body), body.top)

        return await pool.answer(work)


def _add_pages(app: FastAPI) -> None:
    files = read_explorer_files()

    def send(request: Request, name: str) -> Response:
        if name not in files:
            raise HTTPException(404, "there is no such page")
        return files[name].response(request)

    @app.get("/", include_in_schema=False)
    async def explorer_page(request: Request) -> Response:
        return send(request, "index.html")

    @app.get("/explorer/{name:path}", include_in_schema=False)
    async def explorer_file(request: Request, name: str) -> Response:
        return send(request, name)
