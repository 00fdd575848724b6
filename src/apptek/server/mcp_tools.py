"""The tools of an assistant: each is a question to a model, and its docstring is the manual.

A tool is a function of the model and a body, which is mostly that of the same question over HTTP.
What it returns is a result of `results.py`, and so is the schema.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from inspect import Parameter, Signature, getdoc
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, create_model

from apptek import results
from apptek.arrays import Ints
from apptek.explain.explainer import explain as explain_query
from apptek.facts.times import UNKNOWN
from apptek.graph.lookups import dated_in, ends_of, facts_between
from apptek.present.explanation_words import answer_notes
from apptek.present.wording import CONDITION
from apptek.results import Note, Reason, described, extended, record, to_dict
from apptek.server import forecasts, requests
from apptek.server.model_info import find_entities
from apptek.server.requests import Name
from apptek.server.responses import Entities, Fact
from apptek.server.served_model import ServedModel
from apptek.server.timelines import describe_fact, read_window
from apptek.server.watch import WatchedPairs, watched_pairs

FACTS = 8  # cited with a reason
LATEST = 5  # facts cited with a forecast
PATIENCE = 15.0  # seconds that a list may take
Work = TypeVar("Work", bound=Callable[..., Any])
WINDOW = ("start", "until", "days", "hours", "minutes", "months", "years", "steps")
EVENTS = ("predicate", "class_", "group")
WindowTime = Annotated[str | None, Field(max_length=100)]


@dataclass(frozen=True, slots=True)
class Tool:
    """A question: the function that answers it, and the fields of its body that are arguments."""

    work: Callable[[ServedModel, Any], Any]
    body: type[BaseModel]
    arguments: tuple[str, ...]

    def of(self, served: ServedModel) -> Callable[..., Any]:
        """Return the tool of a model, as a function of its arguments."""

        def ask(**arguments: Any) -> Any:
            return to_dict(self.work(served, self.body(**arguments)))

        result = self.work.__annotations__["return"]
        if is_dataclass(result):
            result = _model_of(result)
        ask.__name__, ask.__doc__ = self.work.__name__, getdoc(self.work)
        ask.__signature__ = Signature(  # type: ignore[attr-defined]
            list(map(self._parameter, self.arguments)), return_annotation=result
        )
        return ask

    def _parameter(self, name: str) -> Parameter:
        field = self.body.model_fields[name]
        default = Parameter.empty if field.is_required() else field.default
        about = Field(description=field.description, alias=field.alias)
        kind: Any = Annotated[field.annotation, *field.metadata, about]
        return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


TOOLS: list[Tool] = []


def _tool(body: type[BaseModel], *arguments: str) -> Callable[[Work], Work]:
    def add(work: Work) -> Work:
        TOOLS.append(Tool(work, body, arguments or tuple(body.model_fields)))
        return work

    return add


def _model_of(kind: Any) -> type[BaseModel]:
    """Return a result as a class that a tool can return: the package `mcp` takes no slots."""
    described_fields: dict[str, Any] = {
        each.name: (each.type, Field(description=each.metadata.get("description")))
        for each in fields(kind)
    }
    return create_model(kind.__name__, __doc__=kind.__doc__, **described_fields)


class SearchBody(BaseModel):
    """A text to look for in names."""

    text: Annotated[str, Field(max_length=1000, description="A name, or words of it.")]
    limit: Annotated[int, Field(ge=1, le=100)] = 10


class HistoryBody(BaseModel):
    """A pair, a window and a page."""

    subject: Name
    object: Name
    since: Annotated[WindowTime, Field(description="The first time.")] = None
    until: Annotated[WindowTime, Field(description="The last time.")] = None
    offset: Annotated[int, Field(ge=0, description="`next_offset` of the page before.")] = 0
    limit: Annotated[int, Field(ge=1, le=200)] = 50


@record
class Prediction(results.Answer):
    """An answer with its notes."""

    notes: tuple[Note, ...] = described("What the probabilities assume, and more.", default=())


@record
class PairForecast(results.Forecast):
    """A forecast of a pair with its last facts."""

    latest: tuple[Fact, ...] = described("The last facts before the window.", default=())


@record
class HistoryPage:
    """Facts between two entities in both directions, in order of time; undated ones last."""

    subject: str
    object: str
    total: int
    facts: tuple[Fact, ...]
    next_offset: int | None = described("The start of the next page; null if this is the last.")


@_tool(SearchBody)
def search_entities(served: ServedModel, body: SearchBody) -> Entities:
    """Find entities by name: those whose name, or a word in it, begins with the text.

    The other tools take these names. `facts` is the number of facts of an entity. If
    nothing matches, `near` has similar names.
    """
    return find_entities(served, body.text, body.limit)


@_tool(requests.PredictQuery, "subject", "object", "time", "view", "top", "coverage", "suppose")
def predict(served: ServedModel, body: requests.PredictQuery) -> Prediction:
    """Which predicate (kind of event or relation) holds between subject and object at a time?

    Returns ranked predicates. Their probabilities are conditional on an event between the
    pair at that time: use `forecast` for the chance that something happens. `known` has the
    predicates that the data records. With `coverage`, such as 0.9, they are the fewest
    that contain the true predicate in this share of cases. With `suppose`, `what_if` compares the
    answer with that of a world in which these facts happen.
    """
    asked = served.question(body, body.view, allow_unknown=False)
    ranked = asked.answerer.ranked(asked.ids)
    table = asked.answerer.table(ranked, top=body.top, coverage=body.coverage)
    (answer,) = table.answers([asked.query])
    answer = replace(answer, what_if=served.what_if(asked, body.suppose))
    return extended(Prediction, answer, notes=tuple(answer_notes(answer)))


@_tool(requests.ExplainBody, "subject", "object", "time", "predicate", "against", "view", "suppose")
def explain(served: ServedModel, body: requests.ExplainBody) -> results.Explanation:
    """Why this predicate between subject and object at a time, and not another?

    Explains the most probable predicate, or `predicate`, compared with the runner-up, or
    with `against`. Each reason cites facts of the data, at most eight: quote them with their
    dates. Small reasons are left out. With `suppose`, `what_if` has the reasons that these facts
    would change.
    """
    asked = served.question(body, body.view, allow_unknown=False)
    served.check_predicates(predicate=body.predicate, against=body.against)
    why = explain_query(
        asked.answerer, asked.query, body.predicate, against=body.against, queries=asked.ids
    )
    changes = served.what_if(asked, body.suppose, body.predicate, against=body.against)
    sides: dict[str, Any] = {
        "reasons": tuple(map(_shortened, why.reasons)),
        "against": tuple(map(_shortened, why.against)),
        "notes": (Note("conditional", CONDITION), *why.notes),
    }
    return replace(why, what_if=changes, further=(), groups=(), **sides)


def _shortened(reason: Reason) -> Reason:
    return replace(reason, facts=reason.cited[0][:FACTS])


@_tool(requests.ForecastBody, "subject", "object", *WINDOW, *EVENTS, "top", "suppose")
def forecast(served: ServedModel, body: requests.ForecastBody) -> PairForecast:
    """Forecast whether an event will happen between two entities in a window, when, and what kind.

    Only facts before the window are used. `probability` is the chance of at least one fact,
    in either direction; `predicates` has the chance of each kind, `why` and the directions
    the reasons, `latest` the last facts of the pair before the window. `next_event` says when: the
    chance until each day and the median time, of the predicate, class or group if one is given.
    With `suppose`, `what_if` compares the chances without and with facts that are supposed to
    happen before.
    """
    made, graph = forecasts.forecast(served, body), served.model.graph
    facts = facts_between(graph, *served.pair(body.subject, body.object))
    starts, _ = ends_of(graph, facts)
    first = served.position(served.time(made.first, "from"))
    before = facts[(starts != UNKNOWN) & (starts < first)]
    return extended(PairForecast, made, latest=_facts(served, before[-LATEST:]))


@_tool(requests.PartnersBody, "actor", "members", *WINDOW, *EVENTS, "top")
def partners(served: ServedModel, body: requests.PartnersBody) -> results.ActorForecast:
    """Whom will an actor act on in a window of time, and who will act on it?

    Each partner has the chance of at least one such fact, the change against the window
    before, the most probable predicates, the median time to the next fact, and a reason.
    """
    return forecasts.partners(served, body)


@_tool(requests.EntitiesBody)
def rank_entities(served: ServedModel, body: requests.EntitiesBody) -> results.EntityRanking:
    """Which entity is the missing object, or the missing subject, of a fact at a time?

    Give the subject or the object. Probabilities presume that there is such a fact. Only facts
    before the time are used. Entities without evidence share `others_probability`.
    """
    return forecasts.rank_entities(served, body)


@_tool(requests.WatchBody, "entity", "country", "alert", *WINDOW, *EVENTS, "limit")
def watch(served: ServedModel, body: requests.WatchBody) -> WatchedPairs:
    """Which pairs should be watched: whose chance of an event changes most in a window?

    Each has its chance, that of the window before, the most probable predicates and the cause of
    the change. Changes below one percentage point are not listed. With `alert`, pairs that meet the
    rule come first, and `alerts` has them in words. While `ready` is false, ask again.
    """
    return watched_pairs(served, body, PATIENCE)


@_tool(HistoryBody)
def history(served: ServedModel, body: HistoryBody) -> HistoryPage:
    """Return the recorded facts between two entities, in both directions, by page.

    With `since` or `until`, only dated facts in that window.
    """
    graph, names = served.model.graph, served.model.dataset.entities
    pair = served.pair(body.subject, body.object)
    facts = facts_between(graph, *pair)
    if body.since is not None or body.until is not None:
        window = read_window(served, body.since, body.until, ("since", "until"))
        facts = dated_in(graph, facts, window.first, window.last)
    end = body.offset + body.limit
    return HistoryPage(
        subject=names[pair[0]],
        object=names[pair[1]],
        total=len(facts),
        facts=_facts(served, facts[body.offset : end]),
        next_offset=end if end < len(facts) else None,
    )


def _facts(served: ServedModel, facts: Ints) -> tuple[Fact, ...]:
    return tuple(describe_fact(served.model, fact) for fact in facts.tolist())
