"""Topologies applied to queries: a sparse binary matrix, 1 where the sides meet.

Replaying a topology only ever adds entities to a side: an action adds the other ends of the facts
with its predicate among the N_tknn facts of every entity that the side has reached. Facts that are
in the core already lead nowhere new, and an absent predicate adds nothing, so that cores need not
be kept. Three consequences make it fast:

- what a side becomes depends on what it has reached and on the action alone: it is remembered, and
  sequences that differ in no-ops share their results;
- the N_tknn facts of an entity are looked up once for a query, whichever topology needs them;
- what has met stays met: all topologies that begin with a sequence that connects are 1 at once.

Within a query, entities have numbers of their own, in the order in which they are met. A *set* is
what a side can have reached: its entities are reach[set_starts[s] : set_starts[s + 1]], and bits of
bits[s]. `memory` says which set a set becomes by an action.
"""

from typing import Any

import numpy as np

from apptek.arrays import Bools, Ints, Longs, Words, read_only
from apptek.compiling import in_threads, leaf
from apptek.facts.queries import Queries, QueryColumns
from apptek.graph.tknn import Space, nearest_facts, work_space
from apptek.paper.environment import DecisionProcess
from apptek.paper.side_kernels import Moves, find_slot
from apptek.paper.topologies import TopologySet
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


FULL = -1  # instead of a set: the work space is too small, or the memory has no entry yet


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
    moves: Moves, when: int, hidden: int, number: int, entities: Ints, actions: Ints, others: Ints,
    degrees: Ints, present: Words, keys: Ints, numbers: Ints, stamps: Ints, generation: int,
    fetched: Bools, known: Longs, space: Space, nearest: Ints,
) -> bool:  # fmt: skip
    """Looks up an entity's N_tknn facts: their actions, and where each leads. False: no room."""
    # Every fact may lead to an entity that has no number yet.
    if known[0] + nearest.size > entities.size:
        return False
    entity, degree = entities[number], 0
    count = nearest_facts(moves.incidence, moves.directions, entity, when, hidden, space, nearest)
    subjects, predicates, objects = moves.facts
    for word in range(present.shape[1]):
        present[number, word] = 0
    for i in range(count):
        fact = nearest[i]
        end = objects[fact] if subjects[fact] == entity else subjects[fact]
        action = predicates[fact]
        actions[number, degree] = action
        others[number, degree] = _number_of(
            end, keys, numbers, stamps, generation, entities, fetched, known
        )
        present[number, action >> 6] |= np.uint64(1) << np.uint64(action & 63)
        degree += 1
    degrees[number], fetched[number] = degree, True
    return True


@leaf
def _expand(  # noqa: C901
    reached: int, action: int, reach: Ints, set_starts: Longs, bits: Words, set_count: int,
    actions: Ints, others: Ints, degrees: Ints, present: Words,
) -> int:  # fmt: skip
    """Makes set `set_count` from a set by an action; returns `reached` itself if nothing is new.

    FULL where the work space has no room for the worst case, every known entity.
    """
    first, stop = set_starts[reached], set_starts[reached + 1]
    end = set_starts[set_count]
    if set_count == len(bits) or end + bits.shape[1] * 64 > reach.size:
        return FULL
    for word in range(bits.shape[1]):
        bits[set_count, word] = bits[reached, word]
    for i in range(first, stop):
        reach[end] = reach[i]
        end += 1
    before, grown = end, False
    word, bit_of_action = action >> 6, np.uint64(1) << np.uint64(action & 63)
    # Only the entities of the set as it was are expanded: one step of an episode, not a closure.
    for i in range(first, stop):
        number = reach[i]
        if not present[number, word] & bit_of_action:
            continue
        own = np.uint64(1) << np.uint64(number & 63)
        if not bits[set_count, number >> 6] & own:  # literal: its core was empty until now
            bits[set_count, number >> 6] |= own
            grown = True
        for fact in range(degrees[number]):
            if actions[number, fact] == action:
                new = others[number, fact]
                bit = np.uint64(1) << np.uint64(new & 63)
                if not bits[set_count, new >> 6] & bit:
                    bits[set_count, new >> 6] |= bit
                    reach[end] = new
                    end += 1
    if end == before and not grown:
        return reached
    set_starts[set_count + 1] = end
    return set_count


@leaf
def _disjoint(bits: Words, subject_set: int, object_set: int) -> bool:
    for word in range(bits.shape[1]):
        if bits[subject_set, word] & bits[object_set, word]:
            return False
    return True


@leaf
def _prepare(
    reached: int, reach: Ints, set_starts: Longs, present: Words, prepared: Bools, legal: Words,
    memory: Ints,
) -> None:  # fmt: skip
    """Notes which actions a set has, once the facts of all its entities are looked up."""
    for word in range(legal.shape[1]):
        legal[reached, word] = 0
        for i in range(set_starts[reached], set_starts[reached + 1]):
            legal[reached, word] |= present[reach[i], word]
    for action in range(memory.shape[1]):
        memory[reached, action] = FULL
    prepared[reached] = True


@leaf
def apply_from(  # noqa: C901, PLR0912 - one loop: handing on forty arrays costs more than it does
    query: int, moves: Moves, queries: QueryColumns, trie_actions: Ints, trie_depths: Ints,
    trie_first: Ints, trie_last: Ints, trie_skip: Ints, keys: Ints, numbers: Ints, stamps: Ints,
    entities: Ints, fetched: Bools, actions: Ints, others: Ints, degrees: Ints, present: Words,
    reach: Ints, set_starts: Longs, bits: Words, prepared: Bools, legal: Words, memory: Ints,
    path: Longs, known: Longs, space: Space, nearest: Ints, topology_count: int, counts: Longs,
    ones: Ints,
) -> int:  # fmt: skip
    """Applies all topologies to the queries from `query` on; returns the first that had no room.

    Fills `counts` by query and `ones` with the topologies that connect, one query after the other.
    """
    query_subjects, query_objects, moments, hidden = queries
    total = 0
    while query < len(moments) and total + topology_count <= ones.size:
        # Sets 0 and 1 are the two entities of the query. The query's index is the generation of the
        # table of numbers: it needs no clearing in between.
        begin, known[0], set_count = total, 0, 2
        set_starts[1], set_starts[2] = 1, 2
        for side in range(2):
            entity = query_subjects[query] if side == 0 else query_objects[query]
            for word in range(bits.shape[1]):
                bits[side, word] = 0
            prepared[side] = False
            if entity >= 0:
                number = _number_of(entity, keys, numbers, stamps, query, entities, fetched, known)
                reach[side] = number
                if not moves.literal:  # else the entities of an empty core, which are none
                    bits[side, number >> 6] |= np.uint64(1) << np.uint64(number & 63)
            path[side, 0] = side
        node, end = 0, len(trie_actions)
        if query_subjects[query] < 0 or query_objects[query] < 0:
            node = end  # an unknown entity has no facts: nothing connects
        elif query_subjects[query] == query_objects[query] and not moves.literal:
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
                    for i in range(set_starts[now], set_starts[now + 1]):
                        if not fetched[reach[i]] and not _fetch(
                            moves, moments[query], hidden[query], reach[i], entities, actions,
                            others, degrees, present, keys, numbers, stamps, query, fetched, known,
                            space, nearest,
                        ):  # fmt: skip
                            return query
                    _prepare(now, reach, set_starts, present, prepared, legal, memory)
                new = now
                if legal[now, action >> 6] & (np.uint64(1) << np.uint64(action & 63)):
                    new = memory[now, action]
                    if new == FULL:
                        new = _expand(
                            now, action, reach, set_starts, bits, set_count, actions, others,
                            degrees, present,
                        )  # fmt: skip
                        if new == FULL:
                            return query
                        memory[now, action] = new
                        if new == set_count:
                            prepared[new] = False
                            set_count += 1
                path[side, depth] = new
                moved = moved or new != now
            # Where neither side has moved, they are as disjoint as they were one node above.
            if moved and not _disjoint(bits, path[0, depth], path[1, depth]):
                for topology in range(trie_first[node], trie_last[node]):
                    ones[total] = topology
                    total += 1
                node = trie_skip[node]  # what has met stays met: so does everything below
            else:
                node += 1
        counts[query] = total - begin
        query += 1
    return query
