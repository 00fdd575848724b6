"""Load on a service: many connections, each sending requests one after another."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from apptek.errors import ApptekError

_SERVE = "from apptek.cli import main; main()"


@dataclass(frozen=True, slots=True)
class RunningService:
    """A service in its own process."""

    address: str
    process: int
    seconds: float  # from its start until it was ready


@contextmanager
def running_service(model: Path, *options: str, command: str = "serve") -> Iterator[RunningService]:
    """Run `apptek serve`, or a similar command, on a free port for the duration of a block."""
    words = [sys.executable, "-c", _SERVE, command, str(model), "--port", "0", *options]
    start = time.perf_counter()
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        if " is served at " not in line:
            raise ApptekError(f"the service did not start: {line}{process.stderr.read()}")
        address = line.split(" is served at ")[1].split()[0]
        try:
            yield RunningService(address, process.pid, time.perf_counter() - start)
        finally:
            process.terminate()


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The milliseconds of each response, and how many responses had each status."""

    milliseconds: list[float]
    statuses: dict[int, int]

    def quantile(self, share: float) -> float:
        """The response time in milliseconds that this proportion of responses did not exceed."""
        ordered = sorted(self.milliseconds)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def encode_request(address: str, path: str, body: Any = None) -> bytes:
    """The bytes of a request: a POST with JSON if it has a body, else a GET."""
    host = urlsplit(address).netloc
    if body is None:
        return f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def send_requests(
    address: str, requests: Sequence[bytes], clients: int, *, seconds: float = 0.0
) -> LoadResult:
    """Send all requests once, then repeat them until the time is up.

    Each client has its own connection and sends every `clients`-th request.
    """
    return asyncio.run(_send_requests(address, requests, clients, seconds))


async def _send_requests(
    address: str, requests: Sequence[bytes], clients: int, seconds: float
) -> LoadResult:
    result = LoadResult([], {})
    url = urlsplit(address)
    end = time.perf_counter() + seconds

    async def client(first: int) -> None:
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        turn = first
        while turn < len(requests) or time.perf_counter() < end:
            start = time.perf_counter()
            status = await _send(reader, writer, requests[turn % len(requests)])
            result.milliseconds.append(1000 * (time.perf_counter() - start))
            result.statuses[status] = result.statuses.get(status, 0) + 1
            turn += clients
        writer.close()

    async with asyncio.TaskGroup() as group:
        for first in range(clients):
            group.create_task(client(first))
    return result


async def _send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> int:
    """Send a request, read the whole response and return its status."""
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head.split(b" ", 2)[1])
