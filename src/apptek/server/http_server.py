"""The HTTP server: who may connect to its port, and when slow connections are closed.

uvicorn closes connections that are idle after a response. However, it waits forever for a request's
headers, and for a client that does not read its response. A thousand slow clients could use up all
the connections that a process may open.
"""

import asyncio
import logging
import os
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from apptek.errors import ApptekError
from apptek.server.app import create_app
from apptek.server.request_metrics import LOGGER, JsonLines
from apptek.server.security_middleware import SecurityMiddleware
from apptek.server.served_model import ServedModel
from apptek.server.workers import RequestLimits
from apptek.terminal import messages

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
LogFormat = Literal["text", "json"]
BACKLOG = 1024
FILES = 5248  # enough for open and waiting connections and our own files
HEAD_SECONDS = 10.0
TOKEN_LENGTH = 16  # minimum number of characters, so that a token cannot be guessed
GRACE = 5  # seconds for shutdown, in addition to the time limit for an answer


def is_loopback(host: str) -> bool:
    """Return whether the address is reachable only from this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True, slots=True)
class Reach:
    """The address on which a service listens, and the clients that may use it.

    Other machines need a token, unless the service is deliberately `insecure`.
    """

    host: str
    port: int
    token: str | None = None
    insecure: bool = False

    def __post_init__(self) -> None:
        if self.token == "":
            raise ApptekError("the token is empty")
        if is_loopback(self.host):
            return
        if self.token is not None and len(self.token) < TOKEN_LENGTH:
            raise ApptekError(
                f"other machines could guess the token: expected at least {TOKEN_LENGTH} "
                "characters, such as the output of `openssl rand -hex 16`"
            )
        if not (self.token or self.insecure):
            raise ApptekError(
                f"other machines could reach {self.host}: give --token, or --insecure to allow "
                "everyone"
            )


def serve(folder: Path, reach: Reach, *, log: LogFormat = "text") -> None:
    """Serve a model until it is interrupted."""
    with _listen(reach.host, reach.port) as listener:  # first: reports a port in use at once
        served = ServedModel.open(folder)
        requests = RequestLimits(workers=os.cpu_count() or 1)
        app = secured(create_app(served, requests), requests, reach, served.digest)
        url_host = f"[{reach.host}]" if ":" in reach.host else reach.host  # IPv6
        address = f"http://{url_host}:{listener.getsockname()[1]}"
        data = served.model.dataset.name
        messages().print(
            f"{data} is served at {address} (press Ctrl+C to stop)", markup=False, soft_wrap=True
        )
        raise_file_limit()
        config = uvicorn.Config(
            app, http=DeadlineProtocol, backlog=BACKLOG, ws="none", lifespan="on",
            log_config=None, access_log=False, server_header=False,
            timeout_graceful_shutdown=int(requests.seconds) + GRACE,
            proxy_headers=False,
        )  # fmt: skip
        log_to_stderr(log)
        uvicorn.Server(config).run([listener])


def secured(app: ASGIApp, limits: RequestLimits, reach: Reach, digest: str = "") -> ASGIApp:
    """Wrap the app in its middleware. On loopback, it accepts only loopback host names."""
    hosts = LOOPBACK | {reach.host} if is_loopback(reach.host) else None
    return SecurityMiddleware(app, limits, reach.token, hosts, digest)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY, which sends small responses at once, only if the protocol is named.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if sys.platform != "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ApptekError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    listener.listen()
    return listener


def log_to_stderr(log: LogFormat = "text") -> None:
    """Send the logs of the service and its libraries to stderr. JSON logs include each request."""
    handler, requests = logging.StreamHandler(), logging.StreamHandler()
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # not client errors
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    if log == "json":
        for each in (handler, requests):
            each.setFormatter(JsonLines())
        of_requests = logging.getLogger(LOGGER)
        of_requests.handlers, of_requests.propagate = [requests], False
        of_requests.setLevel(logging.INFO)


class DeadlineProtocol(H11Protocol):
    """A connection with deadlines for sending the request headers and reading the response."""

    seconds = HEAD_SECONDS  # for the headers, and for reading the next part of a response
    _deadline: asyncio.TimerHandle | None = None
    _unsent = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for a request."""
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        self._stop_waiting()

    def handle_events(self) -> None:
        """Stop waiting when the request headers have arrived."""
        super().handle_events()
        self._watch()

    def on_response_complete(self) -> None:
        """Start waiting for the next request."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Start waiting for a client that reads its response slowly."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Stop waiting for the client."""
        super().resume_writing()
        self._watch()

    def _watch(self) -> None:
        has_request = self.cycle is not None and not self.cycle.response_complete
        if has_request and not self.flow.write_paused:
            self._stop_waiting()
        elif self._deadline is None:
            self._set_deadline()

    def _set_deadline(self) -> None:
        self._unsent = self.transport.get_write_buffer_size()
        self._deadline = self.loop.call_later(self.seconds, self._check_progress)

    def _check_progress(self) -> None:
        if self.transport.get_write_buffer_size() < self._unsent:  # a large response is being read
            self._set_deadline()
        else:
            self._stop_waiting()
            self.transport.abort()

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def raise_file_limit() -> None:
    """Raise the limit on open files as far as is useful and allowed."""
    with suppress(ImportError, OSError, ValueError):  # a system without these limits
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
