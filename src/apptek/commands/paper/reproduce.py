"""The command `paper reproduce`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer

from apptek.commands.options import argument, option
from apptek.errors import ApptekError

What = Literal[
    "table1", "table2", "table3", "table-m", "table-search", "table-forecast",
    "figure-actions", "figure-rewards", "figure-success", "figure-topologies",
    "all",
]  # fmt: skip
EXPERIMENTS = Path("paper") / "experiments"


def reproduce(
    what: Annotated[What, argument("WHAT", "A table or figure of the paper, or all.")],
    quick: Annotated[
        bool, option("--quick", "Use a small invented world; below three minutes.")
    ] = False,
    only_recorded: Annotated[
        bool, option("--only-recorded", "Run nothing; show only what is already recorded.")
    ] = False,
    only: Annotated[
        str,
        option("--only", "Run only experiments whose name matches, such as `re_gcn-*`.", "PATTERN"),
    ] = "*",
    experiments: Annotated[
        Path | None,
        option(
            "--experiments", "The folder of the experiments.  [default: paper/experiments]", "DIR"
        ),
    ] = None,
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

    Every run leaves a result file and is not run again while that file exists. A run that was
    stopped continues where it was.

    Example: `apptek paper reproduce table2 --only-recorded`
    """
    from apptek.experiments.experiment import read_experiments
    from apptek.experiments.quick_experiments import quick_versions
    from apptek.experiments.reproduce import reproduce as make
    from apptek.experiments.runner import Folders
    from apptek.terminal import tell

    if only_recorded and only != "*":
        raise typer.BadParameter("--only chooses what to run, but --only-recorded runs nothing")
    chosen = read_experiments(experiments or _paper_folder() / "experiments")
    if only_recorded and out is not None and not out.is_dir():
        raise ApptekError(f"{out}: no such folder, so nothing is recorded in it")
    with _output_folder(out, quick) as root:
        if quick:
            chosen = quick_versions(chosen, root)
        made = make(what, chosen, Folders(root), tell, only=only, run=not only_recorded)
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


def _paper_folder() -> Path:
    """The folder `paper` of the current folder, else that of the checkout that this file is in."""
    here, checkout = EXPERIMENTS.parent, Path(__file__).parents[4] / EXPERIMENTS.parent
    return here if EXPERIMENTS.is_dir() else checkout


@contextmanager
def _output_folder(out: Path | None, quick: bool) -> Iterator[Path]:
    if out is not None or not quick:
        yield out or _paper_folder()
        return
    with TemporaryDirectory(prefix="apptek-quick-") as folder:
        yield Path(folder)
