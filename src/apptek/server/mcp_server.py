"""The Model Context Protocol server, and its tools: each asks a model a question.

A tool is a function of the model and a request body. The body is usually the same as in the
HTTP request. The function returns a result from `results.py`, which also defines the result's
schema. A tool's docstring is its manual.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial, wraps
from inspect import Parameter, Signature, getdoc, signature
from pathlib import Path
from typing import Annotated, Any, cast

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import BaseModel, Field, ValidationError, create_model

from apptek import __version__, results
from apptek.errors import ApptekError
from apptek.explain.explainer import explain as explain_query
from apptek.present.explanation_words import answer_notes
from apptek.present.wording import CONDITION, shortened
from apptek.results import Note, Reason, described, extended, record, to_dict
from apptek.safe_text import printable
from apptek.server import answers, forecasts, model_info, requests, timelines
from apptek.server.forecasts import NOT_EVENTS
from apptek.server.problem_json import AS_DETAILED, MAX_QUOTED, UNKNOWN_FIELD, Problem, ServiceError
from apptek.server.served_model import FAR_TIME, ServedModel
from apptek.server.watch import EVENTS, WatchedPairs, watched_pairs
from apptek.server.workers import RequestLimits, WorkerPool
from apptek.terminal import tell

READS_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
# Advice in HTTP problems refers to HTTP addresses; tools need different advice.
_ADVICE = {
    "Unknown entity": "Find valid names with search_entities.",
    "Unknown predicate": "predict and history show the data's predicates.",
    NOT_EVENTS: "Give only one of `predicate`, `class` and `group`.",
    FAR_TIME: "history shows the dates of facts between two entities.",
}
FACTS = 8  # number of facts cited for each reason
PATIENCE = 15.0  # maximum time for a list, in seconds
WINDOW = ("start", "until", "days", "hours", "minutes", "months", "years", "steps")


@dataclass(frozen=True, slots=True)
class ModelTool:
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
    (answer,) = answers.predict(served, body).answers
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
    ModelTool(model_info.search_entities, ("q", "limit")),
    ModelTool(predict, (*PAIR, "time", "view", "top", "coverage", "suppose")),
    ModelTool(explain, (*PAIR, "time", "predicate", "against", "view", "suppose")),
    ModelTool(forecasts.forecast, (*PAIR, *WINDOW, *EVENTS, "top", "suppose")),
    ModelTool(forecasts.partners, ("actor", "members", *WINDOW, *EVENTS, "top")),
    ModelTool(forecasts.rank_entities, (*PAIR, "predicate", "time", "top")),
    ModelTool(watch, ("entity", "country", "alert", *WINDOW, *EVENTS, "limit")),
    ModelTool(timelines.history, (*PAIR, "start", "until", "offset", "limit")),
)


class ModelServer(MCPServer[Any]):
    """An MCPServer that describes each error on a single line."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool and shorten its errors, because pydantic adds a line and a URL to each."""
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(_wrong_argument(cause)) from None
            raise cause if isinstance(cause, ToolError) else error from None


def create_server(served: ServedModel, limits: RequestLimits | None = None) -> ModelServer:
    """Return the MCP server for a served model. Answers are computed in threads, within limits."""
    pool = WorkerPool(limits or RequestLimits(workers=os.cpu_count() or 1))
    return ModelServer(
        "apptek",
        title="APPTeK",
        version=__version__,
        instructions=instructions(served),
        tools=[_strict_tool(_in_pool(pool, tool.of(served))) for tool in TOOLS],
        log_level="WARNING",
    )


def instructions(served: ServedModel) -> str:
    """Return what an assistant should know before using the tools."""
    data, facts = served.model.dataset, served.model.graph.facts
    return (
        f"A model of {len(facts):,} dated facts (subject, predicate, object, time) of "
        f"{printable(data.name)!r}, {data.span_of(facts)}. Write a time as "
        f"{data.axis.expected}, or ? if it is unknown. Use names from search_entities. "
        "The probabilities from predict and explain are conditional on an event; forecast returns "
        "the chance of an event. After the last fact, and with the view past_only, only earlier "
        "facts are used. Cite the facts that a tool returns, with their dates."
    )


def _in_pool(pool: WorkerPool, ask: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a tool: run it in a thread, and raise a ToolError if a query cannot be answered."""

    @wraps(ask)
    async def tool(**arguments: Any) -> Any:
        try:
            return await pool.run(partial(ask, **arguments))
        except ServiceError as error:
            raise ToolError(_told(error.body)) from None
        except ApptekError as error:
            raise ToolError(printable(str(error))) from None

    return tool


def _strict_tool(ask: Callable[..., Any]) -> Tool:
    """Return a tool that rejects unknown arguments instead of ignoring them."""
    tool = Tool.from_function(ask, annotations=READS_ONLY, structured_output=True)
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    tool.parameters = arguments.model_json_schema(by_alias=True)
    return tool


def _told(problem: Problem) -> str:
    offered = {name: "; ".join(names) for name, names in problem.unknown.items() if names}
    similar = f" Did you mean {'; '.join(problem.suggestions)}?" if problem.suggestions else ""
    if len(problem.unknown) > 1:
        similar = "".join(f" Similar to {printable(name)}: {offered[name]}." for name in offered)
    where = f"{problem.where}: " if problem.where and len(problem.unknown) < 2 else ""
    advice = "" if problem.advice == AS_DETAILED else problem.advice
    return f"{where}{problem.detail}{similar} {_ADVICE.get(problem.title, advice)}".rstrip()


def _wrong_argument(error: ValidationError) -> str:
    first, *others = error.errors()
    where = ".".join(map(str, first["loc"]))
    more = f" (and {len(others)} more)" if others else ""
    if first["type"] == UNKNOWN_FIELD:
        return printable(f"unknown argument '{shortened(where, MAX_QUOTED)}'{more}.")
    found = shortened(repr(first["input"]), MAX_QUOTED) if first["type"] != "missing" else "nothing"
    return printable(f"{where}: {first['msg']}, found {found}{more}.")


def serve(folder: Path) -> None:
    """Serve a model over standard input and output until the input ends."""
    server = create_server(ServedModel.open(folder))
    tell("the model is served over standard input and output (press Ctrl+C to stop)")
    server.run("stdio")
