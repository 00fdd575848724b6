"""A table or figure of the paper from its cells: what is missing is run, the rest only read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from apptek.errors import ApptekError
from apptek.experiments.experiment import SHOWN, Cell
from apptek.experiments.figures import FIGURES, write_figure
from apptek.experiments.paper_tables import all_tables
from apptek.experiments.runner import Folders, Tell, missing_runs, run_all
from apptek.extras import require_matplotlib

ALL = "all"


@dataclass(slots=True)
class Made:
    """Tables as Markdown, the files of figures, and a line for each cell that failed."""

    tables: dict[str, str] = field(default_factory=dict)
    figures: dict[str, list[Path]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def reproduce(
    what: str,
    cells: Sequence[Cell],
    folders: Folders,
    tell: Tell,
    *,
    only: str = "*",
    run: bool = True,
) -> Made:
    """Runs the missing cells of a table, a figure or all, then makes it from the results alone.

    only  a pattern for the names of cells that may run
    run   False: nothing is run
    """
    shown = SHOWN if what == ALL else (what,)
    if set(shown) & set(FIGURES):
        require_matplotlib()  # before hours of running, not after
    made = Made()
    if run:
        needed = [cell for cell in cells if set(cell.serves) & set(shown)]
        chosen = [cell for cell in needed if fnmatchcase(cell.name, only)]
        if not chosen:
            if not needed:
                raise ApptekError(f"there is no cell for {what}")
            raise ApptekError(f"{what} has no cell {only!r}; it has {_listed(needed)}")
        made.failures = run_all(missing_runs(chosen, folders), tell)
    results, tables = folders.recorded(), all_tables(cells)
    for name in shown:
        if name in FIGURES:
            made.figures[name] = write_figure(name, cells, results, folders.figures)
        else:
            made.tables[name] = tables[name](results)
    return made


def _listed(cells: Sequence[Cell]) -> str:
    return ", ".join(cell.name for cell in cells)
