"""Section 3.2 as kernels over flat arrays: one side x of a query, and a step in many episodes.

A side consists of the *entities* that it has reached (the first is x), the core c_x and the
periphery p_x. Core and periphery are sets of facts. Expanding a side by an action a moves the facts
in p_x with predicate a to c_x (Eq. 7). Then the N_tknn facts of every new entity join p_x (Eq. 3).
Two sides meet if they have reached a common entity (Eq. 8).

Arrays grow as needed, without a limit. A single hash table answers every membership test. Its keys
are facts, and entities stored as -1 - entity. Each slot records the generation in which it was
filled, so incrementing the generation clears the table.
"""

from typing import NamedTuple

import numpy as np

from apptek.arrays import Bools, Ints, Longs
from apptek.compiling import kernel, leaf
from apptek.facts.queries import QueryColumns
from apptek.graph.incidence import FactColumns, Incidence
from apptek.graph.tknn import Space, nearest_facts, work_space
from apptek.paper.states import FAR, IN_CORE, REACHED, SEEN

KEEP, START, DROP = -1, -2, -3  # instead of an action: leave the side unchanged, begin it, empty it
State = tuple[Ints, Ints, Ints, Ints, Ints, Ints]  # entities, core, periphery: offsets and values


class Moves(NamedTuple):
    """The graph, and the rules for expanding a side: facts, directions, readings of Eq. 3 and 8.

    directions  may include STRICT: Eq. 3 to the letter, only facts nearer than the k-th
    literal     1: Eq. 8 to the letter, a side with an empty core contains no entities
    """

    incidence: Incidence
    facts: FactColumns
    directions: int
    predicate_count: int
    literal: int


@leaf
def find_slot(keys: Ints, stamps: Ints, mask: int, generation: int, key: int) -> int:
    """Return the slot of a key, or a free slot for it (one from an older generation)."""
    # The low bits of the product depend only on the low bits of the key: shift before masking.
    slot = (key * 2654435761 >> 7) & mask
    while stamps[slot] == generation and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@leaf
def _put(keys: Ints, stamps: Ints, mask: int, generation: int, key: int) -> bool:
    """Add a key to the table; return False if it is already present."""
    slot = find_slot(keys, stamps, mask, generation, key)
    if stamps[slot] == generation:
        return False
    stamps[slot] = generation
    keys[slot] = key
    return True


@leaf
def _table_size(count: int) -> int:
    """Return the power of two at which a table of `count` keys is mostly empty."""
    size = 64
    while size < 3 * count:
        size *= 2
    return size


@kernel
def grown(array: Ints, size: int) -> Ints:
    """Return the array if it has at least `size` elements, otherwise a larger copy."""
    if size <= array.size:
        return array
    larger = np.empty(max(size, 2 * array.size), np.int32)
    larger[: array.size] = array
    return larger


@leaf
def _add_neighbours(
    moves: Moves, when: int, hidden: int, keys: Ints, stamps: Ints, mask: int, generation: int,
    space: Space, nearest: Ints, entities: Ints, periphery: Ints, size: int,
) -> int:  # fmt: skip
    """Add the N_tknn facts of new entities to the periphery (Eq. 3); return its new size."""
    for entity in entities:
        count = nearest_facts(
            moves.incidence, moves.directions, entity, when, hidden, space, nearest
        )
        for i in range(count):
            if _put(keys, stamps, mask, generation, nearest[i]):
                periphery[size] = nearest[i]
                size += 1
    return size


@leaf
def _move_to_core(
    predicates: Ints, action: int, core: Ints, core_count: int, periphery: Ints, size: int,
    keys: Ints, stamps: Ints, mask: int, generation: int,
) -> tuple[int, int]:  # fmt: skip
    """Move the facts with an action's predicate to the core (Eq. 7); return the new sizes.

    Afterwards the table contains every fact in the core and the periphery.
    """
    kept = 0
    for i in range(size):
        fact = periphery[i]
        if predicates[fact] == action:
            core[core_count] = fact
            core_count += 1
        else:
            periphery[kept] = fact
            kept += 1
            _put(keys, stamps, mask, generation, fact)
    for i in range(core_count):
        _put(keys, stamps, mask, generation, core[i])
    return core_count, kept


@kernel
def expand_side(
    moves: Moves, when: int, hidden: int, action: int, entities: Ints, core: Ints, periphery: Ints,
    counts: Longs, keys: Ints, stamps: Ints, clock: Longs, space: Space, nearest: Ints,
) -> tuple[Ints, Ints, Ints, Ints, Ints]:  # fmt: skip
    """Expand a side by an action; with START, begin it at entities[0] (-1: without an entity).

    `counts` contains the numbers of entities, core facts and periphery facts; `clock` contains the
    last generation of the table. Return entities, core, periphery, keys and stamps; any of these
    may be a new, larger array.
    """
    if action == START:
        counts[0], counts[1], counts[2] = entities[0] >= 0, 0, 0
    reached, core_count, size = counts[0], counts[1], counts[2]
    predicates = moves.facts.predicates
    # Allocate for the worst case here, once, so that the functions below never allocate. One end of
    # every fact in the periphery is already reached, so each fact brings at most one new entity.
    # The additional 1 is for the entity that START begins with.
    matched = 0
    for i in range(size):
        matched += predicates[periphery[i]] == action
    room = size + (matched + 1) * nearest.size
    core = grown(core, core_count + matched)
    entities = grown(entities, reached + matched)
    periphery = grown(periphery, room)
    slots = _table_size(reached + matched + core_count + matched + room)
    if slots > keys.size:
        keys, stamps = np.empty(slots, np.int32), np.full(slots, -1, np.int32)
    # If the table has grown before, use only its front: that touches less memory.
    clock[0] += 1
    generation, mask = clock[0], slots - 1
    core_count, size = _move_to_core(
        predicates, action, core, core_count, periphery, size, keys, stamps, mask, generation
    )
    for i in range(reached):
        _put(keys, stamps, mask, generation, -1 - entities[i])
    first_new = 0 if action == START else reached
    for i in range(core_count - matched, core_count):
        for entity in (moves.facts.subjects[core[i]], moves.facts.objects[core[i]]):
            if _put(keys, stamps, mask, generation, -1 - entity):
                entities[reached] = entity
                reached += 1
    # The facts of the older entities are already in core or periphery.
    size = _add_neighbours(
        moves, when, hidden, keys, stamps, mask, generation, space, nearest,
        entities[first_new:reached], periphery, size,
    )  # fmt: skip
    counts[0], counts[1], counts[2] = reached, core_count, size
    return entities, core, periphery, keys, stamps


@leaf
def sides_meet(one: Ints, other: Ints, keys: Ints, stamps: Ints, clock: Longs) -> bool:
    """Return whether both sides of an episode have reached a common entity (Eq. 8)."""
    # The table is large enough: it held all these entities when the side was expanded.
    mask = _table_size(one.size) - 1
    clock[0] += 1
    for entity in one:
        _put(keys, stamps, mask, clock[0], entity)
    for entity in other:
        if stamps[find_slot(keys, stamps, mask, clock[0], entity)] == clock[0]:
            return True
    return False


@kernel
def _append(offsets: Ints, values: Ints, row: int, new: Ints, count: int) -> Ints:
    """Append row `row` to a ragged array; return the values, possibly as a larger copy."""
    start = offsets[row]
    values = grown(values, start + count)
    values[start : start + count] = new[:count]
    offsets[row + 1] = start + count
    return values


@kernel
def _load(offsets: Ints, values: Ints, row: int, into: Ints) -> tuple[Ints, int]:
    """Copy a row of a ragged array to the front of `into`, which may grow; return its size."""
    count = offsets[row + 1] - offsets[row]
    into = grown(into, count)
    into[:count] = values[offsets[row] : offsets[row + 1]]
    return into, count


@kernel
def advance(
    moves: Moves, k: int, queries: QueryColumns, actions: Ints, state: State, edges: Ints,
    met: Bools,
) -> State:  # fmt: skip
    """Return the state of every episode after its action.

    Fill `edges` (B, actions) with the number of edges per action in the two peripheries, and fill
    `met`.

    The state is ragged: row 2b is the subject's side of episode b, and row 2b + 1 the object's
    side. Special values replace an action: START begins the episode, KEEP leaves it unchanged, and
    DROP empties it.
    """
    entity_rows, all_entities, core_rows, all_core, edge_rows, all_edges = state
    rows = 2 * len(actions)
    new_entity_rows, new_entities = np.zeros(rows + 1, np.int32), np.empty(1024, np.int32)
    new_core_rows, new_core = np.zeros(rows + 1, np.int32), np.empty(1024, np.int32)
    new_edge_rows, new_edges = np.zeros(rows + 1, np.int32), np.empty(4096, np.int32)
    keys, stamps = np.empty(64, np.int32), np.full(64, -1, np.int32)
    clock, counts = np.zeros(1, np.int64), np.zeros(3, np.int64)
    space, nearest = work_space(k), np.empty(k, np.int32)
    initial = np.empty((3, 64), np.int32)
    entities, core, periphery = initial[0], initial[1], initial[2]
    edges[:] = 0
    for row in range(rows):
        episode, action = row // 2, actions[row // 2]
        counts[0], counts[1], counts[2] = 0, 0, 0
        if action == START:
            entities[0] = queries[row % 2][episode]
        elif action != DROP:
            entities, counts[0] = _load(entity_rows, all_entities, row, entities)
            core, counts[1] = _load(core_rows, all_core, row, core)
            periphery, counts[2] = _load(edge_rows, all_edges, row, periphery)
        if action != KEEP and action != DROP:
            entities, core, periphery, keys, stamps = expand_side(
                moves, queries[2][episode], queries[3][episode], action, entities, core, periphery,
                counts, keys, stamps, clock, space, nearest,
            )  # fmt: skip
        new_entities = _append(new_entity_rows, new_entities, row, entities, counts[0])
        new_core = _append(new_core_rows, new_core, row, core, counts[1])
        new_edges = _append(new_edge_rows, new_edges, row, periphery, counts[2])
        for i in range(counts[2]):
            edges[episode, moves.facts.predicates[periphery[i]]] += 1
        if row % 2 == 0:
            continue
        # The object's side comes second, so both sides are known now. An unchanged episode has not
        # met: otherwise it would have ended.
        met[episode] = False
        if action != KEEP and action != DROP:
            first, stop = new_entity_rows[row - 1], new_entity_rows[row]
            empty = counts[1] == 0 or new_core_rows[row - 1] == new_core_rows[row]
            met[episode] = not (moves.literal and empty) and sides_meet(
                new_entities[first:stop], entities[: counts[0]], keys, stamps, clock
            )
    return (
        new_entity_rows, new_entities[: new_entity_rows[rows]],
        new_core_rows, new_core[: new_core_rows[rows]],
        new_edge_rows, new_edges[: new_edge_rows[rows]],
    )  # fmt: skip


@leaf
def _mark_of(ends: tuple[int, int], own: Ints, seen: Ints, reached: Ints, stamp: int) -> int:
    """Return the mark of a periphery fact: how the other side knows its unreached end."""
    for end in ends:
        if own[end] != stamp:
            if reached[end] == stamp:
                return REACHED
            return SEEN if seen[end] == stamp else FAR
    return FAR  # both ends have been reached


@kernel
def members_of(
    state: State, facts: FactColumns, entity_count: int, pair_of_fact: Ints, marks: int
) -> tuple[Ints, Longs]:
    """Return the pairs of the facts in core and periphery, ragged by row: members and offsets.

    With 1 mark (the paper's fingerprint), a member is a pair. With MARKS marks, it is MARKS * pair
    + mark. A core fact has the mark IN_CORE. The mark of a periphery fact describes its far end:
    REACHED by the other side, SEEN (an end of a fact in the other side's periphery), or FAR
    (neither).
    """
    entity_rows, entities, core_rows, core, edge_rows, edges = state
    offsets = np.zeros(core_rows.size, np.int64)
    members = np.empty(core.size + edges.size, np.int32)
    # An entity is in one of these sets if its entry equals the stamp of the current row.
    known = np.zeros((3, entity_count if marks > 1 else 0), np.int32)
    own, seen, reached = known[0], known[1], known[2]
    end = 0
    for row in range(core_rows.size - 1):
        other, stamp = row ^ 1, row + 1
        if marks > 1:
            own[entities[entity_rows[row] : entity_rows[row + 1]]] = stamp
            reached[entities[entity_rows[other] : entity_rows[other + 1]]] = stamp
            for i in range(edge_rows[other], edge_rows[other + 1]):
                seen[facts.subjects[edges[i]]] = stamp
                seen[facts.objects[edges[i]]] = stamp
        for i in range(core_rows[row], core_rows[row + 1]):
            members[end] = marks * pair_of_fact[core[i]] + IN_CORE
            end += 1
        for i in range(edge_rows[row], edge_rows[row + 1]):
            fact, mark = edges[i], 0
            if marks > 1:
                ends = facts.subjects[fact], facts.objects[fact]
                mark = _mark_of(ends, own, seen, reached, stamp)
            members[end] = marks * pair_of_fact[fact] + mark
            end += 1
        offsets[row + 1] = end
    return members, offsets
