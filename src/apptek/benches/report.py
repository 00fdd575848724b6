"""The report of a bench, and what all benches share."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apptek.data.benchmarks import find_benchmark
from apptek.data.facts import Dataset
from apptek.data.reading.reader import read_dataset
from apptek.data.synthetic.world import make_world
from apptek.terminal import output, table

ICEWS14_SIZE = 90_730  # facts in all: such a world has as many training facts as ICEWS14


@dataclass(frozen=True, slots=True)
class Target:
    """A limit that a figure must keep to, from above or from below."""

    limit: float
    at_most: bool = True

    def __str__(self) -> str:
        return f"{'at most' if self.at_most else 'at least'} {self.limit:g}"


@dataclass(frozen=True, slots=True)
class BenchReport:
    """Ratios within one run, plain figures, and targets for some of them."""

    ratios: dict[str, float]
    figures: dict[str, Any]
    targets: dict[str, Target]


def print_report(report: BenchReport) -> None:
    """Prints a report as a table."""
    rows = [
        (name, _show(value), str(report.targets.get(name, "")))
        for name, value in (report.ratios | report.figures).items()
    ]
    output().print(table("Measured", ("what", "value", "target"), rows))


def _show(value: Any) -> str:
    return f"{value:,.3g}" if isinstance(value, float) else f"{value}"


def seconds(work: Callable[[], object]) -> float:
    """The seconds that some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bench_dataset(quick: bool) -> Dataset:
    """ICEWS14, or a world of its size if it was not downloaded; quick: a world of 20,000 facts."""
    if not quick and find_benchmark("icews14") is not None:
        return read_dataset("icews14")
    return make_world(20_000 if quick else ICEWS14_SIZE, 0).dataset
