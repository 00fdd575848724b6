"""Errors as problem JSON (RFC 9457): what, where, and what to do. Never a traceback."""

import logging
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from apptek.errors import ApptekError
from apptek.explain.wording import printable, shortened

MEDIA_TYPE = "application/problem+json"
SHOWN = 80  # characters of a name that are repeated
_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 408: {"Connection": "close"}}
_TAGS = {"one", "many"}  # of the two forms of a prediction's body


class Problem(BaseModel):
    """What went wrong, where, and what to do about it."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    where: str = Field(default="", description="The field or parameter, where there is one.")
    advice: str
    suggestions: list[str] = Field(default=[], description="Names like the one that is not known.")


class ServiceError(ApptekError):
    """An error that is answered with a status and a problem body."""

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        *,
        advice: str,
        where: str = "",
        suggestions: Sequence[str] = (),
    ) -> None:
        super().__init__(detail)
        self.body = Problem(
            title=title,
            status=status,
            detail=printable(detail),
            where=printable(where),
            advice=advice,
            suggestions=list(suggestions),
        )

    def response(self) -> Response:
        """The answer."""
        text = self.body.model_dump_json(exclude_defaults=False)
        headers = _HEADERS.get(self.body.status)
        return Response(text, self.body.status, headers, MEDIA_TYPE)


def quoted(name: str) -> str:
    """A name that a request gave, fit to be repeated."""
    return repr(shortened(printable(name), SHOWN))


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How a route describes its problems in the OpenAPI page."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": TITLES[status], "model": Problem, "content": content}
        for status in statuses
    }


def describe(app: FastAPI) -> None:
    """Takes out of the OpenAPI description that problems could be plain JSON."""
    for methods in app.openapi()["paths"].values():
        for about in methods.values():
            for status, response in about["responses"].items():
                if status != "200":
                    response["content"].pop("application/json", None)


TITLES = {
    400: "The request cannot be read",
    401: "A token is needed",
    404: "Not found",
    405: "Method not allowed",
    408: "The request did not arrive",
    413: "The request is too large",
    415: "Not JSON",
    422: "The request makes no sense as it is",
    500: "An error of the service",
    503: "The service is busy",
}
_ADVICE = {
    404: "See /docs for the addresses that exist.",
    405: "See /docs for the methods that each address takes.",
}


def install(app: FastAPI) -> None:
    """Makes every error of the app a problem."""

    @app.exception_handler(ServiceError)
    async def problem(_: Request, error: ServiceError) -> Response:
        return error.response()

    @app.exception_handler(ApptekError)
    async def known(_: Request, error: ApptekError) -> Response:
        advice = "Change the request as the detail says."
        return ServiceError(422, TITLES[422], str(error), advice=advice).response()

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return _invalid(error).response()

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        title = TITLES.get(error.status_code, "The request was refused")
        advice = _ADVICE.get(error.status_code, "See /docs for what the service takes.")
        detail = f"{request.method} {shortened(request.url.path, SHOWN)}: {error.detail}"
        return ServiceError(error.status_code, title, detail, advice=advice).response()

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        logging.getLogger("apptek.service").error("%s", request.url.path, exc_info=error)
        advice = "Try again; if it stays, report it with what the terminal of the service says."
        return ServiceError(500, TITLES[500], "Something unexpected.", advice=advice).response()


def _invalid(error: RequestValidationError) -> ServiceError:
    """The first thing that is wrong; how many more there are."""
    first, *others = error.errors()
    place = [str(part) for part in first["loc"] if part not in _TAGS]
    where = shortened(".".join(place), SHOWN)
    more = f" (and {len(others)} more)" if others else ""
    detail = f"{where}: {first['msg']}{more}"
    advice = "Send JSON as /docs describes it." if place[:1] == ["body"] else "See /docs."
    return ServiceError(422, TITLES[422], detail, advice=advice, where=where)
