"""N_tknn: numba kernels that find an entity's k facts nearest in time, in flat arrays.

An entity has two slots in the graph's Incidence, one per direction. slot_search.py lists the
nearest facts in a slot, and this module merges the two lists. Both use the same order, by
(distance, start, fact); see slot_search.py.
"""

from typing import NamedTuple

import numpy as np

from apptek.arrays import Ints
from apptek.compiling import kernel, leaf
from apptek.graph.incidence import Incidence
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
VIEW = AHEAD | ONGOING  # combined with a direction, see slot_search.py
STRICT = 64  # combined with a direction: only facts nearer than the k-th, as the paper defines it


class Space(NamedTuple):
    """Work space for look-ups. Allocating it each time would take longer than most look-ups."""

    streams: Longs2  # (STREAMS, FIELDS)
    outgoing: Longs2  # (k, 3)
    incoming: Longs2  # (k, 3)


@kernel
def work_space(k: int) -> Space:
    """Return the work space for look-ups of k facts."""
    lists = np.empty((2, k, 3), np.int64)
    return Space(np.empty((STREAMS, FIELDS), np.int64), lists[0], lists[1])


@leaf
def nearest_facts(
    index: Incidence, directions: int, entity: int, when: int, hidden: int, space: Space,
    nearest: Ints,
) -> int:  # fmt: skip
    """Write the nearest facts of `entity` to `nearest` (k,), in order, and return their number.

    `hidden` and its twins are skipped (-1 hides nothing). `directions` may include a VIEW.
    """
    k, streams, outgoing, incoming = nearest.size, space.streams, space.outgoing, space.incoming
    outgoing_count, incoming_count = 0, 0
    if directions & OUTGOING:
        outgoing_count = nearest_in_slot(
            index, entity, when, k, hidden, directions & VIEW, UNDATED, streams, outgoing
        )
    if directions & INCOMING:
        # Once the first list is full, nothing beyond its last fact can be in the result.
        farthest = outgoing[k - 1, DISTANCE] if outgoing_count == k else UNDATED
        slot = entity + (index.offsets.size - 1) // 6  # two slots per entity, three ranges each
        incoming_count = nearest_in_slot(
            index, slot, when, k, hidden, directions & VIEW, farthest, streams, incoming
        )
    count, nearer = _merge(outgoing, outgoing_count, incoming, incoming_count, k, nearest)
    return nearer if directions & STRICT and count == k else count


@leaf
def _merge(
    outgoing: Longs2, outgoing_count: int, incoming: Longs2, incoming_count: int, k: int,
    nearest: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Write the first k facts of two ordered lists to `nearest`.

    Return their number, and how many of them are nearer than the last.
    """
    count, i, j, nearer, distance = 0, 0, 0, 0, np.int64(-1)
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
        farther = outgoing[i, DISTANCE] if order <= 0 else incoming[j, DISTANCE]
        if farther > distance:
            nearer, distance = count, farther
        count += 1
        # A self-loop is in both lists with the same key: order is 0 and both advance, so it counts
        # once.
        i += order <= 0
        j += order >= 0
    return count, nearer
