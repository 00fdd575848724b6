"""The kinds of arrays that pass between the rooms, and what holds for all of them."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Matrix = npt.NDArray[np.floating[Any]]  # (queries, predicates): scores or probabilities
Scalar = TypeVar("Scalar", bound=np.generic)


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """The same array, closed for writing."""
    array.flags.writeable = False
    return array


def take_ragged(offsets: Longs, rows: npt.NDArray[np.intp]) -> tuple[Longs, Longs]:
    """Some rows of a ragged table: their new offsets, and the old places of what is in them.

    Row i of a ragged table is values[offsets[i] : offsets[i + 1]].
    """
    counts = np.diff(offsets)[rows]
    new = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(counts, out=new[1:])
    return new, np.repeat(offsets[:-1][rows] - new[:-1], counts) + np.arange(new[-1])
