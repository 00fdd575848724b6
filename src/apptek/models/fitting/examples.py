"""Queries as features, with what they are to learn: in memory, or in shards of a folder.

The linear fit looks at one shard at a time, so that its memory does not grow with the number of
queries. The re-ranker (preset max) joins all shards: its memory grows up to `fit.queries`.
"""

import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from apptek.arrays import Ints, close_columns
from apptek.files import DAMAGED, make_folder, writing
from apptek.ragged import Ragged, vstack

Rows = npt.NDArray[Any]
SHARD = 131_072  # examples of a shard; fewer stay in memory


@dataclass(frozen=True, slots=True)
class Examples:
    """Queries as features, with their predicates and the other known ones of the same (u, v, t).

    cuts  profiles that a dominant partner cut short (see history)

    In training the others are left out of the loss, and only training facts may name them; in
    validation they are the filter of the ranks.
    """

    rows: Ragged
    labels: Ints
    others: Ragged
    cuts: int = 0

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.labels) == len(self.others):
            raise ValueError("rows, labels and others are of different numbers of examples")
        if self.others.contains(self.labels).any():
            raise ValueError("an example's own label is not among its others")
        close_columns(self, "labels")

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Rows) -> "Examples":
        """Some examples, in this order."""
        return Examples(self.rows.take(rows), self.labels[rows], self.others.take(rows))


def join_examples(shards: Sequence[Examples]) -> Examples:
    """All examples, one shard after the other, in memory."""
    if len(shards) == 1:
        return shards[0]
    parts = list(shards)
    labels = np.concatenate([part.labels for part in parts])
    others = vstack([part.others for part in parts])
    return Examples(vstack([part.rows for part in parts]), labels, others)


def split_into_shards(rows: Rows, rng: np.random.Generator, size: int | None = None) -> list[Rows]:
    """The rows in shards, each ascending; where there are several, which is where is drawn."""
    size = size or SHARD
    if len(rows) <= size:
        return [rows]
    shuffled = rng.permutation(rows)
    return [np.sort(shuffled[start : start + size]) for start in range(0, len(rows), size)]


class StoredExamples(Sequence[Examples]):
    """Shards of examples in a folder, each read when it is asked for.

    A shard that stands in the folder is not made again. A damaged one is: the files are archives
    with checksums.
    """

    def __init__(self, folder: Path, sizes: Sequence[int], make: Callable[[int], Examples]) -> None:
        make_folder(folder)
        self.folder, self.sizes, self._make = folder, tuple(sizes), make

    def __len__(self) -> int:
        return len(self.sizes)

    @overload
    def __getitem__(self, number: int) -> Examples: ...
    @overload
    def __getitem__(self, number: slice) -> list[Examples]: ...
    def __getitem__(self, number: int | slice) -> Examples | list[Examples]:
        if isinstance(number, slice):
            return [self[each] for each in range(len(self))[number]]
        if not 0 <= number < len(self):
            raise IndexError(f"there is no shard {number}")
        stored = _read(self._path(number), self.sizes[number])
        if stored is None:
            stored = self._make(number)
            _write(self._path(number), stored)
        return stored

    def is_made(self, number: int) -> bool:
        """Whether a shard stands in the folder; it may still be damaged."""
        return zipfile.is_zipfile(self._path(number))

    def prepare(self, number: int) -> int:
        """Makes a shard where it is not there yet; returns its cuts."""
        if self.is_made(number):
            with suppress(*DAMAGED), np.load(self._path(number), allow_pickle=False) as stored:
                return int(stored["cuts"])
        return self[number].cuts

    def _path(self, number: int) -> Path:
        return self.folder / f"{number}.npz"


def with_more(shards: Sequence[Examples], more: Examples) -> Sequence[Examples]:
    """The shards with more examples: among the others in memory, else in a shard of their own."""
    if not isinstance(shards, StoredExamples):
        return [join_examples([*shards, more])]

    def make(number: int) -> Examples:
        return more if number == len(shards) else shards[number]

    return StoredExamples(shards.folder, [*shards.sizes, len(more)], make)


def cuts_of(shards: Sequence[Examples]) -> Iterator[int]:
    """The cuts of each shard, which is made where it is not there yet."""
    if isinstance(shards, StoredExamples):
        return map(shards.prepare, range(len(shards)))
    return (part.cuts for part in shards)


def sizes_of(shards: Sequence[Examples]) -> Sequence[int]:
    """How many examples each shard has."""
    return shards.sizes if isinstance(shards, StoredExamples) else [len(part) for part in shards]


def _write(path: Path, examples: Examples) -> None:
    """Not synced to the disk: what a power cut damages is made again."""
    rows, others = examples.rows, examples.others
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with writing(path):
        with temporary.open("wb") as file:
            np.savez(
                file,
                offsets=rows.offsets,
                columns=rows.columns,
                values=rows.flat_values,
                feature_count=np.asarray(rows.width),
                labels=examples.labels,
                cuts=np.asarray(examples.cuts),
                other_offsets=others.offsets,
                others=others.columns,
            )
        temporary.replace(path)


def _read(path: Path, size: int) -> Examples | None:
    """The examples of a file; None where there is none, or one that is damaged."""
    if not zipfile.is_zipfile(path):
        return None
    try:
        with np.load(path, allow_pickle=False) as stored:
            values = stored["values"]
            rows = Ragged(
                stored["offsets"],
                stored["columns"],
                int(stored["feature_count"]),
                values if len(values) else None,
            ).checked()
            others = Ragged(stored["other_offsets"], stored["others"]).checked()
            examples = Examples(rows, stored["labels"], others, int(stored["cuts"]))
    except DAMAGED:
        return None
    return examples if len(examples) == size else None
