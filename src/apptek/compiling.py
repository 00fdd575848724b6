"""How kernels are compiled and run in threads.

Compiled code is cached on the disk and releases Python's lock. numba's cache looks only at the file
that a kernel is in: after an edit to a function that a kernel in another file calls, the old code
would still run (see CONTRIBUTING.md).
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from numba import njit

Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compiles a function that may allocate arrays."""
    compiled: Function = njit(cache=True, nogil=True)(function)  # type: ignore[assignment]
    return compiled


def leaf(function: Function) -> Function:
    """Compiles a function that allocates no array, without reference counting.

    At every call numba counts the references of each array that is passed. For a small function
    over many arrays that is much of the time, and it needs no counting as long as it allocates
    nothing.
    """
    compiled: Function = njit(cache=True, nogil=True, _nrt=False)(function)  # type: ignore[call-overload]
    return compiled


def in_threads(
    work: Callable[[int], Result], starts: range, threads: int | None = None
) -> list[Result]:
    """Calls `work` for every start and returns the results in order; one thread for each core.

    A single start is worked on in the calling thread: a pool would cost more.
    """
    if len(starts) < 2:
        return [work(start) for start in starts]
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        return list(pool.map(work, starts))
