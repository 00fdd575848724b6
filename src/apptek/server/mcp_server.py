"""The Model Context Protocol server, which offers questions to a model as tools."""

import os
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import ValidationError

from apptek import __version__
from apptek.errors import ApptekError
from apptek.present.wording import shortened
from apptek.safe_text import printable
from apptek.server.forecasts import NOT_EVENTS
from apptek.server.mcp_tools import TOOLS
from apptek.server.problem_json import AS_DETAILED, MAX_QUOTED, UNKNOWN_FIELD, Problem, ServiceError
from apptek.server.served_model import FAR_TIME, ServedModel
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
