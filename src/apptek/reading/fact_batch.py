"""A batch of facts between a file and the data set: names and times not numbered yet."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from apptek.arrays import Ints
from apptek.facts.facts import SPLITS, Split
from apptek.reading.columns import SPLIT
from apptek.reading.options import ReadOptions

NAME_ROLES = ("subject", "predicate", "object")
NAME_TYPE = pa.dictionary(pa.int32(), pa.string())
SPLIT_NAMES: dict[Split, tuple[str, ...]] = {
    "train": ("train",),
    "valid": ("valid", "val", "validation", "dev"),
    "test": ("test",),
}
_NO_SPLIT = -1
FEW_OTHERS = 0.1  # of the rows say no split: they are bad, the others count


def split_code(text: str) -> int:
    """The number of the split that a word means; below 0 for other words."""
    word = text.strip().lower()
    return next((n for n, split in enumerate(SPLITS) if word in SPLIT_NAMES[split]), _NO_SPLIT)


@dataclass(frozen=True, slots=True)
class FactBatch:
    """Some facts: an array of NAME_TYPE for each of NAME_ROLES, and ids of a TimeDictionary.

    Where all facts are points, `since` and `until` are one array. The assembly takes each role out
    of `names` as soon as it has numbered it, so that memory is freed. `splits` has a split_code for
    each fact, if a column says it.
    """

    names: dict[str, pa.DictionaryArray]
    since: Ints
    until: Ints
    splits: npt.NDArray[np.int8] | None = None

    @classmethod
    def of(
        cls,
        names: dict[str, pa.DictionaryArray],
        since: Ints,
        until: Ints,
        splits: npt.NDArray[np.int8] | None = None,
    ) -> "FactBatch":
        """The batch of these columns, with one array of times if both are equal."""
        return cls(names, since, since if np.array_equal(since, until) else until, splits)

    def __len__(self) -> int:
        return len(self.since)

    def of_split(self, code: int) -> "FactBatch":
        """The facts of one split."""
        rows = self.splits == code
        names = {role: column.filter(pa.array(rows)) for role, column in self.names.items()}
        return FactBatch.of(names, self.since[rows], self.until[rows])


def mostly_splits(batches: Mapping[Split, list[FactBatch]]) -> bool:
    """Whether nearly all rows of a column say train, valid or test, but not all of them."""
    columns = [batch.splits for part in batches.values() for batch in part if len(batch)]
    codes = np.concatenate([np.zeros(0, np.int8), *(c for c in columns if c is not None)])
    if any(column is None for column in columns):
        return False
    others = int((codes == _NO_SPLIT).sum())
    return 0 < others <= FEW_OTHERS * len(codes)


def batches_by_split(
    batches: Mapping[Split, list[FactBatch]], options: ReadOptions
) -> tuple[dict[Split, list[FactBatch]] | None, list[str]]:
    """The facts by what a column says, if there is one; and a note where that is not used.

    If the options split the facts otherwise, a column that only happens to be there is not looked
    at.
    """
    parts = [batch for part in batches.values() for batch in part if len(batch)]
    codes = [batch.splits for batch in parts if batch.splits is not None]
    named = SPLIT in (options.column_of() or {})
    if len(codes) < max(1, len(parts)) or (options.splitting is not None and not named):
        return None, []
    others = sum(int((part == _NO_SPLIT).sum()) for part in codes)
    if others:
        rows = f"{others:,} of {sum(map(len, codes)):,} rows"
        return None, [f"the column split is not used: {rows} do not say train, valid or test"]
    if not any((part == 0).any() for part in codes):
        return None, ["the column split is not used: it has no train"]
    by_split: dict[Split, list[FactBatch]] = {
        split: [part for batch in parts if len(part := batch.of_split(code))]
        for code, split in enumerate(SPLITS)
    }
    return by_split, []
