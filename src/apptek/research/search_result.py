"""A search for a baseline's settings as a result, and the trials of one that was stopped."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from apptek.baselines.search import Search, Trial, best_trial, space_values
from apptek.errors import ApptekError, CheckpointError
from apptek.research.result import Result, plain_settings, read_result
from apptek.resuming import check_same_run
from apptek.setting_rules import setting_texts

MODEL = "search"


def search_result(search: Search, trials: Sequence[Trial]) -> Result:
    """Every trial of a search, and how the best one differs from the settings it began with.

    ApptekError where every trial has failed.
    """
    best = best_trial(trials)
    if best is None:
        name, error = search.baseline, trials[0].error
        raise ApptekError(f"every trial of {name} has failed; the first: {error}")
    before = space_values(search.config, best.settings)
    found = {
        "model": MODEL,
        "split": "valid",  # a search never sees test
        "metrics": {"mrr": best.valid_mrr},
        "seconds": {"search": sum(trial.seconds for trial in trials)},
        "trials": [asdict(trial) for trial in trials],
        "best": {key: value for key, value in best.settings.items() if value != before[key]},
    }
    return Result.from_json(identity(search) | found)


def describe(trial: Trial) -> str:
    """A trial in one line."""
    when = "" if trial.epoch is None else f" in epoch {trial.epoch}"
    outcome = trial.error or f"MRR {trial.valid_mrr:.4f}{when}"
    return f"{outcome}, {trial.seconds:.0f} s: {' '.join(setting_texts(trial.settings))}"


def finished_trials(path: Path, search: Search) -> list[Trial]:
    """Return the trials that a search has left in its result file; none where there is no file.

    CheckpointError where the file is that of another search.
    """
    if not path.exists():
        return []
    recorded, expected = read_result(path), identity(search)
    check_same_run(expected, recorded.as_json(), path, "remove it to start again")
    try:
        return [Trial(**trial) for trial in recorded.extras["trials"]]
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{path} is damaged ({error!r}): remove it") from None


def identity(search: Search) -> dict[str, Any]:
    """Return what tells one search from another."""
    return {
        "baseline": search.baseline,
        "minutes": search.minutes,
        "protocol": search.protocol,
        "seed": search.seed,
        "settings": plain_settings(search.config),
    }
