"""The types of the arrays that modules exchange, and helpers for all of them."""

import ctypes
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
AnyInts = npt.NDArray[np.integer[Any]]
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Matrix = npt.NDArray[np.floating[Any]]  # (queries, predicates): scores or probabilities
Arrays = dict[str, npt.NDArray[Any]]  # by name
Scalar = TypeVar("Scalar", bound=np.generic)


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Makes an array read-only and returns it."""
    array.flags.writeable = False
    return array


def close_columns(holder: object, *names: str) -> None:
    """Makes arrays of a frozen dataclass read-only; those that the caller has stay writable.

    One array under several names stays one.
    """
    arrays = {name: getattr(holder, name) for name in names}
    views = {id(a): read_only(a.view()) if a.flags.writeable else a for a in arrays.values()}
    for name, array in arrays.items():
        object.__setattr__(holder, name, views[id(array)])


def find_sorted(ascending: AnyInts, values: AnyInts) -> Longs:
    """Return where each value stands in an array that ascends; -1 where it does not."""
    places = np.searchsorted(ascending, values)
    there = places < len(ascending)
    there[there] = ascending[places[there]] == values[there]
    return np.where(there, places, -1)


def give_memory_back() -> None:
    """Returns what the allocators keep of freed memory to the system, where that is possible."""
    pa.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):  # only some C libraries can
        ctypes.CDLL(None).malloc_trim(0)
