"""The types of the arrays that modules exchange, and the memory that they take."""

import ctypes
import os
from contextlib import suppress
from pathlib import Path
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


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that can still be allocated; None if unknown.

    On Linux, the least of what the machine and the control group (such as a container) leave.
    Elsewhere, all memory of the machine.
    """
    found = []
    with suppress(OSError, ValueError, KeyError):
        about = _numbers(root / "proc/meminfo")
        found.append(1024 * (about["MemAvailable:"] + about["SwapFree:"]))
    with suppress(OSError, ValueError, KeyError):  # `max` is no number: there is no limit
        groups = (root / "proc/self/cgroup").read_text().splitlines()
        name = next((line[4:] for line in groups if line.startswith("0::/")), "")
        group = root / "sys/fs/cgroup" / name
        used = _numbers(group / "memory.stat")  # its other pages are files, which can be dropped
        limit = int((group / "memory.max").read_text())
        found.append(max(0, limit - used["anon"] - used["shmem"]))
    if not found:
        with suppress(OSError, ValueError, AttributeError):
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(found, default=None)


def _numbers(path: Path) -> dict[str, int]:
    lines = [line.split() for line in path.read_text().splitlines()]
    return {line[0]: int(line[1]) for line in lines}
