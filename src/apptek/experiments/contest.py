"""Which model serves a data set best: several fitted on it and asked the same queries."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from apptek.baselines.registry import NAMES
from apptek.config import PRESETS
from apptek.data.facts import SPLITS, Dataset
from apptek.errors import ApptekError
from apptek.experiments.compare import Difference, compare_results
from apptek.experiments.experiment import Experiment
from apptek.experiments.result_file import read_result
from apptek.experiments.runner import Folders, Tell, missing_runs, run_all
from apptek.extras import require_torch
from apptek.files import write_whole

USUAL = ("recency", "tnt_complex", "paper", "default")  # counting, an embedding, the agent, ours
WITHOUT_TORCH = ("recency", "pair", "default")
KEYS = ("mrr", "hits_at_1", "hits_at_10", "ece")


@dataclass(frozen=True, slots=True)
class Contestant:
    """What a model has reached: means over the seeds; against the best, where that is another."""

    name: str
    folder: str  # of the model, that of the first seed
    metrics: dict[str, float]
    seconds: float | None  # to fit; None where a run was stopped on the way
    against_best: Difference | None


def usual_models() -> tuple[str, ...]:
    """What takes part if nobody says: what can be fitted with what is installed."""
    try:
        require_torch()
    except ApptekError:
        return WITHOUT_TORCH
    return USUAL


def contest_experiment(name: str, data: str, seed: int = 0) -> Experiment:
    """A model of this name, a preset or a baseline; ApptekError lists the known ones."""
    if name not in (*PRESETS, *NAMES):
        known = ", ".join((*PRESETS, *NAMES))
        raise ApptekError(f"there is no model {name!r}; known: {known}")
    ours = name in PRESETS
    return Experiment(
        name=f"{name}-seed{seed}",
        what="fit" if ours else "baseline",
        serves=(),
        dataset=data,
        baseline="" if ours else name,
        preset=name if ours else "default",
        seeds=(seed,),
    )


def run_contest(
    dataset: Dataset,
    experiments: Sequence[Experiment],
    folder: Path,
    tell: Tell,
    *,
    reading: Sequence[str] = (),
) -> list[Contestant]:
    """Fits and evaluates what has no result in the folder yet; the contestants, best first.

    reading  options of a command that read the data so
    """
    experiments = [replace(experiment, reading=tuple(reading)) for experiment in experiments]
    if len(dataset.test) == 0:
        raise ApptekError(f"{dataset.name} has no test facts to evaluate on")
    folders = Folders(folder, keeps_models=True)
    _claim(folder, dataset)
    failures = run_all(missing_runs(experiments, folders, dataset), tell)
    if failures:
        raise ApptekError(f"{failures[0]}; finished runs are kept")
    return standings(experiments, folders)


def _claim(folder: Path, dataset: Dataset) -> None:
    """Notes which data the folder is about; ApptekError where it is about other data."""
    path = folder / "contest.json"
    about = {"dataset": dataset.name} | {split: dataset.split(split).digest() for split in SPLITS}
    try:
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, json.dumps(about, indent=1).encode())
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ApptekError(f"{path} cannot be used: {error}") from None
    if found != about:
        raise ApptekError(
            f"{folder} holds a contest on other data or another split: choose another"
        )


def standings(experiments: Sequence[Experiment], folders: Folders) -> list[Contestant]:
    """The contestants of a folder by their MRR, best first, each against the best."""
    files: dict[str, list[Path]] = {}
    for experiment in experiments:
        files.setdefault(_name(experiment), []).append(folders.results / f"{experiment.name}.json")
    found = {name: [read_result(path) for path in paths] for name, paths in files.items()}
    ranked = sorted(files, key=lambda name: -_mean(found[name], "mrr"))
    against: dict[str, Difference] = {}
    if len(ranked) > 1:
        compared = compare_results([path for name in ranked for path in files[name]])
        against = dict(zip(ranked[1:], compared.differences, strict=True))
    return [
        Contestant(
            name,
            str(folders.work / files[name][0].stem),
            {key: _mean(found[name], key) for key in KEYS},
            _seconds(found[name]),
            against.get(name),
        )
        for name in ranked
    ]


def _name(experiment: Experiment) -> str:
    return experiment.baseline or experiment.preset


def _mean(results: Sequence[dict[str, Any]], key: str) -> float:
    return float(statistics.mean(result["metrics"][key] for result in results))


def _seconds(results: Sequence[dict[str, Any]]) -> float | None:
    parts = [part for result in results for part in result["seconds"].values()]
    return None if None in parts else sum(parts) / len(results)
