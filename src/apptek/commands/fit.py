"""The command `fit`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apptek.commands import options as opt
from apptek.commands.options import option
from apptek.commands.reading_options import Reading
from apptek.errors import ApptekError
from apptek.extras import require_torch


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """The options of `fit`."""

    data: opt.DataArguments
    out: opt.OutOption
    model: str = option(
        "--model NAME",
        "default: history and traits as features; max: the same, re-ranked by boosted trees; "
        "paper: the paper's topologies. Or a baseline: frequency, profile, pair, recency, "
        "tnt_complex, de_transe, de_distmult, de_simple, re_gcn, or one from another package. "
        "`NAME:paper` uses the objective of the baseline's authors.",
        "default",
    )
    protocol: opt.ProtocolOption = "official"
    settings: opt.SettingsOption = None
    seed: opt.SeedOption = 0
    resume: bool = option("--resume", "Continue a stopped run.", False)
    replace: bool = option(
        "--replace", "Overwrite an existing model, atomically, when the fit succeeds.", False
    )
    past_only: bool = option(
        "--past-only", "Fit only the past_only view, which then answers every query.", False
    )
    final: bool | None = option(
        "--final/--not-final",
        "Answer from all facts, including the validation and test sets (the default for a single "
        "file). `evaluate` still uses only the training facts.",
    )
    observed_until: opt.ObservedUntilOption = None
    predicates: str | None = option(
        "--predicates FILE",
        "A table with the columns predicate, class, label, phrase, group. ICEWS and GDELT data use "
        "the built-in CAMEO table by default; `none` turns it off.",
    )
    aliases: Path | None = option(
        "--aliases FILE", "A table of aliases: each row has a name in the data, then its aliases."
    )
    types: Path | None = option(
        "--types FILE",
        "A table of entity types: a column of entities, then a column for each kind of type.",
    )
    agent: Path | None = option(
        "--agent AGENT", "The folder of an agent from `paper train`, for --model paper."
    )


@opt.takes_options
def fit(options: FitOptions, reading: Reading) -> None:
    """Fit a model that predicts predicates.

    The model learns from the training facts how features predict predicates. It chooses its
    settings on the validation set. A baseline is fitted the same way.

    Example: `apptek fit world --out model`
    """
    from apptek.config import PRESETS
    from apptek.files import is_model
    from apptek.models.registry import model_settings
    from apptek.reading.name_tables import as_predicate_table, read_aliases, read_types
    from apptek.research.provenance import about_run
    from apptek.setting_rules import with_settings

    changes = [*(options.settings or []), *["features.past_only=true"] * options.past_only]
    config = with_settings(model_settings(options.model), changes)
    if is_baseline := options.model not in PRESETS:
        of_ours = ("replace", "types", "final", "observed_until", "agent")
        opt.refuse(options, of_ours, f"is for default, max and paper, not for {options.model}")
    elif "topologies" in config.features.parts:
        require_torch()
    else:
        opt.refuse(options, ["agent"], "requires --model paper")
    if not is_baseline and not options.replace and is_model(options.out):
        why = "use --replace to overwrite the model, or choose another folder"
        raise ApptekError(f"{options.out} already exists; {why}")
    # Before the data, which may take long to read, so that a bad table fails at once.
    names = ("model", "protocol", "seed", "resume", "final", "replace", "observed_until", "agent")
    keywords: dict[str, Any] = {name: getattr(options, name) for name in names}
    keywords |= {"config": config, "about_run": about_run()}
    keywords["types"] = None if options.types is None else read_types(options.types)
    labels = as_predicate_table(options.predicates)
    aliases = {} if options.aliases is None else read_aliases(options.aliases)
    dataset = _read(options.data, reading, labels, aliases)
    (_fit_baseline if is_baseline else _fit_own)(dataset, options.out, keywords)


def _read(data: list[str], reading: Reading, labels: Any, aliases: dict[str, str]) -> Any:
    """Return the data with its tables of names; print how many names they cover."""
    from apptek.facts.name_matching import alike_note
    from apptek.reading.name_tables import with_aliases
    from apptek.terminal import tell

    dataset = with_aliases(reading.read_data(data).labelled(labels), aliases)
    if dataset.labels:
        known, count = len(dataset.labels), len(dataset.predicates)
        off = "; --predicates none turns this off" if labels is None else ""
        tell(f"labels: {known:,} of {count:,} predicates are in {dataset.labels.source}{off}")
    if aliases:
        found = sum(dataset.entities.find(name) is not None for name in aliases.values())
        tell(f"aliases: {found:,} of {len(aliases):,} match entities in the data")
    if note := alike_note(dataset.entities):
        tell(f"note: {note}")
    return dataset


def _fit_own(dataset: Any, out: Path, keywords: dict[str, Any]) -> None:
    """Fit a model with features, and print its stages on stderr."""
    from apptek.predictor import Predictor
    from apptek.terminal import stage_progress, tell

    if repeated := sum(dataset.report.duplicates.values()) - dataset.report.merged:
        tell(f"repeated facts, counted once: {repeated:,}")
    undated = dataset.undated_count()
    if 0 < undated < len(dataset.all_facts()):
        tell(f"facts without a time: {undated:,}")
    if keywords["agent"] is not None:  # before anything is fitted, so that nothing is left behind
        from apptek.facts.protocols import apply_protocol
        from apptek.paper.agent import check_agent

        train = apply_protocol(dataset.labelled(), keywords["protocol"]).train
        check_agent(keywords["agent"], keywords["config"].agent, train.digest())
    folder = out.resolve() if keywords["replace"] else out  # keep the symlink
    with stage_progress("stage") as progress:
        predictor = Predictor.fit(dataset, folder=folder, progress=progress, **keywords)
    _tell_fitted(predictor.model, out)


def _fit_baseline(dataset: Any, out: Path, keywords: dict[str, Any]) -> None:
    """Fit a baseline, with its progress on stderr."""
    from apptek.predictor import Predictor
    from apptek.terminal import step_progress, tell, tell_next

    with step_progress(f"fitting {keywords['model'].partition(':')[0]}") as progress:
        fitted = Predictor.fit(dataset, folder=out, progress=progress, **keywords).model
    name = fitted.baseline
    tell(f"{name}: MRR {fitted.main.report['valid_mrr']:.4f} on the tuning split")
    tell(f"model written to {out}")
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
