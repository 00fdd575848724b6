"""Every address of the service, with the function that answers it.

Its parameters after `served` are those of the request (a body is a class of `requests.py`), the
return type is the schema of the response, and the docstring is what OpenAPI says about it.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal, TypeVar, get_args

from fastapi import FastAPI, Path, Query, Response

from apptek import __version__
from apptek.config import View
from apptek.explain.counterfactual import counterfactual
from apptek.forecast.window import Window
from apptek.results import Counterfactual
from apptek.server import (
    answers,
    forecasts,
    model_info,
    questions,
    requests,
    responses,
    ribbon,
    steps,
    timelines,
    watch,
)
from apptek.server.request_metrics import add_metrics
from apptek.server.served_model import ServedModel
from apptek.server.workers import RequestLimits, WorkerPool, within

Work = TypeVar("Work", bound=Callable[..., Any])
# Each has its own threads: names wait for no batch, answers for no list, health for nothing.
Pool = Literal["health", "information", "answers", "page"]
Limit = Annotated[int, Query(ge=1, le=5000, description="The largest number to return.")]
Subject = Annotated[str, Query(min_length=1, max_length=10_000)]
Object = Annotated[str, Query(alias="object", min_length=1, max_length=10_000)]
From = Annotated[str | None, Query(alias="from", max_length=100, description="The first time.")]
To = Annotated[str | None, Query(max_length=100, description="The last time.")]
PATIENCE = 2.0  # seconds that a request waits for background work


@dataclass(frozen=True, slots=True)
class Route:
    """An address, and the function that answers it in a thread of a pool."""

    method: str
    path: str
    tag: str
    pool: Pool
    work: Callable[..., Any]
    files: tuple[str, ...] = ()  # media types that it can send besides JSON

    def add_to(self, app: FastAPI, served: ServedModel, pool: WorkerPool) -> None:
        """Add the route to the app of a model."""
        signature = inspect.signature(partial(self.work, served))

        async def endpoint(**arguments: Any) -> Response:
            return await pool.answer(partial(self.work, served, **arguments))

        endpoint.__signature__ = signature  # type: ignore[attr-defined]
        endpoint.__doc__ = self.work.__doc__
        app.add_api_route(
            self.path, endpoint, methods=[self.method], tags=[self.tag],
            name=self.work.__name__, response_model=_result_of(signature),
            responses={200: {"content": {kind: {} for kind in self.files}}},
        )  # fmt: skip


ROUTES: list[Route] = [
    Route("GET", "/api/model", "model", "information", model_info.describe_model),
    Route("GET", "/api/predicates", "names", "information", model_info.list_predicates),
    Route("POST", "/api/predict", "answers", "answers", answers.predict),
    Route("POST", "/api/explain", "answers", "answers", answers.explain),
    Route("POST", "/api/forecast", "answers", "answers", forecasts.forecast),
    Route("POST", "/api/partners", "answers", "answers", forecasts.partners),
    Route("POST", "/api/rank-entities", "answers", "answers", forecasts.rank_entities),
    Route("POST", "/api/outlook", "answers", "page", forecasts.outlook),
    Route("POST", "/api/steps", "histories", "page", steps.explore),
]


def _result_of(signature: inspect.Signature) -> Any:
    """Return what is sent as JSON, without the Response of a file."""
    kinds = get_args(signature.return_annotation)
    return kinds[0] if kinds else signature.return_annotation


def _route(method: str, path: str, tag: str, pool: Pool, *files: str) -> Callable[[Work], Work]:
    def add(work: Work) -> Work:
        ROUTES.append(Route(method, path, tag, pool, work, files))
        return work

    return add


_get = partial(_route, "GET")


def add_routes(app: FastAPI, served: ServedModel, limits: RequestLimits) -> None:
    """Add all routes, each with the threads of its pool."""
    pools: dict[str, WorkerPool] = {route.pool: WorkerPool(limits) for route in ROUTES}
    for route in ROUTES:
        route.add_to(app, served, pools[route.pool])
    add_metrics(app, pools)


@_get("/api/health", "model", "health")
def health(served: ServedModel) -> responses.Health:
    """Return the state of the service."""
    # Up even if the model's folder is gone: it has a copy of its own.
    on_disk = (served.folder / "model.json").exists()
    return responses.Health(version=__version__, model=served.digest, model_on_disk=on_disk)


@_get("/api/entities", "names", "information")
def entities(
    served: ServedModel,
    q: Annotated[str, Query(max_length=10_000, description="The text to search for.")] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> responses.Entities:
    """Return entities whose name, or a word in it, begins with the text; most frequent first."""
    return model_info.find_entities(served, q, limit)


@_get("/api/entity/{name:path}/timeline", "histories", "information")
def timeline(
    served: ServedModel,
    name: Annotated[str, Path(min_length=1, max_length=10_000)],
    since: From = None,
    to: To = None,
    limit: Limit = 500,
    members: Annotated[
        bool, Query(description="Whether Police (Egypt), Citizen (Egypt), ... count as Egypt.")
    ] = False,
) -> responses.EntityTimeline:
    """Return the facts of an entity, in order of time, and what it does and receives as counts."""
    window = timelines.read_window(served, since, to)
    return timelines.entity_timeline(served, name, window, limit, members=members)


@_get("/api/pair", "histories", "information")
def pair(
    served: ServedModel,
    subject: Subject,
    object_: Object,
    since: From = None,
    to: To = None,
    limit: Limit = 500,
) -> responses.PairHistory:
    """Return the facts between two entities, in both directions."""
    window = timelines.read_window(served, since, to)
    return timelines.pair_history(served, subject, object_, window, limit)


@_route("POST", "/api/counterfactual", "answers", "answers")
def counterfactuals(served: ServedModel, body: requests.CounterfactualBody) -> Counterfactual:
    """Return a small set of facts whose removal changes the answer."""
    question = served.question(body, body.view, allow_unknown=body.allow_unknown)
    served.check_predicates(to=body.target)
    found = counterfactual(
        question.answerer, question.query, body.target, add=body.add, queries=question.ids
    )
    return replace(found, similar=question.similar)


@_get("/api/watch", "lists", "page", *watch.FILES.values())
def watch_list(
    served: ServedModel, body: Annotated[requests.WatchBody, Query()]
) -> watch.WatchedPairs | Response:
    """Return the pairs whose chance of an event changes most in a window.

    While the pairs are compared, `ready` is false: send the request again.
    """
    work = watch.watched_pairs if body.format == "json" else watch.watch_file
    return work(served, body, PATIENCE)


@_get("/api/ribbon", "histories", "page")
def pair_ribbon(
    served: ServedModel,
    subject: Subject,
    object_: Object,
    since: From = None,
    to: To = None,
    view: Annotated[
        View, Query(description="past_only: use only facts before each time.")
    ] = "all_facts",
) -> ribbon.Ribbon:
    """Return the answers about a pair over a range of times, in both directions."""
    window = timelines.read_window(served, since, to)
    if to is None:
        window = Window(window.first, max(window.last, served.span.last) + served.beyond)
    return ribbon.ribbon(served, served.pair(subject, object_), window, view)


@_get("/api/questions", "names", "page")
def search(
    served: ServedModel,
    q: Annotated[str, Query(max_length=10_000, description="Names and events.")] = "",
    limit: Annotated[int, Query(ge=1, le=50)] = 8,
) -> questions.Questions:
    """Return pairs whose facts match some words; without words, a few well answered queries.

    `ready` is false until these are found: ask again.
    """
    if q.strip():
        return questions.find_questions(served, q, limit)
    work = served.background.start("questions", partial(questions.striking_questions, served))
    return within(PATIENCE, work) or questions.Questions(ready=False, questions=[])
