"""The metrics of the service for Prometheus, and its log as JSON."""

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from service_parts import client_of, problem, tuning_query

from apptek.server.served_model import ServedModel

SAMPLE = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+]+')


def _samples(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(SAMPLE.fullmatch(line) for line in lines)
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


@pytest.mark.gate
def test_requests_and_latencies_are_counted_by_route_those_refused_included(
    served: ServedModel,
) -> None:
    client = client_of(served, token="secret")
    right = {"Authorization": "Bearer secret"}
    for _ in range(3):
        assert client.post("/api/predict", json=tuning_query(served), headers=right).is_success
    assert client.head("/api/health", headers=right).is_success
    problem(client.get("/api/entity/Nobody/timeline", headers=right), 404)
    problem(client.get("/api/health"), 401)
    response = client.get("/api/metrics", headers=right)
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = _samples(response.text)
    assert samples['apptek_requests_total{route="/api/predict",status="200"}'] == 3
    assert samples['apptek_requests_total{route="/api/health",status="200"}'] == 1
    assert samples['apptek_requests_total{route="other",status="401"}'] == 1
    name = 'route="/api/entity/{name:path}/timeline",status="404"'
    assert samples[f"apptek_requests_total{{{name}}}"] == 1
    assert samples['apptek_request_seconds_count{route="/api/predict"}'] == 3
    assert samples['apptek_request_seconds_bucket{route="/api/predict",le="+Inf"}'] == 3
    assert samples['apptek_request_seconds_sum{route="/api/predict"}'] > 0
    assert samples['apptek_queue{pool="answers",state="running"}'] == 0
    assert samples["process_resident_memory_bytes"] > 10 << 20


def test_a_log_as_json_has_a_line_for_each_request_without_its_query(served_model: Path) -> None:
    code = "from apptek.cli import main; main()"
    words = [sys.executable, "-c", code, "serve", str(served_model), "--port", "0", "--log", "json"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = process.stderr.readline().split(" is served at ")[1].split()[0]
        with urllib.request.urlopen(f"{address}/api/entities?q=Secretname") as response:
            assert response.status == 200
        line = json.loads(process.stderr.readline())
        process.terminate()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
    assert 0 < line.pop("seconds") < 60
    assert line == {
        "level": "info", "logger": "apptek.requests", "message": "request",
        "method": "GET", "route": "/api/entities", "status": 200,
    }  # fmt: skip
