"""Kernels: compiled once, kept on the disk, free of Python's lock, and so run in threads.

numba counts the references of every array that a function is handed, at each call: for small
functions over many arrays that is much of the time. A `leaf` allocates nothing, so it need not
count.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from numba import njit

Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compiles a function that may make arrays."""
    compiled: Function = njit(cache=True, nogil=True)(function)  # type: ignore[assignment]
    return compiled


def leaf(function: Function) -> Function:
    """Compiles a function that makes no array and copies no row: references are not counted."""
    compiled: Function = njit(cache=True, nogil=True, _nrt=False)(function)  # type: ignore[call-overload]
    return compiled


def in_threads(
    work: Callable[[int], Result], starts: range, threads: int | None = None
) -> list[Result]:
    """What `work` gives for every start, in order; by as many threads as there are cores.

    A single start is worked on here and now: a thread would cost more.
    """
    if len(starts) < 2:
        return [work(start) for start in starts]
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        return list(pool.map(work, starts))
