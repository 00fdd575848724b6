"""Threads of the service: for the answers, and for lists that take longer than a request may."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from pydantic_core import to_json
from starlette.responses import Response

from apptek.server.problem_json import ServiceError

Result = TypeVar("Result")
MAX_RESULTS = 16  # results that background work keeps; the least recently used goes first
MAX_PENDING = 6  # jobs that wait or run in the background


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """The limits of one request. Beyond them the service answers with 408, 413 or 503."""

    body_bytes: int = 4 << 20  # 413
    seconds: float = 20.0  # for the body to arrive (408), and for the answer (503)
    workers: int = 2  # requests that are computed at the same time; the others wait


class WorkerPool:
    """Threads that compute the answers: a few at a time, and each within the time limit.

    A computation that runs out of time keeps its thread until it ends: threads cannot be stopped.
    """

    def __init__(self, limits: RequestLimits) -> None:
        self._seconds = limits.seconds
        self._threads = ThreadPoolExecutor(limits.workers)
        self._unfinished: set[Future[Any]] = set()

    def load(self) -> tuple[int, int]:
        """Return how many computations wait for a thread, and how many run."""
        unfinished = list(self._unfinished)
        running = sum(work.running() for work in unfinished)
        return len(unfinished) - running, running

    async def run(self, work: Callable[[], Result]) -> Result:
        """Return the result of some work. Raises a ServiceError if it takes too long."""
        computing = self._threads.submit(work)
        self._unfinished.add(computing)
        computing.add_done_callback(self._unfinished.discard)
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.wrap_future(computing)
        except TimeoutError:
            raise ServiceError(
                503,
                f"No answer within {self._seconds:g} seconds.",
                advice="Send a smaller request, or try again later.",
            ) from None

    async def answer(self, work: Callable[[], Any]) -> Response:
        """Return the result of some work as JSON. Raises a ServiceError if it takes too long."""
        # In the thread, too: writing a large batch as JSON would block the event loop.
        return await self.run(lambda: _as_response(work()))


def _as_response(result: Any) -> Response:
    if isinstance(result, Response):  # a file
        return result
    text = to_json(result, by_alias=True, inf_nan_mode="null")
    return Response(text, media_type="application/json")


class BackgroundWork:
    """A cache of results that take seconds and are computed once for a model.

    Clients choose the names (such as the length of a window), so threads, waiting work and results
    are bounded.
    """

    def __init__(self) -> None:
        self._results: OrderedDict[str, Future[Any]] = OrderedDict()
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="background")
        self._lock = Lock()

    def start(self, name: str, work: Callable[[], Result]) -> "Future[Result]":
        """Return the result of some work by its name; it begins when it is first asked for.

        A failure is returned once; the next request begins again. Raises a ServiceError if too
        much other work is waiting.
        """
        with self._lock:
            results = self._results
            found = results.pop(name, None)
            if found is None:
                if sum(not one.done() for one in results.values()) >= MAX_PENDING:
                    detail = "Too many lists are being computed."
                    raise ServiceError(503, detail, advice="Try again later.")
                found = self._threads.submit(work)
            elif found.done() and found.exception() is not None:
                return found
            results[name] = found
            finished = [key for key, one in results.items() if one.done()]
            for old in finished[: len(results) - MAX_RESULTS]:
                del results[old]
            return found

    @property
    def names(self) -> list[str]:
        """The names of what is kept or waiting, the one that was asked for last at the end."""
        return list(self._results)


def within(seconds: float, work: "Future[Result]") -> Result | None:
    """Return the result of some work if it is there within some seconds, else None.

    A request that waited to the end would hold a thread of the service and run out of its time.
    """
    try:
        return work.result(timeout=seconds)
    except TimeoutError:
        if work.done():  # the work itself has failed so
            raise
        return None
