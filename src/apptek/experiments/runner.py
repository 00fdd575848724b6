"""Running experiments: each run, an experiment with one of its seeds, leaves one result file.

A run that is not finished has a work folder of its name. It goes on from there, and the folder goes
when the result is written.
"""

import json
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
from apptek.experiments.experiment import Experiment
from apptek.experiments.matching import check_model, check_result, results_of
from apptek.experiments.model_result import describe_model, evaluate_model, write_evaluation
from apptek.experiments.provenance import about_run
from apptek.experiments.result import Result, read_result, read_results, write_result
from apptek.experiments.search_result import describe, keep_trials, kept_trials, search_result
from apptek.experiments.topology_examples import mined_topologies
from apptek.extras import require_torch
from apptek.models.answers import Answering
from apptek.predictor import Predictor
from apptek.terminal import step_progress

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of results, of figures, and of runs that are not finished."""

    root: Path
    keeps_models: bool = False  # whether a model stays when its result is written

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
        """Runs that are not finished; and models, where they are kept."""
        return self.root / ("models" if self.keeps_models else "work")

    def recorded(self) -> list[Result]:
        """Every result; ApptekError names the file that is damaged or of another format."""
        return read_results(self.results)


@dataclass(frozen=True, slots=True)
class Run:
    """An experiment with one of its seeds."""

    experiment: Experiment
    seed: int
    folders: Folders
    data: Dataset | None = None  # the experiment's data; read from its name if it is not given

    @property
    def name(self) -> str:
        """The name of its result file, without .json."""
        return self.experiment.result_name(self.seed)

    @property
    def result(self) -> Path:
        """The result file that it writes."""
        return self.folders.results / f"{self.name}.json"

    @property
    def folder(self) -> Path:
        """The folder of its model, agent or trials."""
        return self.folders.work / self.name

    @property
    def unfinished(self) -> Path:
        """The folder in which a fit keeps its finished stages."""
        return self.folders.work / f".{self.name}-fit"

    def dataset(self) -> Dataset:
        """The data that it runs on."""
        return _dataset(self.experiment.dataset) if self.data is None else self.data


@lru_cache(maxsize=1)  # experiments on one data set mostly follow each other
def _dataset(name: str) -> Dataset:
    return read_dataset(name)


def missing_runs(
    experiments: Sequence[Experiment], folders: Folders, data: Dataset | None = None
) -> list[Run]:
    """The runs that have no result yet; ApptekError where another run's file has the name."""
    results = folders.recorded()
    missing = []
    for experiment in experiments:
        done = {result.seed or 0 for result in results_of(experiment, results)}
        runs = [Run(experiment, seed, folders, data) for seed in experiment.seeds]
        for run in runs:
            if run.seed not in done:
                if run.result.exists():
                    check_result(experiment, read_result(run.result), run.result, run.seed)
                missing.append(run)
    return missing


def run_all(runs: Sequence[Run], tell: Tell) -> list[str]:
    """Executes the runs one after the other; returns a line for each that failed."""
    failures = []
    for number, run in enumerate(runs, start=1):
        tell(f"run {number} of {len(runs)}: {run.name}")
        try:
            with _locked(run) as is_ours:
                if not is_ours:
                    tell(f"{run.name} is being run by another process")
                elif not run.result.exists():  # another process may have finished it meanwhile
                    execute(run, tell)
        except ApptekError as error:
            tell(f"{run.name} failed: {error}")
            failures.append(f"{run.name}: {error}")
    return failures


@contextmanager
def _locked(run: Run) -> Iterator[bool]:
    """Whether no other process executes the run; none can while the block lasts.

    The lock ends with the process, so that a killed one does not block the next.
    """
    try:
        import fcntl
    except ImportError:  # a system without such locks: users must not start a run twice
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
        # Until there is a result the file stays: another process may be waiting to try again.
        if run.result.exists():
            Path(lock.name).unlink(missing_ok=True)


def execute(run: Run, tell: Tell) -> None:
    """Carries out a run to the end, from where it was stopped, and writes its result."""
    _EXECUTE[run.experiment.what](run, tell)
    if not run.folders.keeps_models:
        shutil.rmtree(run.folder, ignore_errors=True)


def _execute_statistics(run: Run, _tell: Tell) -> None:
    experiment = run.experiment
    statistics = compare_statistics(run.dataset(), BENCHMARKS.get(experiment.dataset))
    about = {
        "model": experiment.model,
        "seed": run.seed,
        "command": experiment.command(run.seed),
    }
    write_result(run.result, Result.from_json(statistics | about))


def _execute_agent(run: Run, tell: Tell) -> None:
    require_torch()
    from apptek.experiments.agent_run import AgentRun, run_agent

    experiment = run.experiment
    tell("stage: train the agent and compare it with its controls")
    agent = AgentRun(
        dataset=run.dataset(),
        config=experiment.config(),
        folder=run.folder,
        seed=run.seed,
        resume=run.folder.exists(),
    )
    write_result(run.result, replace(run_agent(agent), command=experiment.command(run.seed)))


def _execute_fit(run: Run, tell: Tell) -> None:
    fitted = _fitted(run, tell)
    tell("stage: evaluate")
    words = ["apptek", "evaluate", run.name, "--result", f"{run.name}.json"]
    evaluated_by = shlex.join([*words, *(["--rolling"] if run.experiment.rolling else [])])
    evaluated = evaluate_model(fitted, "test", rolling=run.experiment.rolling)
    write_evaluation(run.result, fitted, run.folder, evaluated, evaluated_by=evaluated_by)


def _execute_search(run: Run, tell: Tell) -> None:
    experiment, kept = run.experiment, run.folder / "trials.json"
    search = Search(
        baseline=experiment.baseline,
        config=experiment.config(),
        minutes=experiment.minutes,
        protocol=experiment.protocol,
        seed=run.seed,
    )
    identity = experiment.identity() | {"seed": run.seed}

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
    result = replace(
        search_result(search, trials),
        dataset=run.dataset().name,
        preset=experiment.preset,
        command=experiment.command(run.seed),
    )
    write_result(run.result, result)


def _execute_topologies(run: Run, tell: Tell) -> None:
    fitted = _fitted(run, tell)
    assert isinstance(fitted, Predictor)
    experiment, model = run.experiment, describe_model(fitted)
    about_fit = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))
    show = (
        shlex.join(["apptek", "paper", "topologies", run.name, "--predicate", predicate])
        for predicate in experiment.predicates
    )
    result = Result(
        model=experiment.model,
        dataset=model.dataset,
        preset=experiment.preset,
        protocol=experiment.protocol,
        seed=run.seed,
        settings=model.settings,
        changed=model.changed,
        topologies=mined_topologies(fitted.model, experiment.predicates),
        seconds=about_fit.get("seconds") or {},
        command=" && ".join([experiment.command(run.seed), *show]),
        extras={"predicates": list(experiment.predicates)},
    )
    write_result(run.result, result)


def _fitted(run: Run, tell: Tell) -> Answering:
    """The model of a run: fitted to the end before the run was stopped, or fitted now."""
    experiment = run.experiment
    if run.folder.exists():
        fitted = open_model(run.folder)
        train = apply_protocol(run.dataset(), experiment.protocol).train.digest()
        check_model(experiment, describe_model(fitted), run.folder, seed=run.seed, train=train)
        return fitted
    config = experiment.config()
    common: dict[str, Any] = {
        "config": config,
        "protocol": experiment.protocol,
        "seed": run.seed,
        "folder": run.folder,
        "resume": run.unfinished.exists(),
        "about_run": about_run() | {"command": experiment.command(run.seed)},
    }
    if experiment.what == "baseline":
        with step_progress(f"fitting {experiment.baseline}") as progress:
            common |= {"preset": experiment.preset, "progress": progress}
            return Baseline.fit(experiment.baseline, run.dataset(), **common)
    if "topologies" in config.features.parts:  # mined by the agent, which is a network
        require_torch()
    common["model"] = experiment.preset
    return Predictor.fit(run.dataset(), on_stage=lambda name: tell(f"stage: {name}"), **common)


_EXECUTE: dict[str, Callable[[Run, Tell], None]] = {
    "statistics": _execute_statistics,
    "agent": _execute_agent,
    "baseline": _execute_fit,
    "fit": _execute_fit,
    "search": _execute_search,
    "topologies": _execute_topologies,
}
