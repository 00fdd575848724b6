"""The search for a baseline's settings: trials on the validation set, within a time budget.

The first trial uses the initial settings. Every other trial draws each setting at random. Trials
are never interrupted, so the last one may exceed the time budget.
"""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from apptek.config import PRESETS, Progress
from apptek.errors import ApptekError, ConfigError, DataError, DivergedError
from apptek.facts.facts import Dataset
from apptek.facts.protocols import Protocol, apply_protocol
from apptek.models.registry import find_baseline
from apptek.models.scorers import Space
from apptek.predictor import Predictor
from apptek.research.result import Result, plain_settings
from apptek.seeding import generator
from apptek.setting_rules import setting_texts, with_settings

DRAWS = 100  # attempts to draw new settings before the space counts as exhausted


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The parameters of a search, except for its data: model, settings and time budget."""

    baseline: str
    config: Any  # the settings of the first trial
    minutes: float  # on one core
    protocol: Protocol = "official"
    seed: int = 0
    sample: float = 1.0  # the proportion of training facts that trials see


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The settings of a trial, and its best validation MRR; None if training failed."""

    settings: dict[str, Any]  # all settings in the space, by section.key
    valid_mrr: float | None
    epoch: int | None  # the epoch with that MRR
    seconds: float  # on one core
    error: str = ""

    def __str__(self) -> str:
        when = "" if self.epoch is None else f" in epoch {self.epoch}"
        outcome = self.error or f"MRR {self.valid_mrr:.4f}{when}"
        return f"{outcome}, {self.seconds:.0f} s: {' '.join(setting_texts(self.settings))}"


def run_trials(search: Search, data: Dataset, progress: Progress) -> Iterator[Trial]:
    """Yield trials until the time budget is used up or nothing is left to try."""
    space, trials = search_space(search.baseline), list[Trial]()
    if not 0 < search.minutes < math.inf:
        raise ConfigError(f"--minutes must be above 0, not {search.minutes:g}")
    if not len(apply_protocol(data, search.protocol).valid):
        raise DataError(f"a search needs validation facts, but {data.name} has none")
    if search.sample < 1:
        drawn = generator(search.seed, "sample").permutation(len(data.train))
        rows = np.sort(drawn[: max(1, round(search.sample * len(data.train)))])
        data = replace(data, train=data.train.take(rows))
    settings: dict[str, Any] | None = space_values(search.config, space)
    while settings and sum(trial.seconds for trial in trials) < 60 * search.minutes:
        trials.append(_run_trial(search, data, settings, progress))
        yield trials[-1]
        # One stream per trial: its draws do not depend on how long the others took.
        settings = next_settings(space, trials, generator(search.seed, f"trial {len(trials)}"))


def next_settings(
    space: Space, trials: Sequence[Trial], rng: np.random.Generator
) -> dict[str, Any] | None:
    """Draw random settings that no trial has used; return None if none are left."""
    for _ in range(DRAWS):
        settings = {key: values[int(rng.integers(len(values)))] for key, values in space.items()}
        if all(settings != trial.settings for trial in trials):
            return settings
    return None


def _run_trial(
    search: Search, data: Dataset, settings: dict[str, Any], progress: Progress
) -> Trial:
    # Use process time, not wall time: another busy process must not end a search early.
    started, error = time.process_time(), ""
    report: dict[str, Any] = {"valid_mrr": None}
    try:
        config = with_settings(search.config, setting_texts(settings))
        fitted = Predictor.fit(
            data, model=search.baseline, config=config,
            protocol=search.protocol, seed=search.seed, final=False, progress=progress,
        )  # fmt: skip
        report = fitted.model.main.report
    except DivergedError as diverged:  # other settings may still work
        error = str(diverged)
    return Trial(
        settings=settings,
        valid_mrr=report["valid_mrr"],
        epoch=report.get("epoch"),
        seconds=time.process_time() - started,
        error=error,
    )


def search_space(name: str) -> Space:
    """Return the values to try for a model; ConfigError if it has nothing to search."""
    space = {} if name in PRESETS else find_baseline(name).space
    if not space:
        raise ConfigError(f"{name} has nothing to search for: fitting chooses its settings")
    return space


def space_values(config: Any, space: Iterable[str]) -> dict[str, Any]:
    """Return the values of a config for the settings of a space, by section.key."""
    sections = asdict(config)
    names = (name.split(".") for name in space)
    return {f"{section}.{key}": sections[section][key] for section, key in names}


def search_result(search: Search, trials: Sequence[Trial]) -> Result:
    """Return every trial of a search, and how the best one differs from the initial settings.

    ApptekError if every trial failed.
    """
    succeeded = [trial for trial in trials if trial.valid_mrr is not None]
    if not succeeded:
        name, error = search.baseline, trials[0].error
        raise ApptekError(f"every trial of {name} has failed; the first: {error}")
    best = max(succeeded, key=lambda trial: trial.valid_mrr or 0.0)  # the first in a tie
    before = space_values(search.config, best.settings)
    found = {
        "model": "search",
        "baseline": search.baseline,
        "minutes": search.minutes,
        "protocol": search.protocol,
        "seed": search.seed,
        "settings": plain_settings(search.config),
        **({"sample": search.sample} if search.sample < 1 else {}),
        "split": "valid",  # a search never sees the test set
        "metrics": {"mrr": best.valid_mrr},
        "seconds": {"search": sum(trial.seconds for trial in trials)},
        "trials": [asdict(trial) for trial in trials],
        "best": {key: value for key, value in best.settings.items() if value != before[key]},
    }
    return Result.from_json(found)
