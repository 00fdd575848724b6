"""A table or figure of the paper: missing runs are executed, then it is made from result files."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from apptek.errors import ApptekError
from apptek.extras import require_matplotlib, require_pandas
from apptek.research.result import read_results
from apptek.research.runs import Execute, RunList, Tell, run_missing

TABLES = ("table1", "table2", "table3", "table-m", "table-search", "table-forecast")
FIGURES = ("figure-actions", "figure-rewards", "figure-success", "figure-topologies")


@dataclass(slots=True)
class Reproduction:
    """Tables as Markdown, the files of figures, and a line for each run that failed."""

    tables: dict[str, str] = field(default_factory=dict)
    figures: dict[str, list[Path]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def reproduce(
    what: str,
    runs: RunList,
    folder: Path,
    tell: Tell,
    *,
    execute: Execute | None = None,
    only: str = "*",
) -> Reproduction:
    """Execute the missing runs of a table, a figure or all, then make it from the results.

    folder   holds `results`, `figures`, and in `work` what unfinished runs have left
    execute  runs a command; without it, only what is recorded is shown
    only     a pattern for the names of the runs that may be executed
    """
    shown = (*TABLES, *FIGURES) if what == "all" else (what,)
    require_pandas()  # before hours of running, not after
    if set(shown) & set(FIGURES):
        require_matplotlib()
    made, results = Reproduction(), read_results(folder / "results")
    if execute is not None:
        needed = dict.fromkeys(name for each in shown for name in runs.shown.get(each, ()))
        chosen = {name: runs.commands[name] for name in needed if fnmatchcase(name, only)}
        if not chosen:
            known = ", ".join(needed) or "none"
            raise ApptekError(f"{what} has no run {only!r}; its runs: {known}")
        made.failures = run_missing(chosen, folder, execute, tell)
        results = read_results(folder / "results")
    from apptek.research.figures import write_figure
    from apptek.research.tables import all_tables

    tables = all_tables(runs)
    for name in shown:
        recorded = [results[run] for run in runs.shown.get(name, ()) if run in results]
        if name in FIGURES:
            made.figures[name] = write_figure(name, recorded, folder / "figures")
        else:
            made.tables[name] = tables[name](results)
    return made
