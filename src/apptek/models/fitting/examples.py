"""Queries as features, with what they are to learn: in memory, or in shards on the disk.

The linear fit looks at one shard at a time, so that its memory does not grow with the number of
queries. The re-ranker (preset max) joins all shards: its memory grows up to `fit.queries`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from apptek.arrays import Arrays, Ints, close_columns
from apptek.ragged import Ragged, vstack
from apptek.resuming import StageCache

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
    """Shards of examples in a cache of stages, each mapped from the disk while it is looked at."""

    def __init__(self, cache: StageCache, stages: Sequence[str]) -> None:
        self.cache, self.stages = cache, list(stages)
        whole = [self._load(stage, check=True) for stage in stages]
        self.sizes, self.cuts = [len(part) for part in whole], sum(part.cuts for part in whole)

    def __len__(self) -> int:
        return len(self.stages)

    @overload
    def __getitem__(self, number: int) -> Examples: ...
    @overload
    def __getitem__(self, number: slice) -> list[Examples]: ...
    def __getitem__(self, number: int | slice) -> Examples | list[Examples]:
        if isinstance(number, slice):
            return [self._load(stage) for stage in self.stages[number]]
        return self._load(self.stages[number])

    def _load(self, stage: str, *, check: bool = False) -> Examples:
        stored = self.cache.load(stage, check=check)
        assert stored is not None
        arrays, record = stored
        rows = Ragged.stored(arrays, record["width"])
        others = Ragged(arrays["other_offsets"], arrays["others"])
        if check:
            rows.checked(), others.checked()
        return Examples(rows, arrays["labels"], others, record["cuts"])


def store_examples(cache: StageCache, stage: str, examples: Examples) -> None:
    """Keep a shard in a cache."""
    arrays: Arrays = {
        **examples.rows.arrays(),
        "labels": examples.labels,
        "other_offsets": examples.others.offsets,
        "others": examples.others.columns,
    }
    cache.save(stage, arrays, {"width": examples.rows.width, "cuts": examples.cuts})


def with_more(shards: Sequence[Examples], more: Examples) -> Sequence[Examples]:
    """Return the shards with more examples: among the others in memory, else as one more shard."""
    if not isinstance(shards, StoredExamples):
        return [join_examples([*shards, more])]
    stage = f"{shards.stages[0]}, more"
    store_examples(shards.cache, stage, more)
    return StoredExamples(shards.cache, [*shards.stages, stage])


def sizes_of(shards: Sequence[Examples]) -> Sequence[int]:
    """Return how many examples each shard has."""
    return shards.sizes if isinstance(shards, StoredExamples) else [len(part) for part in shards]


def cuts_of(shards: Sequence[Examples]) -> int:
    """Return the cuts of all shards."""
    return shards.cuts if isinstance(shards, StoredExamples) else sum(part.cuts for part in shards)
