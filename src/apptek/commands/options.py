"""Arguments and options that several commands share, and how they print JSON."""

import json
from typing import Annotated, Any

import typer

DataArgument = Annotated[
    str, typer.Argument(metavar="DATA", help="A folder, a file, or a benchmark's name.")
]
SkipBadOption = Annotated[
    bool, typer.Option("--skip-bad", help="Leave bad rows out and list them, instead of stopping.")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="The seed of all randomness.")]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="SECTION.KEY=VALUE", help="Change a setting; a wrong name lists the known."
    ),
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Go on where a run that was stopped has left off.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")
]


def print_json(found: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
