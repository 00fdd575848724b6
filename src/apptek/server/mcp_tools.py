"""The tools for an assistant. Each asks a model a question, and its docstring is its manual.

A tool is a function of the model and a request body. The body usually matches the HTTP interface.
The function returns a result from `results.py`, where the result's schema is defined too.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from inspect import Parameter, Signature, getdoc, signature
from typing import Annotated, Any, cast

from pydantic import BaseModel, Field, create_model

from apptek import results
from apptek.explain.explainer import explain as explain_query
from apptek.present.explanation_words import answer_notes
from apptek.present.wording import CONDITION
from apptek.results import Note, Reason, described, extended, record, to_dict
from apptek.server import forecasts, model_info, requests, timelines
from apptek.server.served_model import ServedModel
from apptek.server.watch import WatchedPairs, watched_pairs

FACTS = 8  # number of facts cited for each reason
PATIENCE = 15.0  # maximum time for a list, in seconds
WINDOW = ("start", "until", "days", "hours", "minutes", "months", "years", "steps")
EVENTS = ("predicate", "class_", "group")


@dataclass(frozen=True, slots=True)
class Tool:
    """A question: the function that answers it, and the body fields that become tool arguments."""

    work: Callable[[ServedModel, Any], Any]
    arguments: tuple[str, ...]

    @property
    def body(self) -> type[BaseModel]:
        """The class of the body, which is the last parameter of the function."""
        *_, body = signature(self.work).parameters.values()
        return cast("type[BaseModel]", body.annotation)

    def of(self, served: ServedModel) -> Callable[..., Any]:
        """Return the tool for a model, as a function of its arguments."""

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


def _model_of(kind: Any) -> type[BaseModel]:
    """Return a version of a result type that a tool can return.

    The package `mcp` does not accept classes with slots.
    """
    described_fields: dict[str, Any] = {
        each.name: (each.type, Field(description=each.metadata.get("description")))
        for each in fields(kind)
    }
    return create_model(kind.__name__, __doc__=kind.__doc__, **described_fields)


@record
class Prediction(results.Answer):
    """An answer with its notes."""

    notes: tuple[Note, ...] = described(
        "What the probabilities assume, and other notes.", default=()
    )


def predict(served: ServedModel, body: requests.PredictQuery) -> Prediction:
    """Which predicate (kind of event or relation) holds between subject and object at a given time?

    Returns ranked predicates. Their probabilities are conditional on an event between the pair at
    that time. Use `forecast` for the chance that something happens. `known` contains the recorded
    predicates. With `coverage`, such as 0.9, returns the fewest predicates that contain the true
    one in this proportion of cases. With `suppose`, `what_if` compares the answers without and with
    the supposed facts.
    """
    asked = served.question(body, body.view, allow_unknown=False)
    ranked = asked.answerer.ranked(asked.ids)
    table = asked.answerer.table(ranked, top=body.top, coverage=body.coverage)
    (answer,) = table.answers([asked.query])
    answer = replace(answer, what_if=served.what_if(asked, body.suppose))
    return extended(Prediction, answer, notes=tuple(answer_notes(answer)))


def explain(served: ServedModel, body: requests.ExplainBody) -> results.Explanation:
    """Why does this predicate, and not another, hold between subject and object at a given time?

    Explains the most probable predicate, or `predicate`, compared with the runner-up, or with
    `against`. Each reason cites at most eight recorded facts: quote them with their dates. Small
    reasons are left out. With `suppose`, `what_if` contains the reasons that these facts would
    change.
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


def watch(served: ServedModel, body: requests.WatchBody) -> WatchedPairs:
    """Which pairs should be watched: whose chance of an event changes most in a window?

    For each pair, returns its chance, the chance in the previous window, the most probable
    predicates and the cause of the change. Changes below one percentage point are not listed. With
    `alert`, pairs that meet the rule are listed first, and `alerts` describes them. While `ready`
    is false, ask again.
    """
    return watched_pairs(served, body, PATIENCE)


PAIR = ("subject", "object")
TOOLS = (
    Tool(model_info.search_entities, ("q", "limit")),
    Tool(predict, (*PAIR, "time", "view", "top", "coverage", "suppose")),
    Tool(explain, (*PAIR, "time", "predicate", "against", "view", "suppose")),
    Tool(forecasts.forecast, (*PAIR, *WINDOW, *EVENTS, "top", "suppose")),
    Tool(forecasts.partners, ("actor", "members", *WINDOW, *EVENTS, "top")),
    Tool(forecasts.rank_entities, (*PAIR, "predicate", "time", "top")),
    Tool(watch, ("entity", "country", "alert", *WINDOW, *EVENTS, "limit")),
    Tool(timelines.history, (*PAIR, "start", "until", "offset", "limit")),
)
