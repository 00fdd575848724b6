import asyncio
import hmac
import json
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any
from unittest.mock import patch

import pytest
from service_parts import client_of, problem, tuning_query

from apptek.server.app import EXPLORER, create_app
from apptek.server.security_middleware import SecurityMiddleware
from apptek.server.served_model import ServedModel
from apptek.server.workers import RequestLimits

SOURCES = Path(__file__).parents[1] / "src" / "apptek" / "server"


@pytest.mark.parametrize(
    "path", ["/", "/api/openapi.json", "/api/health", "/api/nothing", "/explorer/main.js"]
)
def test_every_answer_has_strict_headers(served: ServedModel, path: str) -> None:
    headers = client_of(served).get(path, headers={"Origin": "https://elsewhere.example"}).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert not [name for name in headers if name.startswith("access-control-")]


def test_the_pages_load_nothing_from_elsewhere() -> None:
    for page in EXPLORER.glob("*.*"):
        name, text = page.name, page.read_text(encoding="utf-8")
        for address in re.findall(r"https?://[^\s\"'<>)]+", text):
            assert address.startswith("http://www.w3.org/"), (name, address)
        assert " style=" not in text, name
        assert not re.search(r"\son[a-z]+=\"", text), name
        assert "innerHTML" not in text, name


def test_the_licence_of_what_is_vendored_lies_beside_it() -> None:
    vendor = EXPLORER / "vendor"
    assert b"Copyright 2010-2026 Mike Bostock" in (vendor / "d3.min.js").read_bytes()[:100]
    assert b"Permission to use" in (vendor / "d3-LICENSE.txt").read_bytes()


@pytest.mark.parametrize("given", [None, "", "Bearer", "Bearer wrong", "Basic secret", "secret"])
def test_without_the_token_nothing_is_told(served: ServedModel, given: str | None) -> None:
    client = client_of(served, token="secret")
    headers = {} if given is None else {"Authorization": given}
    for path in ("/api/model", "/api/health", "/api/metrics", "/api/openapi.json", "/api"):
        said = problem(client.get(path, headers=headers), 401)
        assert "secret" not in str(said)
    assert client.get("/").status_code == 200  # the page, which asks for it


def test_the_token_opens_and_is_compared_in_constant_time(served: ServedModel) -> None:
    client = client_of(served, token="sécret")
    with patch("hmac.compare_digest", side_effect=hmac.compare_digest) as compared:
        for scheme in ("Bearer", "bearer", "BEARER"):
            right = [(b"Authorization", f"{scheme} sécret".encode())]
            assert client.get("/api/health", headers=right).status_code == 200
        assert client.get("/api/health", headers={"Authorization": "x"}).status_code == 401
    assert compared.call_count == 4


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost:1", "[::1]:80"])
def test_a_host_name_of_its_own_is_answered(served: ServedModel, host: str) -> None:
    assert client_of(served).get("/api/health", headers={"Host": host}).status_code == 200


def test_a_large_request_is_refused_however_it_comes(served: ServedModel) -> None:
    client = client_of(served, body_bytes=1000)
    said = problem(client.post("/api/predict", content=b"x" * 1001), 413)
    assert "1,000" in said["detail"]

    def pieces() -> Iterator[bytes]:
        for _ in range(20):
            yield b"y" * 100

    problem(client.post("/api/predict", content=pieces()), 413)
    assert client.post("/api/predict", json=tuning_query(served)).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"queries": [1] * 1_900_000},
        {"queries": [1] * 5_000},
        {"queries": 1} | {str(place): 1 for place in range(300_000)},
        {"queries": [{str(place): 1 for place in range(300_000)}]},
    ],
)
def test_a_senseless_body_is_refused(served: ServedModel, body: Any) -> None:
    content = json.dumps(body, separators=(",", ":")).encode()
    problem(client_of(served).post("/api/predict", content=content), 422)


def test_a_body_that_never_arrives_is_given_up(served: ServedModel) -> None:
    allowed = RequestLimits(seconds=0.1)
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "path": "/api/predict", "method": "POST", "headers": []}
    asyncio.run(SecurityMiddleware(create_app(served, allowed), allowed)(scope, receive, send))
    assert sent[0]["status"] == 408
    assert b"0.1 seconds" in sent[1]["body"]


@pytest.mark.gate
def test_what_takes_too_long_is_given_up(
    served: ServedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = Event()

    def slow(*_: Any, **__: Any) -> Any:
        answered.wait(60)
        raise RuntimeError("nobody waits for this")

    monkeypatch.setattr(ServedModel, "question", slow)
    with client_of(served, seconds=1.5, workers=1) as client:
        said = problem(client.post("/api/predict", json=tuning_query(served)), 503)
        assert "1.5 seconds" in said["detail"]
        busy = problem(client.post("/api/explain", json=tuning_query(served)), 503)
        assert busy["advice"]
        for other in ("health", "predicates"):  # they wait for no computation
            assert client.get(f"/api/{other}").status_code == 200
        answered.set()


def test_an_error_of_ours_shows_no_traceback(
    served: ServedModel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a secret of the code")

    client = client_of(served)
    monkeypatch.setattr(ServedModel, "question", broken)
    said = problem(client.post("/api/predict", json=tuning_query(served)), 500)
    assert "secret" not in str(said)
    assert "a secret of the code" in caplog.text
    monkeypatch.undo()
    assert client.get("/api/health").status_code == 200


def test_no_pickle_and_no_open_file_after_the_start() -> None:
    sources = list(SOURCES.glob("*.py"))
    assert len(sources) > 5
    for source in sources:
        text = source.read_text(encoding="utf-8")
        assert "pickle" not in text
        assert not re.search(
            r"\bopen\(", text.replace("ServedModel.open(", "").replace("def open(", "")
        )
