"""The commands `baseline`, which fits a baseline, and `search`, which searches settings."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from apptek.baselines.registry import LEARNED_NAMES, NAMES
from apptek.commands.options import (
    AliasesOption,
    DataArgument,
    NameTables,
    OutOption,
    PredicatesOption,
    ProtocolOption,
    ResumeOption,
    SeedOption,
    SettingsOption,
)
from apptek.commands.reading_options import Reading, reads_data
from apptek.config import PRESETS

PresetOption = Annotated[
    Literal["default", "paper"],
    typer.Option(
        "--preset",
        metavar="NAME",
        help="default: the settings that do best; paper: the objective of its authors.",
    ),
]


def _alternatives(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}."


@reads_data
def baseline(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help=_alternatives(NAMES) + " Packages may add more: see docs/own-models.md.",
        ),
    ],
    data: DataArgument,
    out: OutOption,
    preset_name: PresetOption = "default",
    protocol: ProtocolOption = "official",
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    resume: ResumeOption = False,
    predicates: PredicatesOption = None,
    aliases: AliasesOption = None,
    *,
    reading: Reading,
) -> None:
    """Fit a baseline: a counting model or an embedding.

    `evaluate` and `predict` work on it as on any model.

    Example: `apptek baseline recency world --out recency`
    """
    from apptek.baselines.baseline import Baseline
    from apptek.baselines.registry import preset_of
    from apptek.research.provenance import about_run
    from apptek.setting_rules import with_settings
    from apptek.terminal import step_progress, tell, tell_next

    config = with_settings(preset_of(name, preset_name), settings or [])
    tables = NameTables.read(predicates, aliases)
    dataset = tables.apply(reading.read(data))
    with step_progress(f"fitting {name}") as progress:
        fitted = Baseline.fit(
            name,
            dataset,
            preset=preset_name,
            config=config,
            protocol=protocol,
            seed=seed,
            folder=out,
            resume=resume,
            progress=progress,
            about_run=about_run(),
        )
    tell(f"{name}: MRR {fitted.model.report['valid_mrr']:.4f} on the tuning split")
    tell(f"the model is in {out}")
    tell_next(["evaluate", str(out), "--result", f"{name}.json"])


@reads_data
def search(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help=_alternatives((*LEARNED_NAMES, *PRESETS)) + " Packages may add more.",
        ),
    ],
    data: DataArgument,
    minutes: Annotated[
        float,
        typer.Option(
            "--minutes",
            metavar="N",
            help="The time for all trials, on one core; the last trial may take longer.",
        ),
    ] = 15.0,
    preset_name: PresetOption = "default",
    protocol: ProtocolOption = "official",
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    result: Annotated[
        Path | None,
        typer.Option("--result", metavar="FILE", help="Write every trial to this JSON file."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the search that has left --result.")
    ] = False,
    *,
    reading: Reading,
) -> None:
    """Search for the settings with which a model does best on the valid split.

    The first trial is the preset; every other one changes two settings of the best so far. The test
    split is not used. Ctrl-C ends the search with the best trial so far; --resume continues it.

    Example: `apptek search de_simple world --minutes 1`
    """
    from apptek.baselines.search import (
        Search,
        Trial,
        best_trial,
        first_settings,
        search_settings,
        search_space,
    )
    from apptek.files import check_target
    from apptek.research.result import write_result
    from apptek.research.search_result import describe, finished_trials, search_result
    from apptek.setting_rules import setting_texts, with_settings
    from apptek.terminal import step_progress, tell

    config = with_settings(first_settings(name, preset_name), settings or [])
    search_space(name)  # refuses a baseline without one before the data is read
    if result is not None:
        check_target(result)
    dataset = reading.read(data)
    task = Search(baseline=name, config=config, minutes=minutes, protocol=protocol, seed=seed)
    trials: list[Trial] = finished_trials(result, task) if resume and result else []

    def on_trial(done: list[Trial]) -> None:
        trials[:] = done
        if result is not None and best_trial(trials):
            summary = search_result(task, trials)
            write_result(result, replace(summary, dataset=dataset.name, preset=preset_name))
        tell(f"trial {len(trials)}: {describe(trials[-1])}")

    stopped = False
    try:
        with step_progress(f"searching {name}") as progress:
            search_settings(task, dataset, done=trials, on_trial=on_trial, progress=progress)
    except KeyboardInterrupt:
        if best_trial(trials) is None:
            raise
        stopped = True
        tell("stopped; this is the best so far")
    summary = search_result(task, trials)
    changes = [*(settings or []), *setting_texts(summary.extras["best"])]
    preset = name if name in PRESETS else preset_name
    verb = ["fit"] if name in PRESETS else ["baseline", name]
    words = ["apptek", *verb, data, "--preset", preset, "--protocol", protocol]
    words += ["--seed", str(seed), *(word for text in changes for word in ("--set", text))]
    tell(f"best: MRR {summary.metrics['mrr']:.4f} on valid; fit it with")
    typer.echo(shlex.join([*words, *reading.words(), "--out", "model"]))
    if stopped:
        raise typer.Exit(130)
