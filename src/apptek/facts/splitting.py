"""Splits the facts of a single file into train, valid and test."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from apptek.arrays import Ints
from apptek.errors import DataError
from apptek.facts.facts import Dataset
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
    """The data set with its training facts split in three; each part keeps their order."""
    facts = dataset.train
    shares = (splitting.train, splitting.train + splitting.valid)
    cuts = [round(len(facts) * share) for share in shares]
    if splitting.by == "random":
        order = generator(splitting.seed, "split").permutation(len(facts))
    else:
        if not facts.dated.any():
            raise DataError(f"{dataset.name} cannot be split by time: no fact has one")
        times = dataset.axis.positions(facts.times)
        order = np.argsort(times, kind="stable")
        cuts = [_end_of_time(times[order], cut) for cut in cuts]
    train, valid, test = (facts.take(np.sort(rows)) for rows in np.split(order, cuts))
    return replace(dataset, train=train, valid=valid, test=test, was_split=True)


def _end_of_time(ordered: Ints, cut: int) -> int:
    """The first position from `cut` on where a new time starts, so that no time is divided.

    UNKNOWN sorts first and is one time, so undated facts stay together in train.
    """
    if cut == 0 or cut >= len(ordered):
        return min(cut, len(ordered))
    if ordered[cut - 1] != ordered[cut]:
        return cut
    return int(np.searchsorted(ordered, ordered[cut], side="right"))
