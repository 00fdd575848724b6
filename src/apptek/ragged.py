"""Rows of different lengths: sparse features, and the known predicates of queries."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools, Floats, Ints, Longs, close_columns, read_only


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of ids: row i is columns[offsets[i] : offsets[i + 1]], without repeated ids.

    width   the number of possible ids, or 0 if it is not needed
    values  one value for each id, or None if every value is 1

    Kernels do not check their inputs. Call `checked` on rows from other sources.
    """

    offsets: Longs  # (n + 1,)
    columns: Ints
    width: int = 0
    values: Floats | None = None

    def __post_init__(self) -> None:
        close_columns(self, "offsets", "columns", *(() if self.values is None else ("values",)))

    @classmethod
    def empty(cls, count: int) -> "Ragged":
        """Return `count` rows without ids."""
        return cls(np.zeros(count + 1, np.int64), np.zeros(0, np.int32))

    def checked(self) -> "Ragged":
        """Return the same rows. Raise ValueError if a kernel would misread them."""
        if self.offsets.dtype != np.int64 or self.columns.dtype != np.int32:
            raise ValueError("offsets must be int64 and columns int32")
        bounds = np.concatenate([[0], self.offsets, [len(self.columns)]])
        if len(bounds) < 3 or (bounds[1:] < bounds[:-1]).any():
            raise ValueError("the offsets of a ragged array are out of order or out of bounds")
        columns = self.flat_columns
        if columns.min(initial=0) < 0 or (self.width and columns.max(initial=0) >= self.width):
            raise ValueError(f"a column is not one of the {self.width} ids")
        values = self.values
        if values is not None and (values.dtype != np.float32 or len(values) != len(self.columns)):
            raise ValueError("each column needs one float32 value")
        if values is not None and not np.isfinite(values).all():
            raise ValueError("a value is not a finite number")
        return self

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def flat_values(self) -> Floats:
        """The values for a kernel. Kernels treat an empty array as all ones."""
        return read_only(np.zeros(0, np.float32)) if self.values is None else self.values

    @property
    def flat_columns(self) -> Ints:
        """The ids of all rows, one row after another."""
        return self.columns[self.offsets[0] : self.offsets[-1]]

    @property
    def row_of_each(self) -> Longs:
        """The row of each id in `flat_columns`."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def part(self, start: int, stop: int) -> "Ragged":
        """Return the rows from start to stop, sharing the arrays."""
        return Ragged(self.offsets[start : stop + 1], self.columns, self.width, self.values)

    def take(self, rows: npt.NDArray[np.intp]) -> "Ragged":
        """Return some rows, in this order."""
        counts = np.diff(self.offsets)[rows]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        starts = self.offsets[:-1][rows] - offsets[:-1]
        places = np.repeat(starts, counts) + np.arange(offsets[-1])
        values = None if self.values is None else self.values[places]
        return Ragged(offsets, self.columns[places], self.width, values)

    def row(self, index: int) -> tuple[Ints, Floats]:
        """Return the ids of one row and their values."""
        part = slice(self.offsets[index], self.offsets[index + 1])
        columns = self.columns[part]
        ones = np.ones(len(columns), np.float32)
        return columns, ones if self.values is None else self.values[part]

    def contains(self, ids: Ints) -> Bools:
        """Return, for each row, whether it contains the given id."""
        rows = self.row_of_each
        contained = np.zeros(len(self), np.bool_)
        contained[rows[self.flat_columns == ids[rows]]] = True
        return contained


def hstack(parts: Sequence[Ragged]) -> Ragged:
    """Join the parts side by side: each row contains the columns of all parts."""
    if len(parts) == 1:
        return parts[0]
    counts = np.stack([np.diff(part.offsets) for part in parts], axis=1)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts.sum(axis=1))])
    numbers = np.tile(np.arange(len(parts), dtype=np.uint8), len(counts))
    part_of, first = np.repeat(numbers, counts.ravel()), 0
    columns, values = np.empty(offsets[-1], np.int32), np.ones(offsets[-1], np.float32)
    for number, part in enumerate(parts):
        here = part_of == number
        columns[here] = part.flat_columns + np.int32(first)
        if part.values is not None:
            values[here] = part.values[part.offsets[0] : part.offsets[-1]]
        first += part.width
    return Ragged(offsets, columns, first, values)


def vstack(parts: list[Ragged]) -> Ragged:
    """Stack the rows of all parts, which share their columns. Empty the list to free memory."""
    if len(parts) == 1:
        return parts.pop()
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    columns, width = np.empty(offsets[-1], np.int32), parts[0].width
    binary = all(part.values is None for part in parts)
    values = None if binary else np.ones(len(columns), np.float32)
    start = 0
    while parts:
        part = parts.pop(0)
        stop = start + len(part.flat_columns)
        columns[start:stop] = part.flat_columns
        if values is not None and part.values is not None:
            values[start:stop] = part.values[part.offsets[0] : part.offsets[-1]]
        start = stop
    return Ragged(offsets, columns, width, values)
