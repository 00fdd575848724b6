"""Facts that stand twice, and facts that stand in two lines."""

import numpy as np
import numpy.typing as npt

from apptek.arrays import Ints, Longs
from apptek.data.facts import Facts
from apptek.data.times import UNKNOWN, TimeAxis


def fact_keys(*parts: Facts) -> list[Longs]:
    """One number for each fact: equal facts, equal numbers, over all parts together. Exact."""
    points = all(part.until is part.since for part in parts)
    columns = list(zip(*(part.columns() for part in parts), strict=True))[: 4 if points else 5]
    size, keys = 1, np.zeros(sum(len(part) for part in parts), np.int64)
    for column in columns:
        values, span = _from_zero(np.concatenate(column))
        if size > 2**62 // span:
            distinct, keys = np.unique(keys, return_inverse=True)
            size = len(distinct)
        keys *= span
        keys += values
        size *= span
    return np.split(keys, np.cumsum([len(part) for part in parts])[:-1])


def _from_zero(values: Ints) -> tuple[Ints, int]:
    """The values moved to 0, 1, ..., and the number of places needed."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if high - low < 2**31:
        return values - np.int32(low), high - low + 1
    distinct, places = np.unique(values, return_inverse=True)  # UNKNOWN is far from all others
    return places.astype(np.int32), len(distinct)


def first_places(keys: Longs) -> npt.NDArray[np.bool_] | None:
    """Where each key stands first; None where none stands twice."""
    ordered = np.sort(keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(repeated):
        return None
    suspects = np.flatnonzero(among(keys, repeated))
    _, firsts = np.unique(keys[suspects], return_index=True)
    keep = np.ones(len(keys), np.bool_)
    keep[suspects] = False
    keep[suspects[firsts]] = True
    return keep


def among(keys: Longs, wanted: Longs) -> npt.NDArray[np.bool_]:
    """Which keys are among the wanted ones, fast where those are few: most fail a small table."""
    table = np.zeros(1 << 22, np.bool_)
    table[wanted & (len(table) - 1)] = True
    found = table.take(keys & (len(table) - 1))
    suspects = np.flatnonzero(found)
    found[suspects] = np.isin(keys[suspects], wanted)
    return found


def merge_interval_lines(facts: Facts, axis: TimeAxis) -> Facts:
    """An occursSince line and the occursUntil line of the same triple after it, as one fact.

    Not where it would end before it starts. Where nothing is merged, the facts as they are.
    """
    starts = (facts.since != UNKNOWN) & (facts.until == UNKNOWN)
    ends = (facts.since == UNKNOWN) & (facts.until != UNKNOWN)
    pair = starts[:-1] & ends[1:]
    for column in (facts.subjects, facts.predicates, facts.objects):
        pair &= column[:-1] == column[1:]
    pair &= facts.since[:-1] <= axis.last_moments(facts.until[1:])
    if not pair.any():
        return facts
    until = facts.until.copy()
    until[:-1][pair] = facts.until[1:][pair]
    keep = np.ones(len(facts), np.bool_)
    keep[1:] = ~pair
    merged = Facts(facts.subjects, facts.predicates, facts.objects, facts.since, until)
    return merged.take(keep)
