"""A server of three small files that misbehaves as a test sets it."""

import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from threading import Event
from typing import Any

from apptek.facts.benchmarks import PublicFile
from apptek.facts.facts import SPLITS

CONTENT = {split: f"{split}\tknows\tb\t2014-01-01\n".encode() * 20_000 for split in SPLITS}


@dataclass
class Behaviour:
    """What the server does wrong, and the requests that it got."""

    cut_after: int | None = None  # bytes of a body, then the connection closes
    stalled: Event | None = None  # the connection stays open, silent, until this is set
    chunked: bool = False  # no Content-Length
    honours_range: bool = True
    status: int = 200
    redirect_to: str | None = None
    spoiled: bool = False
    requests: list[tuple[str, str | None]] = field(default_factory=list)  # path and Range

    @property
    def ranges(self) -> list[str | None]:
        return [ranges for _, ranges in self.requests]


class Handler(BaseHTTPRequestHandler):
    """Serves CONTENT, as its server's behaviour says."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def do_GET(self) -> None:
        behaviour: Behaviour = self.server.behaviour  # type: ignore[attr-defined]
        byte_range = self.headers["Range"]
        behaviour.requests.append((self.path, byte_range))
        self.close_connection = True
        if behaviour.redirect_to or behaviour.status != 200:
            self.answer_without_content(behaviour)
            return
        body = CONTENT[self.path.removeprefix("/")]  # type: ignore[index]
        start = int(byte_range.removeprefix("bytes=").removesuffix("-")) if byte_range else 0
        if not behaviour.honours_range:
            start, byte_range = 0, None
        if start >= len(body):
            self.send_error(416)
            return
        self.answer(behaviour, body, start, 206 if byte_range else 200)

    def answer_without_content(self, behaviour: Behaviour) -> None:
        if behaviour.redirect_to:
            self.send_response(302)
            self.send_header("Location", behaviour.redirect_to)
            self.end_headers()
        else:
            self.send_error(behaviour.status)

    def answer(self, behaviour: Behaviour, body: bytes, start: int, status: int) -> None:
        sent = body[start:].upper() if behaviour.spoiled else body[start:]
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if behaviour.chunked:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n" % len(sent))
        else:
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
        with suppress(ConnectionError):  # the client may have had enough
            self.wfile.write(sent[: behaviour.cut_after])
            if behaviour.stalled:
                behaviour.stalled.wait(10)
            if behaviour.chunked and behaviour.cut_after is None:
                self.wfile.write(b"\r\n0\r\n\r\n")


def public_file(address: str, content: bytes) -> PublicFile:
    """The entry of a benchmark for a file with this content."""
    return PublicFile(
        address=address,
        blob=hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(),
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
    )
