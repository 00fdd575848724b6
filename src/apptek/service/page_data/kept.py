"""What is computed once for a served model, because it takes seconds, and then kept.

Clients choose the names (such as the length of a window), so results, waiting work and threads are
bounded.
"""

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from apptek.predictor import Predictor
from apptek.service.problem_json import TITLES, ServiceError

Result = TypeVar("Result")
MOST_KEPT = 16  # results of a model; the one that was not asked for longest goes first
MOST_PENDING = 6  # results that are waited for at a time
_results: "WeakKeyDictionary[Predictor, OrderedDict[str, Future[Any]]]" = WeakKeyDictionary()
_pool = ThreadPoolExecutor(2, thread_name_prefix="background")
_lock = Lock()


def started(predictor: Predictor, name: str, work: Callable[[], Result]) -> "Future[Result]":
    """Return the result of some work of a model, by its name; begun when first asked for.

    A failure is returned once; the next request begins again. Raises a ServiceError if too much
    other work is waiting.
    """
    with _lock:
        results = _results.setdefault(predictor, OrderedDict())
        found = results.pop(name, None)
        if found is None:
            if sum(not one.done() for one in results.values()) >= MOST_PENDING:
                detail = "Too many lists are being computed."
                raise ServiceError(503, TITLES[503], detail, advice="Try again later.")
            found = _pool.submit(work)
        elif found.done() and found.exception() is not None:
            return found
        results[name] = found
        for old in [key for key, one in results.items() if one.done()][: len(results) - MOST_KEPT]:
            del results[old]
        return found


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
