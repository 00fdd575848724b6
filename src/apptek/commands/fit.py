"""The command `fit`."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from apptek.commands.options import (
    AliasesOption,
    DataArguments,
    NameTables,
    ObservedUntilOption,
    OutOption,
    PredicatesOption,
    ProtocolOption,
    ResumeOption,
    SeedOption,
    SettingsOption,
    option,
)
from apptek.commands.reading_options import Reading, reads_data
from apptek.extras import require_torch

ModelOption = Annotated[
    str,
    option(
        "--model",
        "default: features of history and traits; max: re-ranked by boosted trees; paper: the "
        "paper's topologies. Or a baseline: frequency, profile, pair, recency, tnt_complex, "
        "de_transe, de_distmult, de_simple, re_gcn (`NAME:paper`: its authors' objective), or one "
        "that a package adds.",
        "NAME",
    ),
]
ReplaceOption = Annotated[
    bool,
    option("--replace", "Overwrite an existing model, atomically, when the fit succeeds."),
]
TypesOption = Annotated[
    Path | None,
    option(
        "--types",
        "A table of entity types: a column of entities, then one for each kind of type.",
        "FILE",
    ),
]
FitPastOnlyOption = Annotated[
    bool,
    option("--past-only", "Fit only the view without later facts; it then answers every query."),
]
AgentOption = Annotated[
    Path | None,
    option("--agent", "For the model paper: the folder of an agent from `paper train`.", "AGENT"),
]
FinalOption = Annotated[
    bool | None,
    option(
        "--final/--not-final",
        "Answer from all facts, those of valid and test included (the default for a single file). "
        "`evaluate` keeps to the training facts.",
    ),
]


@reads_data
def fit(
    data: DataArguments,
    out: OutOption,
    model: ModelOption = "default",
    protocol: ProtocolOption = "official",
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    resume: ResumeOption = False,
    replace: ReplaceOption = False,
    past_only: FitPastOnlyOption = False,
    final: FinalOption = None,
    observed_until: ObservedUntilOption = None,
    predicates: PredicatesOption = None,
    aliases: AliasesOption = None,
    types: TypesOption = None,
    agent: AgentOption = None,
    *,
    reading: Reading,
) -> None:
    """Fit a model that predicts predicates.

    It learns from the train split how features predict predicates, and chooses its
    settings on the valid split. A baseline is fitted in the same way.

    Example: `apptek fit world --out model`
    """
    from apptek.config import PRESETS
    from apptek.models.registry import model_settings
    from apptek.reading.name_tables import read_types
    from apptek.setting_rules import with_settings

    changes = [*(settings or []), *(["features.past_only=true"] if past_only else [])]
    config = with_settings(model_settings(model), changes)
    options: dict[str, Any] = {
        "model": model, "config": config, "protocol": protocol, "seed": seed, "resume": resume,
    }  # fmt: skip
    if model not in PRESETS:
        refused = {"--replace": replace, "--types": types, "--final": final is not None,
                   "--observed-until": observed_until, "--agent": agent}  # fmt: skip
        if words := [word for word, given in refused.items() if given]:
            raise typer.BadParameter(f"{words[0]} is for default, max and paper, not for {model}")
        tables = NameTables.read(predicates, aliases)
        _fit_baseline(_read(data, reading, tables), out, options)
        return
    if "topologies" in config.features.parts:
        require_torch()
    elif agent is not None:
        raise typer.BadParameter("--agent needs the model paper: an agent finds topologies")
    # Before the data, which may take long to read: a bad table should fail at once.
    options |= {"types": None if types is None else read_types(types), "final": final}
    options |= {"replace": replace, "observed_until": observed_until, "agent": agent}
    tables = NameTables.read(predicates, aliases)
    _fit_own(_read(data, reading, tables), out, options)


def _read(data: list[str], reading: Reading, tables: NameTables) -> Any:
    """Return the data; print a note on names that are nearly alike."""
    from apptek.facts.name_matching import alike_note
    from apptek.terminal import tell

    dataset = tables.apply(reading.read(data))
    if note := alike_note(dataset.entities):
        tell(f"note: {note}")
    return dataset


def _fit_own(dataset: Any, out: Path, options: dict[str, Any]) -> None:
    """Fit a model with features, and print its stages on stderr."""
    from apptek.predictor import Predictor
    from apptek.research.provenance import about_run
    from apptek.terminal import tell

    if repeated := sum(dataset.report.duplicates.values()) - dataset.report.merged:
        tell(f"repeated facts, counted once: {repeated:,}")
    undated = dataset.undated_count()
    if 0 < undated < len(dataset.all_facts()):
        tell(f"facts without a time: {undated:,}")
    config = options["config"]
    if options["agent"] is not None:  # before anything is fitted
        from apptek.facts.protocols import apply_protocol
        from apptek.paper.agent import check_agent

        train = apply_protocol(dataset.labelled(), options["protocol"]).train
        check_agent(options["agent"], config.agent, train.digest())
    with_agent = "topologies" in config.features.parts and options["agent"] is None
    with _agent_progress(with_agent) as observers:
        predictor = Predictor.fit(
            dataset,
            folder=out.resolve() if options["replace"] else out,  # keep the symlink
            progress=lambda name, _done, _total: tell(f"stage: {name}"),
            observers=observers,
            about_run=about_run(),
            **options,
        )
    _tell_fitted(predictor.model, out)


def _fit_baseline(dataset: Any, out: Path, options: dict[str, Any]) -> None:
    """Fit a baseline, with its progress on stderr."""
    from apptek.predictor import Predictor
    from apptek.research.provenance import about_run
    from apptek.terminal import step_progress, tell, tell_next

    with step_progress(f"fitting {options['model'].partition(':')[0]}") as progress:
        fitted = Predictor.fit(
            dataset, folder=out, progress=progress, about_run=about_run(), **options
        ).model
    name = fitted.baseline
    tell(f"{name}: MRR {fitted.main.report['valid_mrr']:.4f} on the tuning split")
    tell(f"the model is in {out}")
    tell_next(["evaluate", str(out), "--result", f"{name}.json"])


def _tell_fitted(model: Any, out: Path) -> None:
    """Print what was fitted, its metrics and its limits."""
    from apptek.graph.lookups import is_timeless
    from apptek.models.model import observed_text
    from apptek.present import metrics_text
    from apptek.present.forecast_words import isolated_facts_note
    from apptek.present.template import render
    from apptek.terminal import tell, tell_next

    times = model.isolated_times
    note = isolated_facts_note(times, observed_text(model)).text if times else ""
    about = {"model": model, "report": model.main.report, "metrics": metrics_text, "note": note}
    tell(render("fitted.txt.j2", is_timeless=is_timeless(model.graph), out=str(out), **about))
    asking = ["predict", str(out), "SUBJECT", "OBJECT", "TIME"]
    tell_next(*([["evaluate", str(out)]] if len(model.dataset.test) else []), asking)


def _agent_progress(with_agent: bool) -> AbstractContextManager[Any]:
    """Return observers of the agent's training; none without an agent, as they import torch."""
    if not with_agent:
        return nullcontext(())
    from apptek.commands.training_progress import training_progress

    return training_progress()
