"""ASGI middleware that checks who sends a request, limits its body, and sets strict headers."""

import asyncio
import hmac
import re
import time
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from apptek.server.problem_json import ServiceError
from apptek.server.request_metrics import METRICS, RequestMetrics
from apptek.server.workers import RequestLimits

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
DIGEST_HEADER = "X-APPTeK-Model"
OWN_SITES = {"", "none", "same-origin"}  # Sec-Fetch-Site: not a browser, the address bar, our page
DRAINED = 16 << 20  # bytes to read beyond the limit before a body is rejected
ANSWERS = "/api"  # the path of the model's answers; the explorer's files need no token
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]*)(:\d*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SecurityMiddleware:
    """Middleware that rejects bad requests and adds security headers to every response.

    token  required for the model's answers; None: no token is needed
    hosts  accepted host names; None: any name. This blocks pages from another site that point their
           own host name at this machine (DNS rebinding). digest the digest of the model, for a
           header; "" omits it
    """

    app: ASGIApp
    limits: RequestLimits
    token: str | None = None
    hosts: frozenset[str] | None = None
    digest: str = ""
    metrics: RequestMetrics = field(default_factory=RequestMetrics)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the whole body and pass the request on, or respond with a problem."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                is_answer = scope["path"].startswith(ANSWERS)
                headers.setdefault("Cache-Control", "no-store" if is_answer else "no-cache")
                if self.digest:
                    headers[DIGEST_HEADER] = self.digest
            await send(message)

        # The routes accept only GET; the server drops the body from the response to HEAD.
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        asked = {**scope, "method": method, METRICS: self.metrics}
        try:
            try:
                self._check_access(scope)
                body = await self._read_body_in_time(Headers(scope=scope), receive)
            except ServiceError as problem:
                await problem.response()(scope, receive, send_with_headers)
                return
            await self.app(asked, _replay(body, receive), send_with_headers)
        finally:
            self.metrics.add(asked, status, time.perf_counter() - start)

    def _check_access(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if self.hosts is not None and _host_name(headers) not in self.hosts:
            raise ServiceError(
                400,
                "This service does not answer to that host name.",
                advice="Use the address that the service printed when it started.",
                where="Host",
            )
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy may disagree about where the body ends. The rest would then be a smuggled
            # request.
            raise ServiceError(
                400,
                "A request must not have both Content-Length and Transfer-Encoding.",
                advice="Send only one of the two headers.",
                where="Transfer-Encoding",
            )
        if scope["path"].startswith(ANSWERS):
            if headers.get("sec-fetch-site", "").lower() not in OWN_SITES:
                raise ServiceError(
                    403,
                    "Pages from other sites may not use this service.",
                    advice="Use this service's own page, or send the request from a program.",
                    where="Sec-Fetch-Site",
                )
            if self.token is not None:
                self._check_token(headers)

    def _check_token(self, headers: Headers) -> None:
        # Headers are decoded as latin-1; undo it, because a token may contain any UTF-8 characters.
        credentials = headers.get("authorization", "").encode("latin-1")
        scheme, _, token = credentials.partition(b" ")  # the scheme is case-insensitive: RFC 9110
        right = hmac.compare_digest(token, f"{self.token}".encode())
        if not right or scheme.lower() != b"bearer":
            raise ServiceError(
                401,
                "The token is missing or wrong.",
                advice="Send the header 'Authorization: Bearer TOKEN'.",
                where="Authorization",
            )

    async def _read_body_in_time(self, headers: Headers, receive: Receive) -> bytes:
        """Return the whole body. Raises a ServiceError if it does not arrive in time."""
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await self._read_body(headers, receive)
        except TimeoutError:
            raise ServiceError(
                408,
                f"The body was not complete within {self.limits.seconds:g} seconds.",
                advice="Send the number of bytes given in Content-Length, or fewer.",
                where="body",
            ) from None

    async def _read_body(self, headers: Headers, receive: Receive) -> bytes:
        """Return the whole body. If it is too large, keep reading for a while and discard it.

        Closing a connection with unread bytes resets it, so the client would not see the response.
        """
        length, most = headers.get("content-length", "0"), self.limits.body_bytes
        announced = int(length) if length.isdecimal() else 0
        if announced > most and ("expect" in headers or announced > most + DRAINED):
            raise self._too_large()
        # A chunked body does not announce its length, and a client may send more than it announced.
        body, size, more = bytearray(), 0, True
        while more and size <= most + DRAINED:
            message = await receive()
            if message["type"] != "http.request":
                break
            part = message.get("body", b"")
            size, more = size + len(part), message.get("more_body", False)
            if size <= most:
                body += part
        if max(size, announced) > most:
            raise self._too_large()
        return bytes(body)

    def _too_large(self) -> ServiceError:
        return ServiceError(
            413,
            f"A body may have at most {self.limits.body_bytes:,} bytes.",
            advice="Split the batch into several requests.",
            where="body",
        )


def _host_name(headers: Headers) -> str:
    """Return the name in a Host header such as example.org:80 or [::1]:80; "" if it has none."""
    match = _HOST.fullmatch(headers.get("host", ""))
    return match[1].lower() if match else ""


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that replays the body, then passes on whatever the network sends."""
    replayed = False

    async def receive_again() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
