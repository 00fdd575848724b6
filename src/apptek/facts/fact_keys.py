"""Facts as single numbers, to find repeated facts and facts that occur in several places."""

import numpy as np

from apptek.arrays import Bools, Ints, Longs
from apptek.facts.facts import Facts
from apptek.facts.times import UNKNOWN

_MIXER = np.uint64(0x9E3779B97F4A7C15)  # spreads keys over the upper bits
_ODD = 0x2545F4914F6CDD1D
_MANY = 4  # facts per query
_CHUNK = 1 << 22  # keys hashed at a time


def fact_keys(*parts: Facts) -> list[Longs]:
    """Return one number per fact. Equal facts in any part have equal numbers, others do not.

    Columns are packed into 64 bits. When the next column does not fit, the keys so far are replaced
    by their ranks. Two different facts therefore never collide, however large the ids are.
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
    """Return the values shifted or renumbered to start at 0, and the resulting number of values."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if high - low < 2**31:
        return values - np.int32(low), high - low + 1
    # UNKNOWN is so far from all times that the difference overflows 32 bits, so it becomes 0.
    known = values != UNKNOWN
    low = int(values.min(initial=high, where=known))
    if high - low < 2**31 - 1:
        return np.where(known, values - np.int32(low - 1), np.int32(0)), high - low + 2
    distinct, ranks = np.unique(values, return_inverse=True)
    return ranks.astype(np.int32), len(distinct)


def first_occurrences(keys: Longs) -> Bools | None:
    """Return a mask of each key's first occurrence, or None if no key is repeated."""
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
    """Return which keys are among the others.

    This is fast if the others are fewer: a first pass rules out most keys, and only the rest are
    compared.
    """
    mask = may_be_among(keys, others)
    candidates = np.flatnonzero(mask)
    left = keys[candidates]
    mask[candidates] = np.isin(left, others[may_be_among(others, left)])
    return mask


def may_be_among(keys: Longs, others: Longs) -> Bools:
    """Return True for all keys that are among the others, and for a small number of other keys.

    A table marks the others' hashes. The keys are looked up in it part by part.
    """
    bits = min(28, max(16, len(others).bit_length() + 5))
    table = np.zeros(1 << bits, np.bool_)
    table[_hashes(others, bits)] = True
    found = np.empty(len(keys), np.bool_)
    for start in range(0, len(keys), _CHUNK):
        part = slice(start, start + _CHUNK)
        table.take(_hashes(keys[part], bits), out=found[part])
    return found


def between_asked(facts: Facts, queries: Facts, *, when: bool = False) -> Facts:
    """Return the facts between queried subjects and objects, possibly with a few others.

    A small set of facts is returned unchanged. A large set is filtered, so that the keys of all
    facts need not be in memory at once.

    when  return only facts that begin at a queried time
    """
    if len(facts) <= _MANY * len(queries):
        return facts
    asked = _pairs(queries, slice(None), when)
    parts = (slice(start, start + _CHUNK) for start in range(0, len(facts), _CHUNK))
    kept = [may_be_among(_pairs(facts, part, when), asked) for part in parts]
    return facts.take(np.concatenate(kept))


def _pairs(facts: Facts, part: slice, when: bool) -> Longs:
    """Return a number for each pair. With the fact's start, it is nearly unique."""
    keys = facts.subjects[part].astype(np.int64) << 32 | facts.objects[part]
    if when:
        keys = keys * _ODD + facts.since[part]  # overflow is cut off
    return keys


def _hashes(keys: Longs, bits: int) -> Longs:
    mixed = keys.astype(np.uint64) * _MIXER >> np.uint64(64 - bits)
    return mixed.view(np.int64)
