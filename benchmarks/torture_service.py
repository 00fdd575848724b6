"""Attacks on the service: slow clients alongside busy ones."""

import asyncio
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from http_clients import encode_request, running_service

from apptek.models.asked_queries import query_of_fact
from apptek.models.model_folder import load_model

HEAD = b"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


def requests_for(model: Path, address: str, count: int = 400) -> list[bytes]:
    """Return requests for predictions, explanations and name searches."""
    data = load_model(model).dataset
    facts = data.valid if len(data.valid) else data.train
    requests = []
    for row in range(count):
        query = asdict(query_of_fact(data, facts, row % len(facts)))
        path = "/api/explain" if row % 4 == 0 else "/api/predict"
        requests.append(encode_request(address, path, query))
        name = f"/api/entities?q={query['subject'][:2].strip()}"
        if name.isascii():
            requests.append(encode_request(address, name))
    return requests


async def _slow(address: str, until: float, opened: Counter[str]) -> None:
    """Send the headers of a request byte by byte, and reconnect when the connection is closed."""
    url = urlsplit(address)
    while time.monotonic() < until:
        writer = None
        with suppress(OSError):
            _, writer = await asyncio.open_connection(url.hostname, url.port)
            opened["connections"] += 1
            writer.write(HEAD)
            while time.monotonic() < until and not writer.is_closing():
                await asyncio.sleep(1)
                writer.write(b"x")
                await writer.drain()
        if writer is not None:
            writer.close()
        else:
            opened["refused"] += 1
            await asyncio.sleep(0.2)


async def _busy(address: str, requests: list[bytes], until: float, seen: Counter[str]) -> None:
    url = urlsplit(address)
    reader = writer = None
    turn = int(np.random.default_rng(len(requests)).integers(len(requests))) + sum(seen.values())
    while time.monotonic() < until:
        try:
            if writer is None or writer.is_closing():
                reader, writer = await asyncio.open_connection(url.hostname, url.port)
            assert reader is not None
            status, _ = await _ask(reader, writer, requests[turn % len(requests)])
            seen[str(status)] += 1
        except (OSError, asyncio.IncompleteReadError):
            seen["no answer"] += 1
            writer = None
        turn += 1
    if writer is not None:
        writer.close()


async def _ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> tuple[int, bytes]:
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    body = await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
    return int(head.split(b" ", 2)[1]), body


async def _health(address: str, until: float, seconds: list[float], lost: list[str]) -> None:
    """Poll the service's health, each time on a new connection."""
    url = urlsplit(address)
    request = encode_request(address, "/api/health")
    while time.monotonic() < until:
        begun = time.monotonic()
        try:
            async with asyncio.timeout(30):
                reader, writer = await asyncio.open_connection(url.hostname, url.port)
                status, _ = await _ask(reader, writer, request)
                writer.close()
            seconds.append(time.monotonic() - begun)
            if status != 200:
                lost.append(str(status))
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            lost.append(type(error).__name__)
        await asyncio.sleep(0.25)


def slow_clients(model: Path, slow: int, busy: int, seconds: float) -> dict[str, Any]:
    """Run slow and busy clients together; return whether and how fast health was answered."""

    async def all_of_them(address: str) -> dict[str, Any]:
        requests = requests_for(model, address)
        until = time.monotonic() + seconds
        opened: Counter[str] = Counter()
        seen: Counter[str] = Counter()
        latencies: list[float] = []
        lost: list[str] = []
        async with asyncio.TaskGroup() as group:
            for _ in range(slow):
                group.create_task(_slow(address, until, opened))
            for _ in range(busy):
                group.create_task(_busy(address, requests, until, seen))
            group.create_task(_health(address, until, latencies, lost))
        milliseconds = 1000 * np.asarray(latencies or [np.nan])
        return {
            "slow": slow,
            "busy": busy,
            "seconds": seconds,
            "slow_connections": opened["connections"],
            "answers": dict(seen),
            "health_asked": len(latencies) + len(lost),
            "health_unanswered": lost,
            "health_ms": {
                "p50": round(float(np.quantile(milliseconds, 0.5)), 1),
                "p95": round(float(np.quantile(milliseconds, 0.95)), 1),
                "max": round(float(milliseconds.max()), 1),
            },
        }

    with running_service(model) as service:
        return asyncio.run(all_of_them(service.address))
