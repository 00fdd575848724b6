"""The command `research search`."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from apptek.commands.options import (
    DataArgument,
    ProtocolOption,
    SeedOption,
    SettingsOption,
    argument,
    option,
)
from apptek.commands.reading_options import Reading, reads_data

if TYPE_CHECKING:
    from apptek.research.search import Search, Trial

_NAMES = (
    "tnt_complex, de_transe, de_distmult, de_simple, re_gcn, default, max or paper, as for "
    "`fit --model`."
)


@reads_data
def search(
    name: Annotated[str, argument("NAME", _NAMES)],
    data: DataArgument,
    minutes: Annotated[
        float,
        option(
            "--minutes",
            "The time for all trials, on one core; the last trial may take longer.",
            "N",
        ),
    ] = 15.0,
    protocol: ProtocolOption = "official",
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    result: Annotated[
        Path | None, option("--result", "Write every trial to this JSON file.", "FILE")
    ] = None,
    resume: Annotated[
        bool, option("--resume", "Continue the search that has left --result.")
    ] = False,
    *,
    reading: Reading,
) -> None:
    """Search for the settings with which a model does best on the valid split.

    The first trial has the model's own settings; every other one draws each setting at random.
    The test split is not used. Ctrl-C ends the search with the best trial so far;
    --resume continues it.

    Example: `apptek research search de_simple world --minutes 1`
    """
    from apptek.files import check_target
    from apptek.models.registry import model_settings, name_and_preset
    from apptek.research.search import Search, finished_trials, search_result, search_space
    from apptek.setting_rules import setting_texts, with_settings
    from apptek.terminal import tell

    config = with_settings(model_settings(name), settings or [])
    baseline, preset = name_and_preset(name)
    search_space(baseline)  # refuses a baseline without one before the data is read
    if result is not None:
        check_target(result)
    dataset = reading.read(data)
    task = Search(baseline=baseline, config=config, minutes=minutes, protocol=protocol, seed=seed)
    trials: list[Trial] = finished_trials(result, task) if resume and result else []
    stopped = _run(task, dataset, result, preset, trials)
    summary = search_result(task, trials)
    changes = [*(settings or []), *setting_texts(summary.extras["best"])]
    words = ["apptek", "fit", data, "--model", name, "--protocol", protocol, "--seed", str(seed)]
    words += [word for text in changes for word in ("--set", text)]
    tell(f"best: MRR {summary.metrics['mrr']:.4f} on valid; fit it with")
    typer.echo(shlex.join([*words, *reading.words(), "--out", "model"]))
    if stopped:
        raise typer.Exit(130)


def _run(
    task: "Search", dataset: Any, result: Path | None, preset: str, trials: "list[Trial]"
) -> bool:
    """Run the trials that are missing, and write the result after each; whether Ctrl-C ended it."""
    from apptek.research.result import write_result
    from apptek.research.search import best_trial, describe, search_result, search_settings
    from apptek.terminal import step_progress, tell

    def on_trial(done: "list[Trial]") -> None:
        trials[:] = done
        if result is not None and best_trial(trials):
            summary = search_result(task, trials)
            write_result(result, replace(summary, dataset=dataset.name, preset=preset))
        tell(f"trial {len(trials)}: {describe(trials[-1])}")

    try:
        with step_progress(f"searching {task.baseline}") as progress:
            search_settings(task, dataset, done=trials, on_trial=on_trial, progress=progress)
    except KeyboardInterrupt:
        if best_trial(trials) is None:
            raise
        tell("stopped; this is the best so far")
        return True
    return False
