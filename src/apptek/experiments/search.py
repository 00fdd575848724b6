"""A search for a baseline's settings as a result file."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from apptek.baselines.search import Search, Trial, best_trial, space_values
from apptek.errors import ApptekError
from apptek.files import write_whole
from apptek.settings import setting_texts

MODEL = "search"


def search_result(search: Search, trials: Sequence[Trial]) -> dict[str, Any]:
    """Every trial of a search, and the settings in which the best differs from the first."""
    best = best_trial(trials)
    if best is None:
        name, error = search.baseline, trials[0].error
        raise ApptekError(f"every trial of {name} has failed; the first: {error}")
    own = space_values(search.config, best.settings)
    return {
        "model": MODEL,
        "baseline": search.baseline,
        "minutes": search.minutes,
        "split": "valid",
        "settings": asdict(search.config),
        "trials": [asdict(trial) for trial in trials],
        "metrics": {"mrr": best.valid_mrr},
        "best": {key: value for key, value in best.settings.items() if value != own[key]},
        "seconds": {"search": sum(trial.seconds for trial in trials)},
    }


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
