"""Which other predicates are known to hold where a query asks: filters, masks, right answers.

| filter     | r' is known for the query (u, ?, v, t) where the facts hold          |
|------------|----------------------------------------------------------------------|
| raw        | never                                                                |
| static     | (u, r', v) at any time                                               |
| time-aware | (u, r', v) with the same since and the same until, unknown ends too |

So a since line equals neither the until line nor the point of the same date, and undated equals
only undated. Times are compared as they are written (codes).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools, Ints, Longs, read_only, take_ragged
from apptek.data.fact_keys import fact_keys
from apptek.data.facts import Facts

Filter = Literal["raw", "static", "time-aware"]


@dataclass(frozen=True, slots=True)
class Known:
    """The other known predicates of n queries: row i is predicates[offsets[i] : offsets[i + 1]].

    Distinct and ascending within a query, and never the query's own.
    """

    offsets: Longs  # (n + 1,)
    predicates: Ints

    def __post_init__(self) -> None:
        for array, kind in ((self.offsets, np.int64), (self.predicates, np.int32)):
            if array.dtype != kind:
                raise ValueError("the columns of Known are int64 offsets and int32 predicates")
            read_only(array)
        bounds = np.concatenate([[0], self.offsets, [len(self.predicates)]])
        if len(bounds) < 3 or (bounds[1:] < bounds[:-1]).any():
            raise ValueError("the offsets of Known descend or lead outside")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def nothing(cls, count: int) -> "Known":
        """No other predicate for any of `count` queries."""
        return cls(np.zeros(count + 1, np.int64), np.zeros(0, np.int32))

    def part(self, start: int, stop: int) -> "Known":
        """The queries from start to stop, sharing the arrays."""
        return Known(self.offsets[start : stop + 1], self.predicates)

    def take(self, rows: npt.NDArray[np.intp]) -> "Known":
        """Some queries, in this order."""
        offsets, places = take_ragged(self.offsets, rows)
        return Known(offsets, self.predicates[places])

    def contains(self, predicates: Ints) -> Bools:
        """For each query, whether the given predicate is among its known ones."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        hits = self.predicates[self.offsets[0] : self.offsets[-1]] == predicates[rows]
        found = np.zeros(len(self), np.bool_)
        found[rows[hits]] = True
        return found


def known_predicates(
    queries: Facts, facts: Sequence[Facts], filtering: Filter = "time-aware"
) -> Known:
    """The predicates other than its own that the facts hold where each query asks. O(n log n).

    For the ranking the facts are train, valid and test; for the loss they are train alone.
    """
    if filtering == "raw" or not len(queries):
        return Known.nothing(len(queries))
    asked, *held = fact_keys(*(_without_predicate(part, filtering) for part in (queries, *facts)))
    keys, places = np.unique(asked, return_inverse=True)
    starts, predicates = _by_key(keys, held, [part.predicates for part in facts])
    counts = np.diff(starts)[places]
    rows = np.repeat(np.arange(len(queries)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    found = predicates[starts[places][rows] + within]
    others = found != queries.predicates[rows]
    offsets = np.zeros(len(queries) + 1, np.int64)
    np.cumsum(np.bincount(rows[others], minlength=len(queries)), out=offsets[1:])
    return Known(offsets, found[others])


def _without_predicate(facts: Facts, filtering: Filter) -> Facts:
    """The facts with one predicate, and for the static filter with one time."""
    nothing = np.zeros(len(facts), np.int32)
    since, until = (nothing, nothing) if filtering == "static" else (facts.since, facts.until)
    return Facts(facts.subjects, nothing, facts.objects, since, until)


def _by_key(keys: Longs, held: list[Longs], predicates: list[Ints]) -> tuple[Longs, Ints]:
    """The distinct predicates held under each of the ascending keys: bounds, and predicates."""
    wanted, span = [], 1 + max((int(part.max(initial=0)) for part in predicates), default=0)
    for part, named in zip(held, predicates, strict=True):
        places = np.minimum(np.searchsorted(keys, part), len(keys) - 1)
        hits = keys[places] == part
        wanted.append(places[hits] * span + named[hits])
    distinct = np.unique(np.concatenate([np.zeros(0, np.int64), *wanted]))
    starts = np.searchsorted(distinct, np.arange(len(keys) + 1) * span)
    return starts, (distinct % span).astype(np.int32)
