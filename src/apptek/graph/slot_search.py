"""Numba kernels that find the k facts in a slot of an Incidence that are nearest in time.

Facts are sorted nearest first, by (distance, start, fact). Inside [since, until], the distance is
0. Outside, it is the distance to the nearest end. If one end is unknown, the known end counts.
Undated facts come last, or first if the query is undated. `start` is since, or until if since is
unknown. Equally near facts are therefore sorted by time, then by index.

Points are sorted by time, so the list of results grows outwards from the query's time. If the slot
has intervals, the list is merged from up to six sorted streams. A look-up allocates no memory and
takes O(log n + k). Finding each interval that contains the query's time takes another O(log n), for
a search in a tree.

With the flag AHEAD (the view past_only), a query sees undated facts and the facts that started
strictly before its time. If one of these facts has not ended by the query's time, its end counts as
unknown. The distance is then measured from the fact's start. With ONGOING, the distance is 0,
because the fact continues. An undated query sees all facts.
"""

import numpy as np
import numpy.typing as npt

from apptek.arrays import AnyInts, Ints
from apptek.compiling import leaf
from apptek.facts.times import UNKNOWN
from apptek.graph.incidence import Incidence

UNDATED = 1 << 40  # the distance of an undated fact, larger than any dated fact's
AHEAD, ONGOING = 4, 8  # flags of a view, in addition to the directions in tknn.py
FAN_BITS = 4  # one maximum in `tops` covers 16 entries, see FAN_OUT in incidence.py

# The kinds of streams: points and intervals from the query's time on, points before it, intervals
# that contain it, intervals that ended before it, undated facts, and intervals that have started
# but not ended, by start.
ON, BACK, CONTAINING, ENDED, LISTED, STARTED = 0, 1, 2, 3, 4, 5
# The fields of a stream, one row of the work space. The first three are the key of its next fact,
# and the columns of a list of nearest facts. The others store the position in the stream.
DISTANCE, START, FACT, POSITION, STOP, GROUP, FIRST, KIND = 0, 1, 2, 3, 4, 5, 6, 7
STREAMS, FIELDS = 6, 8

Longs2 = npt.NDArray[np.int64]  # (streams, fields), or a list's (k, 3)


@leaf
def nearest_in_slot(
    index: Incidence, slot: int, when: int, k: int, hidden: int, view: int, farthest: int,
    streams: Longs2, nearest: Longs2,
) -> int:  # fmt: skip
    """List the k nearest facts in a slot as rows (distance, start, fact), and return their number.

    `view` is 0, or AHEAD with or without ONGOING. Facts beyond the distance `farthest` are not
    needed. In a slot without intervals, the search stops there.
    """
    if when == UNKNOWN or index.offsets[3 * slot + 1] < index.offsets[3 * slot + 2]:
        return _nearest_of_streams(index, slot, when, k, hidden, view, streams, nearest)
    return _nearest_points(index, slot, when, k, hidden, view, farthest, nearest)


@leaf
def _nearest_points(
    index: Incidence, slot: int, when: int, k: int, hidden: int, view: int, farthest: int,
    nearest: Longs2,
) -> int:  # fmt: skip
    """List the k nearest facts in a slot without intervals, and return their number.

    The list grows outwards from the query's time. Later points are added one by one. Earlier points
    are added in groups of equal time. Within a group, facts are in ascending order. Walking back
    one by one would list the highest index first, and keep the wrong facts when k is reached.
    """
    offsets, starts = index.offsets, index.starts
    points, stop = offsets[3 * slot], offsets[3 * slot + 1]
    after = lower_bound(starts, points, stop, when)
    before, count = after, 0
    if view & AHEAD:
        after = stop  # a point at the query's own time was not known before it
    while count < k and (before > points or after < stop):
        back = np.int64(when) - starts[before - 1] if before > points else UNDATED
        on = np.int64(starts[after]) - when if after < stop else UNDATED
        if min(back, on) > farthest:
            return count
        if back <= on:  # the earlier fact wins a tie
            group = before - 1
            if group > points and starts[group - 1] == starts[group]:
                group = lower_bound(starts, points, before, starts[group])
            lo, hi = group, before
            before = group
        else:
            lo, hi = after, after + 1
            after += 1
        count = _append(index, lo, hi, when, k, hidden, nearest, count)
    undated, end = offsets[3 * slot + 2], offsets[3 * slot + 3]
    return _append(index, undated, end, when, k, hidden, nearest, count)


@leaf
def _append(
    index: Incidence, lo: int, hi: int, when: int, k: int, hidden: int, nearest: Longs2, count: int
) -> int:
    """Append facts[lo:hi], except hidden ones, until the list has k. Return its new length."""
    position = lo
    while position < hi and count < k:
        fact = index.facts[position]
        if not _is_hidden(index.twins, fact, hidden):
            start = np.int64(index.starts[position])
            nearest[count, DISTANCE] = UNDATED if start == UNKNOWN else abs(start - when)
            nearest[count, START] = start
            nearest[count, FACT] = fact
            count += 1
        position += 1
    return count


@leaf
def _is_hidden(twins: Ints, fact: int, hidden: int) -> bool:
    # `twins` is empty if no fact has any. -1 hides nothing and must not be used as an index.
    return fact == hidden or (hidden >= 0 and twins.size > 0 and twins[fact] == twins[hidden])


@leaf
def _nearest_of_streams(
    index: Incidence, slot: int, when: int, k: int, hidden: int, view: int, streams: Longs2,
    nearest: Longs2,
) -> int:  # fmt: skip
    """List the k nearest facts in a slot with intervals, or in any slot for an undated query.

    This merges the slot's streams. There are at most six, so comparing all of them is cheaper than
    a heap.
    """
    open_count = _open_streams(index, slot, when, view if when != UNKNOWN else 0, streams)
    count = 0
    while count < k and open_count:
        best = _nearest_stream(streams, open_count)
        if not _is_hidden(index.twins, streams[best, FACT], hidden):
            for column in range(FACT + 1):
                nearest[count, column] = streams[best, column]
            count += 1
        if not _advance(index, when, streams, best):
            open_count -= 1
            _copy_stream(streams, open_count, best)  # the last stream replaces the finished one
    return count


@leaf
def _nearest_stream(streams: Longs2, open_count: int) -> int:
    """Return the stream whose next fact comes first by (distance, start, fact)."""
    best = 0
    for row in range(1, open_count):
        order = streams[row, DISTANCE] - streams[best, DISTANCE]
        if order == 0:
            order = streams[row, START] - streams[best, START]
            if order == 0:
                order = streams[row, FACT] - streams[best, FACT]
        if order < 0:
            best = row
    return best


@leaf
def _open_streams(index: Incidence, slot: int, when: int, view: int, streams: Longs2) -> int:
    """Open the slot's streams that have facts, each at its first fact, and return their number.

    For an undated query, all dated facts are equally far away. The ON streams then start at the
    beginning, and no stream goes back in time.
    """
    offsets, starts = index.offsets, index.starts
    points, intervals = offsets[3 * slot], offsets[3 * slot + 1]
    undated, end = offsets[3 * slot + 2], offsets[3 * slot + 3]
    after, begun = points, intervals
    if when != UNKNOWN:
        after = lower_bound(starts, points, intervals, when)
        # With AHEAD, an interval that starts at the query's own time is not known yet.
        begun = lower_bound(starts, intervals, undated, when + (0 if view & AHEAD else 1))
    _start(streams, 0, ON, after, intervals, 0)
    _start(streams, 1, BACK, after, after, points)
    _start(streams, 2, ON, begun, undated, 0)
    _start(streams, 3, LISTED, undated, end, 0)
    stream_count = 4
    if begun > intervals:  # intervals that began by then either contain the time or have ended
        first, stop = index.interval_offsets[slot], index.interval_offsets[slot + 1]
        ended = _first_ending_from(index, first, stop, when)
        if view & AHEAD and not view & ONGOING:
            _start(streams, 4, STARTED, begun, begun, intervals)
        else:
            _start(streams, 4, CONTAINING, intervals, begun, intervals - first)
        _start(streams, 5, ENDED, ended, ended, first)
        stream_count = 6
    open_count = 0
    for row in range(stream_count):
        if view & AHEAD and streams[row, KIND] == ON:
            continue
        if _advance(index, when, streams, row):
            _copy_stream(streams, row, open_count)
            open_count += 1
    return open_count


@leaf
def _copy_stream(streams: Longs2, source: int, target: int) -> None:
    for column in range(FIELDS):
        streams[target, column] = streams[source, column]


@leaf
def _start(streams: Longs2, row: int, kind: int, position: int, stop: int, first: int) -> None:
    """Set a stream to just before its first fact.

    ON, CONTAINING and LISTED ascend from `position` to `stop`. BACK, ENDED and STARTED descend from
    `position` to `first` by groups of equal times, and ascend within each group. For CONTAINING,
    `first` is the position in `facts` of interval 0 in `tops`.
    """
    streams[row, POSITION] = position - 1
    streams[row, STOP] = stop
    streams[row, GROUP] = position
    streams[row, FIRST] = first
    streams[row, KIND] = kind


@leaf
def _advance(index: Incidence, when: int, streams: Longs2, row: int) -> bool:
    """Move a stream to its next fact. Return False if there is none."""
    kind, stop, first = streams[row, KIND], streams[row, STOP], streams[row, FIRST]
    position = streams[row, POSITION] + 1
    if kind == CONTAINING:
        position = _next_containing(index, when, position, stop, first)
    if kind == STARTED:
        position = _next_lasting(index, when, position, stop)
    while position >= stop:
        stop = streams[row, GROUP]
        if (kind != BACK and kind != ENDED and kind != STARTED) or stop == first:
            return False
        # The group is finished: continue with the group of equal times before it.
        if kind == ENDED:
            latest = index.until[index.by_end[stop - 1]]
            position = _first_ending_from(index, first, stop, latest)
        else:
            position = lower_bound(index.starts, first, stop, index.starts[stop - 1])
        streams[row, GROUP], streams[row, STOP] = position, stop
        if kind == STARTED:  # if all of a group's intervals have ended, the next group follows
            position = _next_lasting(index, when, position, stop)
    fact = index.by_end[position] if kind == ENDED else index.facts[position]
    streams[row, POSITION] = position
    streams[row, FACT] = fact
    streams[row, START] = index.since[fact] if kind == ENDED else index.starts[position]
    end = index.until[fact] if kind == ENDED else index.starts[position]
    streams[row, DISTANCE] = _distance(kind, when, end)
    return True


@leaf
def _distance(kind: int, when: int, end: int) -> int:
    """Return the distance of a fact whose nearest end is `end`.

    Computed in 64 bits, because two times may be more than 2**31 apart.
    """
    if kind == CONTAINING:
        return 0
    if kind == LISTED:
        return 0 if when == UNKNOWN else UNDATED
    return UNDATED if when == UNKNOWN else int(abs(np.int64(end) - when))


@leaf
def lower_bound(values: AnyInts, lo: int, hi: int, value: int) -> int:
    """Return the first position in the ascending values[lo:hi] not below `value`, or hi."""
    while lo < hi:
        middle = (lo + hi) >> 1
        if values[middle] < value:
            lo = middle + 1
        else:
            hi = middle
    return lo


@leaf
def _first_ending_from(index: Incidence, lo: int, hi: int, when: int) -> int:
    """Return the first position in by_end[lo:hi] that ends at `when` or later, or hi."""
    while lo < hi:
        middle = (lo + hi) >> 1
        if index.until[index.by_end[middle]] < when:
            lo = middle + 1
        else:
            hi = middle
    return lo


@leaf
def _next_lasting(index: Incidence, when: int, position: int, stop: int) -> int:
    """Return the first interval in facts[position:stop] that ends at `when` or later, or stop.

    Intervals are checked one by one, because a group of equal starts is short.
    """
    while position < stop and index.until[index.facts[position]] < when:
        position += 1
    return position


@leaf
def _next_containing(index: Incidence, when: int, position: int, stop: int, shift: int) -> int:
    """Return the first interval in facts[position:stop] that ends at `when` or later, or stop.

    This walks through the tree of maxima. It moves along the entries of a level, goes up after
    every 16 entries, and goes down into the first maximum that reaches `when`. Skipping a long run
    of ended intervals takes O(log n).
    """
    level, entry = 0, position - shift
    while (entry << (FAN_BITS * level)) < stop - shift:
        if level == 0:
            reaches = index.until[index.facts[entry + shift]] >= when
        else:
            reaches = index.tops[index.level_offsets[level - 1] + entry] >= when
        if reaches:
            if level == 0:
                return entry + shift
            level -= 1
            entry <<= FAN_BITS
        else:
            entry += 1
            # Go up only at the start of a group of 16, whose parent covers no earlier entries.
            if entry & ((1 << FAN_BITS) - 1) == 0 and level + 1 < index.level_offsets.size:
                level += 1
                entry >>= FAN_BITS
    return stop
