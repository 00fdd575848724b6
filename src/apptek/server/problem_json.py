"""Errors as problem JSON (RFC 9457): what is wrong, where, and what to do. Never a traceback."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from apptek.errors import ApptekError, UnknownName
from apptek.present.wording import shortened
from apptek.safe_text import printable

MEDIA_TYPE = "application/problem+json"
MAX_QUOTED = 80  # maximum number of characters quoted from a client's text
TITLES = {
    400: "The request cannot be read",
    401: "A token is needed",
    403: "Not allowed from another site",
    404: "Not found",
    405: "Method not allowed",
    408: "The request was incomplete",
    413: "The request is too large",
    415: "Not JSON",
    422: "The request is not valid",
    500: "The service failed",
    503: "The service is busy",
}
# After 400, we do not know where the body ends. After 408, the body is unread. Close the
# connection.
_HEADERS = {
    400: {"Connection": "close"},
    401: {"WWW-Authenticate": "Bearer"},
    408: {"Connection": "close"},
}
AS_DETAILED = "Change the request as described in `detail`."  # where there is no other advice
UNKNOWN_FIELD = "extra_forbidden"  # pydantic's name of this error
_TAGS = {"one", "many"}  # pydantic adds the tag of PredictBody to an error's location


class Problem(BaseModel):
    """A problem: what is wrong, where, and what to do."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    where: str = Field(default="", description="The wrong field or parameter, if any.")
    advice: str
    suggestions: list[str] = Field(default=[], description="Names similar to an unknown name.")
    unknown: dict[str, list[str]] = Field(
        default={}, description="Similar names for each unknown name."
    )


class ServiceError(ApptekError):
    """An error that is sent to the client as a problem with an HTTP status."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        advice: str,
        title: str = "",
        where: str = "",
        unknown: Sequence[UnknownName] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.headers = {**_HEADERS.get(status, {}), **(headers or {})}
        self.body = Problem(
            title=title or TITLES.get(status, "The request was refused"),
            status=status,
            detail=printable(detail),
            where=printable(where),
            advice=advice,
            suggestions=list(unknown[0].suggestions) if unknown else [],
            unknown={each.name: list(each.suggestions) for each in unknown},
        )

    def response(self) -> Response:
        """Return the problem as an HTTP response."""
        return Response(
            self.body.model_dump_json(), self.body.status, self.headers, media_type=MEDIA_TYPE
        )


def problem_of(
    error: ApptekError,
    where: str = "",
    title: str = "",
    advice: str = AS_DETAILED,
) -> ServiceError:
    """Return the problem that describes a library error caused by a request."""
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, UnknownName):
        choice = "Choose one of the suggestions, or find" if error.suggestions else "Find"
        return ServiceError(
            404,
            error.sentence,
            advice=f"{choice} names with /api/entities?q=. "
            "If the request has `allow_unknown`, set it to get a generic answer.",
            where=where,
            unknown=(error, *error.others),
            title="Unknown entity",
        )
    message = str(error)
    detail = f"{message[:1].upper()}{message[1:]}."
    return ServiceError(422, detail, advice=advice, where=where, title=title)


@contextmanager
def refusing(where: str, *, title: str, advice: str) -> Iterator[None]:
    """Convert library errors caused by a request into problems."""
    try:
        yield
    except ApptekError as error:
        raise problem_of(error, where, title, advice) from None


def quoted(text: str) -> str:
    """Quote a client's text, made safe and short enough to repeat in an error."""
    return repr(shortened(printable(text), MAX_QUOTED))


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of the problems that a route can return."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": TITLES[status], "model": Problem, "content": content}
        for status in statuses
    }


def describe_as_problem_json(app: FastAPI) -> None:
    """Correct the OpenAPI description: FastAPI adds application/json for errors."""
    for methods in app.openapi()["paths"].values():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                if status != "200":
                    response["content"].pop("application/json", None)


def add_error_handlers(app: FastAPI) -> None:
    """Convert every error of the app into a problem."""

    @app.exception_handler(ApptekError)
    async def apptek_error(_: Request, error: ApptekError) -> Response:
        return problem_of(error).response()

    @app.exception_handler(RequestValidationError)
    async def validation_error(_: Request, error: RequestValidationError) -> Response:
        return _from_validation(error).response()

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        detail = f"{request.method} {shortened(request.url.path, MAX_QUOTED)}: {error.detail}"
        advice = "See /api/openapi.json for the existing addresses and their methods."
        status, headers = error.status_code, error.headers
        return ServiceError(status, detail, advice=advice, headers=headers).response()

    @app.exception_handler(Exception)
    async def unexpected_error(request: Request, error: Exception) -> Response:
        logging.getLogger("apptek.server").error("%s", request.url.path, exc_info=error)
        return ServiceError(
            500,
            "An unexpected error occurred.",
            advice="Try again. If it happens again, report it with the output of the service.",
        ).response()


def _from_validation(error: RequestValidationError) -> ServiceError:
    """Return the problem for the first invalid field, with the number of other invalid fields."""
    first, *others = error.errors()
    path = [str(part) for part in first["loc"] if part not in _TAGS]
    where = shortened(".".join(path), MAX_QUOTED)
    more = f" (and {len(others)} more)" if others else ""
    advice = (
        "Send JSON as /api/openapi.json describes it."
        if path[:1] == ["body"]
        else "See /api/openapi.json."
    )
    if first["type"] == UNKNOWN_FIELD:
        *within, name = path
        kind = "field" if within[:1] == ["body"] else "parameter"
        at = f" in {'.'.join(within)}" if len(within) > 1 else ""
        detail = f"unknown {kind} '{shortened(name, MAX_QUOTED)}'{at}{more}"
    else:
        detail = f"{where}: {first['msg']}{more}"
    return ServiceError(422, detail, advice=advice, where=where)
