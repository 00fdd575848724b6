"""The commands under `apptek data`: list, download, stats, make-world."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from apptek.commands import options as opt
from apptek.commands.command_group import CommandGroup
from apptek.commands.options import option
from apptek.commands.reading_options import Reading

FACTS_SHOWN = 3

data_app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, help="List, download, describe or generate data sets."
)


@data_app.command("list")
def list_benchmarks(as_json: opt.JsonOption = False) -> None:
    """List the benchmarks and their folders on this machine.

    Example: `apptek data list`
    """
    from apptek.facts.benchmarks import BENCHMARKS, find_benchmark
    from apptek.research.printed import PRINTED
    from apptek.terminal import output, table, tell_next

    folders = {name: find_benchmark(name) for name in BENCHMARKS}
    if as_json:
        opt.print_json(
            {name: None if path is None else str(path) for name, path in folders.items()}
        )
        return
    rows = [
        (name, benchmark.title, PRINTED[name]["train"], folders[name] or "not downloaded")
        for name, benchmark in BENCHMARKS.items()
    ]
    output().print(table("Benchmarks", ("name", "title", "training facts", "folder"), rows))
    missing = [name for name, folder in folders.items() if folder is None]
    if missing:
        tell_next(["data", "download", missing[0]])


@data_app.command()
def download(
    name: Annotated[str, opt.typer_argument("NAME", "icews14, icews05-15 or yago15k.")],
) -> None:
    """Download a benchmark and check it. Complete files are not downloaded again.

    The files are stored in $APPTEK_DATA if it is set, otherwise in the user's cache folder.

    Example: `apptek data download icews14`
    """
    from apptek.facts.benchmarks import data_home, get_benchmark
    from apptek.reading.download import download as fetch
    from apptek.terminal import byte_progress, tell, tell_next

    benchmark = get_benchmark(name)
    with byte_progress("downloading") as report:
        folder = fetch(benchmark, data_home(), progress=report)
    tell(f"{benchmark.title} is complete and checked: {folder}")
    tell(f"Licence: {benchmark.licence}")
    tell_next(["data", "stats", name])


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsOptions:
    """The options of `data stats`."""

    data: opt.DataArguments
    seed: opt.SeedOption = 0
    as_json: opt.JsonOption = False


@data_app.command()
@opt.takes_options
def stats(options: StatsOptions, reading: Reading) -> None:
    """Count the entities, predicates, times and facts of a data set, and show the first facts.

    For a benchmark, the counts from the paper's Table 1 are shown as well.

    Example: `apptek data stats world`
    """
    from apptek.facts.name_matching import alike_note
    from apptek.models.model import isolated_times, positions_of
    from apptek.present.forecast_words import isolated_facts_note
    from apptek.present.metrics_text import statistics_text
    from apptek.research.printed import compare_statistics
    from apptek.terminal import output

    dataset = reading.read_data(options.data, seed=options.seed)
    statistics = compare_statistics(dataset, options.data[0])
    notes = [alike_note(dataset.entities)]
    positions = positions_of(dataset, dataset.train, all_facts=False)
    last, later = isolated_times(dataset.axis, positions) if len(positions) else ("", [])
    notes += [isolated_facts_note(later, last).text] if later else []
    if options.as_json:
        statistics["notes"] = [note for note in notes if note]
        statistics["first_facts"] = _first_facts(dataset)
        statistics["reading"] = dataset.report.how
        statistics["bad_row_list"] = [str(defect) for defect in dataset.report.defects]
        opt.print_json(statistics)
    else:
        opt.print_text(statistics_text, statistics, _span(dataset), _first_facts(dataset))
        for note in filter(None, notes):
            output().print(f"note: {note}", markup=False, soft_wrap=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldOptions:
    """The options of `data make-world`."""

    folder: Annotated[Path, opt.typer_argument("DIR", "A new or empty folder.")]
    facts: int = option("--facts N", "Number of facts.", 20_000)
    seed: opt.SeedOption = 0


@data_app.command("make-world")
@opt.takes_options
def make_world(options: WorldOptions) -> None:
    """Generate a small synthetic data set whose events follow the rules in its rules.json.

    Example: `apptek data make-world world`
    """
    from apptek.synthetic.world import make_world as make
    from apptek.synthetic.world import write_world
    from apptek.terminal import tell, tell_next, working

    facts, folder = options.facts, options.folder
    with working(f"generating {facts:,} facts"):
        write_world(make(facts, options.seed), folder)
    tell(f"{facts:,} facts written to {folder}")
    tell_next(["fit", str(folder), "--out", "model"])


def _span(data: Any) -> str:
    """Return the earliest and the latest start of all facts, as written in the data."""
    span = data.span_of(data.all_facts())
    steps = f" in steps of {data.axis.stride:,}" if data.axis.stride > 1 else ""
    return "all undated" if span == "undated" else f"times in {data.axis.unit}s, {span}{steps}"


def _first_facts(data: Any) -> list[dict[str, str]]:
    """Return the first training facts, in file order, so that the user can spot a wrong column."""
    facts = (data.train if data.report.first_facts is None else data.report.first_facts).first(
        FACTS_SHOWN
    )
    rows = zip(*(column.tolist() for column in facts.columns()), strict=True)
    return [
        {
            "subject": data.entities[subject],
            "predicate": data.predicates[predicate],
            "object": data.entities[object_],
            **dict(zip(("since", "until"), map(data.axis.format, ends), strict=True)),
        }
        for subject, predicate, object_, *ends in rows
    ]
