"""The benchmark of engines: fit and evaluate by threads, processes and Ray, on the same cores.

The start of the workers (or of the Ray cluster) is timed separately. The memory is the largest
worker's proportional set size, sampled while it works.
"""

import operator
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from apptek.commands.answer_file import answer_file
from apptek.engine import EngineName, map_queries, use_engine
from apptek.evaluation.scorer import evaluate_split
from apptek.facts.facts import Dataset
from apptek.facts.queries import Queries
from apptek.predictor import Predictor
from apptek.synthetic.world import make_world
from benchmarks.report import (
    BenchReport,
    MemorySampler,
    own_memory_mb,
    process_tree,
    seconds,
    sizes_of,
)

FACTS, QUICK_FACTS = 10_000_000, 20_000
QUERIES = 100_000  # maximum number of test queries
WARM = 4000  # number of synthetic facts fitted first, as a warm-up
ENGINES: tuple[EngineName, ...] = ("threads", "processes", "ray")
TARGETS = {"ray_vs_threads": "at most 1.15"}
_WORKERS = (b"spawn_main", b"ray::run_shard")  # in the command lines of workers


def bench_engine(*, quick: bool = False, facts: str | None = None) -> BenchReport:
    """Fit 10 M synthetic facts (quick: 20 k), and answer 100 k of their test queries."""
    count = sizes_of(facts)[-1] if facts is not None else QUICK_FACTS if quick else FACTS
    data = make_world(count, 0).dataset
    figures: dict[str, Any] = {"facts": count, "workers": os.cpu_count()}
    figures["queries"] = min(QUERIES, len(data.test))
    metrics = []
    for name in ENGINES:
        figures[name], mrr = _measure(name, data)
        metrics.append(mrr)
    figures["mrr"], figures["same_mrr"] = metrics[0], len(set(metrics)) == 1
    spent = [figures[name]["fit_seconds"] + figures[name]["evaluate_seconds"] for name in ENGINES]
    return BenchReport(
        ratios={
            "ray_vs_threads": spent[2] / spent[0],
            "processes_vs_threads": spent[1] / spent[0],
        },
        figures=figures,
        targets=TARGETS,
    )


def _measure(name: EngineName, data: Dataset) -> tuple[dict[str, float], float]:
    memory = MemorySampler(_worker_memory_mb)
    column = np.zeros(16_384, np.int32)
    try:
        with tempfile.TemporaryDirectory(prefix="apptek-bench-") as folder:
            out = Path(folder) / "model"
            with use_engine(name, out):
                start = seconds(lambda: map_queries(None, Queries(*[column] * 4), operator.is_))
                Predictor.fit(make_world(WARM, 0).dataset)
                spent = _processor_seconds()
                fit = seconds(lambda: Predictor.fit(data, folder=out))
                predictor, found = Predictor.load(out), list[float]()
                evaluate = seconds(lambda: found.append(_mrr(predictor)))
                answers = _answer_costs(predictor, Path(folder))
                figures = {
                    "start_seconds": start if name != "threads" else 0.0,
                    "fit_seconds": fit,
                    "evaluate_seconds": evaluate,
                    "processor_seconds": _processor_seconds() - spent,
                    "worker_peak_mb": memory.peak()[0],
                } | answers
    finally:
        memory.stop()
    return figures, found[0]


def _answer_costs(predictor: Predictor, folder: Path) -> dict[str, float]:
    """Answer a file of queries; return the CPU time per query, of this process and of all."""
    data = predictor.model.dataset
    facts = data.test.take(np.arange(min(len(data.test), QUERIES)))
    names = data.entities.array
    columns = {"subject": names.take(facts.subjects), "object": names.take(facts.objects)}
    columns["time"] = pa.array(map(data.axis.format, facts.times.tolist()))
    pq.write_table(pa.table(columns), folder / "queries.parquet")
    everyone, driver = _processor_seconds(), time.process_time()
    answer_file(predictor, folder / "queries.parquet", folder / "answers.parquet", top=3)
    driver, everyone = time.process_time() - driver, _processor_seconds() - everyone
    return {
        "answer_driver_us": 1e6 * driver / len(facts),
        "answer_all_us": 1e6 * everyone / len(facts),
    }


def _mrr(predictor: Predictor) -> float:
    split = evaluate_split(predictor.scorer(), predictor.model.dataset, "test", most=QUERIES)
    return split.metrics.mrr


def _processor_seconds() -> float:
    """Return the CPU seconds of this process and its descendants, including Ray's daemons."""
    ticks = 0
    for pid in process_tree(os.getpid()):
        with suppress(OSError):
            words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            ticks += int(words[11]) + int(words[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _worker_memory_mb() -> float:
    """Return the memory of the largest descendant process that works on shards."""
    below = (pid for pid in process_tree(os.getpid()) if pid != os.getpid())
    return max((own_memory_mb(pid) for pid in below if _is_worker(pid)), default=0.0)


def _is_worker(pid: int) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return any(words in command for words in _WORKERS)
