"""N_tknn: the k facts of an entity that are nearest in time, as numba kernels over flat arrays.

An entity has two slots in the graph's Incidence, one for each direction. slot_search.py lists the
nearest facts of a slot; here the two lists become one. Both files use the same order: by
(distance, start, fact), see slot_search.py.
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
VIEW = AHEAD | ONGOING  # together with a direction, see slot_search.py
STRICT = 64  # together with a direction: only facts nearer than the k-th, as the paper writes it


class Space(NamedTuple):
    """The work space of look-ups: allocating it for each would cost more than most of them do."""

    streams: Longs2  # (STREAMS, FIELDS)
    outgoing: Longs2  # (k, 3)
    incoming: Longs2  # (k, 3)


@kernel
def work_space(k: int) -> Space:
    """Return the work space of look-ups of k facts."""
    lists = np.empty((2, k, 3), np.int64)
    return Space(np.empty((STREAMS, FIELDS), np.int64), lists[0], lists[1])


@leaf
def nearest_facts(
    index: Incidence, directions: int, entity: int, when: int, hidden: int, space: Space,
    nearest: Ints,
) -> int:  # fmt: skip
    """Write the nearest facts of `entity` to `nearest` (k,), nearest first; return how many.

    `hidden` and its twins are passed over (-1: nothing is). `directions` may include a VIEW.
    """
    k, streams, outgoing, incoming = nearest.size, space.streams, space.outgoing, space.incoming
    outgoing_count, incoming_count = 0, 0
    if directions & OUTGOING:
        outgoing_count = nearest_in_slot(
            index, entity, when, k, hidden, directions & VIEW, UNDATED, streams, outgoing
        )
    if directions & INCOMING:
        # Once the first list is full, nothing beyond its last fact can enter the result.
        farthest = outgoing[k - 1, DISTANCE] if outgoing_count == k else UNDATED
        slot = entity + (index.offsets.size - 1) // 6  # two slots per entity, three stretches
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

    Returns how many, and how many of them are nearer than the last.
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
        # A self-loop is in both lists with the same key: order is 0 and both move on, so that
        # it counts once.
        i += order <= 0
        j += order >= 0
    return count, nearer
