"""The benchmark of the graph: reading, indexing, opening and lookups."""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from nearest_lookups import nearest_of
from reference import nearest, plain_facts

from apptek.graph.stored_graph import graph_about, graph_arrays, graph_from
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.manifest import open_folder, write_folder
from apptek.seeding import generator
from apptek.synthetic.world import make_world, write_world
from benchmarks.report import BenchReport, seconds

K = 25
FACT_BYTES = 16  # four int32 columns
TARGETS = {
    "read_vs_reader": "at most 3",
    "peak_memory_vs_fact_table": "at most 8",
    "tknn_vs_oracle": "at least 100",
    "tknn_10m_vs_100k": "at most 3",
    "index_bytes_per_fact": "at most 48",
    "open_seconds": "at most 0.1",
}


def bench_graph(*, quick: bool = False) -> BenchReport:
    """Read, index and look up 10 M and 100 k synthetic facts (quick: 500 k and 50 k)."""
    large, small = (500_000, 50_000) if quick else (10_000_000, 100_000)
    with tempfile.TemporaryDirectory(prefix="apptek-bench-") as scratch:
        folder = Path(scratch)
        reading = _bench_reading(folder / "world", large, repeats=3)
        graphs = {size: TemporalGraph.of(make_world(size, 0).dataset) for size in (small, large)}
        opening = _bench_opening(graphs[large], folder / "graph")
        lookups = _bench_lookups(graphs[small], graphs[large], 20_000 if quick else 100_000)
    return BenchReport(
        ratios=reading["ratios"] | lookups["ratios"],
        figures={"facts": {"small": small, "large": large}}
        | reading["figures"]
        | {"index_bytes_per_fact": _bytes_per_fact(graphs[large])}
        | opening
        | lookups["figures"],
        targets=TARGETS,
    )


def _bytes_per_fact(graph: TemporalGraph) -> float:
    arrays = (*graph.facts.columns(), *graph.incidence)  # some of these share one array
    return sum({id(array): array.nbytes for array in arrays}.values()) / len(graph.facts)


# Each runs in a separate process, to measure its peak memory. It prints seconds and bytes.
_READER_ALONE = """
import sys, time
from pathlib import Path
from pyarrow import csv
start = time.perf_counter()
for file in sorted(Path(sys.argv[1]).glob("*.tsv")):
    csv.read_csv(file, parse_options=csv.ParseOptions(delimiter="\\t", quote_char=False))
"""
_READ_AND_INDEX = """
import sys, time
from apptek.reading.reader import read_dataset
from apptek.graph.temporal_graph import TemporalGraph
start = time.perf_counter()
graph = TemporalGraph.of(read_dataset(sys.argv[1]))
"""
_PRINT_COST = """
import json, resource
seconds = time.perf_counter() - start
unit = 1 if sys.platform == "darwin" else 1024
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit]))
"""


def _bench_reading(world: Path, size: int, repeats: int) -> dict[str, Any]:
    write_world(make_world(size, 0), world)
    alone, indexed = [], []
    for _ in range(repeats):  # alternate, so that both see the same machine load
        alone.append(_run_program(_READER_ALONE, world))
        indexed.append(_run_program(_READ_AND_INDEX, world))
    reader, total = (statistics.median(run[0] for run in runs) for runs in (alone, indexed))
    peak = statistics.median(run[1] for run in indexed)
    return {
        "ratios": {
            "read_vs_reader": total / reader,
            "peak_memory_vs_fact_table": peak / (size * FACT_BYTES),
        },
        "figures": {
            "reader_seconds": reader,
            "read_and_index_seconds": total,
            "read_and_index_peak_bytes": peak,
        },
    }


def _run_program(program: str, world: Path) -> list[float]:
    command = [sys.executable, "-c", program + _PRINT_COST, str(world)]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(number) for number in json.loads(process.stdout)]


def _bench_opening(graph: TemporalGraph, folder: Path) -> dict[str, float]:
    folder.mkdir()
    write_folder(folder, graph_about(graph), graph_arrays(graph))

    def open_graph() -> None:
        stored = open_folder(folder)
        graph_from(stored.about, stored.arrays, every_value=not stored.is_large)

    return {"open_seconds": min(seconds(open_graph) for _ in range(3))}


def _bench_lookups(small: TemporalGraph, large: TemporalGraph, count: int) -> dict[str, Any]:
    queries = {id(graph): _random_lookups(graph, count) for graph in (small, large)}
    runs: dict[int, list[float]] = {id(small): [], id(large): []}
    for _ in range(6):  # alternate; the first run compiles
        for graph in (small, large):
            arrays = queries[id(graph)]
            runs[id(graph)].append(seconds(lambda g=graph, a=arrays: nearest_of(g, *a, K)))  # type: ignore[misc]
    per_lookup = {key: statistics.median(times[1:]) / count for key, times in runs.items()}
    oracle = _reference_seconds_per_lookup(small, *queries[id(small)])
    return {
        "ratios": {
            "tknn_vs_oracle": oracle / per_lookup[id(small)],
            "tknn_10m_vs_100k": per_lookup[id(large)] / per_lookup[id(small)],
        },
        "figures": {
            "tknn_look_ups_per_second": 1 / per_lookup[id(large)],
            "oracle_look_ups_per_second": 1 / oracle,
        },
    }


def _random_lookups(graph: TemporalGraph, count: int) -> tuple[Any, Any]:
    """Draw entities and times; entities are drawn by their frequency in facts, as in queries."""
    rng = generator(0, "bench")
    dated = graph.facts.times[graph.facts.dated]
    ends = np.stack([graph.facts.subjects, graph.facts.objects])
    entities = ends[rng.integers(0, 2, count), rng.integers(0, len(graph.facts), count)]
    return entities, rng.integers(dated.min(), dated.max() + 1, count).astype(np.int32)


def _reference_seconds_per_lookup(graph: TemporalGraph, entities: Any, times: Any) -> float:
    """Return the seconds per lookup in plain Python, with entities' facts collected in advance."""
    count = 1000
    facts, facts_of = plain_facts(graph.facts)

    def look_up() -> None:
        for entity, when in zip(entities[:count].tolist(), times[:count].tolist(), strict=True):
            nearest(facts, facts_of[entity], when, K)

    return seconds(look_up) / count
