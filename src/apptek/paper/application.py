"""Topologies applied to queries: a sparse binary matrix, 1 where the sides meet.

Replaying a topology only ever adds entities to a side: an action adds the other ends of the facts
with its predicate among the N_tknn facts of every entity that the side has reached. Facts that are
in the core already lead nowhere new, and an absent predicate adds nothing, so that cores need not
be kept. Three consequences make it fast:

- what a side becomes depends on what it has reached and on the action alone: it is remembered, and
  sequences that differ in no-ops share their results;
- the N_tknn facts of an entity are looked up once for a query, whichever topology needs them;
- what has met stays met: all topologies that begin with a sequence that connects are 1 at once.
"""

from typing import Any

import numpy as np

from apptek.arrays import Ints, Longs, read_only
from apptek.compiling import in_threads
from apptek.facts.queries import Queries
from apptek.graph.tknn import work_space
from apptek.paper.application_kernels import apply_from
from apptek.paper.environment import DecisionProcess
from apptek.paper.topology import TopologySet
from apptek.ragged import Ragged

CHUNK = 4096  # queries that one thread takes at a time
ROOM = 1024  # entities that the work space of a query has room for at first


def apply_topologies(process: DecisionProcess, queries: Queries, topologies: TopologySet) -> Ragged:
    """Which topologies connect which queries, (queries, topologies). Threads over chunks."""
    query_columns = process.kernel_queries(queries)

    def apply_chunk(start: int) -> tuple[Longs, Ints]:
        rows = slice(start, start + CHUNK)
        part = tuple(read_only(column[rows]) for column in query_columns)
        return _apply_chunk(process, part, topologies)

    parts = in_threads(apply_chunk, range(0, len(queries), CHUNK))
    counts = np.concatenate([np.zeros(1, np.int64), *(part[0] for part in parts)])
    columns = np.concatenate([np.empty(0, np.int32), *(part[1] for part in parts)])
    return Ragged(np.cumsum(counts), columns, len(topologies))


def _apply_chunk(
    process: DecisionProcess, queries: tuple[Ints, ...], topologies: TopologySet
) -> tuple[Longs, Ints]:
    """The number of ones in each row, and their columns.

    A query that finds the work space too small stops the kernel and is tried again with twice the
    room: most queries need little, a few need very much.
    """
    count, room = len(queries[0]), ROOM
    counts, parts = np.zeros(count, np.int64), []
    trie = (
        topologies.actions, topologies.depths, topologies.first, topologies.last, topologies.skip
    )  # fmt: skip
    query = 0
    while query < count:
        columns = np.empty(max(len(topologies), 64 * room), np.int32)
        space = _work_space(process, room, int(topologies.depths.max(initial=0)))
        first = query
        outputs = (len(topologies), counts, columns)
        query = apply_from(*(query, process.moves(), queries, *trie, *space, *outputs))
        parts.append(columns[: counts[first:query].sum()].copy())
        if query == first:
            room *= 2
    return counts, np.concatenate([np.empty(0, np.int32), *parts])


def _work_space(process: DecisionProcess, room: int, depth: int) -> tuple[Any, ...]:
    """The arrays that a query is worked on in, as `apply_from` takes them."""
    k, words = process.config.tknn, -(-process.action_count // 64)
    return (
        np.empty((4 * room), np.int32),  # keys, numbers, stamps: the numbers of entities
        np.empty((4 * room), np.int32),
        np.full((4 * room), -1, np.int32),
        np.empty(room, np.int32),  # entities
        np.empty(room, np.bool_),  # fetched: whether its facts have been looked up
        np.empty((room, k), np.int32),  # actions of its facts
        np.empty((room, k), np.int32),  # others: the numbers of the entities they lead to
        np.empty(room, np.int32),  # degrees
        np.empty((room, words), np.uint64),  # present: the actions of its facts as bits
        np.empty(64 * room, np.int32),  # reach
        np.zeros(room + 1, np.int64),  # set_starts, in `reach`
        np.empty((room, room // 64), np.uint64),  # bits
        np.empty(room, np.bool_),  # prepared: whether legal and memory of a set are there
        np.empty((room, words), np.uint64),  # legal: the actions that a set has
        np.empty((room, process.action_count), np.int32),  # memory: the set it becomes by each
        np.zeros((2, depth + 1), np.int64),  # path: the sets of both sides, by depth in the trie
        np.zeros(1, np.int64),  # known: how many entities have a number
        work_space(k),  # the rest is for `nearest_facts`
        np.empty(k, np.int32),
    )
