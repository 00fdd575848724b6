"""N_tknn: the k facts of an entity that are nearest in time, as numba kernels over flat arrays.

An entity has two slots in the graph's Incidence, one for each direction. slot_search.py lists the
nearest facts of a slot; here the two lists become one. Both files use the same order: by
(distance, start, fact), see slot_search.py.

The arrays are separate arguments: handing on a tuple of them made a look-up twice as slow, because
every unpacking counts references.
"""

import numpy as np

from apptek.arrays import Ints
from apptek.compiling import kernel, leaf
from apptek.graph.slot_search import (
    AHEAD,
    DISTANCE,
    FACT,
    FIELDS,
    ONGOING,
    START,
    STREAMS,
    UNDATED,
    Longs2,
    nearest_in_slot,
)

OUTGOING, INCOMING, BOTH = 1, 2, 3
VIEW = AHEAD | ONGOING  # together with a direction, see slot_search.py

# The arrays of an Incidence in their order, then since, until and twins of the graph.
Arrays = tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints]


@kernel
def nearest_of_all(
    arrays: Arrays, directions: int, entities: Ints, times: Ints, hidden: Ints, nearest: Ints
) -> None:
    """Fills `nearest` (n, k) with the nearest facts of n entities, -1 where there are fewer than k.

    An entity of -1 is unknown to the graph and has no facts.
    """
    offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since, until, twins = (
        arrays
    )
    k = nearest.shape[1]
    # The work space is shared by all look-ups: allocating it for each would cost more than most
    # of them do.
    streams = np.empty((STREAMS, FIELDS), np.int64)
    outgoing, incoming = np.empty((k, 3), np.int64), np.empty((k, 3), np.int64)
    for row in range(len(entities)):
        count = 0
        if entities[row] >= 0:
            count = nearest_facts(
                offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since,
                until, twins, directions, entities[row], times[row], k, hidden[row], streams,
                outgoing, incoming, nearest[row],
            )  # fmt: skip
        nearest[row, count:] = -1


@leaf
def nearest_facts(
    offsets: Ints, facts: Ints, starts: Ints, by_end: Ints, interval_offsets: Ints, tops: Ints,
    level_offsets: Ints, since: Ints, until: Ints, twins: Ints, directions: int, entity: int,
    when: int, k: int, hidden: int, streams: Longs2, outgoing: Longs2, incoming: Longs2,
    nearest: Ints,
) -> int:  # fmt: skip
    """Writes the at most k nearest facts of `entity` to `nearest`, nearest first; returns how many.

    `hidden` and its twins are passed over (-1: nothing is). `directions` may include a VIEW.
    `streams` (STREAMS, FIELDS), `outgoing` and `incoming` (k, 3) are work space.
    """
    outgoing_count, incoming_count = 0, 0
    if directions & OUTGOING:
        outgoing_count = nearest_in_slot(
            offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since, until,
            twins, entity, when, k, hidden, directions & VIEW, UNDATED, streams, outgoing,
        )  # fmt: skip
    if directions & INCOMING:
        # Once the first list is full, nothing beyond its last fact can enter the result.
        farthest = outgoing[k - 1, DISTANCE] if outgoing_count == k else UNDATED
        incoming_slot = entity + (offsets.size - 1) // 6  # two slots per entity, three stretches
        incoming_count = nearest_in_slot(
            offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since, until,
            twins, incoming_slot, when, k, hidden, directions & VIEW, farthest, streams, incoming,
        )  # fmt: skip
    return _merge(outgoing, outgoing_count, incoming, incoming_count, k, nearest)


@leaf
def _merge(
    outgoing: Longs2, outgoing_count: int, incoming: Longs2, incoming_count: int, k: int,
    nearest: Ints,
) -> int:  # fmt: skip
    """Writes the first k facts of two ordered lists to `nearest`; returns how many."""
    count, i, j = 0, 0, 0
    while count < k and (i < outgoing_count or j < incoming_count):
        if j == incoming_count:
            order = -1
        elif i == outgoing_count:
            order = 1
        else:
            order = outgoing[i, DISTANCE] - incoming[j, DISTANCE]
            if order == 0:
                order = outgoing[i, START] - incoming[j, START]
                if order == 0:
                    order = outgoing[i, FACT] - incoming[j, FACT]
        nearest[count] = outgoing[i, FACT] if order <= 0 else incoming[j, FACT]
        count += 1
        # A self-loop stands in both lists with the same key: order is 0 and both move on, so that
        # it counts once.
        i += order <= 0
        j += order >= 0
    return count
