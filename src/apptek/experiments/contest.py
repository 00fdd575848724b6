"""A contest: several models are fitted on the same data and evaluated on the same queries."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from apptek.baselines.registry import baseline_names
from apptek.config import PRESETS
from apptek.data.facts import SPLITS, Dataset
from apptek.data.protocols import Protocol, apply_protocol
from apptek.errors import ApptekError
from apptek.experiments.compare import Difference, compare_results
from apptek.experiments.experiment import Experiment
from apptek.experiments.result import Result, mean_seconds, read_result
from apptek.experiments.runner import Folders, Tell, missing_runs, run_all
from apptek.extras import require_torch
from apptek.resuming import claim

USUAL = ("recency", "tnt_complex", "paper", "default")  # counting, an embedding, the agent, ours
WITHOUT_TORCH = ("recency", "pair", "default")
METRICS = ("mrr", "hits_at_1", "hits_at_10", "ece")


@dataclass(frozen=True, slots=True)
class Contestant:
    """A model of a contest: means over its seeds, and its difference from the best model."""

    name: str
    folder: str  # the model of the first seed
    metrics: dict[str, float]
    seconds: float | None  # to fit; None where a run was stopped on the way
    against_best: Difference | None  # None for the best itself


def usual_models() -> tuple[str, ...]:
    """The models of a contest by default: those that can be fitted with what is installed."""
    try:
        require_torch()
    except ApptekError:
        return WITHOUT_TORCH
    return USUAL


def contest_experiment(
    name: str, data: str, seed: int = 0, protocol: Protocol = "official"
) -> Experiment:
    """The experiment that fits a preset or baseline; ApptekError lists the known names."""
    known_names = (*PRESETS, *baseline_names())
    if name not in known_names:
        known = ", ".join(known_names)
        raise ApptekError(f"there is no model {name!r}; known: {known}")
    is_ours = name in PRESETS
    return Experiment(
        name=f"{name}-seed{seed}",
        what="fit" if is_ours else "baseline",
        serves=(),
        dataset=data,
        baseline="" if is_ours else name,
        preset=name if is_ours else "default",
        protocol=protocol,
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
    """Runs the experiments that have no result in the folder yet; the contestants, best first.

    All experiments have the same protocol.

    reading  the options of a command that reads the data in this way
    """
    experiments = [replace(experiment, reading=tuple(reading)) for experiment in experiments]
    splits = apply_protocol(dataset, experiments[0].protocol)
    if len(splits.test) == 0:
        raise ApptekError(f"{dataset.name} has no test facts to evaluate on")
    digests: dict[str, str] = {split: splits.split(split).digest() for split in SPLITS}
    claim(
        folder / "contest.json",
        {"dataset": dataset.name} | digests,
        "the folder holds a contest on other data, another split or protocol; choose another",
    )
    folders = Folders(folder, keeps_models=True)
    failures = run_all(missing_runs(experiments, folders, dataset), tell)
    if failures:
        raise ApptekError(f"{failures[0]}; finished runs are kept")
    return rank_contestants(experiments, folders)


def rank_contestants(experiments: Sequence[Experiment], folders: Folders) -> list[Contestant]:
    """The contestants of a folder by their MRR, best first, each compared with the best."""
    files: dict[str, list[Path]] = {}
    for experiment in experiments:
        name = experiment.baseline or experiment.preset
        files.setdefault(name, []).append(folders.results / f"{experiment.name}.json")
    results = {name: [read_result(path) for path in paths] for name, paths in files.items()}
    ranked = sorted(files, key=lambda name: -_mean(results[name], "mrr"))
    against: dict[str, Difference] = {}
    if len(ranked) > 1:
        comparison = compare_results([path for name in ranked for path in files[name]])
        against = dict(zip(ranked[1:], comparison.differences, strict=True))
    return [
        Contestant(
            name,
            str(folders.work / files[name][0].stem),
            {metric: _mean(results[name], metric) for metric in METRICS},
            mean_seconds(results[name]),
            against.get(name),
        )
        for name in ranked
    ]


def clear_best(contestants: Sequence[Contestant]) -> Contestant | None:
    """Return the first contestant; None where another one may be as good.

    That is so where the 95 % interval of a difference from the first includes 0.
    """
    differences = [contestant.against_best for contestant in contestants[1:]]
    overlaps = any(difference is None or difference.high >= 0 for difference in differences)
    return None if overlaps else contestants[0]


def _mean(results: Sequence[Result], metric: str) -> float:
    return float(statistics.mean(result.metrics[metric] for result in results))
