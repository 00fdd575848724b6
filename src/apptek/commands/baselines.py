"""The command that fits a rival."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from apptek.commands.options import (
    ColumnsOption,
    DataArgument,
    ResumeOption,
    SeedOption,
    SettingsOption,
    SkipBadOption,
)


def baseline(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="frequency, profile, pair, recency, tnt_complex, de_transe, de_distmult, "
            "de_simple or re_gcn.",
        ),
    ],
    data: DataArgument,
    out: Annotated[Path, typer.Option("--out", help="A new folder for the model.")],
    preset_name: Annotated[
        Literal["default", "paper"],
        typer.Option(
            "--preset", help="default: what serves best; paper: the objective of its authors."
        ),
    ] = "default",
    protocol: Annotated[
        Literal["official", "paper"],
        typer.Option(
            "--protocol", help="official: the files as they are; paper: as it split them."
        ),
    ] = "official",
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    resume: ResumeOption = False,
    columns: ColumnsOption = None,
    skip_bad: SkipBadOption = False,
) -> None:
    """Fit a rival: counting or an embedding, for `evaluate`, `predict` and `compare`.

    Example: `apptek baseline recency icews14 --out recency`
    """
    from apptek.baselines.baseline import Baseline
    from apptek.baselines.registry import preset_of
    from apptek.data.readers import read_dataset
    from apptek.experiments.record import about_run
    from apptek.settings import with_settings
    from apptek.terminal import byte_progress, messages, step_progress

    config = with_settings(preset_of(name, preset_name), settings or [])
    with byte_progress("reading") as report:
        dataset = read_dataset(data, columns=columns, skip_bad=skip_bad, progress=report)
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
    messages().print(
        f"{name}: MRR {fitted.model.report['valid_mrr']:.4f} on the tuning split; "
        f"the model is in {out}",
        soft_wrap=True,
    )
