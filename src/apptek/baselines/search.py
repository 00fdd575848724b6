"""The search for a baseline's settings: trial after trial on valid, within minutes of one core.

The first trial is the settings as they are. Every other one changes two settings of the best so
far. A trial that has begun is finished, so that slow baselines run a little over.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from apptek.baselines.definition import FitTask, Progress, Space
from apptek.baselines.registry import find_baseline
from apptek.data.facts import Dataset
from apptek.data.protocols import Protocol, apply_protocol
from apptek.errors import ConfigError, DataError, DivergedError
from apptek.graph.temporal_graph import TemporalGraph
from apptek.seeding import generator
from apptek.settings import setting_texts, with_settings

CHANGED = 2  # settings in which a trial differs from the best so far
DRAWS = 100  # before the space counts as exhausted


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Settings that were tried, and the best MRR on valid; None where training failed."""

    settings: dict[str, Any]  # all of the space, by section.key
    valid_mrr: float | None
    epoch: int | None  # of that MRR
    seconds: float  # of one core
    error: str = ""


def search_settings(
    name: str,
    data: Dataset,
    config: Any,
    *,
    minutes: float,
    protocol: Protocol = "official",
    seed: int = 0,
    done: Sequence[Trial] = (),
    on_trial: Callable[[list[Trial]], None],
    progress: Progress,
) -> list[Trial]:
    """Trials until their seconds fill the minutes, or nothing is left to try.

    config    where the search begins
    done      trials of an earlier run with the same arguments, which goes on
    on_trial  hears of all trials after each one
    """
    space = space_of(name)
    if not 0 < minutes < math.inf:
        raise ConfigError(f"--minutes must be above 0, not {minutes:g}")
    dataset = apply_protocol(data, protocol)
    if not len(dataset.valid):
        raise DataError(f"a search needs valid facts, but {data.name} has none")
    graph, trials = TemporalGraph.of(dataset), list(done)
    while not trials or sum(trial.seconds for trial in trials) < 60 * minutes:
        rng = generator(seed, f"trial {len(trials)}")
        settings = next_settings(space, trials, rng) if trials else values_of(config, space)
        if settings is None:
            break
        tried = with_settings(config, setting_texts(settings))
        with TemporaryDirectory(prefix="apptek-search-") as work:
            task = FitTask(
                dataset=dataset, graph=graph, config=tried, seed=seed, work=Path(work),
                progress=progress,
            )  # fmt: skip
            trials.append(_run(name, settings, task))
        on_trial(trials)
    return trials


def space_of(name: str) -> Space:
    """What may be tried for a baseline; ConfigError where there is nothing."""
    space = find_baseline(name).space
    if not space:
        raise ConfigError(f"{name} has nothing to search for: fitting chooses its settings")
    return space


def values_of(config: Any, space: Space) -> dict[str, Any]:
    """The settings of a space as a config has them."""
    return {key: getattr(getattr(config, key.split(".")[0]), key.split(".")[1]) for key in space}


def best_trial(trials: Sequence[Trial]) -> Trial | None:
    """The trial with the highest MRR, the first of equals; None where all have failed."""
    found = [trial for trial in trials if trial.valid_mrr is not None]
    return max(found, key=lambda trial: trial.valid_mrr or 0.0, default=None)


def next_settings(
    space: Space, trials: Sequence[Trial], rng: np.random.Generator
) -> dict[str, Any] | None:
    """The best so far with two settings changed, as no trial has had them; None if none is left."""
    best = best_trial(trials) or trials[0]
    for _ in range(DRAWS):
        settings = dict(best.settings)
        for place in rng.permutation(len(space))[:CHANGED]:
            key = list(space)[place]
            others = [value for value in space[key] if value != settings[key]]
            settings[key] = others[rng.integers(len(others))]
        if all(settings != trial.settings for trial in trials):
            return settings
    return None


def _run(name: str, settings: dict[str, Any], task: FitTask) -> Trial:
    started = time.process_time()
    try:
        report = find_baseline(name).fit(task)[1]
    except DivergedError as error:  # other settings may not
        seconds = time.process_time() - started
        return Trial(
            settings=settings, valid_mrr=None, epoch=None, seconds=seconds, error=str(error)
        )
    return Trial(
        settings=settings,
        valid_mrr=report["valid_mrr"],
        epoch=report["epoch"],
        seconds=time.process_time() - started,
    )
