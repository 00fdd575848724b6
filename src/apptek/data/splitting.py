"""A single file of facts becomes train, valid and test."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from apptek.arrays import Ints
from apptek.data.facts import Dataset
from apptek.errors import DataError
from apptek.seeding import generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """How to split: at random with a seed, or by time (train first, test last).

    By time, facts of one time stay together, and undated facts go to train.
    """

    by: Literal["random", "time"] = "random"
    train: float = 0.8
    valid: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.by not in ("random", "time"):
            raise DataError(f"split by {self.by!r}: expected random or time")
        if self.seed < 0:
            raise DataError(f"split with seed {self.seed}: expected 0 or more")
        if not (0 < self.train <= 1 and 0 <= self.valid <= 1 and self.train + self.valid <= 1):
            raise DataError(
                f"split {self.train:g}/{self.valid:g}: expected shares of train and valid, "
                "above 0 and with a sum of at most 1"
            )


def split_facts(dataset: Dataset, splitting: Splitting) -> Dataset:
    """The data set with its training facts split in three."""
    facts = dataset.train
    first = round(len(facts) * splitting.train)
    second = round(len(facts) * (splitting.train + splitting.valid))
    if splitting.by == "random":
        order = generator(splitting.seed, "split").permutation(len(facts))
        parts = [np.sort(rows) for rows in np.split(order, [first, second])]
    else:
        times = dataset.axis.positions(facts.times)
        order = np.argsort(times, kind="stable")
        bounds = [_end_of_time(times[order], cut) for cut in (first, second)]
        parts = [np.sort(rows) for rows in np.split(order, bounds)]
    train, valid, test = (facts.take(rows) for rows in parts)
    return replace(dataset, train=train, valid=valid, test=test)


def _end_of_time(ordered: Ints, cut: int) -> int:
    """The first place from `cut` on where a new time begins, after all that are UNKNOWN."""
    if cut == 0 or cut >= len(ordered):
        return min(cut, len(ordered))
    if ordered[cut - 1] != ordered[cut]:
        return cut
    return int(np.searchsorted(ordered, ordered[cut], side="right"))
