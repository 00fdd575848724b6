"""A search for a baseline's settings: its result, and the trials of one that is not finished."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from apptek.baselines.search import Search, Trial, best_trial, space_values
from apptek.errors import ApptekError, CheckpointError
from apptek.experiments.result import Result, plain_settings
from apptek.files import write_whole
from apptek.resuming import check_same_run, read_record
from apptek.setting_rules import setting_texts

MODEL = "search"
_ADVICE = "remove it to start again"


def search_result(search: Search, trials: Sequence[Trial]) -> Result:
    """Every trial of a search, and how the best one differs from the settings it began with.

    ApptekError where every trial has failed.
    """
    best = best_trial(trials)
    if best is None:
        name, error = search.baseline, trials[0].error
        raise ApptekError(f"every trial of {name} has failed; the first: {error}")
    before = space_values(search.config, best.settings)
    return Result(
        model=MODEL,
        protocol=search.protocol,
        split="valid",  # a search never sees test
        seed=search.seed,
        settings=plain_settings(search.config),
        metrics={"mrr": best.valid_mrr},
        seconds={"search": sum(trial.seconds for trial in trials)},
        extras={
            "baseline": search.baseline,
            "minutes": search.minutes,
            "trials": [asdict(trial) for trial in trials],
            "best": {key: value for key, value in best.settings.items() if value != before[key]},
        },
    )


def describe(trial: Trial) -> str:
    """A trial in one line."""
    when = "" if trial.epoch is None else f" in epoch {trial.epoch}"
    outcome = trial.error or f"MRR {trial.valid_mrr:.4f}{when}"
    return f"{outcome}, {trial.seconds:.0f} s: {' '.join(setting_texts(trial.settings))}"


def keep_trials(path: Path, identity: Mapping[str, Any], trials: Sequence[Trial]) -> None:
    """Writes the trials of a search so far, with the identity of its run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # All trials each time: the file is replaced as a whole, so a kill leaves the last whole one.
    record = {"search": identity, "trials": [asdict(trial) for trial in trials]}
    write_whole(path, json.dumps(record).encode())


def kept_trials(path: Path, identity: Mapping[str, Any]) -> list[Trial]:
    """The trials of a search that was stopped; none where it had not begun.

    CheckpointError where the file is damaged, or of another search.
    """
    if not path.exists():
        return []
    record = read_record(path, _ADVICE)
    try:
        trials, recorded = [Trial(**trial) for trial in record["trials"]], record["search"]
    except (TypeError, KeyError) as error:
        raise CheckpointError(f"{path} is damaged ({error!r}): {_ADVICE}") from None
    check_same_run(identity, recorded, path, _ADVICE)
    return trials
