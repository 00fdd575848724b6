"""A search for a baseline's settings as a result file."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from apptek.baselines.search import Trial, best_trial, space_of, values_of
from apptek.errors import ApptekError
from apptek.files import write_whole
from apptek.settings import setting_texts

MODEL = "search"


def search_result(
    name: str, config: Any, trials: Sequence[Trial], minutes: float
) -> dict[str, Any]:
    """What a search has found: every trial, and in what the best differs from where it began."""
    best = best_trial(trials)
    if best is None:
        raise ApptekError(f"every trial of {name} has failed; the first: {trials[0].error}")
    return {
        "model": MODEL,
        "baseline": name,
        "minutes": minutes,
        "split": "valid",
        "settings": asdict(config),
        "trials": [asdict(trial) for trial in trials],
        "metrics": {"mrr": best.valid_mrr},
        "best": changed(name, config, best),
        "seconds": {"search": sum(trial.seconds for trial in trials)},
    }


def changed(name: str, config: Any, trial: Trial) -> dict[str, Any]:
    """The settings of a trial that are not the config's, by section.key."""
    own = values_of(config, space_of(name))
    return {key: value for key, value in trial.settings.items() if value != own[key]}


def describe(trial: Trial) -> str:
    """A trial in a line."""
    reached = trial.error or f"MRR {trial.valid_mrr:.4f} in epoch {trial.epoch}"
    return f"{reached}, {trial.seconds:.0f} s: {' '.join(setting_texts(trial.settings))}"


def keep_trials(path: Path, identity: dict[str, Any], trials: Sequence[Trial]) -> None:
    """Writes the trials of a search that is on its way; `identity` says which search it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {"search": identity, "trials": [asdict(trial) for trial in trials]}
    write_whole(path, json.dumps(kept).encode())


def kept_trials(path: Path, identity: dict[str, Any]) -> list[Trial]:
    """The trials of a search that was stopped; none where it had not begun.

    ApptekError where the file is damaged, or of another search.
    """
    if not path.exists():
        return []
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        trials, found = [Trial(**trial) for trial in kept["trials"]], kept["search"]
    except (ValueError, TypeError, KeyError) as error:
        raise ApptekError(f"{path} is damaged ({error}): remove it to start again") from None
    if found != identity:
        raise ApptekError(
            f"{path} belongs to a search with other settings: remove it to start again"
        )
    return trials
