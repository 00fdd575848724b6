"""The command `serve`."""

from pathlib import Path
from typing import Annotated

import typer

from apptek.commands.options import ModelArgument, StrictNamesOption
from apptek.errors import ApptekError
from apptek.extras import require_service


def serve(
    model: ModelArgument,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0 picks a free one."),
    ] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            metavar="TEXT",
            envvar="APPTEK_TOKEN",
            help="The token that clients must send. Other users of this machine can see it in the "
            "list of processes: better write it to a file, or to this variable.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", metavar="FILE", help="A file whose first line is the token."),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Let other machines connect without a token.")
    ] = False,
    strict_names: StrictNamesOption = False,
) -> None:
    """Serve a model: a web page to explore it, and an HTTP interface under /api.

    Only this machine can connect unless --host says otherwise; then a token is needed.

    Example: `apptek serve model --port 8000`
    """
    require_service()
    from apptek.service.network.http_server import serve as run

    if token_file is not None:
        if token is not None:
            raise typer.BadParameter("give either --token (or APPTEK_TOKEN) or --token-file")
        token = _read_token(token_file)
    run(model, host, port, token, insecure=insecure, strict_names=strict_names)


def _read_token(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise ApptekError(f"the token cannot be read from {path}: {reason}") from None
