"""Facts as single numbers, to find those that are repeated or occur elsewhere."""

import numpy as np

from apptek.arrays import Bools, Ints, Longs
from apptek.data.facts import Facts


def fact_keys(*parts: Facts) -> list[Longs]:
    """One number for each fact, the same for equal facts in all parts and no others.

    Columns are packed into 64 bits. Where the next one does not fit, the keys so far are replaced
    by their ranks, so no two facts collide, however large the ids are.
    """
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
    """The values shifted or renumbered to start at 0, and how many numbers that takes."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if high - low < 2**31:
        return values - np.int32(low), high - low + 1
    # UNKNOWN is so far from all times that the difference overflows 32 bits: use ranks instead.
    distinct, ranks = np.unique(values, return_inverse=True)
    return ranks.astype(np.int32), len(distinct)


def first_occurrences(keys: Longs) -> Bools | None:
    """A mask of the first occurrence of each key; None where no key is repeated."""
    ordered = np.sort(keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(repeated):
        return None
    rows = np.flatnonzero(is_among(keys, repeated))
    _, firsts = np.unique(keys[rows], return_index=True)
    is_first = np.ones(len(keys), np.bool_)
    is_first[rows] = False
    is_first[rows[firsts]] = True
    return is_first


def is_among(keys: Longs, others: Longs) -> Bools:
    """Which keys are among the others.

    Fast where those are few: a table of their lowest bits rules out most keys, and only the rest
    is compared exactly.
    """
    table = np.zeros(1 << 22, np.bool_)
    table[others & (len(table) - 1)] = True
    mask = table.take(keys & (len(table) - 1))
    candidates = np.flatnonzero(mask)
    mask[candidates] = np.isin(keys[candidates], others)
    return mask
