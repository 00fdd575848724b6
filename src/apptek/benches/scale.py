"""The bench of scale: seconds and memory of each stage, as the number of facts grows.

Every size is a world of its own, read from text, indexed, fitted and asked by one process, whose
memory is sampled from outside: the proportional set size, summed over it and its children.
"""

import json
import math
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from apptek.benches.report import BenchReport, Target
from apptek.data.queries import draw_evenly, held_out_queries
from apptek.data.reading.reader import read_dataset
from apptek.data.synthetic.world import make_world, write_world
from apptek.errors import ApptekError
from apptek.predictor import Predictor
from apptek.seeding import generator

SIZES, QUICK_SIZES = (1_000_000, 10_000_000), (20_000, 200_000)
QUERIES = 100_000  # that are asked ...
TIMES = 3  # ... so many times
SAMPLED = 0.25  # seconds between two looks at the memory
TARGETS = {
    "fit_seconds_10x": Target(2),
    "predict_10x": Target(2),
}
Tell = Callable[[str], None]
_PROGRAM = "import sys; from apptek.benches.scale import run; run(sys.argv[1], sys.argv[2])"


def bench_scale(
    *, quick: bool = False, facts: str | None = None, tell: Tell = lambda _: None
) -> BenchReport:
    """Worlds of 1 M and 10 M facts (quick: 20 k and 200 k), or of the sizes that `facts` lists.

    tell  is called with a line as each stage begins
    """
    sizes: tuple[int, ...] = QUICK_SIZES if quick else SIZES
    if facts is not None:
        sizes = _sizes(facts)
    runs = {size: _run_size(size, tell) for size in sizes}
    figures: dict[str, Any] = {"facts": list(sizes)}
    for name in runs[sizes[0]]:
        figures[name] = {str(size): runs[size][name] for size in sizes}
    return BenchReport(ratios=_ratios(runs), figures=figures, targets=TARGETS)


def _sizes(text: str) -> tuple[int, ...]:
    """1e6,1e7 as ascending numbers of facts."""
    try:
        sizes = sorted({int(float(part)) for part in text.split(",")})
    except (ValueError, OverflowError):
        raise ApptekError(f"found {text!r}, expected numbers of facts, as 1e6,1e7") from None
    return tuple(sizes)


def _ratios(runs: dict[int, dict[str, Any]]) -> dict[str, float]:
    """How each figure grows with ten times the facts: between the smallest and the largest size."""
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


def _run_size(size: int, tell: Tell) -> dict[str, Any]:
    def tell_stage(stage: str) -> None:
        tell(f"{size:,} facts: {stage}")

    with tempfile.TemporaryDirectory(prefix="apptek-bench-") as scratch:
        world, model = Path(scratch) / "world", Path(scratch) / "model"
        tell_stage("make the world")
        write_world(make_world(size, 0), world)
        stages, mrr, asked = _watch(world, model, tell_stage)
    others = ("start", "read", "index", "predict", "rank")
    rest = [stage for name, stage in stages.items() if name not in others]
    return {
        "read_seconds": stages["read"]["seconds"],
        "index_seconds": stages["index"]["seconds"],
        "fit_seconds": sum(stage["seconds"] for stage in rest),
        "read_peak_mb": stages["read"]["peak_mb"],
        "graph_mb": stages["index"]["left_mb"],
        "fit_peak_mb": max(stage["peak_mb"] for stage in rest),
        "predict_queries_per_s": TIMES * asked / stages["predict"]["seconds"],
        "mrr": mrr,
        "stages": stages,
    }


def _watch(world: Path, model: Path, tell: Tell) -> tuple[dict[str, dict[str, float]], float, int]:
    """The seconds and the memory of each stage, and what the last one found."""
    stages: dict[str, dict[str, float]] = {}
    command = [sys.executable, "-c", _PROGRAM, str(world), str(model)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        sampler = _Sampler(process.pid)
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


class _Sampler:
    """Looks at the memory of a process and its children again and again, in a thread."""

    def __init__(self, pid: int) -> None:
        self._pid, self._peak, self._stopped = pid, 0.0, threading.Event()
        self._lock, self._thread = threading.Lock(), threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(SAMPLED):
            memory = memory_mb(self._pid)
            with self._lock:
                self._peak = max(self._peak, memory)

    def peak(self) -> tuple[float, float]:
        """The greatest memory since this was asked last, and that of now."""
        now = memory_mb(self._pid)
        with self._lock:
            peak, self._peak = max(self._peak, now), now
        return peak, now

    def stop(self) -> None:
        """Ends the thread."""
        self._stopped.set()
        self._thread.join()


def memory_mb(pid: int) -> float:
    """The proportional set size of a process and its children, in MB; 0 where they are gone."""
    return sum(map(own_memory_mb, process_tree(pid)))


def own_memory_mb(pid: int) -> float:
    """The proportional set size of one process, in MB; 0 where it is gone."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in text.splitlines() if line[:4] == "Pss:") / 1024


def process_tree(pid: int) -> Iterator[int]:
    """A process and those below it, whichever thread has started them."""
    yield pid
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = [(each / "children").read_text(encoding="ascii") for each in threads]
    except OSError:
        return
    for child in " ".join(children).split():
        yield from process_tree(int(child))


def run(world: str, model: str) -> None:
    """Reads, fits and asks; prints a line of JSON as each stage begins, and what came out."""

    def tell(stage: str, **found: float) -> None:
        entry = {"stage": stage.partition(", part ")[0], **found}
        sys.stdout.write(json.dumps(entry) + "\n")
        sys.stdout.flush()

    tell("read")
    data = read_dataset(world)
    predictor = Predictor.fit(data, folder=model, on_stage=tell)
    rows = draw_evenly(data.test, np.arange(len(data.test)), QUERIES, generator(0, "bench"))
    queries = held_out_queries(data.test.take(rows))
    scores = predictor.scorer("test").scores
    scores(queries.take(np.arange(min(100, len(queries)))))  # compiles
    tell("predict")
    for _ in range(TIMES):
        ranked = scores(queries)
    tell("rank")
    truths = data.test.predicates[rows]
    own = np.take_along_axis(ranked, truths[:, None].astype(np.int64), axis=1)
    mrr = float((1 / (1 + (ranked > own).sum(axis=1))).mean())
    tell("end", mrr=mrr, queries=len(rows))
