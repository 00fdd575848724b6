"""Running experiments: each leaves one result file a seed, and goes on where it was stopped.

A run that is not finished has a work folder of its name, which is removed with the result written.
"""

import json
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from apptek.baselines.baseline import Baseline
from apptek.baselines.open_model import open_model
from apptek.baselines.search import Search, Trial, search_settings
from apptek.data.benchmarks import BENCHMARKS
from apptek.data.facts import Dataset
from apptek.data.protocols import apply_protocol, compare_statistics
from apptek.data.reading.reader import read_dataset
from apptek.errors import ApptekError
from apptek.experiments.experiment import Experiment, differences, results_of
from apptek.experiments.model_result import about_model, write_evaluation
from apptek.experiments.result_file import about_run, read_result, write_result
from apptek.experiments.search import describe, keep_trials, kept_trials, search_result
from apptek.experiments.topologies import mined_topologies
from apptek.extras import require_torch
from apptek.models.answers import Answering
from apptek.predictor import Predictor
from apptek.terminal import step_progress

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Folders:
    """Where results, figures and what is on its way stand.

    keeps_models  whether models stay when their result is there
    """

    root: Path
    keeps_models: bool = False

    @property
    def results(self) -> Path:
        """Result files."""
        return self.root / "results"

    @property
    def figures(self) -> Path:
        """Figures, as SVG and PNG."""
        return self.root / "figures"

    @property
    def work(self) -> Path:
        """Experiments that are on their way; and models, where they are kept."""
        return self.root / ("models" if self.keeps_models else "work")

    def recorded(self) -> list[dict[str, Any]]:
        """Every result; ApptekError names the file that is damaged or of another format."""
        return [read_result(path) for path in sorted(self.results.glob("*.json"))]


@dataclass(frozen=True, slots=True)
class Run:
    """An experiment with one of its seeds."""

    experiment: Experiment
    seed: int
    folders: Folders
    data: Dataset | None = (
        None  # that the experiment's data set stands for; read if it is not given
    )

    @property
    def name(self) -> str:
        """Of its result."""
        return self.experiment.result_name(self.seed)

    @property
    def result(self) -> Path:
        """The file that it makes."""
        return self.folders.results / f"{self.name}.json"

    @property
    def folder(self) -> Path:
        """Where its model or agent stands until the result is there."""
        return self.folders.work / self.name

    @property
    def unfinished(self) -> Path:
        """Where a fit keeps its stages."""
        return self.folders.work / f".{self.name}-fit"

    def dataset(self) -> Dataset:
        """What it runs on."""
        return _dataset(self.experiment.dataset) if self.data is None else self.data


@lru_cache(maxsize=1)  # experiments of one data set mostly follow each other
def _dataset(name: str) -> Dataset:
    return read_dataset(name)


def missing_runs(
    experiments: Sequence[Experiment], folders: Folders, data: Dataset | None = None
) -> list[Run]:
    """The runs that have no result yet; ApptekError where a file of another run has the name."""
    results = folders.recorded()
    found = []
    for experiment in experiments:
        done = {int(result.get("seed") or 0) for result in results_of(experiment, results)}
        runs = [
            Run(experiment, seed, folders, data) for seed in experiment.seeds if seed not in done
        ]
        for run in runs:
            _refuse_another(run)
        found += runs
    return found


def _refuse_another(run: Run) -> None:
    if not run.result.exists():
        return
    result = read_result(run.result)
    found = differences(run.experiment, result, seed=run.seed)
    raise ApptekError(
        f"{run.result} belongs to another run ({'; '.join(found[:3])}): "
        "move it away, or change the experiment"
    )


def run_all(runs: Sequence[Run], tell: Tell) -> list[str]:
    """Runs them one after the other; what went wrong, a line for each that failed."""
    failures = []
    for number, run in enumerate(runs, start=1):
        tell(f"run {number} of {len(runs)}: {run.name}")
        try:
            with _claimed(run) as is_ours:
                if not is_ours:
                    tell(f"{run.name} is being run by another process")
                elif not run.result.exists():
                    execute(run, tell)
        except ApptekError as error:
            tell(f"{run.name} failed: {error}")
            failures.append(f"{run.name}: {error}")
    return failures


@contextmanager
def _claimed(run: Run) -> Iterator[bool]:
    """Whether the run is ours alone while the block runs; a killed process claims nothing."""
    try:
        import fcntl
    except ImportError:  # where there are no such locks, people look after it themselves
        yield True
        return
    try:
        run.folders.work.mkdir(parents=True, exist_ok=True)
        run.folders.results.mkdir(parents=True, exist_ok=True)
        lock = (run.folders.work / f".{run.name}.lock").open("wb")
    except OSError as error:
        raise ApptekError(f"{run.folders.root} cannot be written: {error.strerror}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
        if run.result.exists():  # else the name of the lock stays for whoever tries again
            Path(lock.name).unlink(missing_ok=True)


def execute(run: Run, tell: Tell) -> None:
    """Runs to the end, or on from where it was stopped, and writes the result."""
    _RUNNERS[run.experiment.what](run, tell)
    if not run.folders.keeps_models:
        shutil.rmtree(run.folder, ignore_errors=True)


def _run_statistics(run: Run, _tell: Tell) -> None:
    experiment = run.experiment
    found = compare_statistics(run.dataset(), BENCHMARKS.get(experiment.dataset))
    named = {"model": experiment.model, "seed": run.seed, "command": experiment.command(run.seed)}
    write_result(run.result, {**found, **named})


def _run_agent(run: Run, tell: Tell) -> None:
    require_torch()
    from apptek.experiments.agent import run_agent

    experiment = run.experiment
    tell("stage: train the agent and compare it with its controls")
    found = run_agent(
        run.dataset(), experiment.config(), run.folder, seed=run.seed, resume=run.folder.exists()
    )
    write_result(run.result, {**found, "command": experiment.command(run.seed)})


def _run_model(run: Run, tell: Tell) -> None:
    fitted = _fitted(run, tell)
    tell("stage: evaluate")
    asked_by = shlex.join(["apptek", "evaluate", run.name, "--result", f"{run.name}.json"])
    evaluation = fitted.evaluate("test")
    write_evaluation(run.result, fitted, run.folder, "test", evaluation, asked_by=asked_by)


def _run_search(run: Run, tell: Tell) -> None:
    experiment, kept = run.experiment, run.folder / "trials.json"
    search = Search(
        baseline=experiment.baseline,
        config=experiment.config(),
        minutes=experiment.minutes,
        protocol=experiment.protocol,
        seed=run.seed,
    )
    identity = experiment.expected() | {"seed": run.seed}

    def on_trial(trials: list[Trial]) -> None:
        keep_trials(kept, identity, trials)
        tell(f"trial {len(trials)}: {describe(trials[-1])}")

    with step_progress(f"searching {experiment.baseline}") as progress:
        trials = search_settings(
            search,
            run.dataset(),
            done=kept_trials(kept, identity),
            on_trial=on_trial,
            progress=progress,
        )
    found = search_result(search, trials)
    about = {
        "dataset": run.dataset().name,
        "preset": experiment.preset,
        "protocol": experiment.protocol,
    }
    command = {"seed": run.seed, "command": experiment.command(run.seed)}
    write_result(run.result, {**found, **about, **command})


def _run_topologies(run: Run, tell: Tell) -> None:
    fitted = _fitted(run, tell)
    assert isinstance(fitted, Predictor)
    experiment, about = (
        run.experiment,
        json.loads((run.folder / "run.json").read_text(encoding="utf-8")),
    )
    shown = (
        ["apptek", "topologies", run.name, "--predicate", name] for name in experiment.predicates
    )
    write_result(
        run.result,
        {
            "model": experiment.model,
            "dataset": fitted.model.dataset.name,
            "preset": experiment.preset,
            "protocol": experiment.protocol,
            "seed": run.seed,
            "settings": about_model(fitted)["settings"],
            "predicates": list(experiment.predicates),
            "topologies": mined_topologies(fitted.model, experiment.predicates),
            "seconds": about.get("seconds"),
            "command": " && ".join([experiment.command(run.seed), *map(shlex.join, shown)]),
        },
    )


def _fitted(run: Run, tell: Tell) -> Answering:
    """The model of a run: the one that an interrupted run has left whole, or fitted now."""
    if run.folder.exists():
        found = open_model(run.folder)
        _check_model(run, found)
        return found
    experiment = run.experiment
    config, resume = experiment.config(), run.unfinished.exists()
    common: dict[str, Any] = {
        "preset": experiment.preset,
        "config": config,
        "protocol": experiment.protocol,
        "seed": run.seed,
        "folder": run.folder,
        "resume": resume,
        "about_run": about_run() | {"command": experiment.command(run.seed)},
    }
    if experiment.what == "baseline":
        with step_progress(f"fitting {experiment.baseline}") as progress:
            return Baseline.fit(experiment.baseline, run.dataset(), progress=progress, **common)
    if "topologies" in config.features.parts:
        require_torch()
    return Predictor.fit(run.dataset(), on_stage=lambda name: tell(f"stage: {name}"), **common)


def _check_model(run: Run, found: Answering) -> None:
    """ApptekError where a model that an interrupted run has left is not that of this run."""
    model, experiment = found.model, run.experiment
    told = about_model(found) | {"dataset": model.dataset.name, "protocol": model.protocol}
    told |= {"seed": model.seed, "settings": json.loads(json.dumps(told["settings"]))}
    told["model"] = experiment.model  # topologies are those of a model that is called otherwise
    wrong = differences(experiment, experiment.expected() | told, seed=run.seed)
    if (
        model.dataset.train.digest()
        != apply_protocol(run.dataset(), experiment.protocol).train.digest()
    ):
        wrong.append("other training facts")
    if wrong:
        what = "; ".join(wrong[:3])
        raise ApptekError(f"{run.folder} holds a model of another run ({what}): remove it")


_RUNNERS: dict[str, Callable[[Run, Tell], None]] = {
    "statistics": _run_statistics,
    "agent": _run_agent,
    "baseline": _run_model,
    "fit": _run_model,
    "search": _run_search,
    "topologies": _run_topologies,
}
