"""The command `reproduce`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal, get_args

import typer

from apptek.errors import ApptekError

What = Literal[
    "table1", "table2", "table3", "table-m", "table-search",
    "figure-actions", "figure-rewards", "figure-success", "figure-topologies",
    "all",
]  # fmt: skip
EXPERIMENTS = Path("paper") / "experiments"


def reproduce(
    what: Annotated[
        What, typer.Argument(metavar="WHAT", help=f"One of {', '.join(get_args(What))}.")
    ],
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Use a small invented world; below three minutes."),
    ] = False,
    only_recorded: Annotated[
        bool,
        typer.Option("--only-recorded", help="Run nothing; show only what is already recorded."),
    ] = False,
    only: Annotated[
        str,
        typer.Option(
            "--only",
            metavar="PATTERN",
            help="Run only experiments whose name matches, such as `re_gcn-*`.",
        ),
    ] = "*",
    experiments: Annotated[
        Path | None,
        typer.Option(
            "--experiments",
            "--cells",
            metavar="DIR",
            help="The folder of the experiments.  [default: paper/experiments]",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="The folder for results and figures.  [default: paper; with --quick a temporary "
            "folder]",
        ),
    ] = None,
) -> None:
    """Rebuild a table or figure of the paper: run what is missing, then read the results.

    Every run leaves a result file and is not run again while that file exists. A run that was
    stopped continues where it was.

    Example: `apptek reproduce table2 --only-recorded`
    """
    from apptek.experiments.experiment import read_experiments
    from apptek.experiments.quick_experiments import quick_versions
    from apptek.experiments.reproduce import reproduce as make
    from apptek.experiments.runner import Folders
    from apptek.terminal import tell

    if only_recorded and only != "*":
        raise typer.BadParameter("--only chooses what to run, but --only-recorded runs nothing")
    found = read_experiments(experiments or _own_folder() / "experiments")
    if only_recorded and out is not None and not out.is_dir():
        raise ApptekError(f"{out}: no such folder, so nothing is recorded in it")
    with _place(out, quick) as root:
        if quick:
            found = quick_versions(found, root)
        made = make(
            what,
            found,
            Folders(root),
            tell,
            only=only,
            run=not only_recorded,
        )
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


def _own_folder() -> Path:
    """The folder `paper` here, else that of the checkout that runs."""
    here, checkout = EXPERIMENTS.parent, Path(__file__).parents[3] / EXPERIMENTS.parent
    return here if EXPERIMENTS.is_dir() else checkout


@contextmanager
def _place(out: Path | None, quick: bool) -> Iterator[Path]:
    if out is not None or not quick:
        yield out or _own_folder()
        return
    with TemporaryDirectory(prefix="apptek-quick-") as folder:
        yield Path(folder)
