"""The command line: each command reads, calls one library function and prints.

Rooms are imported inside the commands, so that `apptek --help` does not wait for pyarrow, numba
or torch.
"""

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from apptek import __version__
from apptek.errors import ApptekError

app = typer.Typer(
    name="apptek",
    help="What kind of relation holds between A and B at time t, and why?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
data_app = typer.Typer(no_args_is_help=True, help="Data sets: list, download, look at, make.")
app.add_typer(data_app, name="data")

DataArgument = Annotated[
    str, typer.Argument(metavar="DATA", help="A folder, a file, or a benchmark's name.")
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        help="Which column is what: `subject=Actor1,predicate=Event,object=Actor2,time=Date` "
        "(names of a header, or places from 1; also `since=`, `until=`), or a plain list in the "
        "file's order: `subject,-,predicate,object,time`.",
    ),
]
HeaderOption = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first row is a header.  [guessed]"),
]
SkipBadOption = Annotated[
    bool, typer.Option("--skip-bad", help="Leave bad rows out and list them, instead of stopping.")
]
MergeOption = Annotated[
    bool,
    typer.Option(
        "--merge-intervals",
        help="Make one fact of an occursSince line and the occursUntil line after it.",
    ),
]
SplitByOption = Annotated[
    Literal["random", "time"],
    typer.Option("--split-by", help="How a single file is split."),
]
SplitOption = Annotated[
    str, typer.Option("--split", help="Shares of train/valid/test of a single file.")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="The seed of all randomness.")]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")
]


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)
    ] = False,
) -> None:
    """What kind of relation holds between A and B at time t, and why?"""
    if version:
        typer.echo(f"apptek {__version__}")
        raise typer.Exit


@data_app.command("list")
def list_benchmarks(as_json: JsonOption = False) -> None:
    """The named benchmarks, and where each one is.

    Example: `apptek data list`
    """
    from apptek.data.benchmarks import BENCHMARKS, find_benchmark
    from apptek.terminal import output, table

    found = {name: find_benchmark(name) for name in BENCHMARKS}
    if as_json:
        _print_json({name: None if path is None else str(path) for name, path in found.items()})
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
    from apptek.terminal import byte_progress, messages

    benchmark = get_benchmark(name)
    with byte_progress("fetching") as report:
        folder = fetch(benchmark, data_home(), progress=report)
    messages().print(f"{benchmark.title} is complete and checked: {folder}", soft_wrap=True)
    messages().print(f"Licence: {benchmark.licence}", soft_wrap=True)


@data_app.command()
def stats(
    data: DataArgument,
    columns: ColumnsOption = None,
    header: HeaderOption = None,
    skip_bad: SkipBadOption = False,
    merge_intervals: MergeOption = False,
    split_by: SplitByOption = "random",
    split: SplitOption = "0.8/0.1/0.1",
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Count what a data set holds; for a benchmark beside the paper's Table 1.

    Example: `apptek data stats icews14`
    """
    from apptek.data.benchmarks import BENCHMARKS
    from apptek.data.protocols import compare_statistics
    from apptek.data.readers import read_dataset
    from apptek.terminal import byte_progress

    splitting = _splitting(split_by, split, seed)
    with byte_progress("reading") as report:
        dataset = read_dataset(
            data,
            columns=columns,
            header=header,
            skip_bad=skip_bad,
            merge_intervals=merge_intervals,
            splitting=splitting,
            progress=report,
        )
    _tell_defects(dataset.report.defects, dataset.report.defect_count)
    found = compare_statistics(dataset, BENCHMARKS.get(data))
    if as_json:
        found["bad_row_list"] = [str(defect) for defect in dataset.report.defects]
        _print_json(found)
    else:
        _print_statistics(found)


@data_app.command("make-world")
def make_world(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    facts: Annotated[int, typer.Option("--facts", help="How many facts.")] = 20_000,
    seed: SeedOption = 0,
) -> None:
    """Make a small invented world whose events follow known rules (rules.json lists them).

    Example: `apptek data make-world world --facts 50000 --seed 1`
    """
    from apptek.data.synthetic import make_world as make
    from apptek.data.synthetic import write_world
    from apptek.terminal import messages, working

    with working(f"making a world of {facts:,} facts"):
        world = make(facts, seed)
        write_world(world, folder)
    messages().print(f"A world of {facts:,} facts is in {folder}", soft_wrap=True)


@app.command("train-agent")
def train_agent(
    data: DataArgument,
    out: Annotated[Path, typer.Option("--out", help="A new folder for the agent.")],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change a setting: agent.tknn=5."),
    ] = None,
    seed: SeedOption = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the folder's checkpoint.")
    ] = False,
    checkpoint_seconds: Annotated[
        float, typer.Option("--checkpoint-seconds", min=0, help="Time between checkpoints.")
    ] = 60.0,
    tensorboard: Annotated[
        Path | None,
        typer.Option("--tensorboard", help="Write scalars there (needs the extra `tensorboard`)."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Train the agent by deep Q-learning and compare it with the controls that learn nothing.

    The folder gets the network, every episode, rewards.csv as it goes, and result.json.

    Example: `apptek train-agent icews14 --out agent --set agent.tknn=10`
    """
    from apptek.data.readers import read_dataset
    from apptek.settings import with_settings
    from apptek.terminal import byte_progress

    _require_torch()
    from apptek.experiments.agent import run_agent
    from apptek.prediction.presets import preset
    from apptek.watching import training_progress

    config = with_settings(preset("paper"), settings or []).agent
    with byte_progress("reading") as report:
        dataset = read_dataset(data, progress=report)
    with training_progress(tensorboard) as observers:
        result = run_agent(
            dataset,
            config,
            out,
            seed=seed,
            resume=resume,
            checkpoint_seconds=checkpoint_seconds,
            observers=observers,
        )
    if as_json:
        _print_json(result)
    else:
        _print_comparison(result)


@app.command()
def bench(
    what: Annotated[Literal["graph", "agent"], typer.Argument(help="Which part.")] = "graph",
    quick: Annotated[bool, typer.Option("--quick", help="Smaller sizes, below a minute.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure speed and memory, as ratios within one run.

    Example: `apptek bench graph --quick`
    """
    from apptek.benches.report import print_report
    from apptek.terminal import working

    if what == "agent":
        _require_torch()
        from apptek.benches.agent import bench_agent as measure
    else:
        from apptek.benches.graph import bench_graph as measure
    with working(f"measuring the {what}"):
        report = measure(quick=quick)
    if as_json:
        _print_json({"ratios": report.ratios, "figures": report.figures})
    else:
        print_report(report)


@app.command()
def demo(seed: SeedOption = 0) -> None:
    """A first look: make a small world, index it and ask it something. Takes seconds.

    Example: `apptek demo`
    """
    from apptek.demo import show_demo

    show_demo(seed=seed)


def _require_torch() -> None:
    if find_spec("torch") is None or find_spec("safetensors") is None:
        raise ApptekError("the agent needs PyTorch: pip install 'apptek[agent]'")


def _splitting(by: Literal["random", "time"], shares: str, seed: int) -> Any:
    from apptek.data.splitting import Splitting

    try:
        train, valid, test = (float(share) for share in shares.split("/"))
    except ValueError:
        raise typer.BadParameter(f"{shares!r}: expected three shares, as 0.8/0.1/0.1") from None
    if abs(train + valid + test - 1) > 1e-9:
        raise typer.BadParameter(f"{shares!r}: the three shares must make 1 together")
    return Splitting(by=by, train=train, valid=valid, seed=seed)


def _tell_defects(defects: tuple[Any, ...], count: int, most: int = 20) -> None:
    if not count:
        return
    for defect in defects[:most]:
        typer.echo(f"left out: {defect}", err=True)
    more = f" ({count - most:,} more not shown)" if count > most else ""
    typer.echo(f"{count:,} bad row{'s' if count != 1 else ''} left out{more}", err=True)


def _print_statistics(found: dict[str, Any]) -> None:
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
    console.print(table(f"{found['dataset']} (times in {found['time_unit']}s)", ("", *keys), rows))
    for key, reason in (found["differences"] or {}).items():
        console.print(f"[bold]{key}[/bold]: {reason}")
    for split, count in found["duplicates"].items():
        if count:
            console.print(f"{count:,} duplicate facts in {split}, each kept once")
    for split, count in found["also_in_train"].items():
        if count:
            console.print(f"[yellow]{count:,} facts of {split} are also in train[/yellow]")


def _print_comparison(result: dict[str, Any]) -> None:
    from apptek.terminal import output, table

    policies, controls = ("agent", "random", "commonest"), ("random", "commonest")
    rows = [
        (
            split,
            found["queries"],
            *(f"{found[policy]:.4f}" for policy in policies),
            *(_interval(found[f"agent_minus_{control}"]) for control in controls),
        )
        for split, found in result["metrics"].items()
    ]
    header = ("queries of", "number", "agent", "random", "commonest", "- random", "- commonest")
    output().print(table(f"Mean reward on {result['dataset']}", header, rows))
    output().print("In brackets: 95 % interval of the difference, paired over the same queries.")


def _interval(difference: dict[str, float]) -> str:
    return "{mean:+.4f} \\[{low:+.4f}, {high:+.4f}]".format(**difference)


def _print_json(found: dict[str, Any]) -> None:
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False))


def main() -> None:
    """Runs a command; an error that a user can mend is one line on stderr and exit code 1."""
    try:
        app()
    except ApptekError as error:
        typer.echo(f"apptek: {' '.join(str(error).split())}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
