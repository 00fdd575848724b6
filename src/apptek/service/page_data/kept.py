"""What is computed once for a served model, because it takes seconds, and then kept."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from apptek.predictor import Predictor

Result = TypeVar("Result")
_results: "WeakKeyDictionary[Predictor, dict[str, Future[Any]]]" = WeakKeyDictionary()
_lock = Lock()


def started(predictor: Predictor, name: str, work: Callable[[], Result]) -> "Future[Result]":
    """The result of some work of a model, by its name; begun in a thread when first asked for."""
    with _lock:
        results = _results.setdefault(predictor, {})
        if name not in results:
            pool = ThreadPoolExecutor(1)
            results[name] = pool.submit(work)
            pool.shutdown(wait=False)
        return results[name]


def within(seconds: float, work: "Future[Result]") -> Result | None:
    """The result of some work if it is there within some seconds, else nothing yet.

    A request that waited to the end would hold a thread of the service and run out of its time.
    """
    try:
        return work.result(timeout=seconds)
    except TimeoutError:
        if work.done():  # the work itself has failed so
            raise
        return None
