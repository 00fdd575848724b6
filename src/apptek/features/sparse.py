"""Features of many queries, most of which are zero."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from apptek.arrays import Floats, Ints, Longs, close_columns, read_only, take_ragged
from apptek.compiling import kernel


@dataclass(frozen=True, slots=True)
class SparseRows:
    """n rows over `feature_count` features: row i is columns[offsets[i] : offsets[i + 1]].

    `values` has one entry for each column; None: every value is 1. A feature is once in a row.
    """

    offsets: Longs  # (n + 1,)
    columns: Ints
    feature_count: int
    values: Floats | None = None

    def __post_init__(self) -> None:
        if self.offsets.dtype != np.int64 or self.columns.dtype != np.int32:
            raise ValueError("the columns of SparseRows are int32, the offsets int64")
        if self.values is not None and self.values.dtype != np.float32:
            raise ValueError("the values of SparseRows are float32")
        if self.values is not None and len(self.values) != len(self.columns):
            raise ValueError("each column has one value")
        values = () if self.values is None else ("values",)
        close_columns(self, "offsets", "columns", *values)
        self._check_bounds()

    def _check_bounds(self) -> None:
        """Raises ValueError for what a kernel, which checks nothing, would stumble over."""
        bounds = np.concatenate([[0], self.offsets, [len(self.columns)]])
        if len(bounds) < 3 or (bounds[1:] < bounds[:-1]).any():
            raise ValueError("the offsets of SparseRows descend or lead outside")
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        fault = _find_fault(self.columns, self.flat_values, first, last, self.feature_count)
        if fault == 1:
            raise ValueError(f"a column is not among the {self.feature_count} features")
        if fault == 2:
            raise ValueError("a value is not a finite number")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def flat_values(self) -> Floats:
        """The values for a kernel, which reads an empty array as all ones."""
        return read_only(np.zeros(0, np.float32)) if self.values is None else self.values

    def part(self, start: int, stop: int) -> "SparseRows":
        """The rows from start to stop, sharing the arrays."""
        return SparseRows(
            self.offsets[start : stop + 1], self.columns, self.feature_count, self.values
        )

    def take(self, rows: npt.NDArray[np.intp]) -> "SparseRows":
        """Some rows, in this order."""
        offsets, indices = take_ragged(self.offsets, rows)
        values = None if self.values is None else self.values[indices]
        return SparseRows(offsets, self.columns[indices], self.feature_count, values)

    def row(self, index: int) -> tuple[Ints, Floats]:
        """The active features of one row and their values."""
        part = slice(self.offsets[index], self.offsets[index + 1])
        columns = self.columns[part]
        ones = np.ones(len(columns), np.float32)
        return columns, ones if self.values is None else self.values[part]


def side_by_side(parts: Sequence[SparseRows]) -> SparseRows:
    """The same rows over the features of all parts, one part after the other."""
    if len(parts) == 1:
        return parts[0]
    if len({len(part) for part in parts}) != 1:
        raise ValueError("parts that stand side by side have equally many rows")
    counts = [np.diff(part.offsets) for part in parts]
    offsets = np.zeros(len(parts[0]) + 1, np.int64)
    np.cumsum(sum(counts), out=offsets[1:])
    columns, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
    starts, first = offsets[:-1].copy(), 0
    for part, count in zip(parts, counts, strict=True):
        _write_part(part.offsets, part.columns, part.flat_values, first, starts, columns, values)
        starts += count
        first += part.feature_count
    return SparseRows(offsets, columns, first, values)


def one_below_the_other(parts: list[SparseRows]) -> SparseRows:
    """The rows of all parts over the same features; empties the list, to free what is copied."""
    if len(parts) == 1:
        return parts.pop()
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    columns, feature_count = np.empty(offsets[-1], np.int32), parts[0].feature_count
    binary = all(part.values is None for part in parts)
    values = None if binary else np.ones(len(columns), np.float32)
    start = 0
    while parts:
        part = parts.pop(0)
        entries = slice(int(part.offsets[0]), int(part.offsets[-1]))
        stop = start + entries.stop - entries.start
        columns[start:stop] = part.columns[entries]
        if values is not None and part.values is not None:
            values[start:stop] = part.values[entries]
        start = stop
    return SparseRows(offsets, columns, feature_count, values)


def in_places(parts: list[SparseRows], places: npt.NDArray[np.intp]) -> SparseRows:
    """The rows of all parts, row i of them at places[i]; empties the list, to free what is copied.

    places  each row of the result once
    """
    offsets = np.zeros(len(places) + 1, np.int64)
    offsets[1:][places] = np.concatenate([np.diff(part.offsets) for part in parts])
    np.cumsum(offsets, out=offsets)
    feature_count, done = parts[0].feature_count, 0
    columns, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
    while parts:
        part = parts.pop(0)
        starts = offsets[places[done : done + len(part)]]
        _write_part(part.offsets, part.columns, part.flat_values, 0, starts, columns, values)
        done += len(part)
    return SparseRows(offsets, columns, feature_count, values)


@kernel
def _find_fault(columns: Ints, values: Floats, first: int, last: int, count: int) -> int:
    """1 if a column is not one of `count` features, 2 if a value is not finite, else 0."""
    for i in range(first, last):
        if not 0 <= columns[i] < count:
            return 1
        if values.size and not np.isfinite(values[i]):
            return 2
    return 0


@kernel
def _write_part(
    offsets: Longs, columns: Ints, values: Floats, first: int, starts: Longs, all_columns: Ints,
    all_values: Floats,
) -> None:  # fmt: skip
    """Writes the features of each row, shifted by `first`, to the places from starts[row] on."""
    for row in range(starts.size):
        shift = starts[row] - offsets[row]
        for i in range(offsets[row], offsets[row + 1]):
            all_columns[i + shift] = columns[i] + first
            all_values[i + shift] = values[i] if values.size else np.float32(1.0)
