"""The command `update`."""

from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from apptek.commands import options as opt
from apptek.commands.reading_options import Reading, reads_facts


@reads_facts
def update(
    model: opt.ModelArgument,
    facts: Annotated[
        list[str] | None,
        opt.argument(
            "FACTS...", "Files of facts, a folder, a pattern, a database or - for standard input."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        opt.option(
            "--out", "The folder for the new model; new or empty.", "DIR", callback=opt.check_folder
        ),
    ] = None,
    in_place: Annotated[
        bool, opt.option("--in-place", "Replace the old model, atomically.")
    ] = False,
    retract: Annotated[
        str | None,
        opt.option("--retract", "Facts to remove, written as in the original file.", "FILE"),
    ] = None,
    observed_until: opt.ObservedUntilOption = None,
    since_last: Annotated[
        bool,
        opt.option(
            "--since-last",
            "Add only facts after the last observed time. Of a database, only these are read.",
        ),
    ] = False,
    as_json: opt.JsonOption = False,
    *,
    reading: Reading,
) -> None:
    """Add facts to a model, or remove some, without fitting it again.

    Entities and times may be new. Facts with a predicate that the model never learned are counted
    and left out. A file may have no facts, as on a day without events: use --observed-until to say
    that the day was observed. `evaluate` still uses only the facts of the fit.

    Example: `apptek update model world/test.tsv --out newer`
    """
    from apptek.models.model import observed_text

    if (out is None) != in_place:
        raise typer.BadParameter("give either --out DIR or --in-place")
    if not facts and retract is None and observed_until is None:
        raise typer.BadParameter("give FACTS to add, --retract FILE or --observed-until TIME")
    if since_last and not facts:
        raise typer.BadParameter("--since-last is for FACTS to add")
    target = model.resolve() if out is None else out  # a link stays one
    sources = (facts or None, retract)
    how = {"observed": observed_until, "since_last": since_last}
    updated, report, repeated = _update(model, target, reading, sources, **how)
    if as_json:
        facts_now = {"facts": len(updated.graph.facts)}
        opt.print_json(asdict(report) | facts_now | {"observed_until": observed_text(updated)})
        return
    about = {"added": bool(facts), "removed": retract is not None, "repeated": repeated}
    _tell(updated, report, target, **about)


def _update(
    model: Path, target: Path, reading: Reading, sources: tuple[Any, Any], **how: Any
) -> tuple[Any, Any, int]:
    """Read the facts, update the model and write it; also return the number of repeated facts."""
    from apptek.files import sole_writer
    from apptek.models.manifest import RUN, read_json
    from apptek.models.model_folder import load_model, save_model
    from apptek.models.updating import update_model
    from apptek.research.provenance import about_run, finished_at
    from apptek.terminal import tell, working

    in_place = target == model.resolve()
    with sole_writer(model) if in_place else nullcontext():
        fitted = load_model(model)  # not a Predictor, which would build indexes for queries
        facts, retracted = sources
        new = _read_facts(reading, facts, fitted, since_last=how["since_last"])
        old = _read_facts(reading, retracted, fitted)
        with working("updating the graph"):
            updated, report = update_model(fitted, new, old, how["observed"])
            run = read_json(model, RUN)
            this = {"from": str(model), "finished": finished_at(), **about_run()}
            run["updates"] = [*run.get("updates", []), this]
            save_model(updated, target, run, in_place=in_place)
    undated = 0 if new is None else new.undated_count()
    if undated and fitted.last_observed is not None:
        tell(f"note: facts without a time in a model of dated facts: {undated:,}")
    return updated, report, sum(new.report.duplicates.values()) if new is not None else 0


def _read_facts(
    reading: Reading, source: str | list[str] | None, model: Any, *, since_last: bool = False
) -> Any:
    """Return the facts of an update; None if there are none, as on a day without events."""
    from apptek.databases import find_database
    from apptek.errors import NoFactsError
    from apptek.models.updating import next_time, unobserved_facts
    from apptek.terminal import tell

    if source is None:
        return None
    since = next_time(model) if since_last and find_database(source) else ""
    try:
        facts = reading.read(source, like=model.dataset, since=since)
    except NoFactsError:
        return None
    if not since_last:
        return facts
    later = unobserved_facts(facts, model)
    if earlier := len(facts.all_facts()) - len(later.train):
        tell(f"facts of times that were observed before, left out: {earlier:,}")
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
