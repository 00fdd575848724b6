"""The search for a model's settings: trial after trial on valid, within minutes of one core.

The first trial has the settings that the search starts from. Every other one changes two settings
of the best trial so far. A trial is never cut short, so that the last one may exceed the minutes.
"""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from apptek.config import PRESETS, Progress
from apptek.errors import ConfigError, DataError, DivergedError
from apptek.facts.facts import Dataset
from apptek.facts.protocols import Protocol, apply_protocol
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.fitting.baseline_fit import fitted_views
from apptek.models.registry import find_baseline
from apptek.models.scorers import FitTask, Space
from apptek.seeding import generator
from apptek.setting_rules import setting_texts, values_of, with_settings

PRESET_SPACES: dict[str, Space] = {  # what may be tried for our own models
    "default": {
        "history.pair_facts": (20, 40, 80),
        "history.profile_facts": (30, 60, 120),
        "history.pair_weight": (0.5, 1.0, 2.0),
        "history.profile_weight": (0.2, 0.4, 0.8),
        "traits.weight": (0.3, 1.0, 3.0),
        "classifier.epochs": (2, 3, 5),
        "classifier.learning_rate": (0.05, 0.1, 0.2),
    },
    "max": {
        "history.pair_facts": (20, 40, 80),
        "history.profile_facts": (30, 60, 120),
        "classifier.learning_rate": (0.05, 0.1, 0.2),
        "reranker.rounds": (60, 125, 250),
        "reranker.leaves": (15, 31, 63),
        "reranker.learning_rate": (0.08, 0.15, 0.25),
    },
    "paper": {
        "agent.tknn": (10, 25, 50),
        "agent.max_steps": (3, 5),
        "agent.epochs": (0.5, 1.0, 2.0),
        "mining.top": (10, 25, 50, 100),
        "mining.rollouts": (1, 2, 4),
        "mining.epsilon": (0.3, 0.6, 0.9),
        "classifier.learning_rate": (0.05, 0.1, 0.2),
    },
}
CHANGED = 2  # settings in which a trial differs from the best so far
DRAWS = 100  # attempts to draw settings that are new before the space counts as exhausted


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What a search depends on besides its data: which model, from which settings, how long."""

    baseline: str  # or a preset of ours
    config: Any  # the settings of the first trial
    minutes: float  # of one core
    protocol: Protocol = "official"
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Settings that were tried, and the best MRR on valid; None if training failed."""

    settings: dict[str, Any]  # all of the space, by section.key
    valid_mrr: float | None
    epoch: int | None  # the epoch of that MRR
    seconds: float  # of one core
    error: str = ""


def search_settings(
    search: Search,
    data: Dataset,
    *,
    done: Sequence[Trial] = (),
    on_trial: Callable[[list[Trial]], None],
    progress: Progress,
) -> list[Trial]:
    """Runs trials until they have used up the minutes, or nothing is left to try.

    done      trials of the same search that was stopped, which it continues
    on_trial  called with all trials after each one
    """
    space = search_space(search.baseline)
    if not 0 < search.minutes < math.inf:
        raise ConfigError(f"--minutes must be above 0, not {search.minutes:g}")
    dataset = apply_protocol(data, search.protocol)
    if not len(dataset.valid):
        raise DataError(f"a search needs valid facts, but {data.name} has none")
    graph, trials = TemporalGraph.of(dataset), list(done)
    if search.baseline not in PRESETS:  # our own models see to their views themselves
        graph = graph.seen_in(fitted_views(search.baseline, dataset)[0])
    while not trials or sum(trial.seconds for trial in trials) < 60 * search.minutes:
        # A stream for each trial: a search that continues draws what it would have drawn.
        rng = generator(search.seed, f"trial {len(trials)}")
        if trials:
            settings = next_settings(space, trials, rng)
        else:
            settings = space_values(search.config, space)
        if settings is None:
            break
        with TemporaryDirectory(prefix="apptek-search-") as work:
            task = FitTask(
                dataset=dataset,
                graph=graph,
                config=with_settings(search.config, setting_texts(settings)),
                seed=search.seed,
                work=Path(work),
                progress=progress,
            )
            trials.append(_run_trial(search.baseline, settings, task))
        on_trial(trials)
    return trials


def search_space(name: str) -> Space:
    """The values that may be tried for a model; ConfigError if it has nothing to search."""
    space = PRESET_SPACES.get(name) or find_baseline(name).space
    if not space:
        raise ConfigError(f"{name} has nothing to search for: fitting chooses its settings")
    return space


def space_values(config: Any, space: Iterable[str]) -> dict[str, Any]:
    """The values of a config for the settings of a space, by section.key."""
    sections = values_of(config)
    names = (name.split(".") for name in space)
    return {f"{section}.{key}": sections[section][key] for section, key in names}


def best_trial(trials: Sequence[Trial]) -> Trial | None:
    """The trial with the highest MRR, the first of equals; None if all have failed."""
    succeeded = [trial for trial in trials if trial.valid_mrr is not None]
    return max(succeeded, key=lambda trial: trial.valid_mrr or 0.0, default=None)


def next_settings(
    space: Space, trials: Sequence[Trial], rng: np.random.Generator
) -> dict[str, Any] | None:
    """The best settings with two of them changed, different from all trials; None if exhausted."""
    best = best_trial(trials) or trials[0]
    others = {
        key: [value for value in values if value != best.settings[key]]
        for key, values in space.items()
    }
    changeable = [key for key, values in others.items() if values]
    for _ in range(DRAWS):
        settings = dict(best.settings)
        for index in rng.permutation(len(changeable))[:CHANGED]:
            key = changeable[index]
            settings[key] = others[key][rng.integers(len(others[key]))]
        if all(settings != trial.settings for trial in trials):
            return settings
    return None


def _run_trial(name: str, settings: dict[str, Any], task: FitTask) -> Trial:
    # The time of this process, not of the wall: another busy process must not end a search early.
    started = time.process_time()
    report: dict[str, Any] = {"valid_mrr": None, "epoch": None}
    error = ""
    try:
        report = _fit_preset(name, task) if name in PRESETS else find_baseline(name).fit(task)[1]
    except DivergedError as diverged:  # other settings may still work
        error = str(diverged)
    return Trial(
        settings=settings,
        valid_mrr=report["valid_mrr"],
        epoch=report.get("epoch"),
        seconds=time.process_time() - started,
        error=error,
    )


def _fit_preset(name: str, task: FitTask) -> dict[str, Any]:
    """The report of one of our own models, fitted with these settings."""
    from apptek.predictor import Predictor

    fitted = Predictor.fit(
        task.dataset, model=name, config=task.config, seed=task.seed, final=False
    )
    return fitted.model.main.report
