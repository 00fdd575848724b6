"""The command that serves a model."""

from typing import Annotated

import typer

from apptek.commands.models import ModelArgument
from apptek.extras import require_service


def serve(
    model: ModelArgument,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port; 0: any free one.")
    ] = 8000,
    token: Annotated[
        str | None,
        typer.Option("--token", envvar="APPTEK_TOKEN", help="What clients must send to ask."),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Let others reach it without a token.")
    ] = False,
) -> None:
    """Serve a model: the explorer in the browser, and the HTTP interface under /api.

    Only this machine can reach it, unless --host says otherwise; then a token is needed.

    Example: `apptek serve model --port 8000`
    """
    require_service()
    from apptek.service.http_server import serve as run

    run(model, host, port, token, insecure)
