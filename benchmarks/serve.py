"""The benchmark of the service: predict, explain, forecast, batches, name search, the start."""

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
from http_clients import (
    RunningService,
    encode_request,
    running_service,
    send_requests,
)

from apptek.facts.facts import Dataset, Names
from apptek.facts.name_matching import NameIndex
from apptek.models.asked_queries import query_of_fact
from apptek.models.model import Model
from apptek.models.model_folder import load_model
from apptek.predictor import Predictor
from apptek.seeding import generator
from benchmarks.report import BenchReport, bench_dataset, seconds

BATCH = 1000  # queries in a batch
CLIENTS = (1, 16)
TARGETS = {
    "predict_p95_ms": "at most 50",
    "explain_p95_ms": "at most 200",
    "forecast_p95_ms": "at most 50",
    "batch_queries_per_s": "at least 2500",
    "search_p95_ms": "at most 10",
    "start_seconds": "at most 3",
}
NAMES = 100_000


def bench_serve(*, quick: bool = False, model: Path | None = None) -> BenchReport:
    """Measure the responses of a served model over loopback.

    Without a model, a default-preset model is fitted on ICEWS14 (or synthetic data of its size;
    quick: 20,000 facts).
    """
    with tempfile.TemporaryDirectory(prefix="apptek-bench-") as scratch:
        folder = model or _fit(Path(scratch) / "model", quick)
        with running_service(folder):
            pass  # compiles, so that the next start is representative
        with running_service(folder) as service:
            figures = _measure(service, load_model(folder), 100 if quick else 500)
            figures["start_seconds"] = service.seconds
    figures["search_p95_ms"] = _search_ms()
    return BenchReport(ratios={}, figures=figures, targets=TARGETS)


def _fit(folder: Path, quick: bool) -> Path:
    Predictor.fit(bench_dataset(quick), folder=folder)
    return folder


def _measure(service: RunningService, model: Model, count: int) -> dict[str, Any]:
    queries = _tuning_queries(model.dataset, max(count, BATCH))
    figures: dict[str, Any] = {"model": model.dataset.name}
    bodies: dict[str, list[dict[str, str]]] = dict.fromkeys(("predict", "explain"), queries[:count])
    if model.occurrence is not None:  # the next days of the same pairs
        bodies["forecast"] = [_without_time(query) for query in queries[:count]]
    for task, task_bodies in bodies.items():
        path = f"/api/{task}"
        requests = [encode_request(service.address, path, body) for body in task_bodies]
        send_requests(service.address, requests[:20], 1)  # warms up
        figures[f"{task}_ms"] = {}
        for clients in CLIENTS:
            result = send_requests(service.address, requests, clients)
            if set(result.statuses) != {200}:
                raise AssertionError(f"{task}: responses with status {result.statuses}")
            times = {"p50": result.quantile(0.5), "p95": result.quantile(0.95)}
            figures[f"{task}_ms"][str(clients)] = times
        figures[f"{task}_p95_ms"] = figures[f"{task}_ms"]["1"]["p95"]
    figures["batch_queries_per_s"] = _batch_speed(service, queries)
    return figures


def _without_time(query: dict[str, str]) -> dict[str, str]:
    return {name: query[name] for name in ("subject", "object")}


def _batch_speed(service: RunningService, queries: list[dict[str, str]]) -> float:
    """Return the queries per second in consecutive batches."""
    body = {"queries": queries[:BATCH], "top": 10}
    request = encode_request(service.address, "/api/predict", body)
    result = send_requests(service.address, [request] * 7, 1)
    if set(result.statuses) != {200}:
        raise AssertionError(f"batches: responses with status {result.statuses}")
    return 1000 * BATCH / result.quantile(0.5)


def _tuning_queries(data: Dataset, count: int) -> list[dict[str, str]]:
    """Return tuning facts as queries, starting over if there are too few."""
    facts = data.valid if len(data.valid) else data.train
    return [asdict(query_of_fact(data, facts, row % len(facts))) for row in range(count)]


def _search_ms() -> float:
    """Return the 95 % quantile of search times while typing, among 100,000 invented names."""
    rng = generator(0, "bench names")
    words = [f"{a}{b}{c}" for a in ("Ka", "Lu", "Mo") for b in ("ri", "to", "ne") for c in "nsx"]
    drawn = rng.integers(0, len(words), (NAMES, 3)).tolist()
    texts = sorted(
        f"{words[a]} {words[b]} ({words[c]}) {row}" for row, (a, b, c) in enumerate(drawn)
    )
    index = NameIndex(Names(pa.array(texts)), rng.integers(0, 1000, NAMES).astype("int32"))
    typed = [text[:size] for text in texts[:: NAMES // 40] for size in range(1, len(text) + 1)]
    times = sorted(seconds(lambda t=text: index.search(t, 10)) for text in typed)  # type: ignore[misc]
    return 1000 * times[int(0.95 * len(times))]
