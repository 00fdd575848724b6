"""A server with three small files that misbehaves as configured by a test."""

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
    """The server's misbehaviour, and the requests that it received."""

    cut_after: int | None = None  # bytes of the body before the connection closes
    stalled: Event | None = None  # the connection remains open but silent until this is set
    chunked: bool = False  # no Content-Length
    status: int = 200
    redirect_to: str | None = None
    spoiled: bool = False
    requests: list[str] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    """Serve CONTENT with the configured behaviour."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Do not log requests."""

    def do_GET(self) -> None:
        behaviour: Behaviour = self.server.behaviour  # type: ignore[attr-defined]
        behaviour.requests.append(self.path)
        self.close_connection = True
        if behaviour.redirect_to or behaviour.status != 200:
            self.answer_without_content(behaviour)
            return
        body = CONTENT[self.path.removeprefix("/")]  # type: ignore[index]
        self.answer(behaviour, body)

    def answer_without_content(self, behaviour: Behaviour) -> None:
        if behaviour.redirect_to:
            self.send_response(302)
            self.send_header("Location", behaviour.redirect_to)
            self.end_headers()
        else:
            self.send_error(behaviour.status)

    def answer(self, behaviour: Behaviour, body: bytes) -> None:
        sent = body.upper() if behaviour.spoiled else body
        self.send_response(200)
        if behaviour.chunked:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n" % len(sent))
        else:
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
        with suppress(ConnectionError):  # the client may have closed the connection
            self.wfile.write(sent[: behaviour.cut_after])
            if behaviour.stalled:
                behaviour.stalled.wait(10)
            if behaviour.chunked and behaviour.cut_after is None:
                self.wfile.write(b"\r\n0\r\n\r\n")


def public_file(address: str, content: bytes) -> PublicFile:
    """The benchmark entry for a file with this content."""
    return PublicFile(
        address=address,
        blob=hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(),
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
    )
