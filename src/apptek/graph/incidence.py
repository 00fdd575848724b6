"""Facts by entity and time. In each direction, an entity's facts are stored contiguously."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from apptek.arrays import Ints, read_only
from apptek.facts.times import UNKNOWN

PART = 4_194_304  # facts sorted at a time
FAN_OUT = 16  # entries that each maximum covers, at every level of `tops`


class Incidence(NamedTuple):
    """Facts in *slots*, sorted by time within each slot, as arrays for the kernels.

    In a graph of n entities, entity e has two slots: e for its outgoing facts and n + e for its
    incoming ones. In a PairIndex, every pair has one slot. Slot s owns three ranges of `facts`,
    between offsets[3s] and offsets[3s + 3]:

    points     a single known time (a timestamp, or one known end), sorted by (time, fact)
    intervals  since < until, sorted by (since, fact)
    undated    sorted by fact

    starts   each entry's time, since or UNKNOWN, so that a search reads a single array.
    by_end   the intervals again, sorted by (slot, until, since, fact); slot s starts at
             interval_offsets[s].
    tops     the greatest `until` of every 16 intervals, then of every 16 of these maxima, and so
             on: a tree for finding the intervals that contain a given time. Level l starts at
             level_offsets[l].
    since, until, twins  for every fact, by index: see TemporalGraph
    """

    offsets: Ints
    facts: Ints
    starts: Ints
    by_end: Ints
    interval_offsets: Ints
    tops: Ints
    level_offsets: Ints
    since: Ints
    until: Ints
    twins: Ints


class FactColumns(NamedTuple):
    """The three columns of facts that kernels read in addition to times."""

    subjects: Ints
    predicates: Ints
    objects: Ints


def build_incidence(
    groupings: Sequence[Ints], group_count: int, since: Ints, until: Ints, twins: Ints
) -> Incidence:
    """Build the incidence for facts at these positions, in numpy. Takes O(n log n).

    A grouping assigns each fact a group below `group_count`. Every group in every grouping is a
    slot, and the first grouping's slots come first. Groups are processed in parts, because sorting
    all facts at once would need several times their memory.
    """
    moments = since if since is until else np.where(since == UNKNOWN, until, since)
    kinds = _kinds(since, until)
    offsets = np.zeros(len(groupings) * group_count * 3 + 1, np.int32)
    facts, starts = np.empty((2, len(groupings) * len(since)), np.int32)
    by_start, place = [np.empty(0, np.int32)], 0
    for number, grouping in enumerate(groupings):
        for low, high in pairwise(_cuts(grouping, group_count)):
            rows = np.flatnonzero((grouping >= low) & (grouping < high))
            stretches = (grouping[rows] - np.int64(low)) * 3 + kinds[rows]
            first = 3 * (number * group_count + low) + 1
            of_part = offsets[first : first + 3 * (high - low)]
            np.cumsum(np.bincount(stretches, minlength=len(of_part)), out=of_part)
            of_part += np.int32(place)
            rows = rows[_order(stretches, moments[rows])]
            part = slice(place, place + len(rows))
            facts[part], starts[part] = rows, moments[rows]
            by_start.append(rows[kinds[rows] == 1].astype(np.int32))
            place = part.stop
    intervals = np.concatenate(by_start)
    interval_offsets = _interval_offsets(offsets, len(intervals))
    tops, levels = _tops(until[intervals])
    return Incidence(
        offsets=read_only(offsets),
        facts=read_only(facts),
        starts=read_only(starts),
        by_end=read_only(_by_end(intervals, interval_offsets, until)),
        interval_offsets=read_only(interval_offsets),
        tops=read_only(tops),
        level_offsets=read_only(levels),
        since=since,
        until=until,
        twins=twins,
    )


def _cuts(grouping: Ints, group_count: int) -> list[int]:
    """Return the groups at which parts of about PART facts begin, then the number of groups."""
    if len(grouping) <= PART:
        return [0, group_count]
    ends = np.cumsum(np.bincount(grouping, minlength=group_count))
    inner = np.searchsorted(ends, np.arange(PART, len(grouping), PART))
    cuts: list[int] = np.unique([0, *inner.tolist(), group_count]).tolist()
    return cuts


def _kinds(since: Ints, until: Ints) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    """Return each fact's kind: 0 point, 1 interval, 2 undated."""
    kinds = np.zeros(len(since), np.int8)
    if since is not until:
        kinds[(since != UNKNOWN) & (until != UNKNOWN) & (since < until)] = 1
    kinds[(since == UNKNOWN) & (until == UNKNOWN)] = 2
    return kinds


def _order(groups: np.ndarray[tuple[int], np.dtype[np.int64]], starts: Ints) -> Ints:
    """Return the rows sorted by (group, start, row).

    Packing all three into 64 bits and sorting once is several times as fast as a lexsort. If they
    do not fit into 64 bits, a lexsort is used.
    """
    known = starts[starts != UNKNOWN]
    low = int(known.min()) if len(known) else 0
    span = (int(known.max()) - low + 2).bit_length() if len(known) else 1
    row_bits = len(starts).bit_length()
    if int(groups.max(initial=0)).bit_length() + span + row_bits > 63:
        return np.lexsort((starts, groups)).astype(np.int32)
    keys = groups << (span + row_bits)
    moments = starts.astype(np.int64)  # changed in place, because there may be many
    moments -= low - 1
    np.maximum(moments, 0, out=moments)  # UNKNOWN becomes 0
    moments <<= row_bits
    keys |= moments
    del moments
    keys |= np.arange(len(starts))
    keys.sort()
    keys &= (1 << row_bits) - 1
    return keys.astype(np.int32)


def _by_end(by_start: Ints, interval_offsets: Ints, until: Ints) -> Ints:
    """Return intervals reordered from (slot, since, fact) to (slot, until, since, fact).

    The sort is stable, so equal ends keep their order by (since, fact).
    """
    slots = np.repeat(np.arange(len(interval_offsets) - 1), np.diff(interval_offsets))
    return by_start[np.lexsort((until[by_start], slots))]


def _interval_offsets(offsets: Ints, interval_count: int) -> Ints:
    """Return where each slot's intervals start among all intervals. If none exist, return one 0."""
    if not interval_count:
        return np.zeros(1, np.int32)
    sizes = offsets[2::3] - offsets[1::3]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)


def _tops(untils: Ints) -> tuple[Ints, Ints]:
    """Return the concatenated levels of the tree of maxima, and where each level starts.

    Blocks of 16 may span several slots, because a search stops at the end of its slot anyway.
    """
    levels, level_offsets = [], [0]
    while len(untils) > 1:
        starts = np.arange(0, len(untils), FAN_OUT)
        untils = np.maximum.reduceat(untils, starts)
        levels.append(untils)
        level_offsets.append(level_offsets[-1] + len(untils))
    tops = np.concatenate([np.empty(0, np.int32), *levels])
    return tops, np.asarray(level_offsets, np.int32)
