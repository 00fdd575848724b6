"""The service's threads: for answers, and for lists that take longer than one request may."""

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
MAX_RESULTS = 16  # number of stored background results; the least recently used is dropped first
MAX_PENDING = 6  # maximum number of waiting or running background jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """The limits for one request. If exceeded, the service responds with 408, 413 or 503."""

    body_bytes: int = 4 << 20  # 413
    seconds: float = 20.0  # time for the body to arrive (408), and for the response (503)
    workers: int = 2  # number of requests computed at the same time; others wait


class WorkerPool:
    """Threads that compute the answers, a few at a time and each within the time limit.

    A computation that times out keeps its thread until it ends, because threads cannot be stopped.
    """

    def __init__(self, limits: RequestLimits) -> None:
        self._seconds = limits.seconds
        self._threads = ThreadPoolExecutor(limits.workers)
        self._unfinished: set[Future[Any]] = set()

    def load(self) -> tuple[int, int]:
        """Return how many computations are waiting for a thread, and how many are running."""
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
        # Encode in the thread, too: writing a large batch as JSON would block the event loop.
        return await self.run(lambda: _as_response(work()))


def _as_response(result: Any) -> Response:
    if isinstance(result, Response):  # a file
        return result
    text = to_json(result, by_alias=True, inf_nan_mode="null")
    return Response(text, media_type="application/json")


class BackgroundWork:
    """A cache of results that take seconds and are computed once per model.

    Clients choose the keys (such as the length of a window), so threads, pending work and results
    are bounded.
    """

    def __init__(self) -> None:
        self._results: OrderedDict[str, Future[Any]] = OrderedDict()
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="background")
        self._lock = Lock()

    def start(self, name: str, work: Callable[[], Result]) -> "Future[Result]":
        """Return a future for the named work. The work starts when it is first requested.

        A failure is returned once, and the next request starts the work again. Raises a
        ServiceError if too much other work is pending.
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


def within(seconds: float, work: "Future[Result]") -> Result | None:
    """Return the result of some work if it is ready within some seconds, else None.

    Waiting until the work ends would block one of the service's threads, and the request would time
    out.
    """
    try:
        return work.result(timeout=seconds)
    except TimeoutError:
        if work.done():  # the work itself timed out
            raise
        return None
