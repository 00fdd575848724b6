"""The app of a served model: its routes, errors and OpenAPI description, and the page."""

import hashlib
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import Depends, FastAPI, Request, Response
from starlette.exceptions import HTTPException

from apptek import __version__
from apptek.present.template import DRAWING_STYLE
from apptek.server.problem_json import (
    add_error_handlers,
    describe_as_problem_json,
    problem_responses,
    refuse_unknown_parameters,
)
from apptek.server.routes import add_routes
from apptek.server.served_model import ServedModel
from apptek.server.workers import RequestLimits

ABOUT = """Which predicate holds between a subject and an object at a time, and why.

Errors are problem JSON (RFC 9457): what is wrong, where, and what to do."""
MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


def create_app(served: ServedModel, limits: RequestLimits | None = None) -> FastAPI:
    """Return the app of a served model. `http_server` puts it behind its middleware."""
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
    add_routes(app, served, limits)
    _add_page(app)
    describe_as_problem_json(app)
    _add_examples(app, served)
    return app


def _add_examples(app: FastAPI, served: ServedModel) -> None:
    """Put example bodies into the OpenAPI description, about names and times of this model."""
    sample, times = served.samples[0], [query.time for query in served.samples]
    pair = {"subject": sample.subject, "object": sample.object}
    query = pair | {"time": sample.time}
    schemas = app.openapi()["components"]["schemas"]
    for name in ("QueryFields", "PredictQuery", "ExplainBody", "CounterfactualBody", "StepsBody"):
        schemas[name]["examples"] = [query]
    schemas["PredictBatch"]["examples"] = [{"queries": [query], "top": 3}]
    schemas["ContrastBody"]["examples"] = [query | {"versus": times[-1]}]
    schemas["ForecastBody"]["examples"] = [pair]


def _add_page(app: FastAPI) -> None:
    """Add the explorer's files. They are in memory: no path of a request reaches the disk."""
    contents = read_explorer_files()
    tags = {
        name: f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
        for name, content in contents.items()
    }

    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        return await file(request, "index.html")

    @app.get("/explorer/{name:path}", include_in_schema=False)
    async def file(request: Request, name: str) -> Response:
        if name not in contents:
            raise HTTPException(404, "there is no such page")
        headers = {"ETag": tags[name], "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tags[name]:
            return Response(status_code=304, headers=headers)
        kind = MEDIA_TYPES[name.rpartition(".")[2]]
        return Response(contents[name], headers=headers, media_type=kind)


def read_explorer_files() -> dict[str, bytes]:
    """Return every file by its path below /explorer/, and the style that drawings share."""
    contents = dict(_read_folder(files(__package__) / "explorer", ""))
    return contents | {"drawing.css": DRAWING_STYLE.encode()}


def _read_folder(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _read_folder(entry, f"{prefix}{entry.name}/")
        elif entry.name.rpartition(".")[2] in MEDIA_TYPES:
            yield prefix + entry.name, entry.read_bytes()
