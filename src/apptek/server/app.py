"""The app for a served model: its routes, errors, OpenAPI description and page.

The parameter after `served` of a route's function receives the request body or query string. Its
type is a class in `requests.py`. The return type defines the response schema, and the docstring is
the OpenAPI description.
"""

import inspect
import mimetypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from fastapi import FastAPI, Query, Response
from starlette.responses import FileResponse
from starlette.staticfiles import StaticFiles

from apptek import __version__
from apptek.present.template import DRAWING_STYLE
from apptek.server import answers, forecasts, model_info, questions, steps, timelines, watch
from apptek.server.problem_json import (
    add_error_handlers,
    describe_as_problem_json,
    problem_responses,
)
from apptek.server.request_metrics import add_metrics
from apptek.server.served_model import ServedModel
from apptek.server.workers import RequestLimits, WorkerPool

ABOUT = """Predict which predicate connects two entities at a given time, and explain why.

Errors are problem JSON (RFC 9457): what is wrong, where, and how to fix it."""
EXPLORER = Path(__file__).parent / "explorer"
mimetypes.add_type("text/javascript", ".js")  # on Windows, another type may be registered
# Separate threads, so that names do not wait for batches, answers do not wait for lists, and health
# does not wait for anything.
Pool = Literal["health", "information", "answers", "page"]


@dataclass(frozen=True, slots=True)
class Route:
    """A route, the function that answers it, and the pool whose threads run the function."""

    method: Literal["GET", "POST"]
    path: str
    tag: str
    pool: Pool
    work: Callable[..., Any]
    files: tuple[str, ...] = ()  # additional media types besides JSON

    def add_to(self, app: FastAPI, served: ServedModel, pool: WorkerPool) -> None:
        """Add the route to a model's app."""
        signature = inspect.signature(partial(self.work, served))

        async def endpoint(**arguments: Any) -> Response:
            return await pool.answer(partial(self.work, served, **arguments))

        endpoint.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[self._parameter(each) for each in signature.parameters.values()]
        )
        endpoint.__doc__ = self.work.__doc__
        app.add_api_route(
            self.path, endpoint, methods=[self.method], tags=[self.tag],
            name=self.work.__name__, response_model=_result_of(signature),
            responses={200: {"content": {kind: {} for kind in self.files}}},
        )  # fmt: skip

    def _parameter(self, parameter: inspect.Parameter) -> inspect.Parameter:
        """Return a function parameter for FastAPI. With GET, it is read from the query string."""
        if self.method == "POST" or get_origin(parameter.annotation) is Annotated:
            return parameter
        return parameter.replace(annotation=Annotated[parameter.annotation, Query()])


ROUTES = (
    Route("GET", "/api/model", "model", "information", model_info.describe_model),
    Route("GET", "/api/predicates", "names", "information", model_info.list_predicates),
    Route("POST", "/api/predict", "answers", "answers", answers.predict),
    Route("POST", "/api/explain", "answers", "answers", answers.explain),
    Route("POST", "/api/counterfactual", "answers", "answers", answers.counterfactuals),
    Route("POST", "/api/forecast", "answers", "answers", forecasts.forecast),
    Route("POST", "/api/partners", "answers", "answers", forecasts.partners),
    Route("POST", "/api/rank-entities", "answers", "answers", forecasts.rank_entities),
    Route("GET", "/api/watch", "lists", "page", watch.watch_list, tuple(watch.FILES.values())),
    Route("POST", "/api/steps", "histories", "page", steps.explore),
    Route("GET", "/api/health", "model", "health", model_info.health),
    Route("GET", "/api/entities", "names", "information", model_info.search_entities),
    Route("GET", "/api/questions", "names", "page", questions.search),
    Route(
        "GET", "/api/entity/{name:path}/timeline", "histories", "information", timelines.timeline
    ),
    Route("GET", "/api/pair", "histories", "information", timelines.history),
    Route("GET", "/api/ribbon", "histories", "page", timelines.ribbon),
)


def _result_of(signature: inspect.Signature) -> Any:
    """Return the type that is sent as JSON, leaving out the Response type used for files."""
    kinds = get_args(signature.return_annotation)
    return kinds[0] if kinds else signature.return_annotation


def add_routes(app: FastAPI, served: ServedModel, limits: RequestLimits) -> None:
    """Add all routes. Each runs in the threads of its pool."""
    pools: dict[str, WorkerPool] = {route.pool: WorkerPool(limits) for route in ROUTES}
    for route in ROUTES:
        route.add_to(app, served, pools[route.pool])
    add_metrics(app, pools)


def create_app(served: ServedModel, limits: RequestLimits | None = None) -> FastAPI:
    """Return the app for a served model. `http_server` adds the middleware."""
    limits = limits or RequestLimits()
    app = FastAPI(
        title="APPTeK",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        responses=problem_responses(400, 401, 403, 404, 408, 413, 422, 503),
    )
    add_error_handlers(app)
    add_routes(app, served, limits)
    _add_page(app)
    describe_as_problem_json(app)
    return app


def _add_page(app: FastAPI) -> None:
    """Add the explorer's files, and the style sheet for drawings."""

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(EXPLORER / "index.html")

    @app.get("/explorer/drawing.css", include_in_schema=False)
    async def style() -> Response:
        return Response(DRAWING_STYLE, media_type="text/css")

    app.mount("/explorer", StaticFiles(directory=EXPLORER))
