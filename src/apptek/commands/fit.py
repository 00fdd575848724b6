"""Commands that make a model, add facts to it, and tell about it."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from apptek.commands.engine_options import Distribution, distributes
from apptek.commands.options import (
    AliasesOption,
    DataArguments,
    JsonOption,
    ModelArgument,
    NameTables,
    ObservedUntilOption,
    OutOption,
    PredicatesOption,
    ProtocolOption,
    ResumeOption,
    SeedOption,
    SettingsOption,
    print_json,
)
from apptek.commands.reading_options import Reading, reads_data, reads_facts
from apptek.extras import require_torch
from apptek.safe_text import counted


@distributes
@reads_data
def fit(
    data: DataArguments,
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
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="The folder may be a model already: the new one takes its place at the end, in "
            "one step.",
        ),
    ] = False,
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
    predicates: PredicatesOption = None,
    aliases: AliasesOption = None,
    observed_until: ObservedUntilOption = None,
    *,
    reading: Reading,
    spread: Distribution,
) -> None:
    """Fit a model that predicts predicates.

    It learns from the train split which features speak for which predicate, and chooses its
    settings on the valid split.

    Example: `apptek fit world --out model`
    """
    from apptek.config import preset
    from apptek.data.entity_types import read_types
    from apptek.predictor import Predictor
    from apptek.research.provenance import about_run
    from apptek.setting_rules import with_settings
    from apptek.terminal import tell

    changes = [*(settings or []), *(["features.past_only=true"] if past_only else [])]
    config = with_settings(preset(preset_name), changes)
    with_agent = "topologies" in config.features.parts
    if with_agent:
        require_torch()
    spread.check(out)
    if spread.engine is not None:
        from apptek.engine.engine import check_engine_config

        check_engine_config(config)
    # Before the data, which may take long to read: a bad table should fail at once.
    entity_types = None if types is None else read_types(types)
    tables = NameTables.read(predicates, aliases)
    dataset = tables.apply(reading.read(data))
    if repeated := sum(dataset.report.duplicates.values()) - dataset.report.merged:
        tell(f"repeated facts, which count once: {repeated:,}")
    undated = dataset.undated_count()
    if 0 < undated < len(dataset.all_facts()):
        tell(f"facts without a time: {undated:,}")
    with _agent_progress(with_agent) as observers, spread.open(out) as engine:
        predictor = Predictor.fit(
            dataset,
            folder=out.resolve() if replace else out,  # a link stays one
            preset=preset_name,
            config=config,
            protocol=protocol,
            seed=seed,
            types=entity_types,
            final=final,
            resume=resume,
            replace=replace,
            observed_until=observed_until,
            on_stage=lambda name: tell(f"stage: {name}"),
            observers=observers,
            about_run=about_run(),
            engine=engine,
        )
    _tell_fitted(predictor.model, out)


def _tell_fitted(model: Any, out: Path) -> None:
    """What was fitted, how good it is, and what it cannot do."""
    from apptek.graph.lookups import is_timeless
    from apptek.present.quality_words import VIEWS, quality_text
    from apptek.terminal import tell, tell_next

    report = model.main.report
    if report["profiles_cut_short"]:
        profiles = counted(report["profiles_cut_short"], "profile")
        tell(f"cut short by a dominant partner: {profiles}")
    features = ", ".join(f"{count:,} of {part}" for part, count in report["features"].items())
    tell(f"features: {features}")
    for view, fitted in model.views.items():
        if view == "ahead" and is_timeless(model.graph):
            continue
        quality = fitted.report["quality"]
        tell(f"{VIEWS[view]}: {quality_text(quality)}")
        if model.config.reranker.rounds and fitted.reranker is None:
            why = (
                "there is too little to learn from"
                if quality is None
                else "they do not raise the MRR"
            )
            tell(f"{VIEWS[view]}: the trees of the re-ranker are left out, because {why}")
    if not model.calibrated:
        tell("there are no valid facts: nothing was tuned, and probabilities are not calibrated")
    answering, training = len(model.graph.facts), len(model.dataset.train)
    which = "all" if answering > training else "the training split's"
    tell(f"it answers from {which} {counted(answering, 'fact')}")
    if model.no_forecasts:
        tell(f"no forecasts: {model.no_forecasts}")
    tell(f"the model is in {out}")
    asking = ["predict", str(out), "SUBJECT", "OBJECT", "TIME"]
    tell_next(*([["evaluate", str(out)]] if len(model.dataset.test) else []), asking)


def _agent_progress(with_agent: bool) -> AbstractContextManager[Any]:
    """Observers of the agent's training; without an agent none, because they import torch."""
    if not with_agent:
        return nullcontext(())
    from apptek.commands.training_progress import training_progress

    return training_progress()


@reads_facts
def update(
    model: ModelArgument,
    facts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FACTS...",
            help="A file of facts or several that are read as one, a folder, a pattern, - for "
            "standard input: as for fit.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FOLDER", help="Where the new model goes: a new folder."),
    ] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Put the new model in the place of the old one.")
    ] = False,
    retract: Annotated[
        str | None,
        typer.Option("--retract", metavar="FILE", help="Facts to take out, as they were written."),
    ] = None,
    observed_until: ObservedUntilOption = None,
    as_json: JsonOption = False,
    *,
    reading: Reading,
) -> None:
    """Add facts to a model, or take some out, without fitting it again.

    Entities, days and times may be new. A predicate that the model never learned is counted and
    left out. A file without facts, such as that of a quiet day, adds none: say with
    --observed-until that the day was observed. `evaluate` keeps to the facts of the fit.

    Example: `apptek update model world/test.tsv --out newer`
    """
    from apptek.files import check_new_folder, sole_writer
    from apptek.models.model import observed_text
    from apptek.models.model_folder import load_model, save_model
    from apptek.models.storage import RUN, read_json
    from apptek.models.updating import update_model
    from apptek.research.provenance import about_run, finished_at
    from apptek.terminal import tell, tell_next, working

    if (out is None) != in_place:
        raise typer.BadParameter("give either --out FOLDER or --in-place")
    if not facts and retract is None and observed_until is None:
        raise typer.BadParameter("give FACTS to add, --retract FILE or --observed-until TIME")
    if out is not None:
        check_new_folder(out)
    target = model.resolve() if out is None else out  # a link stays one

    with sole_writer(model) if in_place else nullcontext():
        fitted = load_model(model)  # not a Predictor: nothing is asked, nothing need be indexed
        new, old = (
            None if source is None else _read_facts(reading, source, fitted.dataset)
            for source in (facts or None, retract)
        )
        with working("updating the graph"):
            updated, report = update_model(fitted, new, old, observed_until)
            run = read_json(model, RUN)
            this = {"from": str(model), "finished": finished_at(), **about_run()}
            run["updates"] = [*run.get("updates", []), this]
            save_model(updated, target, run, in_place=in_place)
    if as_json:
        facts_now = {"facts": len(updated.graph.facts)}
        print_json(report.as_json() | facts_now | {"observed_until": observed_text(updated)})
        return
    if facts:
        repeated = sum(new.report.duplicates.values()) if new is not None else 0
        twice = f"; repeated in the file: {repeated:,}" if repeated else ""
        tell(f"facts added: {report.added:,}; known before: {report.known:,}{twice}")
        tell(f"new entities: {report.new_entities:,}")
    if retract is not None:
        tell(f"facts taken out: {report.retracted:,}; not found: {report.not_found:,}")
    left_out = sorted(report.unknown_predicates.items(), key=lambda item: -item[1])
    for name, count in left_out[:5]:
        tell(f"left out, as the model never learned {name!r}: {count:,}")
    if others := left_out[5:]:
        total = sum(count for _, count in others)
        more = counted(len(others), "more predicate")
        tell(f"left out, of {more} that it never learned: {total:,}")
    tell(f"observed until {observed_text(updated)}")
    tell(f"the model is in {target}")
    tell_next(["predict", str(target), "SUBJECT", "OBJECT", "TIME"])


def _read_facts(reading: Reading, source: str | list[str], like: Any) -> Any:
    """The facts of an update; None where the file has none, as on a day without events."""
    from apptek.errors import NoFactsError

    try:
        return reading.read(source, like=like)
    except NoFactsError:
        return None


def info(model: ModelArgument, as_json: JsonOption = False) -> None:
    """Tell what a model or a baseline is: its data, its views, what was added since the fit.

    Example: `apptek info model`
    """
    from apptek.baselines.open_model import summarize_folder
    from apptek.present.quality_words import VIEWS, quality_text
    from apptek.terminal import output, table

    summary = summarize_folder(model)
    if as_json:
        print_json(summary)
        return
    titles = {"views": "views, and their MRR on the tuning queries"}
    quality = summary.pop("quality", {})
    if summary["first"] == "?":  # undated facts have no past
        quality.pop("ahead", None)
    rows = [
        (titles.get(name, name.replace("_", " ")), _words(value)) for name, value in summary.items()
    ]
    rows += [(VIEWS[view].lower(), quality_text(measured)) for view, measured in quality.items()]
    output().print(table(str(model), ("", ""), rows))


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(entry)}" for key, entry in value.items()) or "none"
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
