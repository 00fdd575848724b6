"""The service on a port: who may reach it, and how it starts."""

import os
import socket
import sys
from ipaddress import ip_address
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from apptek.errors import ApptekError
from apptek.service.app import create_app
from apptek.service.guard import Guard
from apptek.service.limits import Limits
from apptek.service.loaded_model import Served
from apptek.terminal import messages

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
WAITING = 2048  # connections that the system holds until they are taken


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_reach(host: str, token: str | None, insecure: bool) -> None:
    """Refuses to open the model to others without a token, unless that is wanted."""
    if token == "":
        raise ApptekError("the token is empty")
    if not (is_loopback(host) or token or insecure):
        raise ApptekError(
            f"others could reach {host}: give --token, or --insecure if everybody may ask"
        )


def serve(folder: Path, host: str, port: int, token: str | None, insecure: bool) -> None:
    """Serves a model until it is interrupted."""
    check_reach(host, token, insecure)
    with _listen(host, port) as listener:
        served = Served.open(folder)
        app = guarded(served, host, token)
        name = f"[{host}]" if ":" in host else host
        address = f"http://{name}:{listener.getsockname()[1]}"
        data = served.predictor.model.dataset.name
        messages().print(
            f"{data} is served at {address} (Ctrl+C ends it)", markup=False, soft_wrap=True
        )
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, lifespan="off",
            timeout_graceful_shutdown=3,
        )  # fmt: skip
        uvicorn.Server(config).run([listener])


def guarded(served: Served, host: str, token: str | None) -> ASGIApp:
    """The app behind its guard; on loopback it goes by loopback's names only."""
    limits = Limits(workers=os.cpu_count() or 1)
    hosts = LOOPBACK | {host} if is_loopback(host) else None
    return Guard(create_app(served, limits), limits, token, hosts)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol must be named: only then asyncio sends small answers at once (TCP_NODELAY).
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if sys.platform != "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ApptekError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    listener.listen(WAITING)
    return listener
