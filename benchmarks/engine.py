"""The bench of engines: the features of many queries by one process, by local processes, by Ray.

All use the same number of cores. The memory is the proportional set size of each process that does
tasks, sampled while it does them.
"""

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from apptek.arrays import Longs
from apptek.compiling import limit_threads
from apptek.config import DEFAULT, preset
from apptek.engine.engine import PARTS, Engine
from apptek.engine.parts import part_of
from apptek.engine.runners import Done, EngineName, open_runner
from apptek.engine.tasks import Task, run_task
from apptek.facts.queries import Queries, draw_evenly, training_queries
from apptek.features.clock import Clock
from apptek.features.space import FeatureSpace
from apptek.features.traits import types_from_names
from apptek.graph.pairs import PairIndex
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.model import FeatureSources
from apptek.seeding import generator
from apptek.synthetic.world import make_world
from benchmarks.report import (
    BenchReport,
    MemorySampler,
    own_memory_mb,
    process_tree,
    seconds,
    sizes_of,
)

FACTS, QUICK_FACTS = 10_000_000, 50_000
QUERIES, QUICK_QUERIES = 200_000, 20_000
WARM = 2000  # queries that are asked before, so that everything is compiled and opened
TARGETS = {"ray_vs_local": "at most 1.5", "ray_vs_local_processor": "at most 1.5"}
_WORKERS = (b"spawn_main", b"ray::_run_alone")  # in the command lines of processes that do tasks


def bench_engine(*, quick: bool = False, facts: str | None = None) -> BenchReport:
    """A world of 10 M facts (quick: 50 k) in four parts, 200 k of its training queries."""
    count = sizes_of(facts)[-1] if facts is not None else QUICK_FACTS if quick else FACTS
    space, queries = _asked(count, QUICK_QUERIES if quick else QUERIES)
    graph = space.graph
    index = seconds(lambda: PairIndex.of(graph))
    space.rows(queries.part(slice(0, WARM)))
    alone = seconds(lambda: space.rows(queries))
    figures: dict[str, Any] = {
        "facts": count,
        "queries": len(queries),
        "parts": PARTS,
        "workers": os.cpu_count(),
        "graph_mb": (graph.nbytes + _size(PairIndex.of(graph))) / 2**20,
        "one_process": {"index_pairs_seconds": index, "features_seconds": alone},
    }
    names: tuple[EngineName, ...] = ("local", "ray")
    for name in names:
        figures[name] = _measure(name, space, queries)
    figures["processor_microseconds"] = _processor_time(space, queries)
    local, ray = (figures[name] for name in names)
    elapsed, spent = "features_seconds", "features_processor_seconds"
    return BenchReport(
        ratios={
            "ray_vs_local": ray[elapsed] / local[elapsed],
            "ray_vs_local_processor": ray[spent] / local[spent],
            "local_vs_one_process": local[elapsed] / alone,
        },
        figures=figures,
        targets=TARGETS,
    )


def _asked(count: int, query_count: int) -> tuple[FeatureSpace, Queries]:
    data = make_world(count, 0).dataset
    graph = TemporalGraph.of(data)
    sources = FeatureSources(
        config=preset(DEFAULT),
        dataset=data,
        graph=graph,
        clock=Clock.of(graph),
    )
    space = sources.space("all_facts", tuple(types_from_names(data.entities, data.train)))
    every = np.arange(len(data.train))
    rows: Longs = draw_evenly(data.train, every, query_count, generator(0, "bench"))
    return space, training_queries(data.train, rows)


def _size(pairs: PairIndex) -> int:
    incidence = pairs.incidence
    arrays = (pairs.firsts, pairs.objects, incidence.offsets, incidence.facts, incidence.starts)
    return sum(array.nbytes for array in arrays)


def _measure(name: EngineName, space: FeatureSpace, queries: Queries) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="apptek-bench-") as storage:
        opened: list[Any] = []
        start = seconds(lambda: opened.append(open_runner(name)))
        memory = MemorySampler(_worker_memory_mb)
        try:
            engine = Engine(opened[0], Path(storage))
            figures = {"start_seconds": start}
            figures["parts_seconds"] = seconds(lambda: engine.partition(space.graph))
            figures["parts_peak_mb"] = memory.peak()[0]
            files = list(Path(storage).glob("*/parts-*/**/*.npy"))
            figures["parts_on_disk_mb"] = sum(path.stat().st_size for path in files) / 2**20
            engine.make(space, {"warm": queries.part(slice(0, WARM))})
            memory.peak()
            before = _spent()
            figures["features_seconds"] = seconds(lambda: engine.make(space, {"all": queries}))
            figures["features_processor_seconds"] = _spent() - before
            figures["worker_peak_mb"] = memory.peak()[0]
            figures["join_seconds"] = seconds(lambda: engine.take("all"))
        finally:
            memory.stop()
            opened[0].close()
    return figures


class _InThisProcess:
    """A runner without processes."""

    def run(self, tasks: Sequence[Task], done: Done) -> None:
        for task in tasks:
            run_task(task)
            done()


def _processor_time(space: FeatureSpace, queries: Queries) -> dict[str, float]:
    """What one core needs for a query or a fact: whatever else the machine does meanwhile."""
    queries = queries.part(slice(0, QUERIES // 4))
    limit_threads(1)
    try:
        with tempfile.TemporaryDirectory(prefix="apptek-bench-") as storage:
            engine, graph = Engine(_InThisProcess(), Path(storage)), space.graph
            parts = seconds(lambda: engine.partition(graph), time.process_time)
            engine.make(space, {"warm": queries.part(slice(0, WARM))})
            alone = seconds(lambda: space.rows(queries), time.process_time)
            spread = seconds(lambda: engine.make(space, {"all": queries}), time.process_time)
            joined = seconds(lambda: engine.take("all"), time.process_time)
    finally:
        limit_threads(os.cpu_count() or 1)
    scan = seconds(lambda: part_of(graph.facts.subjects, PARTS) == 0, time.process_time)
    return {
        "fact_into_parts": 1e6 * parts / len(graph.facts),
        "end_of_a_fact_looked_at": 1e6 * scan / len(graph.facts),
        "query_alone": 1e6 * alone / len(queries),
        "query_over_parts": 1e6 * spread / len(queries),
        "query_joined": 1e6 * joined / len(queries),
    }


def _spent() -> float:
    """The processor seconds of this process and of those below it, the daemons of Ray included."""
    ticks = 0
    for pid in process_tree(os.getpid()):
        with suppress(OSError):
            words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            ticks += int(words[11]) + int(words[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _worker_memory_mb() -> float:
    """The memory of the largest process below this one that does tasks."""
    below = (pid for pid in process_tree(os.getpid()) if pid != os.getpid())
    return max((own_memory_mb(pid) for pid in below if _does_tasks(pid)), default=0.0)


def _does_tasks(pid: int) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return any(words in command for words in _WORKERS)
