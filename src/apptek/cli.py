"""The command line."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from apptek import __version__
from apptek.commands.agent import train_agent
from apptek.commands.ask_model import explain, predict
from apptek.commands.baselines import baseline, search
from apptek.commands.data import data_app
from apptek.commands.interrupts import Stoppable
from apptek.commands.models import evaluate, fit, topologies
from apptek.commands.options import JsonOption, SeedOption, print_json
from apptek.commands.reproduce import reproduce
from apptek.commands.results import compare, contest
from apptek.commands.service import serve
from apptek.errors import ApptekError, StoppedError
from apptek.extras import require_service, require_torch

app = typer.Typer(
    name="apptek",
    cls=Stoppable,
    help="What kind of relation holds between A and B at time t, and why?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.add_typer(data_app, name="data")
app.command()(fit)
app.command()(evaluate)
app.command()(predict)
app.command()(explain)
app.command()(topologies)
app.command("train-agent")(train_agent)
app.command()(baseline)
app.command()(search)
app.command()(compare)
app.command()(contest)
app.command()(serve)
app.command()(reproduce)


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


@app.command()
def bench(
    what: Annotated[
        Literal["graph", "agent", "predict", "serve"], typer.Argument(help="Which part.")
    ] = "graph",
    quick: Annotated[bool, typer.Option("--quick", help="Smaller sizes, below a minute.")] = False,
    model: Annotated[
        Path | None, typer.Option("--model", help="serve: this model instead of fitting one.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure speed and memory, as ratios within one run.

    Example: `apptek bench graph --quick`
    """
    from apptek.benches.report import print_report
    from apptek.terminal import working

    if what == "agent":
        require_torch()
        from apptek.benches.agent import bench_agent as measure
    elif what == "predict":
        from apptek.benches.predict import bench_predict as measure
    elif what == "serve":
        require_service()
        from apptek.benches.serve import bench_serve

        measure = partial(bench_serve, model=model)
    else:
        from apptek.benches.graph import bench_graph as measure
    with working(f"measuring: {what}"):
        report = measure(quick=quick)
    if as_json:
        print_json({"ratios": report.ratios, "figures": report.figures})
    else:
        print_report(report)


@app.command()
def demo(seed: SeedOption = 0) -> None:
    """A first look: make a small world, index it and ask it something. Takes seconds.

    Example: `apptek demo`
    """
    from apptek.commands.demo import show_demo

    show_demo(seed=seed)


def main() -> None:
    """Runs a command; an error that a user can mend is one line on stderr and exit code 1."""
    try:
        app()
    except ApptekError as error:
        typer.echo(f"apptek: {' '.join(str(error).split())}", err=True)
        sys.exit(130 if isinstance(error, StoppedError) else 1)
    except MemoryError as error:
        typer.echo(f"apptek: there is not enough memory: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
