"""Prints docs/cli.md from the commands themselves: `make docs`."""

import typer
from typer.cli import get_docs_for_click

from apptek.cli import app


def cli_docs() -> str:
    """The whole page."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="apptek")
    return get_docs_for_click(obj=command, ctx=context, name="apptek").strip() + "\n"


if __name__ == "__main__":
    print(cli_docs(), end="")  # noqa: T201
