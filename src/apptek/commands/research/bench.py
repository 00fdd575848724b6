"""The command `bench`."""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from apptek.commands.options import JsonOption, ResultOption, print_json
from apptek.extras import require_ray, require_service, require_torch, require_trees

_PARTS = {"--model": ("serve",), "--data": ("audit",), "--facts": ("scale", "engine")}


def bench(
    what: Annotated[
        Literal["graph", "agent", "predict", "serve", "forecast", "audit", "scale", "engine"],
        typer.Argument(metavar="PART", help="The part to measure."),
    ] = "graph",
    quick: Annotated[bool, typer.Option("--quick", help="Smaller sizes, below a minute.")] = False,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model", metavar="MODEL", help="For serve: this model, instead of fitting one."
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DATA", help="For audit: this data, instead of icews14."),
    ] = None,
    facts: Annotated[
        str | None,
        typer.Option(
            "--facts",
            metavar="SIZES",
            help="For scale: numbers of facts, as 1e6,1e7,1e8; for engine: one such number.",
        ),
    ] = None,
    result: ResultOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure speed and memory, as ratios within one run, and how well an audit finds errors.

    Example: `apptek bench graph --quick`
    """
    from apptek.benches.report import print_report
    from apptek.terminal import tell, working

    _check_options(what, {"--model": model, "--data": data, "--facts": facts})
    if what == "agent":
        require_torch()
        from apptek.benches.agent import bench_agent as measure
    elif what == "predict":
        from apptek.benches.predict import bench_predict as measure
    elif what == "serve":
        require_service()
        from apptek.benches.serve import bench_serve

        measure = partial(bench_serve, model=model)
    elif what == "forecast":
        require_trees()
        from apptek.benches.forecast import bench_forecast as measure
    elif what == "audit":
        from apptek.benches.audit import bench_audit

        measure = partial(bench_audit, data=data)
    elif what == "scale":
        from apptek.benches.scale import bench_scale

        measure = partial(bench_scale, facts=facts, tell=tell)
    elif what == "engine":
        require_ray()
        from apptek.benches.engine import bench_engine

        measure = partial(bench_engine, facts=facts)
    else:
        from apptek.benches.graph import bench_graph as measure
    with working(f"measuring: {what}"):
        report = measure(quick=quick)
    if result is not None:
        from apptek.experiments.result import Result, write_result

        write_result(result, Result(model=f"bench_{what}", metrics=report.figures))
    if as_json:
        print_json({"ratios": report.ratios, "figures": report.figures})
    else:
        print_report(report)


def _check_options(what: str, options: dict[str, object]) -> None:
    """BadParameter for an option of another part: it would change nothing."""
    for option, value in options.items():
        if value is not None and what not in _PARTS[option]:
            parts = " or ".join(_PARTS[option])
            raise typer.BadParameter(f"{option} goes with bench {parts}, not {what}")
