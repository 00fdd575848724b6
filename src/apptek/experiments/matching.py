"""Which results belong to an experiment, and how their settings differ from a preset's.

This is the one place that knows how to read the settings of older results.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apptek.config import preset
from apptek.experiments.experiment import Experiment
from apptek.experiments.result import Result, Settings, plain_settings
from apptek.resuming import check_same_run, differences

# Settings that no longer exist but that older results name, with the value that stayed.
RETIRED_SETTINGS = {"agent.reward": "connection", "mining.keep": "frequent"}

_RANKED = {"filtering": "time-aware", "candidates": "R"}  # how every experiment ranks


def results_of(experiment: Experiment, results: Sequence[Result]) -> list[Result]:
    """The results of an experiment by seed; a run that is recorded twice counts once."""
    of_seed: dict[int, Result] = {}
    for result in results:
        seed = result.seed or 0
        # Cheap tests first: comparing settings builds the experiment's config.
        is_new = seed in experiment.seeds and seed not in of_seed
        if is_new and result.model == experiment.model and not find_differences(experiment, result):
            of_seed[seed] = result
    return [of_seed[seed] for seed in sorted(of_seed)]


def find_differences(experiment: Experiment, result: Result) -> list[str]:
    """The entries in which a result is not one of the experiment's, whatever its seed."""
    return differences(*_identities(experiment, result))


def check_result(experiment: Experiment, result: Result, path: Path, seed: int) -> None:
    """Raises CheckpointError where the result file is not that of the experiment's seed."""
    expected, recorded = _identities(experiment, result)
    advice = "move it away, or change the experiment"
    check_same_run(expected | {"seed": seed}, recorded, path, advice)


def check_model(
    experiment: Experiment, model: Result, folder: Path, *, seed: int, train: str
) -> None:
    """Raises CheckpointError where the model in a folder is not that of the experiment's seed.

    model  the model as its result will describe it
    train  the digest of the training facts
    """
    expected, recorded = _identities(experiment, model)
    expected |= {"seed": seed, "training facts": train}
    recorded |= {"training facts": model.data["train"]}
    # An evaluation adds what the model does not say yet, as the split. The model's name is the
    # preset's, also where the experiment is called otherwise, as one that shows topologies.
    recorded = expected | recorded | {"model": experiment.model}
    check_same_run(expected, recorded, folder, "remove it")


def _identities(experiment: Experiment, result: Result) -> tuple[dict[str, Any], dict[str, Any]]:
    """What every result of the experiment says, and what this one says; settings by section.key.

    A setting that the result does not name is younger than the result, which had the preset's
    value. One that no longer exists must have had the value that stayed.
    """
    expected, named = experiment.identity(), _by_name(result.settings)
    own = _by_name(expected.pop("settings", {}))
    retired = {name: value for name, value in RETIRED_SETTINGS.items() if name in named}
    # Queries as of each time, of a model that was fitted with hindsight, are another run.
    expected |= retired | own | {"as_of": result.fitted_on_the_past} | _RANKED
    presets = _by_name(experiment.preset_settings())
    recorded = (
        {"rolling": False}
        | _RANKED
        | result.as_json()
        | presets
        | named
        | {"as_of": result.sees_only_the_past}
    )
    return expected, recorded


def settings_unlike_preset(result: Result) -> dict[str, Any]:
    """The settings of our model, by section.key, that are not those of its preset by now."""
    present = RETIRED_SETTINGS | _by_name(
        plain_settings(preset(result.model.removeprefix("apptek_")))
    )
    recorded = _by_name(result.settings)
    return {name: value for name, value in recorded.items() if value != present.get(name)}


def _by_name(settings: Settings) -> dict[str, Any]:
    return {
        f"{section}.{key}": value
        for section, values in settings.items()
        for key, value in values.items()
    }
