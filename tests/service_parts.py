"""A client of the guarded service, and questions to ask it."""

from typing import Any

from fastapi.testclient import TestClient

from apptek.service.app import create_app
from apptek.service.http_server import LOOPBACK
from apptek.service.request_limits import RequestLimits
from apptek.service.security_middleware import SecurityMiddleware
from apptek.service.served_model import ServedModel


def client_of(served: ServedModel, *, token: str | None = None, **limits: Any) -> TestClient:
    """A client that sees errors as a client does: as answers."""
    allowed = RequestLimits(**limits)
    app = SecurityMiddleware(create_app(served, allowed), allowed, token, LOOPBACK)
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


def question(served: ServedModel, row: int = 0) -> dict[str, str]:
    """A tuning fact as a query."""
    data = served.predictor.model.dataset
    facts = data.valid
    return {
        "subject": data.entities[int(facts.subjects[row])],
        "object": data.entities[int(facts.objects[row])],
        "time": data.axis.format(int(facts.times[row])),
    }


def problem(response: Any, status: int) -> dict[str, Any]:
    """The problem that a response is; it says what, where and what to do, and no more."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert set(body) == {"type", "title", "status", "detail", "where", "advice", "suggestions"}
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    assert body["advice"]
    assert "Traceback" not in response.text
    return body
