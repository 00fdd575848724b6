"""A table or figure of the paper: missing experiments are run, then it is made from results."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from apptek.errors import ApptekError
from apptek.experiments.experiment import SHOWN, Experiment
from apptek.experiments.reports.figures import FIGURES, write_figure
from apptek.experiments.reports.paper_tables import all_tables
from apptek.experiments.runner import Folders, Tell, missing_runs, run_all
from apptek.extras import require_matplotlib

ALL = "all"


@dataclass(slots=True)
class Reproduction:
    """Tables as Markdown, the files of figures, and a line for each run that failed."""

    tables: dict[str, str] = field(default_factory=dict)
    figures: dict[str, list[Path]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def reproduce(
    what: str,
    experiments: Sequence[Experiment],
    folders: Folders,
    tell: Tell,
    *,
    only: str = "*",
    run: bool = True,
) -> Reproduction:
    """Runs the missing experiments of a table, a figure or all, then makes it from the results.

    only  a pattern for the names of the experiments that may run
    run   whether missing experiments are run at all
    """
    shown = SHOWN if what == ALL else (what,)
    if set(shown) & set(FIGURES):
        require_matplotlib()  # before hours of running, not after
    made = Reproduction()
    if run:
        needed = [experiment for experiment in experiments if set(experiment.serves) & set(shown)]
        chosen = [experiment for experiment in needed if fnmatchcase(experiment.name, only)]
        if not needed:
            raise ApptekError(f"there is no experiment for {what}")
        if not chosen:
            known = ", ".join(experiment.name for experiment in needed)
            raise ApptekError(f"{what} has no experiment {only!r}; it has {known}")
        made.failures = run_all(missing_runs(chosen, folders), tell)
    results, tables = folders.recorded(), all_tables(experiments)
    for name in shown:
        if name in FIGURES:
            made.figures[name] = write_figure(name, experiments, results, folders.figures)
        else:
            made.tables[name] = tables[name](results)
    return made
