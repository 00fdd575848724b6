"""The command `fit`."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

from apptek.commands import options as opt
from apptek.commands.reading_options import Reading, reads_data
from apptek.extras import require_torch

ModelOption = Annotated[
    str,
    opt.option(
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
    opt.option("--replace", "Overwrite an existing model, atomically, when the fit succeeds."),
]
TypesOption = Annotated[
    Path | None,
    opt.option(
        "--types",
        "A table of entity types: a column of entities, then one for each kind of type.",
        "FILE",
    ),
]
FitPastOnlyOption = Annotated[
    bool,
    opt.option(
        "--past-only", "Fit only the view without later facts; it then answers every query."
    ),
]
AgentOption = Annotated[
    Path | None,
    opt.option(
        "--agent", "For the model paper: the folder of an agent from `paper train`.", "AGENT"
    ),
]
FinalOption = Annotated[
    bool | None,
    opt.option(
        "--final/--not-final",
        "Answer from all facts, those of valid and test included (the default for a single file). "
        "`evaluate` keeps to the training facts.",
    ),
]


@reads_data
def fit(
    data: opt.DataArguments,
    out: opt.OutOption,
    model: ModelOption = "default",
    protocol: opt.ProtocolOption = "official",
    settings: opt.SettingsOption = None,
    seed: opt.SeedOption = 0,
    resume: opt.ResumeOption = False,
    replace: ReplaceOption = False,
    past_only: FitPastOnlyOption = False,
    final: FinalOption = None,
    observed_until: opt.ObservedUntilOption = None,
    predicates: opt.PredicatesOption = None,
    aliases: opt.AliasesOption = None,
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
    from apptek.reading.name_tables import as_predicate_table, read_aliases, read_types
    from apptek.research.provenance import about_run
    from apptek.setting_rules import with_settings

    changes = [*(settings or []), *(["features.past_only=true"] if past_only else [])]
    config = with_settings(model_settings(model), changes)
    is_ours = model in PRESETS
    if not is_ours:
        opt.refuse(
            {"--replace": replace, "--types": types, "--final": final is not None,
             "--observed-until": observed_until, "--agent": agent},
            f"is for default, max and paper, not for {model}",
        )  # fmt: skip
    elif "topologies" in config.features.parts:
        require_torch()
    else:
        opt.refuse({"--agent": agent}, "needs the model paper: an agent finds topologies")
    # Before the data, which may take long to read: a bad table should fail at once.
    options: dict[str, Any] = {
        "model": model, "config": config, "protocol": protocol, "seed": seed, "resume": resume,
        "types": None if types is None else read_types(types), "final": final, "replace": replace,
        "observed_until": observed_until, "agent": agent, "about_run": about_run(),
    }  # fmt: skip
    tables = (as_predicate_table(predicates), {} if aliases is None else read_aliases(aliases))
    dataset = _read(data, reading, *tables)
    (_fit_own if is_ours else _fit_baseline)(dataset, out, options)


def _read(data: list[str], reading: Reading, labels: Any, aliases: dict[str, str]) -> Any:
    """Return the data with its tables of names; print how many names they cover."""
    from apptek.facts.name_matching import alike_note
    from apptek.reading.name_tables import with_aliases
    from apptek.terminal import tell

    dataset = with_aliases(reading.read(data).labelled(labels), aliases)
    if dataset.labels:
        known, count = len(dataset.labels), len(dataset.predicates)
        off = "; --predicates none turns this off" if labels is None else ""
        tell(f"labels: {known:,} of {count:,} predicates are in {dataset.labels.source}{off}")
    if aliases:
        found = sum(dataset.entities.find(name) is not None for name in aliases.values())
        tell(f"aliases: {found:,} of {len(aliases):,} match entities of the data")
    if note := alike_note(dataset.entities):
        tell(f"note: {note}")
    return dataset


def _fit_own(dataset: Any, out: Path, options: dict[str, Any]) -> None:
    """Fit a model with features, and print its stages on stderr."""
    from apptek.predictor import Predictor
    from apptek.terminal import tell

    if repeated := sum(dataset.report.duplicates.values()) - dataset.report.merged:
        tell(f"repeated facts, counted once: {repeated:,}")
    undated = dataset.undated_count()
    if 0 < undated < len(dataset.all_facts()):
        tell(f"facts without a time: {undated:,}")
    config = options["config"]
    observing: Any = nullcontext(())
    if options["agent"] is not None:  # before anything is fitted
        from apptek.facts.protocols import apply_protocol
        from apptek.paper.agent import check_agent

        train = apply_protocol(dataset.labelled(), options["protocol"]).train
        check_agent(options["agent"], config.agent, train.digest())
    elif "topologies" in config.features.parts:
        from apptek.commands.training_progress import training_progress  # needs torch

        observing = training_progress()
    folder = out.resolve() if options["replace"] else out  # keep the symlink
    with observing as observers:
        predictor = Predictor.fit(
            dataset,
            folder=folder,
            progress=lambda name, _done, _total: tell(f"stage: {name}"),
            observers=observers,
            **options,
        )
    _tell_fitted(predictor.model, out)


def _fit_baseline(dataset: Any, out: Path, options: dict[str, Any]) -> None:
    """Fit a baseline, with its progress on stderr."""
    from apptek.predictor import Predictor
    from apptek.terminal import step_progress, tell, tell_next

    with step_progress(f"fitting {options['model'].partition(':')[0]}") as progress:
        fitted = Predictor.fit(dataset, folder=out, progress=progress, **options).model
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
