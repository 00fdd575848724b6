"""Kernels that apply topologies: a walk down their trie for each query, with a memory.

Within a query, entities have numbers of their own, in the order in which they are met. A *set* is
what a side can have reached: its entities are reach[set_starts[s] : set_starts[s + 1]], and bits of
bits[s]. `memory` says which set a set becomes by an action.
"""

import numpy as np

from apptek.arrays import Bools, Ints, Longs, Words
from apptek.compiling import leaf
from apptek.facts.queries import QueryColumns
from apptek.graph.tknn import Space, nearest_facts
from apptek.paper.side_kernels import Moves, find_slot

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
        backwards = subjects[fact] != entity
        end = subjects[fact] if backwards else objects[fact]
        if end == entity:
            continue  # a self-loop leads nowhere new
        action = predicates[fact] + (
            moves.actions.predicate_count if backwards and moves.actions.tagged else 0
        )
        actions[number, degree] = action
        others[number, degree] = _number_of(
            end, keys, numbers, stamps, generation, entities, fetched, known
        )
        present[number, action >> 6] |= np.uint64(1) << np.uint64(action & 63)
        degree += 1
    degrees[number], fetched[number] = degree, True
    return True


@leaf
def _expand(
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
    before = end
    word, bit_of_action = action >> 6, np.uint64(1) << np.uint64(action & 63)
    # Only the entities of the set as it was are expanded: one step of an episode, not a closure.
    for i in range(first, stop):
        number = reach[i]
        if not present[number, word] & bit_of_action:
            continue
        for fact in range(degrees[number]):
            if actions[number, fact] == action:
                new = others[number, fact]
                bit = np.uint64(1) << np.uint64(new & 63)
                if not bits[set_count, new >> 6] & bit:
                    bits[set_count, new >> 6] |= bit
                    reach[end] = new
                    end += 1
    if end == before:
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
                bits[side, number >> 6] |= np.uint64(1) << np.uint64(number & 63)
            path[side, 0] = side
        node, end = 0, len(trie_actions)
        if query_subjects[query] < 0 or query_objects[query] < 0:
            node = end  # an unknown entity has no facts: nothing connects
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
