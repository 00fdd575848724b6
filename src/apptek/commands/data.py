"""Commands about data sets: list, download, look at, make."""

from pathlib import Path
from typing import Annotated, Any

import typer

from apptek.commands.options import (
    DataArgument,
    JsonOption,
    SeedOption,
    print_json,
)
from apptek.commands.reading_options import Reading, reads_data

data_app = typer.Typer(no_args_is_help=True, help="Data sets: list, download, look at, make.")


@data_app.command("list")
def list_benchmarks(as_json: JsonOption = False) -> None:
    """The named benchmarks, and where each one is.

    Example: `apptek data list`
    """
    from apptek.data.benchmarks import BENCHMARKS, find_benchmark
    from apptek.terminal import output, table

    found = {name: find_benchmark(name) for name in BENCHMARKS}
    if as_json:
        print_json({name: None if path is None else str(path) for name, path in found.items()})
        return
    rows = [
        (name, benchmark.title, benchmark.printed.train, found[name] or "not here: download it")
        for name, benchmark in BENCHMARKS.items()
    ]
    output().print(table("Benchmarks", ("name", "what it is", "training facts", "place"), rows))


@data_app.command()
def download(
    name: Annotated[str, typer.Argument(help="icews14, icews05-15 or yago15k.")],
) -> None:
    """Fetch a benchmark, check it, and keep it; a broken download goes on where it stopped.

    It goes to $APPTEK_DATA, or else to the user's cache folder.

    Example: `apptek data download icews14`
    """
    from apptek.data.benchmarks import data_home, get_benchmark
    from apptek.data.download import download as fetch
    from apptek.terminal import byte_progress, tell

    benchmark = get_benchmark(name)
    with byte_progress("fetching") as report:
        folder = fetch(benchmark, data_home(), progress=report)
    tell(f"{benchmark.title} is complete and checked: {folder}")
    tell(f"Licence: {benchmark.licence}")


@data_app.command()
@reads_data
def stats(
    data: DataArgument,
    *,
    reading: Reading,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Count what a data set holds; for a benchmark beside the paper's Table 1.

    Example: `apptek data stats icews14`
    """
    from apptek.data.benchmarks import BENCHMARKS
    from apptek.data.protocols import compare_statistics

    dataset = reading.read(data, seed=seed)
    found = compare_statistics(dataset, BENCHMARKS.get(data))
    if as_json:
        found["bad_row_list"] = [str(defect) for defect in dataset.report.defects]
        print_json(found)
    else:
        _print_statistics(found, _span(dataset))


@data_app.command("make-world")
def make_world(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    facts: Annotated[int, typer.Option("--facts", help="How many facts.")] = 20_000,
    seed: SeedOption = 0,
) -> None:
    """Make a small invented world whose events follow known rules (rules.json lists them).

    Example: `apptek data make-world world --facts 50000 --seed 1`
    """
    from apptek.data.synthetic.world import make_world as make
    from apptek.data.synthetic.world import write_world
    from apptek.terminal import tell, working

    with working(f"making a world of {facts:,} facts"):
        world = make(facts, seed)
        write_world(world, folder)
    tell(f"A world of {facts:,} facts is in {folder}")


def _span(data: Any) -> str:
    """The first and the last time of all facts, as they are written."""
    import numpy as np

    from apptek.data.facts import SPLITS
    from apptek.data.times import UNKNOWN

    parts = [column for split in SPLITS for column in data.split(split).columns()[3:]]
    codes = np.unique(np.concatenate(parts))
    codes = codes[codes != UNKNOWN]
    if not len(codes):
        return "all undated"
    first, last = (data.axis.format(int(code)) for code in (codes[0], codes[-1]))
    return f"times in {data.axis.unit}s, {first} to {last}"


def _print_statistics(found: dict[str, Any], span: str) -> None:
    """Of one's own data what it holds; of a benchmark also what the paper makes of it."""
    from apptek.terminal import output, table

    keys = ("entities", "predicates", "times", "train", "valid", "test")
    titles = {
        "official": "official: what the files hold",
        "paper": "paper: its filter, valid and test exchanged",
        "printed_in_paper": "printed in the paper",
    }
    rows = [
        (title, *(found[part][key] for key in keys))
        for part, title in titles.items()
        if found[part] is not None
    ]
    console = output()
    is_benchmark = found["printed_in_paper"] is not None
    title = f"{found['dataset']} ({span})"
    if is_benchmark:
        console.print(table(title, ("", *keys), rows))
    else:
        console.print(table(title, keys, [rows[0][1:]]))
    for key, reason in (found["differences"] or {}).items() if is_benchmark else ():
        console.print(f"[bold]{key}[/bold]: {reason}")
    for split, count in found["duplicates"].items():
        if count:
            console.print(f"{count:,} duplicate facts in {split}, each kept once")
    for split, count in found["also_in_train"].items():
        if count:
            console.print(f"[yellow]{count:,} facts of {split} are also in train[/yellow]")
