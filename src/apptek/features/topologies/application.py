"""Topologies applied to queries: a sparse binary matrix, 1 where the sides meet.

Replaying a topology only ever adds entities to a side: by action a, the other ends of the facts
with that predicate among the N_tknn facts of every entity that the side has reached. Facts that are
in the core already lead nowhere new, and an absent predicate adds nothing, so cores need not be
kept. Three consequences make it fast:

- a side depends on its own entity alone, so both sides have memories of their own, keyed by
  (what is reached, action); sequences that differ in no-ops share their results;
- the N_tknn facts of an entity are looked up once for a query, whichever topology needs them;
- what has met stays met: all topologies that begin with a sequence that connects are 1 at once.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from apptek.agent.environment import DecisionProcess
from apptek.agent.side_kernels import Columns, find_slot
from apptek.arrays import Bools, Ints, Longs, Words, read_only
from apptek.compiling import in_threads, leaf
from apptek.data.queries import Queries
from apptek.features.topologies.topology import TopologySet
from apptek.graph.slot_search import FIELDS, STREAMS
from apptek.graph.tknn import Arrays, nearest_facts

CHUNK = 4096  # queries that one thread takes at a time
ROOM = 1024  # entities that the work space of a query has room for at first
FULL = -1  # in place of a number: the work space is too small


@dataclass(frozen=True, slots=True)
class BinaryRows:
    """A sparse binary matrix by rows: row i has ones in columns[offsets[i]:offsets[i + 1]]."""

    offsets: Longs
    columns: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1


def apply_topologies(
    process: DecisionProcess, queries: Queries, topologies: TopologySet
) -> BinaryRows:
    """Which topologies connect which queries, (queries, topologies). Threads over chunks."""
    asked = process.kernel_queries(queries)

    def apply_chunk(start: int) -> tuple[Longs, Ints]:
        rows = slice(start, start + CHUNK)
        some = tuple(read_only(column[rows]) for column in asked)
        return _apply_chunk(process, some, topologies)

    parts = in_threads(apply_chunk, range(0, len(queries), CHUNK))
    counts = np.concatenate([np.zeros(1, np.int64), *(part[0] for part in parts)])
    columns = np.concatenate([np.empty(0, np.int32), *(part[1] for part in parts)])
    return BinaryRows(read_only(np.cumsum(counts)), read_only(columns))


def _apply_chunk(
    process: DecisionProcess, asked: tuple[Ints, ...], topologies: TopologySet
) -> tuple[Longs, Ints]:
    """The number of ones in each row, and their columns; a work space that is full is doubled."""
    count, room = len(asked[0]), ROOM
    counts, parts = np.zeros(count, np.int64), []
    trie = (topologies.actions, topologies.depths, topologies.first, topologies.last)
    query = 0
    while query < count:
        columns = np.empty(max(len(topologies), 64 * room), np.int32)
        space = _work_space(process, room, int(topologies.depths.max(initial=0)))
        first = query
        filled = (len(topologies), counts, columns)
        shape = process.kernel_arguments()[:-1]
        query = _apply_from(*(query, *shape, asked, *trie, topologies.skip, *space, *filled))
        parts.append(columns[: counts[first:query].sum()].copy())
        room *= 1 + (query == first)
    return counts, np.concatenate([np.empty(0, np.int32), *parts])


def _work_space(process: DecisionProcess, room: int, depth: int) -> tuple[Any, ...]:
    """The arrays of one query.

    Entities have numbers of their own, in the order in which they are met. A *node* is a set of
    entities that a side can have reached (node 0: the subject, node 1: the object), as a list in
    `reach` and as bits.
    """
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
        np.zeros(room + 1, np.int64),  # node_starts, in `reach`
        np.empty((room, room // 64), np.uint64),  # bits
        np.empty(room, np.bool_),  # prepared: whether legal and memory of a node are there
        np.empty((room, words), np.uint64),  # legal: the actions that a node has
        np.empty((room, process.action_count), np.int32),  # memory: what it becomes by each
        np.zeros((2, depth + 1), np.int64),  # path: the nodes of both sides on the way here
        np.zeros(1, np.int64),  # known: how many entities have a number
        np.empty((STREAMS, FIELDS), np.int64),
        np.empty((k, 3), np.int64),
        np.empty((k, 3), np.int64),
        np.empty(k, np.int32),
    )


@leaf
def _number_of(
    entity: int, keys: Ints, numbers: Ints, stamps: Ints, generation: int, entities: Ints,
    fetched: Bools, known: Longs,
) -> int:  # fmt: skip
    """The number of an entity within the query; a new one where it is met for the first time."""
    slot = find_slot(keys, stamps, keys.size - 1, generation, entity)
    if stamps[slot] == generation:
        return int(numbers[slot])
    number = known[0]
    stamps[slot], keys[slot], numbers[slot] = generation, entity, number
    entities[number], fetched[number] = entity, False
    known[0] += 1
    return int(number)


@leaf
def _fetch(
    offsets: Ints, facts: Ints, starts: Ints, by_end: Ints, interval_offsets: Ints, tops: Ints,
    level_offsets: Ints, since: Ints, until: Ints, twins: Ints, subjects: Ints, predicates: Ints,
    objects: Ints, directions: int, tagged: int, predicate_count: int, when: int, hidden: int,
    number: int, entities: Ints, actions: Ints, others: Ints, degrees: Ints, present: Words,
    keys: Ints, numbers: Ints, stamps: Ints, generation: int, fetched: Bools, known: Longs,
    streams: Longs, one: Longs, other: Longs, found: Ints,
) -> bool:  # fmt: skip
    """Looks up an entity's N_tknn facts: their actions, and where each leads. False: no room."""
    if known[0] + found.size > entities.size:
        return False
    entity, degree = entities[number], 0
    near = nearest_facts(
        offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since, until, twins,
        directions, entity, when, found.size, hidden, streams, one, other, found,
    )  # fmt: skip
    for word in range(present.shape[1]):
        present[number, word] = 0
    for place in range(near):
        fact = found[place]
        backwards = subjects[fact] != entity
        end = subjects[fact] if backwards else objects[fact]
        if end == entity:
            continue  # a self-loop leads nowhere new
        action = predicates[fact] + (predicate_count if backwards and tagged else 0)
        actions[number, degree] = action
        others[number, degree] = _number_of(
            end, keys, numbers, stamps, generation, entities, fetched, known
        )
        present[number, action >> 6] |= np.uint64(1) << np.uint64(action & 63)
        degree += 1
    degrees[number], fetched[number] = degree, True
    return True


@leaf
def _expanded(
    node: int, action: int, reach: Ints, node_starts: Longs, bits: Words, node_count: int,
    actions: Ints, others: Ints, degrees: Ints, present: Words,
) -> int:  # fmt: skip
    """Makes node `node_count` from a node by an action; `node` itself where nothing is new."""
    first, stop = node_starts[node], node_starts[node + 1]
    end = node_starts[node_count]
    if node_count == len(bits) or end + bits.shape[1] * 64 > reach.size:
        return FULL
    for word in range(bits.shape[1]):
        bits[node_count, word] = bits[node, word]
    for place in range(first, stop):
        reach[end] = reach[place]
        end += 1
    before = end
    word, wanted = action >> 6, np.uint64(1) << np.uint64(action & 63)
    for place in range(first, stop):
        number = reach[place]
        if not present[number, word] & wanted:
            continue
        for fact in range(degrees[number]):
            if actions[number, fact] == action:
                new = others[number, fact]
                bit = np.uint64(1) << np.uint64(new & 63)
                if not bits[node_count, new >> 6] & bit:
                    bits[node_count, new >> 6] |= bit
                    reach[end] = new
                    end += 1
    if end == before:
        return node
    node_starts[node_count + 1] = end
    return node_count


@leaf
def _disjoint(bits: Words, one: int, other: int) -> bool:
    for word in range(bits.shape[1]):  # noqa: SIM110
        if bits[one, word] & bits[other, word]:
            return False
    return True


@leaf
def _prepare(
    node: int, reach: Ints, node_starts: Longs, present: Words, prepared: Bools, legal: Words,
    memory: Ints,
) -> None:  # fmt: skip
    """Notes which actions a node has, once the facts of its entities are there."""
    for word in range(legal.shape[1]):
        legal[node, word] = 0
        for place in range(node_starts[node], node_starts[node + 1]):
            legal[node, word] |= present[reach[place], word]
    for action in range(memory.shape[1]):
        memory[node, action] = FULL
    prepared[node] = True


@leaf
def _apply_from(  # noqa: C901, PLR0912 - one loop: handing on forty arrays costs more than it does
    query: int, arrays: Arrays, columns: Columns, directions: int, tagged: int,
    predicate_count: int, asked: tuple[Ints, Ints, Ints, Ints], trie_actions: Ints,
    trie_depths: Ints, trie_first: Ints, trie_last: Ints, trie_skip: Ints, keys: Ints,
    numbers: Ints, stamps: Ints, entities: Ints, fetched: Bools, actions: Ints, others: Ints,
    degrees: Ints, present: Words, reach: Ints, node_starts: Longs, bits: Words, prepared: Bools,
    legal: Words, memory: Ints, path: Longs, known: Longs, streams: Longs, one: Longs,
    other: Longs, found: Ints, topology_count: int, counts: Longs, ones: Ints,
) -> int:  # fmt: skip
    """Applies all topologies to the queries from `query` on; the first one that had no room.

    Fills `counts` by query and `ones` with the topologies that connect, one query after the other.
    """
    offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since, until, twins = (
        arrays
    )
    subjects, predicates, objects = columns
    query_subjects, query_objects, moments, hidden = asked
    total = 0
    while query < len(moments) and total + topology_count <= ones.size:
        begin, known[0], nodes = total, 0, 2
        node_starts[1], node_starts[2] = 1, 2
        for side in range(2):
            entity = query_subjects[query] if side == 0 else query_objects[query]
            for word in range(bits.shape[1]):
                bits[side, word] = 0
            prepared[side] = False
            if entity >= 0:
                number = _number_of(entity, keys, numbers, stamps, query, entities, fetched, known)
                reach[side] = number
                bits[side, number >> 6] |= np.uint64(1) << np.uint64(number & 63)
            path[side, 0] = side
        node, end = 0, len(trie_actions)
        if query_subjects[query] < 0 or query_objects[query] < 0:
            node = end
        elif query_subjects[query] == query_objects[query]:
            for topology in range(topology_count):
                ones[total + topology] = topology
            total += topology_count
            node = end
        while node < end:
            depth, action = trie_depths[node], trie_actions[node]
            moved = False
            for side in range(2):
                now = path[side, depth - 1]
                if not prepared[now]:
                    for place in range(node_starts[now], node_starts[now + 1]):
                        if not fetched[reach[place]] and not _fetch(
                            offsets, facts, starts, by_end, interval_offsets, tops, level_offsets,
                            since, until, twins, subjects, predicates, objects, directions, tagged,
                            predicate_count, moments[query], hidden[query], reach[place],
                            entities, actions, others, degrees, present, keys, numbers, stamps,
                            query, fetched, known, streams, one, other, found,
                        ):  # fmt: skip
                            return query
                    _prepare(now, reach, node_starts, present, prepared, legal, memory)
                new = now
                if legal[now, action >> 6] & (np.uint64(1) << np.uint64(action & 63)):
                    new = memory[now, action]
                    if new == FULL:
                        new = _expanded(
                            now, action, reach, node_starts, bits, nodes, actions, others, degrees,
                            present,
                        )  # fmt: skip
                        if new == FULL:
                            return query
                        memory[now, action] = new
                        if new == nodes:
                            prepared[new] = False
                            nodes += 1
                path[side, depth] = new
                moved = moved or new != now
            if moved and not _disjoint(bits, path[0, depth], path[1, depth]):
                for topology in range(trie_first[node], trie_last[node]):
                    ones[total] = topology
                    total += 1
                node = trie_skip[node]
            else:
                node += 1
        counts[query] = total - begin
        query += 1
    return query
