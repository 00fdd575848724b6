"""Threads that compute the answers."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pydantic import BaseModel
from starlette.responses import Response

from apptek.service.network.request_limits import RequestLimits
from apptek.service.problem_json import TITLES, ServiceError

Result = TypeVar("Result")


class WorkerPool:
    """Threads that compute the answers: a few at a time, and each within the time limit.

    A computation that runs out of time keeps its thread until it ends: threads cannot be stopped.
    """

    def __init__(self, limits: RequestLimits) -> None:
        self._seconds = limits.seconds
        self._threads = ThreadPoolExecutor(limits.workers)

    async def run(self, work: Callable[[], Result]) -> Result:
        """The result of some work. Raises a ServiceError if it takes too long."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._seconds):
                return await loop.run_in_executor(self._threads, work)
        except TimeoutError:
            raise ServiceError(
                503,
                TITLES[503],
                f"No answer within {self._seconds:g} seconds.",
                advice="Send a smaller request, or try again later.",
            ) from None

    async def answer(self, work: Callable[[], BaseModel]) -> Response:
        """The result of some work as JSON. Raises a ServiceError if it takes too long."""
        # In the thread, too: writing a large batch as JSON would block the event loop.
        text = await self.run(lambda: work().model_dump_json(by_alias=True))
        return Response(text, media_type="application/json")
