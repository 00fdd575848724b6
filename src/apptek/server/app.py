"""The app for a served model: its routes, errors, OpenAPI description and page."""

import mimetypes
from pathlib import Path

from fastapi import FastAPI, Response
from starlette.responses import FileResponse
from starlette.staticfiles import StaticFiles

from apptek import __version__
from apptek.present.template import DRAWING_STYLE
from apptek.server.problem_json import (
    add_error_handlers,
    describe_as_problem_json,
    problem_responses,
)
from apptek.server.routes import add_routes
from apptek.server.served_model import ServedModel
from apptek.server.workers import RequestLimits

ABOUT = """Which predicate holds between a subject and an object at a time, and why.

Errors are problem JSON (RFC 9457): what is wrong, where, and how to fix it."""
EXPLORER = Path(__file__).parent / "explorer"
mimetypes.add_type("text/javascript", ".js")  # on Windows, another type may be registered


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
