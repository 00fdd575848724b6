"""What a bench found, and how it is shown."""

import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from apptek.data.benchmarks import find_benchmark
from apptek.data.facts import Dataset, Facts
from apptek.data.reading.reader import read_dataset
from apptek.data.synthetic.world import make_world
from apptek.data.times import UNKNOWN
from apptek.errors import ApptekError
from apptek.terminal import output, table

ICEWS14_SIZE = 90_730  # facts in all: a world of this size has as many training facts as ICEWS14


@dataclass(frozen=True, slots=True)
class Target:
    """A number to reach: at most, or at least."""

    limit: float
    at_most: bool = True

    def __str__(self) -> str:
        return f"{'at most' if self.at_most else 'at least'} {self.limit:g}"


@dataclass(frozen=True, slots=True)
class BenchReport:
    """Ratios within one run, plain figures, and the targets of some of them."""

    ratios: dict[str, float]
    figures: dict[str, Any]
    targets: dict[str, Target]


def print_report(report: BenchReport) -> None:
    """The report as a table."""
    rows = [
        (name, _show(value), str(report.targets.get(name, "")))
        for name, value in (report.ratios | report.figures).items()
    ]
    output().print(table("Measured", ("what", "value", "target"), rows))


def _show(value: Any) -> str:
    return f"{value:,.3g}" if isinstance(value, float) else f"{value}"


def seconds(work: Callable[[], object]) -> float:
    """How long some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def plain_facts(facts: Facts, oracles: Any) -> tuple[list[Any], dict[int, list[int]]]:
    """The facts as the oracles take them, and the facts of each entity."""
    rows = zip(*(column.tolist() for column in facts.columns()), strict=True)
    plain = [
        oracles.PlainFact(s, p, o, *(None if end == UNKNOWN else end for end in ends))
        for s, p, o, *ends in rows
    ]
    facts_of: dict[int, list[int]] = defaultdict(list)
    for index, fact in enumerate(plain):
        for entity in {fact.subject, fact.object}:
            facts_of[entity].append(index)
    return plain, facts_of


def bench_dataset(quick: bool) -> Dataset:
    """ICEWS14, or a world of its size where it is not there; quick: a world of 20,000 facts."""
    if not quick and find_benchmark("icews14") is not None:
        return read_dataset("icews14")
    return make_world(20_000 if quick else ICEWS14_SIZE, 0).dataset


def load_oracles() -> Any:
    """The slow definitions, from the tests of a source checkout."""
    path = Path(__file__).parents[3] / "tests" / "oracles.py"
    spec = spec_from_file_location("apptek_oracles", path)
    if not path.exists() or spec is None or spec.loader is None:
        raise ApptekError("the benches compare with tests/oracles.py: run them in a checkout")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
