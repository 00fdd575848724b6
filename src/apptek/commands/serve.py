"""The commands `serve` and `mcp`."""

import gc
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from apptek.commands.options import ModelArgument, option, with_options
from apptek.errors import ApptekError
from apptek.extras import require_mcp, require_service

if TYPE_CHECKING:
    from apptek.server.http_server import Reach


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachOptions:
    """Who can connect to a service: every field is an option of `serve` and of `mcp`."""

    host: Annotated[str, option("--host", "The address to listen on.", "ADDRESS")] = "127.0.0.1"
    port: Annotated[
        int, option("--port", "The port; 0 picks a free one.", "N", min=0, max=65535)
    ] = 8000
    token: Annotated[
        str | None,
        option(
            "--token",
            "The token that clients must send. Other users of this machine can see it in the list "
            "of processes: a file or the environment variable is safer.",
            "TEXT",
            envvar="APPTEK_TOKEN",
        ),
    ] = None
    token_file: Annotated[
        Path | None, option("--token-file", "A file whose first line is the token.", "FILE")
    ] = None
    insecure: Annotated[
        bool, option("--insecure", "Let other machines connect without a token.")
    ] = False

    def reach(self) -> "Reach":
        """Return the options as the server takes them; the token may come from its file."""
        from apptek.server.http_server import Reach

        gc.set_threshold(700)  # Python's own: a service runs for long
        token = self.token
        if self.token_file is not None:
            if token is not None:
                raise typer.BadParameter("give either --token (or APPTEK_TOKEN) or --token-file")
            token = _read_token(self.token_file)
        return Reach(self.host, self.port, token, self.insecure)


REACH = tuple(field.name for field in fields(ReachOptions))


def takes_reach(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a service to a command, which gets them as its argument `options`."""
    return with_options(command, ReachOptions, "options", REACH)


@takes_reach
def serve(
    model: ModelArgument,
    log: Annotated[
        Literal["text", "json"],
        option("--log", "text: warnings; json: a JSON line for each request.", "FORMAT"),
    ] = "text",
    *,
    options: ReachOptions,
) -> None:
    """Serve a model: a web page to explore it, and an HTTP interface under /api.

    By default only this machine can connect. With --host other machines can, and need a token.

    Example: `apptek serve model --port 8000`
    """
    require_service()
    from apptek.server.http_server import serve as run

    run(model, options.reach(), log=log)


@takes_reach
def mcp(
    context: typer.Context,
    model: ModelArgument,
    http: Annotated[
        bool, option("--http", "Serve over HTTP at /mcp, with the options below.")
    ] = False,
    *,
    options: ReachOptions,
) -> None:
    """Serve a model's questions as tools for assistants: the Model Context Protocol.

    An assistant starts this command and talks to it over standard input and output. Its
    tools are search_entities, predict, explain, forecast, history and audit. With --http, by
    default only this machine can connect; with --host other machines can, and need a token.

    Example: `apptek mcp model`
    """
    require_mcp()
    from apptek.server.mcp_server import serve_http, serve_stdio

    if http:
        serve_http(model, options.reach())
        return
    for name in REACH:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(f"--{name.replace('_', '-')} needs --http")
    serve_stdio(model)


def _read_token(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise ApptekError(f"the token cannot be read from {path}: {reason}") from None
