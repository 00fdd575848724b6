"""Predicates that are known to hold where a query asks: filters, loss masks, right answers.

| filter     | r' is known for the query (u, ?, v, t) where the facts contain       |
|------------|----------------------------------------------------------------------|
| raw        | nothing is known                                                     |
| static     | (u, r', v) at any time                                               |
| time-aware | (u, r', v) with the same since and the same until, unknown ends too  |

So a since line equals neither the until line nor the point of the same date, and an undated fact
equals only undated ones. Times are compared as they are written (codes).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools, Ints, Longs, close_columns, take_ragged
from apptek.data.fact_keys import between_asked, fact_keys
from apptek.data.facts import Facts

Filter = Literal["raw", "static", "time-aware"]


@dataclass(frozen=True, slots=True)
class KnownPredicates:
    """The other known predicates of n queries: row i is predicates[offsets[i] : offsets[i + 1]].

    Distinct and ascending within a query, and never the query's own.
    """

    offsets: Longs  # (n + 1,)
    predicates: Ints

    def __post_init__(self) -> None:
        for array, kind in ((self.offsets, np.int64), (self.predicates, np.int32)):
            if array.dtype != kind:
                raise ValueError("known predicates are int64 offsets and int32 predicates")
        close_columns(self, "offsets", "predicates")
        bounds = np.concatenate([[0], self.offsets, [len(self.predicates)]])
        if len(bounds) < 3 or (bounds[1:] < bounds[:-1]).any():
            raise ValueError("the offsets of known predicates descend or lead outside")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def nothing(cls, count: int) -> "KnownPredicates":
        """No other predicate for any of `count` queries."""
        return cls(np.zeros(count + 1, np.int64), np.zeros(0, np.int32))

    def part(self, start: int, stop: int) -> "KnownPredicates":
        """The queries from start to stop, sharing the arrays."""
        return KnownPredicates(self.offsets[start : stop + 1], self.predicates)

    def take(self, rows: npt.NDArray[np.intp]) -> "KnownPredicates":
        """Some queries, in this order."""
        offsets, entries = take_ragged(self.offsets, rows)
        return KnownPredicates(offsets, self.predicates[entries])

    def contains(self, predicates: Ints) -> Bools:
        """For each query, whether the given predicate is among its known ones."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        hits = self.predicates[self.offsets[0] : self.offsets[-1]] == predicates[rows]
        contained = np.zeros(len(self), np.bool_)
        contained[rows[hits]] = True
        return contained


def join_known(parts: Sequence[KnownPredicates]) -> KnownPredicates:
    """The known predicates of all queries, one part after the other."""
    entries = [part.predicates[part.offsets[0] : part.offsets[-1]] for part in parts]
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    return KnownPredicates(
        np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]), np.concatenate(entries)
    )


def known_predicates(
    queries: Facts, facts: Sequence[Facts], filtering: Filter = "time-aware"
) -> KnownPredicates:
    """The predicates other than its own that the facts contain where each query asks. O(n log n).

    For the ranking the facts are train, valid and test; for the loss they are train alone.
    """
    if filtering == "raw" or not len(queries):
        return KnownPredicates.nothing(len(queries))
    when = filtering == "time-aware"
    facts = [between_asked(part, queries, when=when) for part in facts]
    query_keys, *keys_of_facts = fact_keys(
        *(_without_predicate(part, filtering) for part in (queries, *facts))
    )
    keys, key_of_query = np.unique(query_keys, return_inverse=True)
    starts, by_key = _predicates_by_key(keys, keys_of_facts, [part.predicates for part in facts])
    # Each query gets a copy of its key's predicates, row by row, then loses its own one.
    counts = np.diff(starts)[key_of_query]
    rows = np.repeat(np.arange(len(queries)), counts)
    within_row = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    predicates = by_key[starts[key_of_query][rows] + within_row]
    others = predicates != queries.predicates[rows]
    offsets = np.zeros(len(queries) + 1, np.int64)
    np.cumsum(np.bincount(rows[others], minlength=len(queries)), out=offsets[1:])
    return KnownPredicates(offsets, predicates[others])


def _without_predicate(facts: Facts, filtering: Filter) -> Facts:
    """The facts with one and the same predicate, and for the static filter one and the same time.

    Two facts that are equal now are asked about by the same query.
    """
    zeros = np.zeros(len(facts), np.int32)
    since, until = (zeros, zeros) if filtering == "static" else (facts.since, facts.until)
    return Facts(facts.subjects, zeros, facts.objects, since, until)


def _predicates_by_key(
    keys: Longs, keys_of_facts: list[Longs], predicates_of_facts: list[Ints]
) -> tuple[Longs, Ints]:
    """The distinct predicates of facts under each of the ascending keys: bounds, and predicates."""
    span = 1 + max((int(part.max(initial=0)) for part in predicates_of_facts), default=0)
    # A key's position and a predicate as one number, so that one `unique` makes pairs distinct.
    pairs = [np.zeros(0, np.int64)]
    for part, predicates in zip(keys_of_facts, predicates_of_facts, strict=True):
        positions = np.minimum(np.searchsorted(keys, part), len(keys) - 1)
        hits = keys[positions] == part
        pairs.append(positions[hits] * span + predicates[hits])
    distinct = np.unique(np.concatenate(pairs))
    starts = np.searchsorted(distinct, np.arange(len(keys) + 1) * span)
    return starts, (distinct % span).astype(np.int32)
