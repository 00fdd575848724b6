"""The commands `serve` and `mcp`."""

import gc
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from apptek.commands.options import ModelArgument, option, takes_options
from apptek.errors import ApptekError
from apptek.extras import require

if TYPE_CHECKING:
    from apptek.server.http_server import Reach


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachOptions:
    """Who can connect to the service."""

    host: str = option("--host ADDRESS", "The address to listen on.", "127.0.0.1")
    port: int = option("--port N", "The port. 0 picks a free port.", 8000, min=0, max=65535)
    token: str | None = option(
        "--token TEXT",
        "The token that clients must send. Other users of this machine can see it in the process "
        "list, so a file or the environment variable is safer.",
        envvar="APPTEK_TOKEN",
    )
    token_file: Path | None = option("--token-file FILE", "A file whose first line is the token.")
    insecure: bool = option("--insecure", "Allow other machines to connect without a token.", False)

    def reach(self) -> "Reach":
        """Return the options in the server's form, with the token read from its file if given."""
        from apptek.server.http_server import Reach

        gc.set_threshold(700)  # Python's default, because a service runs for a long time
        token = self.token
        if self.token_file is not None:
            if token is not None:
                raise typer.BadParameter("give either --token (or APPTEK_TOKEN) or --token-file")
            token = _read_token(self.token_file)
        return Reach(self.host, self.port, token, self.insecure)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The other options of `serve`."""

    model: ModelArgument
    log: Literal["text", "json"] = option(
        "--log FORMAT", "text: only warnings; json: a line of JSON for each request.", "text"
    )


@takes_options
def serve(options: ServeOptions, reach: ReachOptions) -> None:
    """Serve a model: a web page to explore it, and an HTTP interface under /api.

    By default, only this machine can connect. With --host, other machines can connect if they have
    a token.

    Example: `apptek serve model --port 8000`
    """
    require("the service needs", "serve", "fastapi", "uvicorn")
    from apptek.server.http_server import serve as run

    run(options.model, reach.reach(), log=options.log)


def mcp(model: ModelArgument) -> None:
    """Serve a model to assistants, as tools of the Model Context Protocol.

    An assistant starts this command and communicates with it over standard input and output. The
    tools are search_entities, predict, explain, forecast, partners, rank_entities, watch and
    history. For a model on another machine, configure the command `ssh HOST apptek mcp MODEL`.

    Example: `apptek mcp model`
    """
    require("the server for assistants needs", "mcp", "mcp", "fastapi", "uvicorn")
    from apptek.server.mcp_server import serve as run

    run(model)


def _read_token(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise ApptekError(f"the token cannot be read from {path}: {reason}") from None
