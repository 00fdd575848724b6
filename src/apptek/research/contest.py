"""A contest: fit several models on the same data and evaluate them on the same queries."""

import shlex
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from apptek.config import PRESETS, preset
from apptek.errors import ApptekError
from apptek.extras import has_torch, require_torch
from apptek.facts.facts import Dataset
from apptek.facts.protocols import Protocol, apply_protocol
from apptek.files import make_folder
from apptek.models.registry import model_settings
from apptek.predictor import Predictor
from apptek.research.compare import Difference, compare_results
from apptek.research.evaluator import evaluate_model
from apptek.research.provenance import about_run
from apptek.research.result import Result, mean_seconds, read_result, split_digests
from apptek.resuming import claim
from apptek.terminal import step_progress

USUAL = ("recency", "tnt_complex", "paper", "default")  # counting, an embedding, the agent, ours
WITHOUT_TORCH = ("recency", "pair", "default")
METRICS = ("mrr", "hits_at_1", "hits_at_10", "ece")


@dataclass(frozen=True, slots=True)
class Contestant:
    """A model in a contest: means over its seeds, and its difference from the best model."""

    name: str
    folder: str  # the model fitted with the first seed
    metrics: dict[str, float]
    seconds: float | None  # to fit; None if a run was interrupted
    against_best: Difference | None  # None for the best model itself


def usual_models() -> tuple[str, ...]:
    """Return the default models for a contest: those whose packages are installed."""
    return USUAL if has_torch() else WITHOUT_TORCH


def run_contest(
    dataset: Dataset,
    models: Sequence[str],
    folder: Path,
    tell: Callable[[str], None],
    *,
    seeds: int = 1,
    protocol: Protocol = "official",
    command: Sequence[str] = (),
) -> list[Contestant]:
    """Fit and evaluate the models without a result in the folder; return all, best first.

    command  the command-line words that name the data and how to read it
    """
    for name in models:
        model_settings(name)  # rejects an unknown name and lists the known ones
    splits = apply_protocol(dataset, protocol)
    if len(splits.test) == 0:
        raise ApptekError(f"{dataset.name} has no test facts to evaluate on")
    claim(
        folder / "contest.json",
        {"dataset": dataset.name} | split_digests(splits),
        "the folder contains a contest with different data, split or protocol; choose another",
    )
    for name in models:
        for seed in range(seeds):
            run = f"{name}-seed{seed}"
            if not (folder / "results" / f"{run}.json").exists():
                tell(f"run: {run}")
                try:
                    fit_and_evaluate(name, dataset, folder, seed, protocol, command)
                except ApptekError as error:
                    raise ApptekError(f"{run}: {error}; finished runs are kept") from None
    return rank_contestants(models, folder, seeds)


def fit_and_evaluate(
    name: str,
    dataset: Dataset,
    folder: Path,
    seed: int,
    protocol: Protocol,
    command: Sequence[str],
) -> None:
    """Fit a model, resuming an interrupted fit, and write its result on the test set."""
    run = f"{name}-seed{seed}"
    model = folder / "models" / run
    options = ["--model", name, "--protocol", protocol, "--seed", str(seed), "--out", run]
    fitted_by = shlex.join(["apptek", "fit", *command[:1], *options, *command[1:]])
    make_folder(model.parent)
    make_folder(folder / "results")
    if model.exists():
        fitted = Predictor.load(model)
    else:
        if name in PRESETS and "topologies" in preset(name).features.parts:
            require_torch()  # the agent that finds the topologies is a network
        with step_progress(f"fitting {name}") as progress:
            fitted = Predictor.fit(
                dataset, model=name, protocol=protocol, seed=seed, folder=model, progress=progress,
                resume=(model.parent / f".{run}-fit").exists(),
                about_run=about_run() | {"command": fitted_by},
            )  # fmt: skip
    evaluated_by = shlex.join(["apptek", "evaluate", run, "--result", f"{run}.json"])
    evaluate_model(fitted, "test").save(folder / "results" / f"{run}.json", evaluated_by)


def rank_contestants(models: Sequence[str], folder: Path, seeds: int) -> list[Contestant]:
    """Return the contestants in a folder by MRR, best first, each compared with the best."""
    files = {
        name: [folder / "results" / f"{name}-seed{seed}.json" for seed in range(seeds)]
        for name in models
    }
    results = {name: [read_result(path) for path in paths] for name, paths in files.items()}
    ranked = sorted(files, key=lambda name: -_mean(results[name], "mrr"))
    against: dict[str, Difference] = {}
    if len(ranked) > 1:
        comparison = compare_results([path for name in ranked for path in files[name]])
        against = dict(zip(ranked[1:], comparison.differences, strict=True))
    return [
        Contestant(
            name,
            str(folder / "models" / files[name][0].stem),
            {metric: _mean(results[name], metric) for metric in METRICS},
            mean_seconds(results[name]),
            against.get(name),
        )
        for name in ranked
    ]


def clear_best(contestants: Sequence[Contestant]) -> Contestant | None:
    """Return the first contestant, or None if another one may be as good.

    This is the case if the 95 % interval of any difference from the first includes 0.
    """
    differences = [contestant.against_best for contestant in contestants[1:]]
    overlaps = any(difference is None or difference.high >= 0 for difference in differences)
    return None if overlaps else contestants[0]


def _mean(results: Sequence[Result], metric: str) -> float:
    return float(statistics.mean(result.metrics[metric] for result in results))
