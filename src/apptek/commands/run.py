"""The command `run`."""

from pathlib import Path
from typing import Annotated

import typer

from apptek.commands.forecast import ALERTED, ExitCodeOption
from apptek.commands.options import argument, option


def run(
    project: Annotated[Path, argument("PROJECT", "The project file.")] = Path("apptek.toml"),
    dry_run: Annotated[bool, option("--dry-run", "Print the plan and write nothing.")] = False,
    observed_until: Annotated[
        str | None,
        option(
            "--observed-until",
            "The last observed time, which is the date of the run.  [default: yesterday (UTC), or "
            "as [source] delay says]",
            "TIME",
        ),
    ] = None,
    refit: Annotated[
        bool, option("--refit", "Fit the model again, on all facts of the source.")
    ] = False,
    exit_code: ExitCodeOption = False,
) -> None:
    """Do a day's work: update the model, score old forecasts, write the watch list and alerts.

    The file `apptek.toml` says what to read, watch and write (docs/operations.md). Without a model,
    one is fitted. Forecasts are stored beside the model, and scored when their windows have ended.
    Each step prints a line of JSON. A run that fails changes nothing; the same run again gives the
    same result.

    Example: `apptek run --dry-run`
    """
    from apptek.daily.run import run_project

    listed = run_project(
        project, typer.echo, observed_until=observed_until, refit=refit, dry_run=dry_run
    )
    if exit_code and listed is not None and listed.alerts:
        raise typer.Exit(ALERTED)
