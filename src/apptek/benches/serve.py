"""The service's bench: one predict, one explain, batches, and how long it takes to start."""

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from apptek.benches.http_clients import Running, load, request, running_service
from apptek.benches.report import BenchReport, Target, seconds
from apptek.config import preset
from apptek.data.benchmarks import find_benchmark
from apptek.data.facts import Names
from apptek.data.reading.reader import read_dataset
from apptek.data.synthetic.world import make_world
from apptek.explain.name_index import NameIndex
from apptek.models.model_folder import load_model
from apptek.predictor import Predictor
from apptek.seeding import generator
from apptek.settings import with_settings

ICEWS14_SIZE = 90_730
BATCH = 1000
CLIENTS = (1, 16)
TARGETS = {
    "predict_p95_ms": Target(50),
    "explain_p95_ms": Target(200),
    "batch_queries_per_s": Target(5000, at_most=False),
    "search_p95_ms": Target(10),
    "start_seconds": Target(3),
}
NAMES = 100_000


def bench_serve(*, quick: bool = False, model: Path | None = None) -> BenchReport:
    """Asks a served model over loopback.

    Without a model, one is fitted: of ICEWS14 (a world of its size where it is not there) with
    topologies of a random policy, which cost as much to apply as the agent's. Quick: of a world of
    20,000 facts.
    """
    with tempfile.TemporaryDirectory(prefix="apptek-bench-") as scratch:
        folder = model or _fit(Path(scratch) / "model", quick)
        with running_service(folder) as first:
            del first  # compiles
        with running_service(folder) as service:
            figures = _measure(service, folder, 100 if quick else 500)
            figures["start_seconds"] = service.seconds
    figures["search_p95_ms"] = _search_ms()
    return BenchReport(ratios={}, figures=figures, targets=TARGETS)


def _fit(folder: Path, quick: bool) -> Path:
    settings = ["mining.policy=random", "classifier.l2=[10.0]"]
    if not quick and find_benchmark("icews14") is not None:
        data = read_dataset("icews14")
    else:
        data = make_world(20_000 if quick else ICEWS14_SIZE, 0).dataset
    Predictor.fit(data, folder=folder, config=with_settings(preset("paper"), settings))
    return folder


def _measure(service: Running, folder: Path, count: int) -> dict[str, Any]:
    queries = _queries(folder, max(count, BATCH))
    figures: dict[str, Any] = {"model": load_model(folder).dataset.name}
    for what in ("predict", "explain"):
        asked = [request(service.address, f"/api/{what}", query) for query in queries[:count]]
        load(service.address, asked[:20], 1)
        figures[f"{what}_ms"] = {}
        for clients in CLIENTS:
            found = load(service.address, asked, clients)
            if set(found.statuses) != {200}:
                raise AssertionError(f"{what}: answers with status {found.statuses}")
            times = {"p50": found.quantile(0.5), "p95": found.quantile(0.95)}
            figures[f"{what}_ms"][str(clients)] = times
        figures[f"{what}_p95_ms"] = figures[f"{what}_ms"]["1"]["p95"]
    batch = request(service.address, "/api/predict", {"queries": queries[:BATCH], "top": 10})
    found = load(service.address, [batch] * 5, 1)
    figures["batch_queries_per_s"] = 1000 * BATCH / found.quantile(0.5)
    return figures


def _queries(folder: Path, count: int) -> list[dict[str, str]]:
    """Tuning facts as questions, again from the first where there are too few."""
    data = load_model(folder).dataset
    facts = data.valid if len(data.valid) else data.train
    return [
        {
            "subject": data.entities[int(facts.subjects[row % len(facts)])],
            "object": data.entities[int(facts.objects[row % len(facts)])],
            "time": data.axis.format(int(facts.times[row % len(facts)])),
        }
        for row in range(count)
    ]


def _search_ms() -> float:
    """Searching 100,000 invented names by what people type of them, letter by letter."""
    rng = generator(0, "bench names")
    words = [f"{a}{b}{c}" for a in ("Ka", "Lu", "Mo") for b in ("ri", "to", "ne") for c in "nsx"]
    drawn = rng.integers(0, len(words), (NAMES, 3)).tolist()
    texts = sorted(
        f"{words[a]} {words[b]} ({words[c]}) {row}" for row, (a, b, c) in enumerate(drawn)
    )
    index = NameIndex(Names(pa.array(texts)), rng.integers(0, 1000, NAMES).astype("int32"))
    typed = [text[:size] for text in texts[:: NAMES // 40] for size in range(1, len(text) + 1)]
    taken = sorted(seconds(lambda t=text: index.search(t, 10)) for text in typed)  # type: ignore[misc]
    return 1000 * taken[int(0.95 * len(taken))]
