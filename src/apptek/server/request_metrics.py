"""The service's metrics in the Prometheus text format, and the request log as JSON."""

import json
import logging
import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse
from starlette.types import Scope

from apptek.server.workers import WorkerPool

LOGGER = "apptek.requests"
METRICS = "apptek.metrics"  # the key in a request's scope that holds the service's metrics
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0)  # upper bounds of the latency buckets


class RequestMetrics:
    """Counts and latencies of all requests since the start, including rejected ones."""

    def __init__(self) -> None:
        self._statuses: Counter[tuple[str, int]] = Counter()
        self._latencies: dict[str, list[int]] = {}  # route -> number of requests per bucket
        self._seconds: Counter[str] = Counter()
        self._lock = Lock()

    def add(self, scope: Scope, status: int, seconds: float) -> None:
        """Count an answered request, and log it without its query string."""
        route = getattr(scope.get("route"), "path", "other")
        with self._lock:
            self._statuses[route, status] += 1
            buckets = self._latencies.setdefault(route, [0] * (len(SECONDS) + 1))
            buckets[bisect_left(SECONDS, seconds)] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]
        fields = {"method": scope["method"], "route": route, "status": status}
        fields["seconds"] = round(seconds, 6)
        logging.getLogger(LOGGER).info("request", extra={"fields": fields})

    def lines(self, pools: Mapping[str, WorkerPool]) -> Iterator[str]:
        """Yield the lines of all metrics."""
        with self._lock:
            statuses, seconds = dict(self._statuses), dict(self._seconds)
            latencies = {route: list(buckets) for route, buckets in self._latencies.items()}
        yield from _head("apptek_requests_total", "counter", "Requests by route and status.")
        for (route, status), count in sorted(statuses.items()):
            yield f'apptek_requests_total{{route="{route}",status="{status}"}} {count}'
        name = "apptek_request_seconds"
        yield from _head(name, "histogram", "Seconds from a request to the end of its answer.")
        for route, buckets in sorted(latencies.items()):
            for place, bound in enumerate([*SECONDS, "+Inf"]):
                count = sum(buckets[: place + 1])
                yield f'{name}_bucket{{route="{route}",le="{bound}"}} {count}'
            yield f'{name}_sum{{route="{route}"}} {seconds[route]:.6f}'
            yield f'{name}_count{{route="{route}"}} {sum(buckets)}'
        yield from _head("apptek_queue", "gauge", "Requests in the threads of a pool, by state.")
        for pool, workers in sorted(pools.items()):
            for state, count in zip(("waiting", "running"), workers.load(), strict=True):
                yield f'apptek_queue{{pool="{pool}",state="{state}"}} {count}'
        yield from _head("process_resident_memory_bytes", "gauge", "Memory of the process.")
        yield f"process_resident_memory_bytes {_resident_bytes()}"


def _head(name: str, kind: str, about: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"


def _resident_bytes() -> int:
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource  # peak memory, in bytes on macOS

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def add_metrics(app: FastAPI, pools: Mapping[str, WorkerPool]) -> None:
    """Add the metrics route, which does not wait for a thread."""

    @app.get("/api/metrics", include_in_schema=False)
    async def metrics(request: Request) -> PlainTextResponse:
        """Return request counts, latencies, queues and memory use in the Prometheus text format."""
        of_service: RequestMetrics = request.scope.get(METRICS) or RequestMetrics()
        text = "\n".join([*of_service.lines(pools), ""])
        return PlainTextResponse(text, media_type=MEDIA_TYPE)


class JsonLines(logging.Formatter):
    """A formatter that writes each record as a JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON: time, level, logger, message, and extra fields."""
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {"time": f"{when}.{int(record.msecs):03d}Z", "level": record.levelname.lower()}
        line |= {"logger": record.name, "message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line | getattr(record, "fields", {}), ensure_ascii=False)
