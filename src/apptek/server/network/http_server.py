"""Starts the service on a port, and decides who may reach it."""

import logging
import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from apptek.errors import ApptekError
from apptek.server.app import create_app
from apptek.server.network.connections import connection_factory, connection_limits
from apptek.server.network.request_limits import RequestLimits
from apptek.server.network.security_middleware import SecurityMiddleware
from apptek.server.served_model import ServedModel
from apptek.terminal import messages

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
TRUSTED_PROXIES = "FORWARDED_ALLOW_IPS"  # uvicorn's variable: whose X-Forwarded-For is believed
MakeApp = Callable[[ServedModel, RequestLimits], ASGIApp]
GRACE = 5  # seconds beyond the time of an answer in which the service ends
LINES = 30
_MINUTE = 60.0


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True, slots=True)
class Reach:
    """Where a service listens, and who may use it.

    Other machines may reach it only with a token, unless it is `insecure` on purpose.
    """

    host: str
    port: int
    token: str | None = None
    insecure: bool = False

    def __post_init__(self) -> None:
        if self.token == "":
            raise ApptekError("the token is empty")
        if not (is_loopback(self.host) or self.token or self.insecure):
            raise ApptekError(
                f"other machines could reach {self.host}: give --token, or --insecure to allow "
                "everybody"
            )


def serve(folder: Path, reach: Reach, *, make_app: MakeApp = create_app, path: str = "") -> None:
    """Serve a model until it is interrupted; `path` is where its app is to be addressed."""
    with _listen(reach.host, reach.port) as listener:  # first: a port in use is reported at once
        served = ServedModel.open(folder)
        requests = RequestLimits(workers=os.cpu_count() or 1)
        app = secured(make_app(served, requests), requests, reach, served.digest)
        url_host = f"[{reach.host}]" if ":" in reach.host else reach.host  # IPv6
        address = f"http://{url_host}:{listener.getsockname()[1]}{path}"
        data = served.predictor.model.dataset.name
        messages().print(
            f"{data} is served at {address} (Ctrl+C stops it)", markup=False, soft_wrap=True
        )
        limits = connection_limits()
        config = uvicorn.Config(
            app, http=connection_factory(limits), backlog=limits.backlog, ws="none",  # type: ignore[arg-type]
            lifespan="on", log_config=None, access_log=False, server_header=False,
            timeout_graceful_shutdown=int(requests.seconds) + GRACE,
            proxy_headers=bool(os.environ.get(TRUSTED_PROXIES)),
        )  # fmt: skip
        log_to_stderr()
        uvicorn.Server(config).run([listener])


def secured(app: ASGIApp, limits: RequestLimits, reach: Reach, digest: str = "") -> ASGIApp:
    """The app behind its middleware. On loopback it answers to the names of loopback only."""
    hosts = LOOPBACK | {reach.host} if is_loopback(reach.host) else None
    return SecurityMiddleware(app, limits, reach.token, hosts, digest)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY, which sends small answers at once, only if the protocol is named.
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


class LogLimit(logging.Filter):
    """Passes the first records of each minute."""

    def __init__(self, records: int = LINES) -> None:
        super().__init__()
        self._records = records
        self._start = -_MINUTE
        self._passed = self._left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is logged; the first one after others were left out says how many."""
        now = time.monotonic()
        if now - self._start >= _MINUTE:
            if self._left_out:
                record.msg = f"{record.getMessage()} ({self._left_out:,} others were left out)"
                record.args = ()
            self._start, self._passed, self._left_out = now, 0, 0
        self._passed += 1
        self._left_out += self._passed > self._records
        return self._passed <= self._records


def log_to_stderr() -> None:
    """All that the service and its libraries log goes to stderr, within the limit."""
    handler = logging.StreamHandler()
    handler.addFilter(LogLimit())
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
