"""Clients of the service: many connections, each asking one thing after the other."""

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
class Running:
    """A service in a process of its own."""

    address: str
    process: int
    seconds: float  # from its start until it listened


@contextmanager
def running_service(model: Path, *options: str) -> Iterator[Running]:
    """`apptek serve` on a free port, ended with the block."""
    command = [sys.executable, "-c", _SERVE, "serve", str(model), "--port", "0", *options]
    start = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stderr is not None
        line = process.stderr.readline()
        if " is served at " not in line:
            raise ApptekError(f"the service did not start: {line}{process.stderr.read()}")
        address = line.split(" is served at ")[1].split()[0]
        try:
            yield Running(address, process.pid, time.perf_counter() - start)
        finally:
            process.terminate()


@dataclass(frozen=True, slots=True)
class Load:
    """What many clients met: the milliseconds of each answer, and how many had each status."""

    milliseconds: list[float]
    statuses: dict[int, int]

    def quantile(self, share: float) -> float:
        """The time within which that share of the answers came."""
        ordered = sorted(self.milliseconds)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def request(address: str, path: str, body: Any = None) -> bytes:
    """A request as it goes over the wire."""
    host = urlsplit(address).netloc
    if body is None:
        return f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def load(address: str, requests: Sequence[bytes], clients: int, *, seconds: float = 0.0) -> Load:
    """Sends the requests once, or again and again for some seconds, over so many connections."""
    return asyncio.run(_load(address, requests, clients, seconds))


async def _load(address: str, requests: Sequence[bytes], clients: int, seconds: float) -> Load:
    found = Load([], {})
    end = time.perf_counter() + seconds

    async def client(first: int) -> None:
        place = urlsplit(address)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        turn = first
        while turn < len(requests) or time.perf_counter() < end:
            start = time.perf_counter()
            status = await _ask(reader, writer, requests[turn % len(requests)])
            found.milliseconds.append(1000 * (time.perf_counter() - start))
            found.statuses[status] = found.statuses.get(status, 0) + 1
            turn += clients
        writer.close()

    async with asyncio.TaskGroup() as group:
        for first in range(clients):
            group.create_task(client(first))
    return found


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: bytes) -> int:
    writer.write(asked)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head.split(b" ", 2)[1])
