"""Apply topologies to queries.

The result is a sparse binary matrix that is 1 where a topology connects a query.

Replaying a topology only adds entities to a side. An action takes the N_tknn facts of every entity
that the side has reached, selects those with its predicate, and adds the entities at their other
ends. Facts that are already in the core lead to known entities, and an absent predicate adds
nothing, so cores need not be stored. Three consequences make this fast:

- The result of an action depends only on the action and the reached entities. It is cached, and
  shared by sequences that differ only in actions without effect.
- The N_tknn facts of an entity are looked up once per query, for all topologies.
- Once both sides have met, they remain connected. All topologies that begin with a connecting
  sequence are therefore 1.

Within a query, entities are numbered in the order in which they are reached. A *set* contains the
entities that a side has reached: reach[set_starts[s] : set_starts[s + 1]], and the same as bits in
bits[s]. `memory` caches which set results from a set and an action.
"""

from typing import Any, NamedTuple

import numpy as np

from apptek.arrays import Bools, Ints, Longs, Words, read_only
from apptek.compiling import in_threads, leaf
from apptek.facts.queries import Queries, QueryColumns
from apptek.graph.tknn import Space, nearest_facts, work_space
from apptek.paper.environment import DecisionProcess
from apptek.paper.episode_kernels import Moves, find_slot
from apptek.paper.topologies import TopologySet, Trie
from apptek.ragged import Ragged

CHUNK = 4096  # queries per thread task
ROOM = 1024  # initial capacity of the work space, in entities


def apply_topologies(process: DecisionProcess, queries: Queries, topologies: TopologySet) -> Ragged:
    """Return which topologies connect which queries, (queries, topologies), using threads."""
    query_columns = process.kernel_queries(queries)

    def apply_chunk(start: int) -> tuple[Longs, Ints]:
        rows = slice(start, start + CHUNK)
        part: Any = tuple(read_only(column[rows]) for column in query_columns)
        return _apply_chunk(process, part, topologies)

    parts = in_threads(apply_chunk, range(0, len(queries), CHUNK))
    counts = np.concatenate([np.zeros(1, np.int64), *(part[0] for part in parts)])
    columns = np.concatenate([np.empty(0, np.int32), *(part[1] for part in parts)])
    return Ragged(np.cumsum(counts), columns, len(topologies))


def _apply_chunk(
    process: DecisionProcess, queries: QueryColumns, topologies: TopologySet
) -> tuple[Longs, Ints]:
    """Return the number of ones in each row, and their columns.

    If the work space is too small for a query, the kernel stops and the query is retried with twice
    the space. Most queries need little space; a few need far more.
    """
    count, room = len(queries[0]), ROOM
    counts, parts = np.zeros(count, np.int64), []
    query = 0
    while query < count:
        columns = np.empty(max(len(topologies), 64 * room), np.int32)
        work = _work_space(process, room, int(topologies.trie[1].max(initial=0)))
        first = query
        outputs = (len(topologies), counts, columns)
        query = apply_from(query, process.moves(), queries, topologies.trie, work, *outputs)
        parts.append(columns[: counts[first:query].sum()].copy())
        if query == first:
            room *= 2
    return counts, np.concatenate([np.empty(0, np.int32), *parts])


class Work(NamedTuple):
    """The work space for one query."""

    keys: Ints  # keys, numbers, stamps: a hash table from entity to number
    numbers: Ints
    stamps: Ints
    entities: Ints
    fetched: Bools  # by entity: whether its facts have been looked up
    actions: Ints  # by entity: the actions of its facts
    others: Ints  # by entity: the numbers of the entities at the other ends of its facts
    degrees: Ints
    present: Words  # by entity: the actions of its facts as bits
    reach: Ints
    set_starts: Longs  # offsets in `reach`
    bits: Words
    prepared: Bools  # by set: whether `legal` and `memory` are filled
    legal: Words  # by set: its legal actions as bits
    memory: Ints  # by set and action: the resulting set
    path: Longs  # the sets on both sides, by depth in the trie
    known: Longs  # (1,) number of numbered entities
    set_count: Longs  # (1,) number of sets
    space: Space  # with `nearest`: the work space of `nearest_facts`
    nearest: Ints


def _work_space(process: DecisionProcess, room: int, depth: int) -> Work:
    k, words = process.config.tknn, -(-process.action_count // 64)
    return Work(
        keys=np.empty(4 * room, np.int32),
        numbers=np.empty(4 * room, np.int32),
        stamps=np.full(4 * room, -1, np.int32),
        entities=np.empty(room, np.int32),
        fetched=np.empty(room, np.bool_),
        actions=np.empty((room, k), np.int32),
        others=np.empty((room, k), np.int32),
        degrees=np.empty(room, np.int32),
        present=np.empty((room, words), np.uint64),
        reach=np.empty(64 * room, np.int32),
        set_starts=np.zeros(room + 1, np.int64),
        bits=np.empty((room, room // 64), np.uint64),
        prepared=np.empty(room, np.bool_),
        legal=np.empty((room, words), np.uint64),
        memory=np.empty((room, process.action_count), np.int32),
        path=np.zeros((2, depth + 1), np.int64),
        known=np.zeros(1, np.int64),
        set_count=np.zeros(1, np.int64),
        space=work_space(k),
        nearest=np.empty(k, np.int32),
    )


FULL = -1  # instead of a set: the work space is full, or `memory` has no entry yet


@leaf
def _bit(number: int) -> np.uint64:
    return np.uint64(1) << np.uint64(number & 63)


@leaf
def _number_of(entity: int, generation: int, work: Work) -> int:
    """Return the number of an entity within the query; assign one if it is new."""
    slot = find_slot(work.keys, work.stamps, work.keys.size - 1, generation, entity)
    if work.stamps[slot] == generation:
        return int(work.numbers[slot])
    number = work.known[0]
    work.stamps[slot], work.keys[slot], work.numbers[slot] = generation, entity, number
    work.entities[number], work.fetched[number] = entity, False
    work.known[0] += 1
    return int(number)


@leaf
def _fetch(moves: Moves, when: int, hidden: int, number: int, generation: int, work: Work) -> bool:
    """Look up an entity's N_tknn facts and where each leads. Return False if space runs out."""
    nearest, present, entity = work.nearest, work.present, work.entities[number]
    # Every fact may lead to an entity without a number.
    if work.known[0] + nearest.size > work.entities.size:
        return False
    count = nearest_facts(
        moves.incidence, moves.directions, entity, when, hidden, work.space, nearest
    )
    subjects, predicates, objects = moves.facts
    for word in range(present.shape[1]):
        present[number, word] = 0
    for i in range(count):
        fact = nearest[i]
        end = objects[fact] if subjects[fact] == entity else subjects[fact]
        action = predicates[fact]
        work.actions[number, i] = action
        work.others[number, i] = _number_of(end, generation, work)
        present[number, action >> 6] |= _bit(action)
    work.degrees[number], work.fetched[number] = count, True
    return True


@leaf
def _prepare(
    moves: Moves, when: int, hidden: int, reached: int, generation: int, work: Work
) -> bool:
    """Look up the facts of a set's entities, and store its actions.

    Return False if space runs out.
    """
    first, stop = work.set_starts[reached], work.set_starts[reached + 1]
    for i in range(first, stop):
        number = work.reach[i]
        if not work.fetched[number] and not _fetch(moves, when, hidden, number, generation, work):
            return False
    for word in range(work.legal.shape[1]):
        work.legal[reached, word] = 0
        for i in range(first, stop):
            work.legal[reached, word] |= work.present[work.reach[i], word]
    for action in range(work.memory.shape[1]):
        work.memory[reached, action] = FULL
    work.prepared[reached] = True
    return True


@leaf
def _expand(reached: int, action: int, work: Work) -> int:
    """Create the set that results from an action; return `reached` itself if nothing is new.

    Return FULL if the work space cannot hold the worst case: every known entity.
    """
    reach, bits, new_set = work.reach, work.bits, work.set_count[0]
    first, stop = work.set_starts[reached], work.set_starts[reached + 1]
    end = work.set_starts[new_set]
    if new_set == len(bits) or end + bits.shape[1] * 64 > reach.size:
        return FULL
    for word in range(bits.shape[1]):
        bits[new_set, word] = bits[reached, word]
    for i in range(first, stop):
        reach[end] = reach[i]
        end += 1
    before, grown = end, False
    # Expand only the entities of the original set: this is one step of an episode, not a closure.
    for i in range(first, stop):
        number = reach[i]
        if not work.present[number, action >> 6] & _bit(action):
            continue
        if not bits[new_set, number >> 6] & _bit(number):  # literal: its core was empty before
            bits[new_set, number >> 6] |= _bit(number)
            grown = True
        for fact in range(work.degrees[number]):
            other = work.others[number, fact]
            if work.actions[number, fact] == action and not bits[new_set, other >> 6] & _bit(other):
                bits[new_set, other >> 6] |= _bit(other)
                reach[end] = other
                end += 1
    if end == before and not grown:
        return reached
    work.set_starts[new_set + 1] = end
    work.prepared[new_set] = False
    work.set_count[0] += 1
    return int(new_set)


@leaf
def _disjoint(bits: Words, subject_set: int, object_set: int) -> bool:
    for word in range(bits.shape[1]):
        if bits[subject_set, word] & bits[object_set, word]:
            return False
    return True


@leaf
def _begin(queries: QueryColumns, query: int, literal: int, work: Work) -> None:
    """Create sets 0 and 1 from the two entities in a query.

    The query's index serves as the generation of the number table, so the table needs no clearing.
    """
    work.known[0], work.set_count[0] = 0, 2
    work.set_starts[1], work.set_starts[2] = 1, 2
    for side in range(2):
        entity = queries[0][query] if side == 0 else queries[1][query]
        for word in range(work.bits.shape[1]):
            work.bits[side, word] = 0
        work.prepared[side] = False
        if entity >= 0:
            number = _number_of(entity, query, work)
            work.reach[side] = number
            if not literal:  # literally, an empty core has no entities
                work.bits[side, number >> 6] |= _bit(number)
        work.path[side, 0] = side


@leaf
def apply_from(  # noqa: C901, PLR0912 - one loop: a call per node would cost too much
    query: int, moves: Moves, queries: QueryColumns, trie: Trie, work: Work, topology_count: int,
    counts: Longs, ones: Ints,
) -> int:  # fmt: skip
    """Apply all topologies to the queries from `query` on; return the first that ran out of space.

    Fill `counts` by query, and `ones` with the topologies that connect, in query order.
    """
    actions, depths, firsts, lasts, skips = trie
    subjects, objects, moments, hidden = queries
    total, path = 0, work.path
    while query < len(moments) and total + topology_count <= ones.size:
        begin, node, end = total, 0, len(actions)
        _begin(queries, query, moves.literal, work)
        if subjects[query] < 0 or objects[query] < 0:
            node = end  # an unknown entity has no facts: nothing connects
        elif subjects[query] == objects[query] and not moves.literal:
            for topology in range(topology_count):
                ones[total + topology] = topology
            total += topology_count
            node = end
        while node < end:
            depth, action, moved = depths[node], actions[node], False
            for side in range(2):
                now = path[side, depth - 1]
                if not work.prepared[now] and not _prepare(
                    moves, moments[query], hidden[query], now, query, work
                ):
                    return query
                new = now
                if work.legal[now, action >> 6] & _bit(action):
                    new = work.memory[now, action]
                    if new == FULL:
                        new = work.memory[now, action] = _expand(now, action, work)
                        if new == FULL:
                            return query
                path[side, depth] = new
                moved = moved or new != now
            # If neither side has changed, they are as disjoint as they were at the parent node.
            if moved and not _disjoint(work.bits, path[0, depth], path[1, depth]):
                for topology in range(firsts[node], lasts[node]):
                    ones[total] = topology
                    total += 1
                node = skips[node]  # sides that have met are connected in the whole subtree
            else:
                node += 1
        counts[query] = total - begin
        query += 1
    return query
