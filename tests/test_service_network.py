"""Slow and hostile clients: deadlines, many connections, tokens that are guessed."""

import asyncio
import json
import os
import resource
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from http_clients import encode_request, running_service
from service_parts import client_of, problem, tuning_query
from starlette.types import ASGIApp

from apptek.server.http_server import HEAD_SECONDS, DeadlineProtocol
from apptek.server.security_middleware import SecurityMiddleware
from apptek.server.served_model import ServedModel
from apptek.server.workers import RequestLimits

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE = 50 << 20  # bytes: more than the system takes from a server whose client reads nothing


async def _app(scope: Any, receive: Any, send: Any) -> None:
    body = b"x" * (LARGE if scope["path"] == "/large" else 10)
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def small_server(
    seconds: float = HEAD_SECONDS, app: ASGIApp = _app
) -> Iterator[tuple[uvicorn.Server, int]]:
    """A server of ten bytes in a thread, and its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    protocol = type("Protocol", (DeadlineProtocol,), {"seconds": seconds})
    config = uvicorn.Config(app, http=protocol, lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield server, listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def connect(port: int, first: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    connection.sendall(first)
    return connection


def read_all(connection: socket.socket) -> bytes:
    """What the server sends until it closes the connection."""
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def test_a_client_that_closes_gets_the_answer_to_a_body_that_is_too_large() -> None:
    app = SecurityMiddleware(_app, RequestLimits(body_bytes=1000))
    with small_server(app=app) as (_, port):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/api", data=b"x" * (8 << 20))
        with pytest.raises(urllib.error.HTTPError) as refused:  # urllib sends Connection: close
            urllib.request.urlopen(request, timeout=60)
        with refused.value as answer:
            assert answer.code == 413


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHos", GET + b"GET / HT"])
def test_a_connection_without_a_whole_head_is_closed(sent: bytes) -> None:
    with small_server(0.3) as (_, port), closing(connect(port, sent)) as slow:
        assert read_all(slow).count(b"HTTP/1.1 200") == sent.count(b"\r\n\r\n")


@pytest.mark.parametrize("more", [b"", b"\r\nConnection: close"])
def test_a_client_that_does_not_take_its_answer_is_given_up(more: bytes) -> None:
    request = GET.replace(b" / ", b" /large ").replace(b"\r\n\r\n", more + b"\r\n\r\n")
    with small_server(0.3) as (server, port), closing(connect(port, request + GET)) as slow:
        while not server.server_state.connections:
            time.sleep(0.01)
        while server.server_state.connections:  # for ever, if the client were waited for
            time.sleep(0.05)
        assert len(read_all(slow)) < LARGE


def test_a_slow_client_that_takes_its_answer_gets_it() -> None:
    request = GET.replace(b" / ", b" /large ")
    with small_server(0.3) as (_, port), closing(connect(port, request)) as slow:
        received, pause = 0, time.monotonic() + 1.5
        while received < LARGE:
            part = slow.recv(1 << 20)
            assert part
            received += len(part)
            if time.monotonic() < pause:
                time.sleep(0.05)


@pytest.mark.gate
def test_slow_clients_beyond_the_file_limit_do_not_lock_others_out(
    served: ServedModel, capfd: pytest.CaptureFixture[str]
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = len(list(Path("/proc/self/fd").iterdir())) + 100  # this process has some open already
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, hard))  # the service inherits it
    try:
        service = running_service(served.folder)
        started = service.__enter__()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    port = urlsplit(started.address).port
    assert port is not None
    with ExitStack() as stack:
        stack.push(service.__exit__)
        for _ in range(few + 200):
            stack.enter_context(closing(connect(port, b"GET /api/health HTTP/1.1\r\nHost: ")))
        with urllib.request.urlopen(f"{started.address}/api/health", timeout=60) as response:
            assert json.load(response)["status"] == "ok"


@pytest.mark.parametrize(
    ("path", "site"), [("", "cross-site"), ("api/health", "same-origin"), ("api/health", "none")]
)
def test_a_link_and_its_own_page_may_use_it(served: ServedModel, path: str, site: str) -> None:
    headers = {"Sec-Fetch-Site": site}
    assert client_of(served).get(f"/{path}", headers=headers).status_code == 200


def test_two_lengths_of_a_body_are_refused_and_the_connection_is_closed(
    served: ServedModel,
) -> None:
    headers = {"Content-Length": "5", "Transfer-Encoding": "chunked"}
    response = client_of(served).post("/api/predict", headers=headers, content=b"0\r\n\r\n")
    problem(response, 400)
    assert response.headers["connection"] == "close"


@pytest.mark.slow
def test_sigterm_finishes_what_is_in_flight(served: ServedModel) -> None:
    queries = [tuning_query(served, row) for row in range(100)]
    clients = 16

    async def ask_and_end(address: str, end: Any) -> list[bytes]:
        url = urlsplit(address)
        request = encode_request(address, "/api/predict", {"queries": queries * 3, "top": 5})
        streams = [await asyncio.open_connection(url.hostname, url.port) for _ in range(clients)]
        for _, writer in streams:
            writer.write(request)
            await writer.drain()
        first = asyncio.ensure_future(streams[0][0].read())
        await asyncio.sleep(0.5)  # all of them have arrived; not all of them are answered
        end()
        answers = [await first] + [await reader.read() for reader, _ in streams[1:]]
        for _, writer in streams:
            writer.close()
        return answers

    with running_service(served.folder) as service:
        answers = asyncio.run(
            ask_and_end(service.address, lambda: os.kill(service.process, signal.SIGTERM))
        )
    for answer in answers:
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        assert len(json.loads(body)["answers"]) == 300
