"""The command `fit`."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from apptek.commands.options import (
    DataArgument,
    OutOption,
    ProtocolOption,
    Reading,
    ResumeOption,
    SeedOption,
    SettingsOption,
    reads_data,
)
from apptek.extras import require_torch

SEES = {"within": "with all facts in sight", "ahead": "with only the past in sight"}


@reads_data
def fit(
    data: DataArgument,
    out: OutOption,
    preset_name: Annotated[
        Literal["default", "max", "paper"],
        typer.Option(
            "--preset",
            metavar="NAME",
            help="default: features of history and traits; max: the same, re-ranked by boosted "
            "trees; paper: topologies that the paper's agent finds.",
        ),
    ] = "default",
    protocol: ProtocolOption = "official",
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    resume: ResumeOption = False,
    types: Annotated[
        Path | None,
        typer.Option(
            "--types",
            metavar="FILE",
            help="A table of entity types: a column of entities, then one for each kind of type.",
        ),
    ] = None,
    past_only: Annotated[
        bool,
        typer.Option(
            "--past-only", help="Fit only the view that looks ahead, which then answers everything."
        ),
    ] = False,
    final: Annotated[
        bool | None,
        typer.Option(
            "--final/--not-final",
            help="Answer from all facts, those of valid and test included (the default for a "
            "single file). `evaluate` keeps to the training facts.",
        ),
    ] = None,
    *,
    reading: Reading,
) -> None:
    """Fit a model that predicts predicates.

    It learns from the train split which features speak for which predicate, and chooses its
    settings on the valid split.

    Example: `apptek fit world --out model`
    """
    from apptek.config import preset
    from apptek.data.entity_types import read_types
    from apptek.experiments.provenance import about_run
    from apptek.predictor import Predictor
    from apptek.setting_rules import with_settings
    from apptek.terminal import tell, tell_next

    changes = [*(settings or []), *(["features.past_only=true"] if past_only else [])]
    config = with_settings(preset(preset_name), changes)
    with_agent = "topologies" in config.features.parts
    if with_agent:
        require_torch()
    # Before the data, which may take long to read: a bad table should fail at once.
    entity_types = None if types is None else read_types(types)
    dataset = reading.read(data)
    with _agent_progress(with_agent) as observers:
        predictor = Predictor.fit(
            dataset,
            folder=out,
            preset=preset_name,
            config=config,
            protocol=protocol,
            seed=seed,
            types=entity_types,
            final=final,
            resume=resume,
            on_stage=lambda name: tell(f"stage: {name}"),
            observers=observers,
            about_run=about_run(),
        )
    report = predictor.model.main.report
    if report["profiles_cut_short"]:
        tell(f"{report['profiles_cut_short']:,} profiles were cut short by a dominant partner")
    features = ", ".join(f"{count:,} of {part}" for part, count in report["features"].items())
    tell(f"features: {features}")
    for view, fitted in predictor.model.views.items():
        tell(f"{SEES[view]}: MRR {fitted.report['valid_mrr']:.4f} on the tuning queries")
    model = predictor.model
    answering, training = len(model.graph.facts), len(model.dataset.train)
    which = "all" if answering > training else "the training split's"
    tell(f"it answers from {which} {answering:,} facts")
    tell(f"the model is in {out}")
    tell_next(["evaluate", str(out)], ["predict", str(out), "SUBJECT", "OBJECT", "TIME"])


def _agent_progress(with_agent: bool) -> AbstractContextManager[Any]:
    """Observers of the agent's training; without an agent none, because they import torch."""
    if not with_agent:
        return nullcontext(())
    from apptek.commands.training_progress import training_progress

    return training_progress()
