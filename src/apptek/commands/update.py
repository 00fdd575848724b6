"""The commands `update` and `run`."""

from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from apptek.commands import options as opt
from apptek.commands.forecast import ALERTED, ExitCodeOption
from apptek.commands.options import argument, option, takes_options
from apptek.commands.reading_options import FactsReading


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateOptions:
    """The options of `update`."""

    model: opt.ModelArgument
    facts: list[str] | None = argument(
        "FACTS...", "Files of facts, a folder, a pattern, a database, or - for standard input."
    )
    out: Path | None = option(
        "--out DIR",
        "The folder for the new model. It must be new or empty.",
        callback=opt.check_folder,
    )
    in_place: bool = option("--in-place", "Replace the old model, atomically.", False)
    retract: str | None = option(
        "--retract FILE", "A file of facts to remove, in the same form as in the original file."
    )
    observed_until: opt.ObservedUntilOption = None
    since_last: bool = option(
        "--since-last",
        "Add only facts after the last observed time. A database is read only from there.",
        False,
    )
    as_json: opt.JsonOption = False


@opt.takes_options
def update(options: UpdateOptions, reading: FactsReading) -> None:
    """Add facts to a model, or remove facts, without fitting it again.

    The facts may contain new entities and times. Facts with an unknown predicate are counted and
    left out. A file may be empty, for a day without events: use --observed-until to mark that day
    as observed. `evaluate` still uses only the original training facts.

    Example: `apptek update model world/test.tsv --out newer`
    """
    from apptek.models.model import observed_text

    facts, target = options.facts, options.out
    if (target is None) != options.in_place:
        raise typer.BadParameter("give either --out DIR or --in-place")
    if not facts and options.retract is None and options.observed_until is None:
        raise typer.BadParameter("give FACTS to add, --retract FILE or --observed-until TIME")
    if options.since_last and not facts:
        raise typer.BadParameter("--since-last needs FACTS to add")
    # Resolve a symlink, so that the update replaces the folder and not the link.
    target = options.model.resolve() if target is None else target
    updated, report, repeated = _update(options, target, reading)
    if options.as_json:
        facts_now = {"facts": len(updated.graph.facts)}
        opt.print_json(asdict(report) | facts_now | {"observed_until": observed_text(updated)})
        return
    about = {"added": bool(facts), "removed": options.retract is not None, "repeated": repeated}
    _tell(updated, report, target, **about)


def _update(options: UpdateOptions, target: Path, reading: FactsReading) -> tuple[Any, Any, int]:
    """Read the facts, update the model and write it; also return the number of repeated facts."""
    from apptek.files import sole_writer
    from apptek.models.manifest import RUN, read_json
    from apptek.models.model_folder import load_model, save_model
    from apptek.models.updating import update_model
    from apptek.research.provenance import with_update
    from apptek.terminal import tell, working

    model, in_place = options.model, target == options.model.resolve()
    with sole_writer(model) if in_place else nullcontext():
        fitted = load_model(model)  # not a Predictor, which would build indexes for queries
        new = _read_facts(reading, options.facts or None, fitted, since_last=options.since_last)
        old = _read_facts(reading, options.retract, fitted)
        with working("updating the graph"):
            updated, report = update_model(fitted, new, old, options.observed_until)
            run = with_update(read_json(model, RUN), model)
            save_model(updated, target, run, in_place=in_place)
    undated = 0 if new is None else new.undated_count()
    if undated and fitted.last_observed is not None:
        tell(f"note: facts without a time added to a model with dated facts: {undated:,}")
    return updated, report, sum(new.report.duplicates.values()) if new is not None else 0


def _read_facts(
    reading: FactsReading, source: str | list[str] | None, model: Any, *, since_last: bool = False
) -> Any:
    """Return the facts of an update, or None if there are none, as on a day without events."""
    from apptek.databases import find_database
    from apptek.errors import NoFactsError
    from apptek.models.updating import next_time, unobserved_facts
    from apptek.terminal import tell

    if source is None:
        return None
    database, query = find_database(source), model.dataset.read_with.get("sql", "")
    if database is not None and not (database.table or reading.sql) and query:
        tell(f"{database}: read with the query used for fitting: {' '.join(query.split())}")
    since = next_time(model) if since_last and database is not None else ""
    try:
        facts = reading.read_data(source, like=model.dataset, since=since)
    except NoFactsError:
        return None
    if not since_last:
        return facts
    later = unobserved_facts(facts, model)
    if earlier := len(facts.all_facts()) - len(later.train):
        tell(f"facts from times already observed, left out: {earlier:,}")
    return later


def _tell(updated: Any, report: Any, target: Path, **about: Any) -> None:
    """Print how many facts were added or removed, and the model's folder."""
    from apptek.facts.name_matching import alike_note
    from apptek.models.model import observed_text
    from apptek.present.forecast_words import isolated_facts_note
    from apptek.present.template import render
    from apptek.terminal import tell, tell_next

    names, times = updated.dataset.entities, updated.isolated_times
    about |= {"observed": observed_text(updated), "target": str(target)}
    about["alike"] = alike_note(names, len(names) - report.new_entities)
    late = isolated_facts_note(times, about["observed"]).text if times else ""
    tell(render("updated.txt.j2", report=report, note=late, **about))
    tell_next(["predict", str(target), "SUBJECT", "OBJECT", "TIME"])


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of `run`."""

    project: Path = argument("PROJECT", "The project file.", Path("apptek.toml"))
    dry_run: bool = option("--dry-run", "Print the plan without writing anything.", False)
    observed_until: str | None = option(
        "--observed-until TIME",
        "The end of the observed period, which is the date of the run.  [default: yesterday (UTC), "
        "or as set by `delay` in [source]]",
    )
    refit: bool = option("--refit", "Fit the model again, on all facts in the source.", False)
    exit_code: ExitCodeOption = False


@takes_options
def run(options: RunOptions) -> None:
    """Run the daily job: update the model, score old forecasts, write the watch list and alerts.

    The file `apptek.toml` defines what to read, watch and write (docs/operations.md). If there is
    no model, the command fits it. Forecasts are stored next to the model, and are scored once their
    windows have ended. Each step prints a line of JSON. A failed run changes nothing, and a
    repeated run gives the same result.

    Example: `apptek run --dry-run`
    """
    from apptek.daily.run import run_project

    listed = run_project(
        options.project,
        typer.echo,
        observed_until=options.observed_until,
        refit=options.refit,
        dry_run=options.dry_run,
    )
    if options.exit_code and listed is not None and listed.alerts:
        raise typer.Exit(ALERTED)
