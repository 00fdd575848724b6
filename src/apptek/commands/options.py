"""Arguments and options that several commands share, and how they print JSON."""

import json
from typing import Annotated, Any, Literal

import typer

DataArgument = Annotated[
    str, typer.Argument(metavar="DATA", help="A folder, a file, or a benchmark's name.")
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        help="Which column is what: `subject=Actor1,predicate=Event,object=Actor2,time=Date` "
        "(names of a header, or places from 1; also `since=`, `until=`), or a plain list in the "
        "file's order: `subject,-,predicate,object,time`.",
    ),
]
HeaderOption = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first row is a header.  [guessed]"),
]
SkipBadOption = Annotated[
    bool, typer.Option("--skip-bad", help="Leave bad rows out and list them, instead of stopping.")
]
MergeOption = Annotated[
    bool,
    typer.Option(
        "--merge-intervals",
        help="Make one fact of an occursSince line and the occursUntil line after it.",
    ),
]
SplitByOption = Annotated[
    Literal["random", "time"],
    typer.Option("--split-by", help="How a single file is split."),
]
SplitOption = Annotated[
    str, typer.Option("--split", help="Shares of train/valid/test of a single file.")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="The seed of all randomness.")]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change a setting: agent.tknn=5."),
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
