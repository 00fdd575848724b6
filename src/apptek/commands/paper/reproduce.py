"""The command `paper reproduce`."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal
from unittest.mock import patch

import typer

from apptek.commands.options import argument, option
from apptek.errors import ApptekError, StoppedError

if TYPE_CHECKING:
    from apptek.paper.reproduce import Execute

What = Literal[
    "table1", "table2", "table3", "table-m", "table-agent", "table-search", "table-forecast",
    "figure-actions", "figure-rewards", "figure-success", "figure-topologies",
    "all",
]  # fmt: skip
RUNS = Path("paper") / "runs.toml"


def reproduce(
    context: typer.Context,
    what: Annotated[What, argument("WHAT", "A table or figure of the paper, or all.")],
    quick: Annotated[
        bool, option("--quick", "Use a small invented world; below three minutes.")
    ] = False,
    only_recorded: Annotated[
        bool, option("--only-recorded", "Run nothing; show only what is already recorded.")
    ] = False,
    only: Annotated[
        str,
        option("--only", "Run only what has a name that matches, such as `re_gcn-*`.", "PATTERN"),
    ] = "*",
    out: Annotated[
        Path | None,
        option(
            "--out",
            "The folder for results and figures.  [default: paper; with --quick a temporary "
            "folder]",
            "DIR",
        ),
    ] = None,
) -> None:
    """Rebuild a table or figure of the paper: run what is missing, then read the results.

    `paper/runs.toml` lists the commands. Every run leaves a result file and is not run again while
    that file exists. A run that was stopped continues where it was.

    Example: `apptek paper reproduce table2 --only-recorded`
    """
    from apptek.paper.reproduce import quick_runs
    from apptek.paper.reproduce import reproduce as make
    from apptek.research.run_list import read_runs
    from apptek.terminal import tell

    if only_recorded and only != "*":
        raise typer.BadParameter("--only chooses what to run, but --only-recorded runs nothing")
    # The list of the current folder, else that of the checkout that this file is in.
    listed = RUNS if RUNS.is_file() else Path(__file__).parents[4] / RUNS
    runs = read_runs(listed)
    if only_recorded and out is not None and not out.is_dir():
        raise ApptekError(f"{out}: no such folder, so nothing is recorded in it")
    execute = None if only_recorded else _executor(context)
    with _output_folder(out, None if quick else listed.parent) as root:
        if quick:
            runs = quick_runs(runs, root)
        made = make(what, runs, root, tell, execute=execute, only=only)
        for name, table in made.tables.items():
            typer.echo(f"{name}\n\n{table}\n")
        for name, paths in made.figures.items():
            files = ", ".join(map(str, paths)) or "nothing is recorded yet"
            typer.echo(f"{name}: {files}")
    if quick and out is None:
        tell("The files of this quick run were temporary; keep them with --out DIR")
    if made.failures:
        more = f"; and {len(made.failures) - 1} more" if len(made.failures) > 1 else ""
        raise ApptekError(f"{made.failures[0]}{more}; finished runs are kept")


def _executor(context: typer.Context) -> "Execute":
    """Return a function that runs a command of this program and returns what it prints."""
    program = context.find_root().command

    def execute(words: list[str], recorded: list[str]) -> str:
        with redirect_stdout(io.StringIO()) as printed, patch.object(sys, "argv", recorded):
            code = program.main(words, prog_name="apptek", standalone_mode=False)
        if code:
            raise StoppedError("stopped: run the same command to continue")
        return printed.getvalue()

    return execute


@contextmanager
def _output_folder(out: Path | None, usual: Path | None) -> Iterator[Path]:
    if out is not None or usual is not None:
        yield out or usual  # type: ignore[misc]
        return
    with TemporaryDirectory(prefix="apptek-quick-") as folder:
        yield Path(folder)
