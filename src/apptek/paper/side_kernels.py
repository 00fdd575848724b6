"""Kernels of one side of an episode: flat arrays, expanded by one action.

A side has *entities* that it has reached (the first is the query's own), a *core* of facts and a
*periphery* of edges. An edge is a fact; where the traversal is tagged it is 2 * fact if it was met
at the fact's subject and 2 * fact + 1 if at its object. An edge's action is its predicate, plus the
number of predicates for the odd ones. Expanding by an action moves the edges of that action to the
core, and the N_tknn facts of every entity that is new join the periphery.

Arrays grow where they must: there is no cap. One hash table answers every membership test. Its keys
are edges, and entities as -1 - entity. A slot carries the generation in which it was filled, so
that clearing the table is adding 1 to a number.
"""

from typing import NamedTuple

import numpy as np

from apptek.arrays import Ints, Longs
from apptek.compiling import kernel, leaf
from apptek.graph.incidence import FactColumns, Incidence
from apptek.graph.tknn import Space, nearest_facts

KEEP, START, DROP = -1, -2, -3  # instead of an action: leave the side, begin it, empty it


class Actions(NamedTuple):
    """What the actions are. Apart from the rest: a call counts references to every array."""

    predicates: Ints  # of the facts
    tagged: int  # 1: a predicate that is met against its direction is an action of its own
    predicate_count: int


class Moves(NamedTuple):
    """What a side can be expanded by: the facts, in which directions, and the actions."""

    incidence: Incidence
    facts: FactColumns
    directions: int
    actions: Actions


@leaf
def find_slot(keys: Ints, stamps: Ints, mask: int, generation: int, key: int) -> int:
    """The slot of a key, or the free slot where it belongs: one that this generation left alone."""
    # The low bits of the product depend on the low bits of the key alone: shift before masking.
    slot = (key * 2654435761 >> 7) & mask
    while stamps[slot] == generation and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@leaf
def _put(keys: Ints, stamps: Ints, mask: int, generation: int, key: int) -> bool:
    """Puts a key into the table; False where it is there already."""
    slot = find_slot(keys, stamps, mask, generation, key)
    if stamps[slot] == generation:
        return False
    stamps[slot] = generation
    keys[slot] = key
    return True


@leaf
def _table_size(count: int) -> int:
    """The power of two that keeps a table of `count` keys mostly empty."""
    size = 64
    while size < 3 * count:
        size *= 2
    return size


@kernel
def grown(array: Ints, size: int) -> Ints:
    """The array itself if it has at least `size` places, else a copy with room for more."""
    if size <= array.size:
        return array
    larger = np.empty(max(size, 2 * array.size), np.int32)
    larger[: array.size] = array
    return larger


@leaf
def _action_of(actions: Actions, edge: int) -> int:
    # `tagged` is 0 or 1: as a shift and as a mask it makes both kinds of edges one formula.
    predicate = int(actions.predicates[edge >> actions.tagged])
    return predicate + (edge & actions.tagged) * actions.predicate_count


@leaf
def _add_neighbours(
    moves: Moves, when: int, hidden: int, keys: Ints, stamps: Ints, mask: int, generation: int,
    space: Space, nearest: Ints, entities: Ints, periphery: Ints, edge_count: int,
) -> int:  # fmt: skip
    """Adds the N_tknn facts of new entities to the periphery; returns its new size."""
    subjects, objects, tagged = moves.facts.subjects, moves.facts.objects, moves.actions.tagged
    for entity in entities:
        count = nearest_facts(
            moves.incidence, moves.directions, entity, when, hidden, space, nearest
        )
        for i in range(count):
            fact = nearest[i]
            # A tagged self-loop is met at both ends, so that it gives two edges.
            for end in range(1 + tagged):
                met_at = subjects[fact] if end == 0 else objects[fact]
                edge = (fact << tagged) + end
                if (not tagged or met_at == entity) and _put(keys, stamps, mask, generation, edge):
                    periphery[edge_count] = edge
                    edge_count += 1
    return edge_count


@leaf
def _count_matches(actions: Actions, periphery: Ints, edge_count: int, action: int) -> int:
    """How many edges of the periphery have this action."""
    count = 0
    for i in range(edge_count):
        count += _action_of(actions, periphery[i]) == action
    return count


@leaf
def _move_to_core(
    actions: Actions, action: int, core: Ints, core_count: int, periphery: Ints, edge_count: int,
    keys: Ints, stamps: Ints, mask: int, generation: int,
) -> tuple[int, int]:  # fmt: skip
    """Moves the edges of an action to the core; returns the sizes of core and periphery.

    Afterwards the table has every edge of both. A tagged fact that has moved leaves the periphery
    in its other direction as well.
    """
    tagged = actions.tagged
    for i in range(edge_count):
        if _action_of(actions, periphery[i]) == action:
            core[core_count] = periphery[i] >> tagged
            core_count += 1
    # The core first: an edge of the periphery that is in the table by then belongs to the core.
    for i in range(core_count):
        for end in range(1 + tagged):
            _put(keys, stamps, mask, generation, (core[i] << tagged) + end)
    kept = 0
    for i in range(edge_count):
        edge = periphery[i]
        if _put(keys, stamps, mask, generation, edge):
            periphery[kept] = edge
            kept += 1
    return core_count, kept


@kernel
def expand_side(
    moves: Moves, when: int, hidden: int, action: int, entities: Ints, core: Ints, periphery: Ints,
    counts: Longs, keys: Ints, stamps: Ints, clock: Longs, space: Space, nearest: Ints,
) -> tuple[Ints, Ints, Ints, Ints, Ints]:  # fmt: skip
    """Expands a side by an action, or, with START, begins it at entities[0] (-1: at none).

    `counts` holds how many entities, core facts and edges there are, and is updated; `clock` holds
    the last generation of the table. Returns entities, core, periphery, keys and stamps, any of
    which may have been replaced by a larger array.
    """
    if action == START:
        counts[0], counts[1], counts[2] = entities[0] >= 0, 0, 0
    reached, core_count, edge_count = counts[0], counts[1], counts[2]
    # Room for the worst case is made here, once, so that the leaves below never allocate. One end
    # of every fact in the periphery is reached already: each brings at most one new entity. The
    # 1 more is for the entity that START begins with.
    actions, tagged = moves.actions, moves.actions.tagged
    matched = _count_matches(actions, periphery, edge_count, action)
    room = edge_count + (matched + 1) * nearest.size * (1 + tagged)
    core = grown(core, core_count + matched)
    entities = grown(entities, reached + matched)
    periphery = grown(periphery, room)
    size = _table_size(reached + matched + (core_count + matched) * (1 + tagged) + room)
    if size > keys.size:
        keys, stamps = np.empty(size, np.int32), np.full(size, -1, np.int32)
    # Of a table that has grown before, only the front is used: that touches less memory.
    clock[0] += 1
    generation, mask = clock[0], size - 1
    core_count, edge_count = _move_to_core(
        actions, action, core, core_count, periphery, edge_count, keys, stamps, mask, generation
    )
    for i in range(reached):
        _put(keys, stamps, mask, generation, -1 - entities[i])
    first_new = 0 if action == START else reached
    for i in range(core_count - matched, core_count):
        for entity in (moves.facts.subjects[core[i]], moves.facts.objects[core[i]]):
            if _put(keys, stamps, mask, generation, -1 - entity):
                entities[reached] = entity
                reached += 1
    # The facts of the older entities are in core or periphery already.
    edge_count = _add_neighbours(
        moves, when, hidden, keys, stamps, mask, generation, space, nearest,
        entities[first_new:reached], periphery, edge_count,
    )  # fmt: skip
    counts[0], counts[1], counts[2] = reached, core_count, edge_count
    return entities, core, periphery, keys, stamps


@leaf
def sides_meet(
    subject_entities: Ints, subject_count: int, object_entities: Ints, object_count: int,
    keys: Ints, stamps: Ints, clock: Longs,
) -> bool:  # fmt: skip
    """Whether the two sides of an episode have reached a common entity."""
    # The table is large enough: it has held these entities, and more, when the side was expanded.
    mask = _table_size(subject_count) - 1
    clock[0] += 1
    for i in range(subject_count):
        _put(keys, stamps, mask, clock[0], subject_entities[i])
    for i in range(object_count):
        if stamps[find_slot(keys, stamps, mask, clock[0], object_entities[i])] == clock[0]:
            return True
    return False


@leaf
def count_actions(actions: Actions, periphery: Ints, edge_count: int, edges: Ints) -> None:
    """Adds how many edges of a periphery have each action to `edges`, (actions,)."""
    for i in range(edge_count):
        edges[_action_of(actions, periphery[i])] += 1
