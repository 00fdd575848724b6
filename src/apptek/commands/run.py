"""The command `run`."""

from dataclasses import dataclass
from pathlib import Path

import typer

from apptek.commands.forecast import ALERTED, ExitCodeOption
from apptek.commands.options import argument, option, takes_options


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of `run`."""

    project: Path = argument("PROJECT", "The project file.", Path("apptek.toml"))
    dry_run: bool = option("--dry-run", "Print the plan without writing anything.", False)
    observed_until: str | None = option(
        "--observed-until TIME",
        "The end of the observed period, which is the date of the run.  [default: yesterday (UTC), "
        "or as set by `delay` in [source]]",
    )
    refit: bool = option("--refit", "Fit the model again, on all facts in the source.", False)
    exit_code: ExitCodeOption = False


@takes_options
def run(options: RunOptions) -> None:
    """Do a day's work: update the model, score old forecasts, write the watch list and alerts.

    The file `apptek.toml` defines what to read, watch and write (docs/operations.md). If there is
    no model, the command fits it. Forecasts are stored next to the model, and are scored once their
    windows have ended. Each step prints a line of JSON. A failed run changes nothing, and a
    repeated run gives the same result.

    Example: `apptek run --dry-run`
    """
    from apptek.daily.run import run_project

    listed = run_project(
        options.project,
        typer.echo,
        observed_until=options.observed_until,
        refit=options.refit,
        dry_run=options.dry_run,
    )
    if options.exit_code and listed is not None and listed.alerts:
        raise typer.Exit(ALERTED)
