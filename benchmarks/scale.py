"""The benchmark of scale: seconds and memory of each stage, as the number of facts grows.

One process per size reads synthetic text, indexes it, fits a model and answers queries. Its memory
is sampled from outside: the proportional set size, summed over the process and its children.
"""

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from apptek.errors import ApptekError
from apptek.facts.queries import draw_evenly, held_out_queries
from apptek.predictor import Predictor
from apptek.reading.reader import read_dataset
from apptek.seeding import generator
from apptek.synthetic.world import make_world, write_world
from apptek.terminal import tell
from benchmarks.report import (
    BenchReport,
    MemorySampler,
    own_memory_mb,
    process_tree,
    sizes_of,
)

SIZES, QUICK_SIZES = [1_000_000, 10_000_000], [20_000, 200_000]
QUERIES = 100_000  # number of queries to answer ...
TIMES = 3  # ... this many times
TARGETS = {
    "fit_seconds_10x": "at most 2",
    "predict_10x": "at most 2",
}
ROOT = Path(__file__).parents[1]
_PROGRAM = "import sys; from benchmarks.scale import run; run(sys.argv[1], sys.argv[2])"


def bench_scale(*, quick: bool = False, facts: str | None = None) -> BenchReport:
    """Measure 1 M and 10 M synthetic facts (quick: 20 k and 200 k), or the sizes in `facts`."""
    sizes = sizes_of(facts) if facts is not None else QUICK_SIZES if quick else SIZES
    runs = {size: _run_size(size) for size in sizes}
    figures: dict[str, Any] = {"facts": sizes}
    for name in runs[sizes[0]]:
        figures[name] = {str(size): runs[size][name] for size in sizes}
    return BenchReport(ratios=_ratios(runs), figures=figures, targets=TARGETS)


def _ratios(runs: dict[int, dict[str, Any]]) -> dict[str, float]:
    """Return the growth of each figure per factor of ten, from the smallest to the largest size."""
    (small, one), (large, other) = min(runs.items()), max(runs.items())
    if small == large:
        return {}
    tens = math.log10(large / small)

    def growth(name: str) -> float:
        return float((other[name] / one[name]) ** (1 / tens))

    return {
        "read_seconds_10x": growth("read_seconds"),
        "index_seconds_10x": growth("index_seconds"),
        "fit_seconds_10x": growth("fit_seconds"),
        "fit_peak_10x": growth("fit_peak_mb"),
        "predict_10x": 1 / growth("predict_queries_per_s"),
    }


def _run_size(size: int) -> dict[str, Any]:
    def tell_stage(stage: str) -> None:
        tell(f"{size:,} facts: {stage}")

    with tempfile.TemporaryDirectory(prefix="apptek-bench-") as scratch:
        world, model = Path(scratch) / "world", Path(scratch) / "model"
        tell_stage("make the world")
        write_world(make_world(size, 0), world)
        stages, mrr, query_count = _watch(world, model, tell_stage)
    others = ("start", "read", "index", "predict", "rank")
    rest = [stage for name, stage in stages.items() if name not in others]
    return {
        "read_seconds": stages["read"]["seconds"],
        "index_seconds": stages["index"]["seconds"],
        "fit_seconds": sum(stage["seconds"] for stage in rest),
        "read_peak_mb": stages["read"]["peak_mb"],
        "graph_mb": stages["index"]["left_mb"],
        "fit_peak_mb": max(stage["peak_mb"] for stage in rest),
        "predict_queries_per_s": TIMES * query_count / stages["predict"]["seconds"],
        "mrr": mrr,
        "stages": stages,
    }


def _watch(
    world: Path, model: Path, tell: Callable[[str], None]
) -> tuple[dict[str, dict[str, float]], float, int]:
    """Return the time and memory of each stage, and the MRR and query count of the last stage."""
    stages: dict[str, dict[str, float]] = {}
    command = [sys.executable, "-c", _PROGRAM, str(world), str(model)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        sampler = MemorySampler(lambda: sum(map(own_memory_mb, process_tree(process.pid))))
        name, start, last = "start", time.monotonic(), {}
        assert process.stdout is not None
        for line in process.stdout:
            last, now = json.loads(line), time.monotonic()
            stage = stages.setdefault(name, {"seconds": 0.0, "peak_mb": 0.0})
            stage["seconds"] += now - start
            peak, stage["left_mb"] = sampler.peak()
            stage["peak_mb"] = max(stage["peak_mb"], peak)
            if last["stage"] not in (name, "end"):
                tell(last["stage"])
            name, start = last["stage"], now
        sampler.stop()
    if process.returncode or "mrr" not in last:
        raise ApptekError(f"the run on {world.name} ended with code {process.returncode}")
    return stages, last["mrr"], last["queries"]


def run(world: str, model: str) -> None:
    """Read, fit and answer; print a line of JSON as each stage begins, and the results."""

    def tell(stage: str, **found: float) -> None:
        entry = {"stage": stage.partition(", part ")[0], **found}
        sys.stdout.write(json.dumps(entry) + "\n")
        sys.stdout.flush()

    tell("read")
    data = read_dataset(world)
    predictor = Predictor.fit(data, folder=model, progress=lambda stage, *_: tell(stage))
    rows = draw_evenly(data.test, np.arange(len(data.test)), QUERIES, generator(0, "bench"))
    queries = held_out_queries(data.test.take(rows))
    scores = predictor.scorer("test").scores
    scores(queries.take(np.arange(min(100, len(queries)))))  # compiles
    tell("predict")
    for _ in range(TIMES):
        ranked = scores(queries)
    tell("rank")
    truths = data.test.predicates[rows]
    true_scores = np.take_along_axis(ranked, truths[:, None].astype(np.int64), axis=1)
    mrr = float((1 / (1 + (ranked > true_scores).sum(axis=1))).mean())
    tell("end", mrr=mrr, queries=len(rows))
