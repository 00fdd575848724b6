"""The command `serve`."""

from typing import Annotated

import typer

from apptek.commands.options import ModelArgument, StrictNamesOption
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
            help="The token that clients must send.",
        ),
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
    from apptek.service.http_server import serve as run

    run(model, host, port, token, insecure=insecure, strict_names=strict_names)
