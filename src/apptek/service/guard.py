"""What stands between the network and the app: hosts, the token, sizes, and strict headers."""

import asyncio
import hmac
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from apptek.service.limits import Limits
from apptek.service.problems import TITLES, ServiceError

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class Guard:
    """An app behind its guard.

    token  asked for under /api; None: nobody is asked
    hosts  names by which the service may be addressed; None: any. A page of another site that
           points its own name at this machine is thereby refused.
    """

    app: ASGIApp
    limits: Limits
    token: str | None = None
    hosts: frozenset[str] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses, or hands on with the body read."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_strictly(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            self._check(Headers(scope=scope), scope["path"])
            body = await self._body_in_time(Headers(scope=scope), receive)
        except ServiceError as problem:
            await problem.response()(scope, receive, send_strictly)
            return
        if scope["method"] == "HEAD":  # the server leaves out the body
            scope = {**scope, "method": "GET"}
        await self.app(scope, _replay(body, receive), send_strictly)

    def _check(self, headers: Headers, path: str) -> None:
        host = _without_port(headers.get("host", ""))
        if self.hosts is not None and host.lower() not in self.hosts:
            raise ServiceError(
                400, TITLES[400], "This service does not go by that host name.",
                advice="Address it by the name that it printed when it started.", where="Host",
            )  # fmt: skip
        if self.token is not None and path.startswith("/api"):
            given = headers.get("authorization", "").encode("latin-1")
            if not hmac.compare_digest(given, f"Bearer {self.token}".encode()):
                raise ServiceError(
                    401, TITLES[401], "The token is missing or wrong.",
                    advice="Send the header 'Authorization: Bearer TOKEN'.", where="Authorization",
                )  # fmt: skip

    async def _body_in_time(self, headers: Headers, receive: Receive) -> bytes:
        """The whole body; a ServiceError where it is not there in time."""
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await self._body(headers, receive)
        except TimeoutError:
            raise ServiceError(
                408, TITLES[408], f"No whole body within {self.limits.seconds:g} seconds.",
                advice="Send the whole body that was announced, or a smaller one.", where="body",
            ) from None  # fmt: skip

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        """The whole body; never more than allowed is kept."""
        announced = headers.get("content-length", "0")
        if announced.isdecimal() and int(announced) > self.limits.body_bytes:
            raise self._too_large()
        parts, size, more = [], 0, True
        while more:
            message: MutableMapping[str, Any] = await receive()
            if message["type"] != "http.request":
                break
            parts.append(message.get("body", b""))
            size, more = size + len(parts[-1]), message.get("more_body", False)
            if size > self.limits.body_bytes:
                raise self._too_large()
        return b"".join(parts)

    def _too_large(self) -> ServiceError:
        return ServiceError(
            413, TITLES[413], f"A request has at most {self.limits.body_bytes:,} bytes.",
            advice="Send a large batch in several requests.", where="body",
        )  # fmt: skip


def _without_port(host: str) -> str:
    """The name in a Host header: example.org:80, [::1]:80."""
    end = host.rfind("]") + 1
    return host[:end] or host.partition(":")[0]


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body once more, then what the network says."""
    read = False

    async def again() -> Message:
        nonlocal read
        if read:
            return await receive()
        read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
