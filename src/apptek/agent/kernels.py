"""The environment's kernels: one side of an episode as flat arrays, expanded by one action.

A side has *entities* that it has reached (the first is the query's own), a *core* of facts and a
*periphery* of edges. An edge is a fact; where the traversal is tagged it is 2 * fact if it was met
at the fact's subject and 2 * fact + 1 if at its object. An edge's action is its predicate, plus the
number of predicates for the odd ones. Expanding by an action moves the edges of that action to the
core, and the N_tknn facts of every entity that is new join the periphery.

Arrays grow where they must: there is no cap. Membership is asked of one hash table, of edges and
of entities as -1 - entity. Its slots carry the generation in which they were filled, so that
clearing it is adding 1 to a number.
"""

from typing import Any

import numpy as np

from apptek.arrays import Bools, Ints, Longs, Words
from apptek.compiling import kernel, leaf
from apptek.graph.slot_search import FIELDS, STREAMS
from apptek.graph.tknn import Arrays, nearest_facts

KEEP, START, DROP = -1, -2, -3  # in place of an action: leave as it is, begin anew, empty
RANDOM, COMMONEST = 0, 1  # policies that need no network

Columns = tuple[Ints, Ints, Ints]  # subjects, predicates and objects of the facts
State = tuple[Ints, Ints, Ints, Ints, Ints, Ints]  # entities, core, periphery: offsets and numbers


@leaf
def _put(keys: Ints, stamps: Ints, mask: int, generation: int, key: int) -> bool:
    """Puts a key into the table; False where it is there already."""
    slot = (key * 2654435761 >> 7) & mask
    while stamps[slot] == generation:
        if keys[slot] == key:
            return False
        slot = (slot + 1) & mask
    stamps[slot] = generation
    keys[slot] = key
    return True


@leaf
def _has(keys: Ints, stamps: Ints, mask: int, generation: int, key: int) -> bool:
    """Whether a key is in the table."""
    slot = (key * 2654435761 >> 7) & mask
    while stamps[slot] == generation:
        if keys[slot] == key:
            return True
        slot = (slot + 1) & mask
    return False


@leaf
def _table_size(count: int) -> int:
    """The power of two that keeps a table of `count` keys mostly empty."""
    size = 64
    while size < 3 * count:
        size *= 2
    return size


@kernel
def _grown(array: Ints, size: int) -> Ints:
    """The same numbers in an array of at least `size`, with room to go on."""
    if size <= array.size:
        return array
    larger = np.empty(max(size, 2 * array.size), np.int32)
    larger[: array.size] = array
    return larger


@leaf
def _action_of(predicates: Ints, edge: int, tagged: int, predicate_count: int) -> int:
    return int(predicates[edge >> tagged]) + (edge & tagged) * predicate_count


@leaf
def _reach(
    offsets: Ints, facts: Ints, starts: Ints, by_end: Ints, interval_offsets: Ints, tops: Ints,
    level_offsets: Ints, since: Ints, until: Ints, twins: Ints, subjects: Ints, objects: Ints,
    directions: int, tagged: int, when: int, hidden: int, keys: Ints, stamps: Ints, mask: int,
    generation: int, streams: Longs, one: Longs, other: Longs, found: Ints, entity: int,
    periphery: Ints, edges: int,
) -> int:  # fmt: skip
    """Adds the N_tknn facts of a new entity to the periphery; how many edges that has now."""
    near = nearest_facts(
        offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since, until, twins,
        directions, entity, when, found.size, hidden, streams, one, other, found,
    )  # fmt: skip
    for place in range(near):
        fact = found[place]
        for side in range(1 + tagged):
            end = subjects[fact] if side == 0 else objects[fact]
            edge = (fact << tagged) + side
            if (not tagged or end == entity) and _put(keys, stamps, mask, generation, edge):
                periphery[edges] = edge
                edges += 1
    return edges


@leaf
def _count_edges(
    predicates: Ints, periphery: Ints, edges: int, tagged: int, predicate_count: int, action: int
) -> int:
    """How many edges of the periphery have this action."""
    count = 0
    for place in range(edges):
        count += _action_of(predicates, periphery[place], tagged, predicate_count) == action
    return count


@leaf
def _move_to_core(
    predicates: Ints, tagged: int, predicate_count: int, action: int, core: Ints, cored: int,
    periphery: Ints, edges: int, keys: Ints, stamps: Ints, mask: int, generation: int,
) -> tuple[int, int]:  # fmt: skip
    """Moves the edges of an action to the core and notes all that is left; both new sizes.

    A tagged fact that has moved leaves the periphery in its other direction as well.
    """
    for place in range(edges):
        if _action_of(predicates, periphery[place], tagged, predicate_count) == action:
            core[cored] = periphery[place] >> tagged
            cored += 1
    for place in range(cored):
        for side in range(1 + tagged):
            _put(keys, stamps, mask, generation, (core[place] << tagged) + side)
    kept = 0
    for place in range(edges):
        edge = periphery[place]
        if _put(keys, stamps, mask, generation, edge):
            periphery[kept] = edge
            kept += 1
    return cored, kept


@kernel
def expand_side(
    offsets: Ints, facts: Ints, starts: Ints, by_end: Ints, interval_offsets: Ints, tops: Ints,
    level_offsets: Ints, since: Ints, until: Ints, twins: Ints, subjects: Ints, predicates: Ints,
    objects: Ints, directions: int, tagged: int, predicate_count: int, when: int, hidden: int,
    action: int, entities: Ints, core: Ints, periphery: Ints, counts: Longs, keys: Ints,
    stamps: Ints, clock: Longs, streams: Longs, one: Longs, other: Longs, found: Ints,
) -> tuple[Ints, Ints, Ints, Ints, Ints]:  # fmt: skip
    """Expands a side by an action, or, with START, begins it at entities[0] (-1: at none).

    `counts` holds how many entities, core facts and edges there are, and is brought up to date.
    Returns entities, core, periphery, keys and stamps, any of which may have grown.
    """
    if action == START:
        counts[0], counts[1], counts[2] = entities[0] >= 0, 0, 0
    reached, cored, edges = counts[0], counts[1], counts[2]
    matched = _count_edges(predicates, periphery, edges, tagged, predicate_count, action)
    # Of a fact in the periphery one end is reached: each brings at most one new entity.
    room = edges + (matched + 1) * found.size * (1 + tagged)
    core = _grown(core, cored + matched)
    entities = _grown(entities, reached + matched)
    periphery = _grown(periphery, room)
    size = _table_size(reached + matched + (cored + matched) * (1 + tagged) + room)
    if size > keys.size:
        keys, stamps = np.empty(size, np.int32), np.full(size, -1, np.int32)
    clock[0] += 1
    generation, mask = clock[0], size - 1
    cored, edges = _move_to_core(
        predicates, tagged, predicate_count, action, core, cored, periphery, edges, keys, stamps,
        mask, generation,
    )  # fmt: skip
    for place in range(reached):
        _put(keys, stamps, mask, generation, -1 - entities[place])
    first = 0 if action == START else reached
    for place in range(cored - matched, cored):
        for entity in (subjects[core[place]], objects[core[place]]):
            if _put(keys, stamps, mask, generation, -1 - entity):
                entities[reached] = entity
                reached += 1
    for place in range(first, reached):
        edges = _reach(
            offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since, until,
            twins, subjects, objects, directions, tagged, when, hidden, keys, stamps, mask,
            generation, streams, one, other, found, entities[place], periphery, edges,
        )  # fmt: skip
    counts[0], counts[1], counts[2] = reached, cored, edges
    return entities, core, periphery, keys, stamps


@leaf
def _meet(
    one: Ints, ones: int, other: Ints, others: int, keys: Ints, stamps: Ints, clock: Longs
) -> bool:
    """Whether two sides have reached a common entity."""
    mask = _table_size(ones) - 1  # the table is large enough: it has held the side's entities
    clock[0] += 1
    for place in range(ones):
        _put(keys, stamps, mask, clock[0], one[place])
    for place in range(others):  # noqa: SIM110
        if _has(keys, stamps, mask, clock[0], other[place]):
            return True
    return False


@leaf
def _count_actions(
    predicates: Ints, periphery: Ints, edges: int, tagged: int, predicate_count: int, legal: Ints
) -> None:
    """Adds up how many edges of a periphery have each action; an action with any is legal."""
    for place in range(edges):
        legal[_action_of(predicates, periphery[place], tagged, predicate_count)] += 1


@kernel
def _append(offsets: Ints, numbers: Ints, row: int, what: Ints, count: int) -> Ints:
    """Writes row `row` of a ragged array after the rows before it."""
    start = offsets[row]
    numbers = _grown(numbers, start + count)
    numbers[start : start + count] = what[:count]
    offsets[row + 1] = start + count
    return numbers


@kernel
def advance(
    arrays: Arrays,
    columns: Columns,
    directions: int,
    tagged: int,
    predicate_count: int,
    k: int,
    asked: tuple[Ints, Ints, Ints, Ints],
    actions: Ints,
    state: State,
    legal: Ints,
    met: Bools,
) -> State:
    """The state of every episode after its action.

    Fills `legal` (B, actions) with how many edges either periphery has of each action, and `met`.

    `asked` are the queries' subjects, objects, moments and hidden facts. The state is ragged: row
    2b is the subject's side of episode b, row 2b + 1 the object's. Instead of an action: START
    begins the episode, KEEP leaves it as it is, DROP empties it.
    """
    offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since, until, twins = (
        arrays
    )
    subjects, predicates, objects = columns
    entity_rows, all_entities, core_rows, all_core, edge_rows, all_edges = state
    rows = 2 * len(actions)
    new_entity_rows, new_entities = np.zeros(rows + 1, np.int32), np.empty(1024, np.int32)
    new_core_rows, new_core = np.zeros(rows + 1, np.int32), np.empty(1024, np.int32)
    new_edge_rows, new_edges = np.zeros(rows + 1, np.int32), np.empty(4096, np.int32)
    keys, stamps = np.empty(64, np.int32), np.full(64, -1, np.int32)
    clock, counts = np.zeros(1, np.int64), np.zeros(3, np.int64)
    streams = np.empty((STREAMS, FIELDS), np.int64)
    one, other = np.empty((k, 3), np.int64), np.empty((k, 3), np.int64)
    found = np.empty(k, np.int32)
    entities, core, periphery = (
        np.empty(64, np.int32),
        np.empty(64, np.int32),
        np.empty(64, np.int32),
    )
    for row in range(rows):
        episode, action = row // 2, actions[row // 2]
        for list_ in range(3):
            counts[list_] = 0
        if action == START:
            entities[0] = asked[row % 2][episode]
        elif action != DROP:
            counts[0] = entity_rows[row + 1] - entity_rows[row]
            counts[1] = core_rows[row + 1] - core_rows[row]
            counts[2] = edge_rows[row + 1] - edge_rows[row]
            entities = _grown(entities, counts[0])
            core = _grown(core, counts[1])
            periphery = _grown(periphery, counts[2])
            entities[: counts[0]] = all_entities[entity_rows[row] : entity_rows[row + 1]]
            core[: counts[1]] = all_core[core_rows[row] : core_rows[row + 1]]
            periphery[: counts[2]] = all_edges[edge_rows[row] : edge_rows[row + 1]]
        if action != KEEP and action != DROP:
            entities, core, periphery, keys, stamps = expand_side(
                offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since,
                until, twins, subjects, predicates, objects, directions, tagged, predicate_count,
                asked[2][episode], asked[3][episode], action, entities, core, periphery, counts,
                keys, stamps, clock, streams, one, other, found,
            )  # fmt: skip
        new_entities = _append(new_entity_rows, new_entities, row, entities, counts[0])
        new_core = _append(new_core_rows, new_core, row, core, counts[1])
        new_edges = _append(new_edge_rows, new_edges, row, periphery, counts[2])
        if row % 2 == 0:
            legal[episode] = 0
        _count_actions(predicates, periphery, counts[2], tagged, predicate_count, legal[episode])
        if row % 2 == 1:
            met[episode] = False
        if row % 2 == 1 and action != KEEP and action != DROP:
            before, between = new_entity_rows[row - 1], new_entity_rows[row]
            met[episode] = _meet(
                new_entities[before:between], between - before, entities, counts[0], keys, stamps,
                clock,
            )  # fmt: skip
    return (
        new_entity_rows, new_entities[: new_entity_rows[rows]],
        new_core_rows, new_core[: new_core_rows[rows]],
        new_edge_rows, new_edges[: new_edge_rows[rows]],
    )  # fmt: skip


@kernel
def members_of(state: State, tagged: int, pair_of_fact: Ints) -> tuple[Ints, Longs]:
    """The pairs of the facts in core and periphery, ragged by row: members and offsets."""
    _, _, core_rows, core, edge_rows, edges = state
    offsets = np.zeros(core_rows.size, np.int64)
    members = np.empty(core.size + edges.size, np.int32)
    end = 0
    for row in range(core_rows.size - 1):
        for place in range(core_rows[row], core_rows[row + 1]):
            members[end] = pair_of_fact[core[place]]
            end += 1
        for place in range(edge_rows[row], edge_rows[row + 1]):
            members[end] = pair_of_fact[edges[place] >> tagged]
            end += 1
        offsets[row + 1] = end
    return members, offsets


@leaf
def _next_word(words: Words) -> Any:
    """The next number of a splitmix64 stream."""
    words[0] += np.uint64(0x9E3779B97F4A7C15)
    word = words[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@leaf
def _choose(policy: int, legal: Ints, words: Words) -> int:
    """The action of a policy that needs no network; -1 where no action is legal."""
    chosen, count = -1, 0
    for action in range(legal.size):
        if legal[action]:
            count += 1
            if chosen < 0 or (policy == COMMONEST and legal[action] > legal[chosen]):
                chosen = action
    if policy == COMMONEST or count == 0:
        return chosen
    share = (_next_word(words) >> np.uint64(32)) * np.uint64(count)
    wanted = np.int64(share >> np.uint64(32))
    for action in range(legal.size):
        if legal[action]:
            if wanted == 0:
                return action
            wanted -= 1
    return -1


@kernel
def roll_out(
    arrays: Arrays,
    columns: Columns,
    directions: int,
    tagged: int,
    predicate_count: int,
    k: int,
    asked: tuple[Ints, Ints, Ints, Ints],
    policy: int,
    seeds: Words,
    met: Bools,
    trail: Ints,
    legal_counts: Ints,
) -> None:
    """Plays whole episodes by a policy without a network.

    Fills met (n,), trail (n, steps) with the actions taken, -1 after the last, and legal_counts
    (n, steps) with how many were legal before each.
    """
    offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since, until, twins = (
        arrays
    )
    subjects, predicates, objects = columns
    keys, stamps = np.empty(64, np.int32), np.full(64, -1, np.int32)
    clock, words = np.zeros(1, np.int64), np.zeros(1, np.uint64)
    counts = (np.zeros(3, np.int64), np.zeros(3, np.int64))
    streams = np.empty((STREAMS, FIELDS), np.int64)
    one, other = np.empty((k, 3), np.int64), np.empty((k, 3), np.int64)
    found = np.empty(k, np.int32)
    legal = np.zeros(predicate_count * (1 + tagged), np.int32)
    entities = [np.empty(64, np.int32), np.empty(64, np.int32)]
    core = [np.empty(64, np.int32), np.empty(64, np.int32)]
    periphery = [np.empty(64, np.int32), np.empty(64, np.int32)]
    for episode in range(len(met)):
        words[0] = seeds[episode]
        action, taken = START, 0
        trail[episode] = -1
        legal_counts[episode] = 0
        while True:
            legal[:] = 0
            for side in range(2):
                if action == START:
                    entities[side][0] = asked[side][episode]
                entities[side], core[side], periphery[side], keys, stamps = expand_side(
                    offsets, facts, starts, by_end, interval_offsets, tops, level_offsets, since,
                    until, twins, subjects, predicates, objects, directions, tagged,
                    predicate_count, asked[2][episode], asked[3][episode], action, entities[side],
                    core[side], periphery[side], counts[side], keys, stamps, clock, streams, one,
                    other, found,
                )  # fmt: skip
                _count_actions(
                    predicates, periphery[side], counts[side][2], tagged, predicate_count, legal
                )
            met[episode] = _meet(
                entities[0], counts[0][0], entities[1], counts[1][0], keys, stamps, clock
            )
            if met[episode] or taken == trail.shape[1]:
                break
            action = _choose(policy, legal, words)
            if action < 0:
                break
            legal_counts[episode, taken] = np.count_nonzero(legal)
            trail[episode, taken] = action
            taken += 1
