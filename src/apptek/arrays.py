"""The array types that modules exchange, and how arrays are made read-only and searched."""

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
    """Return an array of this type, contiguous and read-only. The caller's array stays writable.

    For other arrays, numba would compile another version of the kernel.
    """
    return read_only(np.ascontiguousarray(array, kind).view())


def close_columns(holder: object, *names: str) -> None:
    """Make a frozen dataclass's arrays read-only. The caller's arrays stay writable.

    An array under several names remains a single array.
    """
    arrays = {name: getattr(holder, name) for name in names}
    views = {id(a): read_only(a.view()) if a.flags.writeable else a for a in arrays.values()}
    for name, array in arrays.items():
        object.__setattr__(holder, name, views[id(array)])


def find_sorted(ascending: AnyInts, values: AnyInts) -> Longs:
    """Return each value's index in an ascending array, or -1 if it is missing."""
    places = np.searchsorted(ascending, values)
    there = places < len(ascending)
    there[there] = ascending[places[there]] == values[there]
    return np.where(there, places, -1)


def give_memory_back() -> None:
    """Release freed memory to the system, if the allocators support that."""
    pa.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):  # only some C libraries support this
        ctypes.CDLL(None).malloc_trim(0)
