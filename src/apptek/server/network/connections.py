"""Connections with deadlines, and a limit on how many there are.

uvicorn closes a connection that is idle after an answer. It waits for ever for the head of a
request, and for a client that does not take its answer: a thousand such clients would use up all
the connections that a process may have.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from apptek.server.network.request_limits import (
    BACKLOG,
    CONNECTIONS,
    OTHER_FILES,
    ConnectionLimits,
)

FILES = CONNECTIONS + BACKLOG + OTHER_FILES  # more are of no use
LAST_SECONDS = 0.5  # in which requests are still taken when the service ends
Waiting = dict["DeadlineProtocol", None]  # connections without a request, the oldest first


class DeadlineProtocol(H11Protocol):
    """A connection that must send the whole head of a request, and take its answer, in time.

    Beyond the largest number of connections, the one that has waited longest for a request makes
    way for the new one; if all of them are being answered, the new one is closed.
    """

    def __init__(self, *args: Any, waiting: Waiting, limits: ConnectionLimits, **more: Any) -> None:
        super().__init__(*args, **more)
        self._waiting, self._limits = waiting, limits
        self._deadline: asyncio.TimerHandle | None = None
        self._unsent = 0
        self._is_ending = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts to wait for a request."""
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            next(iter(self._waiting), self).abort()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops waiting."""
        super().connection_lost(exc)
        self._stop_waiting()

    def handle_events(self) -> None:
        """Stops waiting when the head of a request is there."""
        super().handle_events()
        if self._is_ending and self._has_request:
            self.cycle.keep_alive = False
        self._watch()

    def on_response_complete(self) -> None:
        """Starts to wait for the next request."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Starts to wait for a client that takes its answer slowly."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Stops waiting for it."""
        super().resume_writing()
        self._watch()

    def shutdown(self) -> None:
        """Closes the connection after its answer, or soon: a request may be on its way."""
        self._is_ending = True
        if self._has_request:
            super().shutdown()
        else:
            self.loop.call_later(LAST_SECONDS, self._close_without_request)

    def _close_without_request(self) -> None:
        if not (self._has_request or self.transport.is_closing()):
            super().shutdown()

    def abort(self) -> None:
        """Closes the connection now, whatever was not sent."""
        self._stop_waiting()
        self.transport.abort()

    @property
    def _has_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _watch(self) -> None:
        if self._has_request and not self.flow.write_paused:
            self._stop_waiting()
        elif self._deadline is None:
            self._waiting[self] = None
            self._set_deadline()

    def _set_deadline(self) -> None:
        self._unsent = self.transport.get_write_buffer_size()
        self._deadline = self.loop.call_later(self._limits.seconds, self._check_progress)

    def _check_progress(self) -> None:
        if self.transport.get_write_buffer_size() < self._unsent:  # a large answer is being taken
            self._set_deadline()
        else:
            self.abort()

    def _stop_waiting(self) -> None:
        self._waiting.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def connection_factory(limits: ConnectionLimits) -> Callable[..., DeadlineProtocol]:
    """Makes the connections of one server."""
    return partial(DeadlineProtocol, waiting={}, limits=limits)


def connection_limits() -> ConnectionLimits:
    """The limits of this process, which may open as many files as the system lets it from now."""
    return ConnectionLimits.within(_raise_file_limit())


def _raise_file_limit() -> int:
    """The number of files that this process may open, raised as far as it is of use."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return wanted
    return FILES if soft == resource.RLIM_INFINITY else soft
