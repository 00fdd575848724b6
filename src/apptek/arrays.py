"""The types of the arrays that modules exchange, and how they are closed and searched."""

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
    """Make an array read-only and return it."""
    array.flags.writeable = False
    return array


def for_kernel(array: npt.NDArray[Any], kind: type[Scalar]) -> npt.NDArray[Scalar]:
    """Return an array of this type, contiguous and read-only; the caller's stays writable.

    numba compiles another version of a kernel for arrays that are not.
    """
    return read_only(np.ascontiguousarray(array, kind).view())


def close_columns(holder: object, *names: str) -> None:
    """Make arrays of a frozen dataclass read-only; those that the caller has stay writable.

    One array under several names stays one.
    """
    arrays = {name: getattr(holder, name) for name in names}
    views = {id(a): read_only(a.view()) if a.flags.writeable else a for a in arrays.values()}
    for name, array in arrays.items():
        object.__setattr__(holder, name, views[id(array)])


def find_sorted(ascending: AnyInts, values: AnyInts) -> Longs:
    """Return the index of each value in an ascending array; -1 if it is missing."""
    places = np.searchsorted(ascending, values)
    there = places < len(ascending)
    there[there] = ascending[places[there]] == values[there]
    return np.where(there, places, -1)


def give_memory_back() -> None:
    """Release freed memory to the system, where the allocators can do that."""
    pa.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):  # only some C libraries can
        ctypes.CDLL(None).malloc_trim(0)
