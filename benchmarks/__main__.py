"""Measure a part: `python -m benchmarks graph --quick --json`."""

import argparse
import inspect
import json
import sys
from importlib import import_module
from pathlib import Path

from apptek.errors import ApptekError
from apptek.research.result import Result, write_result
from apptek.terminal import output, table, working
from benchmarks.report import BenchReport

PARTS = ("graph", "agent", "predict", "serve", "scale", "audit", "forecast", "engine", "paging")


def main(words: list[str] | None = None) -> None:
    """Measure one part, and print its ratios and figures as a table or as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("part", choices=PARTS, help="the part to measure")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, below a minute")
    parser.add_argument("--model", type=Path, help="for serve and paging: this model")
    parser.add_argument("--data", help="for audit: this data, instead of icews14")
    parser.add_argument("--facts", help="for scale: sizes, as 1e6,1e7; for engine: one size")
    parser.add_argument("--result", type=Path, help="write a result file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(words)
    measure = getattr(import_module(f"benchmarks.{options.part}"), f"bench_{options.part}")
    given = {n: v for n in ("model", "data", "facts") if (v := getattr(options, n)) is not None}
    for name in given.keys() - inspect.signature(measure).parameters.keys():
        parser.error(f"{options.part} has no option --{name}")
    try:
        with working(f"measuring: {options.part}"):
            report: BenchReport = measure(quick=options.quick, **given)
        if options.result is not None:
            about = Result(model=f"bench_{options.part}", metrics=report.figures)
            write_result(options.result, about)
    except ApptekError as error:
        sys.exit(f"error: {error}")
    if options.json:
        print(json.dumps({"ratios": report.ratios, "figures": report.figures}, indent=1))
        return
    rows = [
        (name, f"{value:,.3g}" if isinstance(value, float) else f"{value}", targets.get(name, ""))
        for targets in [report.targets]
        for name, value in (report.ratios | report.figures).items()
    ]
    output().print(table("Measured", ("what", "value", "target"), rows))


if __name__ == "__main__":
    main()
