"""Every address of the service. A new one is a function here: parse, one call, one dataclass.

The parameters after `served` are those of the request (a body is a class of `requests.py`), the
return type is the schema of the response, and the docstring is what OpenAPI says about it.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal, TypeVar, get_args

import numpy as np
from fastapi import FastAPI, Path, Query, Response

from apptek import __version__
from apptek.config import View
from apptek.explain.counterfactual import counterfactual
from apptek.explain.explainer import contrast
from apptek.forecast.window import Window
from apptek.results import ActorForecast, Contrast, Counterfactual, EntityRanking, Forecast
from apptek.server import answers, lists, model_info, timelines
from apptek.server.arrow_batches import add_arrow_predictions
from apptek.server.forecasts import (
    Outlook,
    make_forecast,
    make_partners,
    make_ranking,
    outlook,
)
from apptek.server.questions import Questions, find_questions, striking_questions
from apptek.server.request_metrics import add_metrics
from apptek.server.requests import (
    ContrastBody,
    CounterfactualBody,
    EntitiesBody,
    ExplainBody,
    ForecastBody,
    PartnersBody,
    PredictBody,
    StepsBody,
    WatchBody,
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
)
from apptek.server.ribbon import Ribbon, ribbon
from apptek.server.served_model import ServedModel
from apptek.server.steps import Steps, explore
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


ROUTES: list[Route] = []


def _result_of(signature: inspect.Signature) -> Any:
    """Return what is sent as JSON, without the Response of a file."""
    kinds = get_args(signature.return_annotation)
    return kinds[0] if kinds else signature.return_annotation


def _route(method: str, path: str, tag: str, pool: Pool, *files: str) -> Callable[[Work], Work]:
    def add(work: Work) -> Work:
        ROUTES.append(Route(method, path, tag, pool, work, files))
        return work

    return add


_get, _post = partial(_route, "GET"), partial(_route, "POST")


def add_routes(app: FastAPI, served: ServedModel, limits: RequestLimits) -> None:
    """Add all routes, each with the threads of its pool."""
    pools: dict[str, WorkerPool] = {route.pool: WorkerPool(limits) for route in ROUTES}
    add_arrow_predictions(app, served, pools["answers"])  # first: the route of JSON takes any body
    for route in ROUTES:
        route.add_to(app, served, pools[route.pool])
    add_metrics(app, pools)


@_get("/api/health", "model", "health")
def health(served: ServedModel) -> Health:
    """Return the state of the service."""
    # Up even if the model's folder is gone: it has a copy of its own.
    on_disk = (served.folder / "model.json").exists()
    return Health(version=__version__, model=served.digest, model_on_disk=on_disk)


@_get("/api/model", "model", "information")
def model(served: ServedModel) -> ModelInfo:
    """Return data set, settings, metrics, counts and time span of the model, and sample queries."""
    return model_info.describe_model(served)


@_get("/api/entities", "names", "information")
def entities(
    served: ServedModel,
    q: Annotated[str, Query(max_length=10_000, description="The text to search for.")] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> Entities:
    """Return entities whose name, or a word in it, begins with the text; most frequent first."""
    return model_info.find_entities(served, q, limit)


@_get("/api/predicates", "names", "information")
def predicates(served: ServedModel) -> Predicates:
    """Return all predicates, and how often each is used."""
    return model_info.list_predicates(served)


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
) -> EntityTimeline:
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
) -> PairHistory:
    """Return the facts between two entities, in both directions."""
    window = timelines.read_window(served, since, to)
    return timelines.pair_history(served, subject, object_, window, limit)


@_post("/api/predict", "answers", "answers")
def predictions(served: ServedModel, body: PredictBody) -> Answers:
    """Return the most probable predicates for one query, or for a batch.

    A batch may also be an Arrow stream, and is then answered by an Arrow stream.
    """
    return answers.predict(served, body)


@_post("/api/explain", "answers", "answers")
def explanation(served: ServedModel, body: ExplainBody) -> ServedExplanation:
    """Explain a predicate: contributions, the facts behind them, and a drawing of the graph."""
    return answers.explain(served, body)


@_post("/api/counterfactual", "answers", "answers")
def counterfactuals(served: ServedModel, body: CounterfactualBody) -> Counterfactual:
    """Return a small set of facts whose removal changes the answer."""
    question = served.question(body, body.view, allow_unknown=body.allow_unknown)
    served.check_predicates(to=body.target)
    found = counterfactual(
        question.answerer, question.query, body.target, add=body.add, queries=question.ids
    )
    return replace(found, similar=question.similar)


@_post("/api/contrast", "answers", "answers")
def contrasts(served: ServedModel, body: ContrastBody) -> Contrast:
    """Compare the answers at two times, with the reasons at both."""
    question = served.question(body, body.view, allow_unknown=body.allow_unknown)
    versus = served.time(body.versus, "versus")
    served.check_near(versus, "versus")
    served.check_predicates(predicate=body.predicate, against=body.against)
    both = replace(
        question.ids.take(np.zeros(2, np.int64)),
        times=np.asarray([question.time, versus], np.int32),
    )
    found = contrast(
        question.answerer, question.query, body.versus, body.predicate, body.against, both
    )
    return replace(found, similar=question.similar)


@_post("/api/forecast", "answers", "answers")
def forecasts(served: ServedModel, body: ForecastBody) -> Forecast:
    """Forecast whether an event happens between two entities in a window, and what kind."""
    return make_forecast(served, body)


@_post("/api/partners", "answers", "answers")
def partners(served: ServedModel, body: PartnersBody) -> ActorForecast:
    """Whom an actor will act on in a window, and who will act on it, most probable first."""
    return make_partners(served, body)


@_post("/api/rank-entities", "answers", "answers")
def ranked_entities(served: ServedModel, body: EntitiesBody) -> EntityRanking:
    """Rank the entities for the missing subject or object of a fact."""
    return make_ranking(served, body)


@_get("/api/watch", "lists", "page", *lists.FILES.values())
def watch_list(
    served: ServedModel, body: Annotated[WatchBody, Query()]
) -> lists.WatchedPairs | Response:
    """Return the pairs whose chance of an event changes most in a window.

    While the pairs are compared, `ready` is false: send the request again.
    """
    work = lists.watched_pairs if body.format == "json" else lists.watch_file
    return work(served, body, PATIENCE)


@_get("/api/audit", "lists", "page")
def audit_list(served: ServedModel) -> lists.SuspectFacts:
    """Return the facts that look wrong. `ready` is false until they are found: ask again."""
    return lists.suspect_facts(served, PATIENCE)


@_get("/api/ribbon", "histories", "page")
def pair_ribbon(
    served: ServedModel,
    subject: Subject,
    object_: Object,
    since: Annotated[str | None, Query(alias="from", max_length=100)] = None,
    to: Annotated[str | None, Query(max_length=100)] = None,
    view: Annotated[
        View, Query(description="past_only: use only facts before each time.")
    ] = "all_facts",
) -> Ribbon:
    """Return the answers about a pair over a range of times, in both directions."""
    window = timelines.read_window(served, since, to)
    if to is None:
        window = Window(window.first, max(window.last, served.span.last) + served.beyond)
    return ribbon(served, served.pair(subject, object_), window, view)


@_get("/api/questions", "names", "page")
def questions(
    served: ServedModel,
    q: Annotated[str, Query(max_length=10_000, description="Names and events.")] = "",
    limit: Annotated[int, Query(ge=1, le=50)] = 8,
) -> Questions:
    """Return pairs whose facts match some words; without words, a few well answered queries.

    `ready` is false until these are found: ask again.
    """
    if q.strip():
        return find_questions(served, q, limit)
    work = served.background.start("questions", partial(striking_questions, served))
    return within(PATIENCE, work) or Questions(ready=False, questions=[])


@_post("/api/outlook", "answers", "page")
def pair_outlook(served: ServedModel, body: ForecastBody) -> Outlook:
    """Return a forecast, and how often similar forecasts came true."""
    return outlook(served, body)


@_post("/api/steps", "histories", "page")
def exploration(served: ServedModel, body: StepsBody) -> Steps:
    """Return the entities that both sides reach by some predicates, and the next steps."""
    return explore(served, body)
