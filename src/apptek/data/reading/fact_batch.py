"""A batch of facts between a file and the data set: names and times not numbered yet."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from apptek.arrays import Ints

NAME_ROLES = ("subject", "predicate", "object")
NAME_TYPE = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True)
class FactBatch:
    """Some facts: an array of NAME_TYPE for each of NAME_ROLES, and ids of a TimeDictionary.

    Where all facts are points, `since` and `until` are one array. The assembly takes each role out
    of `names` as soon as it has numbered it, so that memory is freed.
    """

    names: dict[str, pa.DictionaryArray]
    since: Ints
    until: Ints

    @classmethod
    def of(cls, names: dict[str, pa.DictionaryArray], since: Ints, until: Ints) -> "FactBatch":
        """The batch of these columns, with one array of times if both are equal."""
        return cls(names, since, since if np.array_equal(since, until) else until)

    def __len__(self) -> int:
        return len(self.since)
