"""N_tknn: the k facts of an entity that are nearest in time, as numba kernels over flat arrays.

Nearest first, by (distance, start, fact). Distance is 0 inside [since, until], else to the nearest
end; with one unknown end, to the known one; undated facts come last, but first for an undated
query. `start` is since, else until. So of equally near facts the earlier comes first, then the
lower index.

Each direction of an entity (a slot of the Incidence) gives a list of its nearest facts, and the
two lists are merged. Points stand in the order of time, so their list grows outwards from the
moment; with intervals it is merged from up to six streams, each already in order. Nothing is
allocated for a look-up, and it costs O(log n + k) whatever the size of the graph (an interval that
contains the moment costs a climb in a tree, O(log n)).

The arrays are separate arguments: handing on a tuple of them made a look-up twice as slow, because
every unpacking counts references.
"""

import numpy as np
import numpy.typing as npt

from apptek.arrays import Ints
from apptek.compiling import kernel, leaf
from apptek.data.times import UNKNOWN

OUTGOING, INCOMING, BOTH = 1, 2, 3
PAST = 4  # together with a direction: only facts that ended before the moment, no undated ones

UNDATED = 1 << 40  # the distance of an undated fact: beyond that of every dated one
FAN_BITS = 4  # one maximum in `tops` stands for 16 entries, see incidence.py

# The kinds of streams: points and intervals from the moment on, points before it, intervals that
# contain it, intervals that ended before it, undated facts ...
ON, BACK, CONTAINING, ENDED, LISTED = 0, 1, 2, 3, 4
# ... and what is kept of each, in a row of the work space: its next fact with the key that orders
# it (so in a list, too), and how to go on from there.
DISTANCE, START, FACT, PLACE, STOP, GROUP, FIRST, KIND = 0, 1, 2, 3, 4, 5, 6, 7
STREAMS, FIELDS = 6, 8

# The arrays of an Incidence in their order, then since, until and twins of the graph.
Arrays = tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints]
Longs2 = npt.NDArray[np.int64]  # (streams, fields), or a list's (k, 3)


@kernel
def nearest_of_all(
    arrays: Arrays,
    directions: int,
    entities: Ints,
    times: Ints,
    hidden: Ints,
    found: npt.NDArray[np.int32],
) -> None:
    """Fills found (n, k) with the nearest facts of n entities, -1 where there are fewer than k.

    An entity of -1 is unknown to the graph and has none.
    """
    offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since, until, twins = (
        arrays
    )
    k = found.shape[1]
    streams = np.empty((STREAMS, FIELDS), np.int64)
    one, other = np.empty((k, 3), np.int64), np.empty((k, 3), np.int64)
    for row in range(len(entities)):
        count = 0
        if entities[row] >= 0:
            count = nearest_facts(
                offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since,
                until, twins, directions, entities[row], times[row], k, hidden[row], streams, one,
                other, found[row],
            )  # fmt: skip
        found[row, count:] = -1


@leaf
def nearest_facts(
    offsets: Ints, facts: Ints, starts: Ints, by_end: Ints, interval_offsets: Ints, tops: Ints,
    level_offsets: Ints, since: Ints, until: Ints, twins: Ints, directions: int, entity: int,
    when: int, k: int, hidden: int, streams: Longs2, one: Longs2, other: Longs2, found: Ints,
) -> int:  # fmt: skip
    """Writes the at most k nearest facts of `entity` to `found`, nearest first; their number.

    `hidden` and its twins are passed over (-1: nothing is). A self-loop, which stands in both
    directions, counts once. `directions` may include PAST. `streams` (STREAMS, FIELDS), `one` and
    `other` (k, 3) are work space.
    """
    ones, others = 0, 0
    if directions & OUTGOING:
        ones = nearest_in_slot(
            offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since, until,
            twins, entity, when, k, hidden, directions & PAST, UNDATED, streams, one,
        )  # fmt: skip
    if directions & INCOMING:
        # A list that is full already rules out what is farther than its last.
        farthest = one[k - 1, DISTANCE] if ones == k else UNDATED
        others = nearest_in_slot(
            offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since, until,
            twins, entity + (offsets.size - 1) // 6, when, k, hidden, directions & PAST, farthest,
            streams, other,
        )  # fmt: skip
    return _merge(one, ones, other, others, k, found)


@leaf
def nearest_in_slot(
    offsets: Ints, facts: Ints, starts: Ints, by_end: Ints, interval_offsets: Ints, tops: Ints,
    level_offsets: Ints, since: Ints, until: Ints, twins: Ints, slot: int, when: int, k: int,
    hidden: int, past: int, farthest: int, streams: Longs2, nearest: Longs2,
) -> int:  # fmt: skip
    """Lists the k nearest facts of one slot as rows (distance, start, fact); their number.

    Where `past` is not 0, only those that ended before the moment: an undated query has none.
    """
    if past and when == UNKNOWN:
        return 0
    if when == UNKNOWN or offsets[3 * slot + 1] < offsets[3 * slot + 2]:
        return _nearest_of_streams(
            offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since, until,
            twins, slot, when, k, hidden, past, streams, nearest,
        )  # fmt: skip
    return _nearest_points(
        offsets, facts, starts, twins, slot, when, k, hidden, past, farthest, nearest
    )


@leaf
def _merge(one: Longs2, ones: int, other: Longs2, others: int, k: int, found: Ints) -> int:
    """Writes the first k facts of two lists to `found`, one that stands in both once."""
    count, i, j = 0, 0, 0
    while count < k and (i < ones or j < others):
        if j == others:
            order = -1
        elif i == ones:
            order = 1
        else:
            order = one[i, DISTANCE] - other[j, DISTANCE]
            if order == 0:
                order = one[i, START] - other[j, START]
                if order == 0:
                    order = one[i, FACT] - other[j, FACT]
        found[count] = one[i, FACT] if order <= 0 else other[j, FACT]
        count += 1
        i += order <= 0
        j += order >= 0
    return count


@leaf
def _nearest_points(
    offsets: Ints, facts: Ints, starts: Ints, twins: Ints, slot: int, when: int, k: int,
    hidden: int, past: int, farthest: int, nearest: Longs2,
) -> int:  # fmt: skip
    """Lists the k nearest facts of a slot without intervals, none beyond `farthest`; their number.

    The list grows outwards from the moment: later points one by
    one, earlier ones by groups of one time, whose facts ascend, so that the lowest indices stay.
    """
    points, stop = offsets[3 * slot], offsets[3 * slot + 1]
    after = _first_from(starts, points, stop, when)
    before, count = after, 0
    if past:
        after = stop
    while count < k and (before > points or after < stop):
        back = np.int64(when) - starts[before - 1] if before > points else UNDATED
        on = np.int64(starts[after]) - when if after < stop else UNDATED
        if min(back, on) > farthest:
            return count
        if back <= on:
            group = before - 1
            if group > points and starts[group - 1] == starts[group]:
                group = _first_from(starts, points, before, starts[group])
            lo, hi = group, before
            before = group
        else:
            lo, hi = after, after + 1
            after += 1
        count = _list(facts, starts, twins, lo, hi, when, k, hidden, nearest, count)
    if past:
        return count
    undated, end = offsets[3 * slot + 2], offsets[3 * slot + 3]
    return _list(facts, starts, twins, undated, end, when, k, hidden, nearest, count)


@leaf
def _list(
    facts: Ints, starts: Ints, twins: Ints, lo: int, hi: int, when: int, k: int, hidden: int,
    nearest: Longs2, count: int,
) -> int:  # fmt: skip
    """Adds the facts of places [lo, hi) to a list until it has k, but for those that are hidden."""
    place = lo
    while place < hi and count < k:
        fact = facts[place]
        if not _is_hidden(twins, fact, hidden):
            start = np.int64(starts[place])
            nearest[count, DISTANCE] = UNDATED if start == UNKNOWN else abs(start - when)
            nearest[count, START] = start
            nearest[count, FACT] = fact
            count += 1
        place += 1
    return count


@leaf
def _is_hidden(twins: Ints, fact: int, hidden: int) -> bool:
    return fact == hidden or (hidden >= 0 and twins.size > 0 and twins[fact] == twins[hidden])


@leaf
def _nearest_of_streams(
    offsets: Ints, facts: Ints, starts: Ints, by_end: Ints, interval_offsets: Ints, tops: Ints,
    level_offsets: Ints, since: Ints, until: Ints, twins: Ints, slot: int, when: int, k: int,
    hidden: int, past: int, streams: Longs2, nearest: Longs2,
) -> int:  # fmt: skip
    """Lists the k nearest facts of a slot with intervals, or of any slot for an undated query."""
    opened = _open_streams(
        offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since, until, slot,
        when, past, streams,
    )  # fmt: skip
    count = 0
    while count < k and opened:
        best = _nearest_stream(streams, opened)
        if not _is_hidden(twins, streams[best, FACT], hidden):
            for column in range(FACT + 1):
                nearest[count, column] = streams[best, column]
            count += 1
        if not _advance(
            facts, starts, by_end, tops, level_offsets, since, until, when, streams, best
        ):
            opened -= 1
            _copy_stream(streams, opened, best)
    return count


@leaf
def _nearest_stream(streams: Longs2, opened: int) -> int:
    """The stream whose next fact comes first."""
    best = 0
    for row in range(1, opened):
        order = streams[row, DISTANCE] - streams[best, DISTANCE]
        if order == 0:
            order = streams[row, START] - streams[best, START]
            if order == 0:
                order = streams[row, FACT] - streams[best, FACT]
        if order < 0:
            best = row
    return best


@leaf
def _open_streams(
    offsets: Ints, facts: Ints, starts: Ints, by_end: Ints, interval_offsets: Ints, tops: Ints,
    level_offsets: Ints, since: Ints, until: Ints, slot: int, when: int, past: int,
    streams: Longs2,
) -> int:  # fmt: skip
    """Opens the streams of a slot that have any fact, each at its first one; how many there are."""
    points, intervals = offsets[3 * slot], offsets[3 * slot + 1]
    undated, end = offsets[3 * slot + 2], offsets[3 * slot + 3]
    after, begun = points, intervals
    if when != UNKNOWN:
        after = _first_from(starts, points, intervals, when)
        begun = _first_from(starts, intervals, undated, when + 1)
    _set(streams, 0, ON, after, intervals, 0)
    _set(streams, 1, BACK, after, after, points)
    _set(streams, 2, ON, begun, undated, 0)
    _set(streams, 3, LISTED, undated, end, 0)
    wanted = 4
    if begun > intervals:
        first = interval_offsets[slot]
        ended = _first_ending_from(by_end, until, first, interval_offsets[slot + 1], when)
        _set(streams, 4, CONTAINING, intervals, begun, intervals - first)
        _set(streams, 5, ENDED, ended, ended, first)
        wanted = 6
    opened = 0
    for row in range(wanted):
        kind = streams[row, KIND]
        if past and kind != BACK and kind != ENDED:
            continue
        if _advance(facts, starts, by_end, tops, level_offsets, since, until, when, streams, row):
            _copy_stream(streams, row, opened)
            opened += 1
    return opened


@leaf
def _copy_stream(streams: Longs2, source: int, target: int) -> None:
    for column in range(FIELDS):
        streams[target, column] = streams[source, column]


@leaf
def _set(streams: Longs2, row: int, kind: int, place: int, stop: int, first: int) -> None:
    """Sets a stream before its first fact.

    ON, CONTAINING, LISTED go from `place` up to `stop`; BACK and ENDED go down from there to
    `first`, a group of equal times at a time. For CONTAINING `first` is the place, in the order
    of all facts, of the interval that `tops` calls 0.
    """
    streams[row, PLACE] = place - 1
    streams[row, STOP] = stop
    streams[row, GROUP] = place
    streams[row, FIRST] = first
    streams[row, KIND] = kind


@leaf
def _advance(
    facts: Ints, starts: Ints, by_end: Ints, tops: Ints, level_offsets: Ints, since: Ints,
    until: Ints, when: int, streams: Longs2, row: int,
) -> bool:  # fmt: skip
    """Moves a stream to its next fact; False where there is none."""
    kind, stop, first = streams[row, KIND], streams[row, STOP], streams[row, FIRST]
    place = streams[row, PLACE] + 1
    if kind == CONTAINING:
        place = _next_containing(facts, tops, level_offsets, until, when, place, stop, first)
    if place >= stop:
        stop = streams[row, GROUP]
        if (kind != BACK and kind != ENDED) or stop == first:
            return False
        if kind == BACK:
            place = _first_from(starts, first, stop, starts[stop - 1])
        else:
            place = _first_ending_from(by_end, until, first, stop, until[by_end[stop - 1]])
        streams[row, GROUP], streams[row, STOP] = place, stop
    fact = by_end[place] if kind == ENDED else facts[place]
    streams[row, PLACE] = place
    streams[row, FACT] = fact
    streams[row, START] = since[fact] if kind == ENDED else starts[place]
    end = until[fact] if kind == ENDED else starts[place]
    streams[row, DISTANCE] = _distance(kind, when, end)
    return True


@leaf
def _distance(kind: int, when: int, end: int) -> int:
    """How far a fact is, whose nearest end is `end`."""
    if kind == CONTAINING:
        return 0
    if kind == LISTED:
        return 0 if when == UNKNOWN else UNDATED
    return UNDATED if when == UNKNOWN else int(abs(np.int64(end) - when))


@leaf
def _first_from(starts: Ints, lo: int, hi: int, when: int) -> int:
    """The first place in [lo, hi) that starts at `when` or later; hi if none does."""
    while lo < hi:
        middle = (lo + hi) >> 1
        if starts[middle] < when:
            lo = middle + 1
        else:
            hi = middle
    return lo


@leaf
def _first_ending_from(by_end: Ints, until: Ints, lo: int, hi: int, when: int) -> int:
    """The first place of [lo, hi) in `by_end` that ends at `when` or later; hi if none does."""
    while lo < hi:
        middle = (lo + hi) >> 1
        if until[by_end[middle]] < when:
            lo = middle + 1
        else:
            hi = middle
    return lo


@leaf
def _next_containing(
    facts: Ints, tops: Ints, level_offsets: Ints, until: Ints, when: int, place: int, stop: int,
    shift: int,
) -> int:  # fmt: skip
    """The first interval in [place, stop) that ends at `when` or later; stop if none does.

    Goes along the entries, then along the maxima of 16, and so on; down again where one reaches.
    """
    level, node = 0, place - shift
    while (node << (FAN_BITS * level)) < stop - shift:
        if level == 0:
            reaches = until[facts[node + shift]] >= when
        else:
            reaches = tops[level_offsets[level - 1] + node] >= when
        if reaches:
            if level == 0:
                return node + shift
            level -= 1
            node <<= FAN_BITS
        else:
            node += 1
            if node & ((1 << FAN_BITS) - 1) == 0 and level + 1 < level_offsets.size:
                level += 1
                node >>= FAN_BITS
    return stop
