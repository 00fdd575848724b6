"""A client of the service behind its middleware, and queries to send."""

import time
from dataclasses import asdict, replace
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from apptek.models.asked_queries import query_of_fact
from apptek.server.app import create_app
from apptek.server.http_server import LOOPBACK
from apptek.server.security_middleware import SecurityMiddleware
from apptek.server.served_model import ServedModel
from apptek.server.workers import RequestLimits

# No test waits this long, and requests from a busy machine are not rejected.
PATIENT = RequestLimits(seconds=600.0)
_APPS: dict[int, tuple[ServedModel, FastAPI]] = {}


def client_of(served: ServedModel, *, token: str | None = None, **limits: Any) -> TestClient:
    """A client that gets errors as responses, as over the network."""
    request_limits = replace(PATIENT, **limits)
    app = create_app(served, request_limits) if limits else _patient_app(served)
    guarded = SecurityMiddleware(app, request_limits, token, LOOPBACK)
    return TestClient(guarded, base_url="http://127.0.0.1", raise_server_exceptions=False)


def _patient_app(served: ServedModel) -> FastAPI:
    """A model's app, created once because most tests use the same one."""
    made, app = _APPS.get(id(served), (None, None))
    if made is not served or app is None:
        app = create_app(served, PATIENT)
        _APPS[id(served)] = served, app
    return app


def tuning_query(served: ServedModel, row: int = 0) -> dict[str, str]:
    """A tuning fact as a query."""
    data = served.predictor.model.dataset
    return asdict(query_of_fact(data, data.valid, row))


def when_ready(client: TestClient, path: str, **asked: Any) -> dict[str, Any]:
    """Ask for a one-time result until it is ready."""
    found: dict[str, Any] = {"ready": False}
    while not found["ready"]:
        found = client.get(path, params=asked).json()
        time.sleep(0.02)
    return found


def problem(response: Any, status: int | None = None) -> dict[str, Any]:
    """The problem in a response, after checking that it has all fields and no traceback."""
    assert response.status_code == (status or response.status_code), response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    expected = {"type", "title", "status", "detail", "where", "advice", "suggestions", "unknown"}
    assert set(body) == expected
    assert body["status"] == response.status_code >= 400
    assert body["title"]
    assert body["detail"]
    assert body["advice"]
    assert "Traceback" not in response.text
    return body
