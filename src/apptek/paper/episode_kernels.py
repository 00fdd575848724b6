"""Kernels of many episodes: one step of a ragged batch, and whole episodes without a network."""

from typing import Any

import numpy as np

from apptek.arrays import Bools, Ints, Longs, Words
from apptek.compiling import kernel, leaf
from apptek.facts.queries import QueryColumns
from apptek.graph.incidence import FactColumns
from apptek.graph.tknn import work_space
from apptek.paper.side_kernels import (
    DROP,
    KEEP,
    START,
    Moves,
    count_actions,
    expand_side,
    grown,
    sides_meet,
)
from apptek.paper.states import FAR, IN_CORE, MARKS, REACHED, SEEN

RANDOM, COMMONEST = 0, 1  # policies that need no network

State = tuple[Ints, Ints, Ints, Ints, Ints, Ints]  # entities, core, periphery: offsets and values


@kernel
def _append(offsets: Ints, values: Ints, row: int, new: Ints, count: int) -> Ints:
    """Writes row `row` of a ragged array after the rows before it; the array may have grown."""
    start = offsets[row]
    values = grown(values, start + count)
    values[start : start + count] = new[:count]
    offsets[row + 1] = start + count
    return values


@kernel
def advance(
    moves: Moves, k: int, queries: QueryColumns, actions: Ints, state: State, edges: Ints,
    met: Bools,
) -> State:  # fmt: skip
    """The state of every episode after its action.

    Fills `edges` (B, actions) with how many edges either periphery has of each action, and `met`.

    The state is ragged: row 2b is the subject's side of episode b, row 2b + 1 the object's. Instead
    of an action: START begins the episode, KEEP leaves it as it is, DROP empties it.
    """
    entity_rows, all_entities, core_rows, all_core, edge_rows, all_edges = state
    rows = 2 * len(actions)
    new_entity_rows, new_entities = np.zeros(rows + 1, np.int32), np.empty(1024, np.int32)
    new_core_rows, new_core = np.zeros(rows + 1, np.int32), np.empty(1024, np.int32)
    new_edge_rows, new_edges = np.zeros(rows + 1, np.int32), np.empty(4096, np.int32)
    keys, stamps = np.empty(64, np.int32), np.full(64, -1, np.int32)
    clock, counts = np.zeros(1, np.int64), np.zeros(3, np.int64)
    space, nearest = work_space(k), np.empty(k, np.int32)
    entities, core, periphery = (
        np.empty(64, np.int32),
        np.empty(64, np.int32),
        np.empty(64, np.int32),
    )
    for row in range(rows):
        episode, action = row // 2, actions[row // 2]
        counts[0], counts[1], counts[2] = 0, 0, 0
        if action == START:
            entities[0] = queries[row % 2][episode]
        elif action != DROP:
            counts[0] = entity_rows[row + 1] - entity_rows[row]
            counts[1] = core_rows[row + 1] - core_rows[row]
            counts[2] = edge_rows[row + 1] - edge_rows[row]
            entities = grown(entities, counts[0])
            core = grown(core, counts[1])
            periphery = grown(periphery, counts[2])
            entities[: counts[0]] = all_entities[entity_rows[row] : entity_rows[row + 1]]
            core[: counts[1]] = all_core[core_rows[row] : core_rows[row + 1]]
            periphery[: counts[2]] = all_edges[edge_rows[row] : edge_rows[row + 1]]
        if action != KEEP and action != DROP:
            entities, core, periphery, keys, stamps = expand_side(
                moves, queries[2][episode], queries[3][episode], action, entities, core, periphery,
                counts, keys, stamps, clock, space, nearest,
            )  # fmt: skip
        new_entities = _append(new_entity_rows, new_entities, row, entities, counts[0])
        new_core = _append(new_core_rows, new_core, row, core, counts[1])
        new_edges = _append(new_edge_rows, new_edges, row, periphery, counts[2])
        if row % 2 == 0:
            edges[episode] = 0
        count_actions(moves.facts.predicates, periphery, counts[2], edges[episode])
        if row % 2 == 0:
            continue
        # The object's side is the second: now both are known. An episode that was kept has not met,
        # or it would have ended.
        met[episode] = False
        if action != KEEP and action != DROP:
            first, stop = new_entity_rows[row - 1], new_entity_rows[row]
            empty = counts[1] == 0 or new_core_rows[row - 1] == new_core_rows[row]
            met[episode] = not (moves.literal and empty) and sides_meet(
                new_entities[first:stop], stop - first, entities, counts[0], keys, stamps, clock
            )
    return (
        new_entity_rows, new_entities[: new_entity_rows[rows]],
        new_core_rows, new_core[: new_core_rows[rows]],
        new_edge_rows, new_edges[: new_edge_rows[rows]],
    )  # fmt: skip


@kernel
def members_of(state: State, pair_of_fact: Ints) -> tuple[Ints, Longs]:
    """The pairs of the facts in core and periphery, ragged by row: members and offsets."""
    _, _, core_rows, core, edge_rows, edges = state
    offsets = np.zeros(core_rows.size, np.int64)
    members = np.empty(core.size + edges.size, np.int32)
    end = 0
    for row in range(core_rows.size - 1):
        for i in range(core_rows[row], core_rows[row + 1]):
            members[end] = pair_of_fact[core[i]]
            end += 1
        for i in range(edge_rows[row], edge_rows[row + 1]):
            members[end] = pair_of_fact[edges[i]]
            end += 1
        offsets[row + 1] = end
    return members, offsets


@leaf
def _mark_of(ends: tuple[int, int], own: Ints, seen: Ints, reached: Ints, stamp: int) -> int:
    """What the other side knows of the far end of a fact: the end that is not reached here."""
    for end in ends:
        if own[end] != stamp:
            if reached[end] == stamp:
                return REACHED
            return SEEN if seen[end] == stamp else FAR
    return FAR  # both ends are reached


@kernel
def marked_members_of(
    state: State, columns: FactColumns, entity_count: int, pair_of_fact: Ints
) -> tuple[Ints, Longs]:
    """As `members_of`, each pair with the mark of its fact: MARKS * pair + mark.

    IN_CORE, or of a fact in the periphery: its far end is REACHED by the other side, an end of a
    fact in the other side's periphery (SEEN), or neither (FAR).
    """
    entity_rows, entities, core_rows, core, edge_rows, edges = state
    subjects, _, objects = columns
    offsets = np.zeros(core_rows.size, np.int64)
    members = np.empty(core.size + edges.size, np.int32)
    # Who knows an entity, by the row for which that was written last.
    own, seen, reached = (
        np.zeros(entity_count, np.int32), np.zeros(entity_count, np.int32),
        np.zeros(entity_count, np.int32),
    )  # fmt: skip
    end = 0
    for row in range(core_rows.size - 1):
        other, stamp = row ^ 1, row + 1
        for i in range(entity_rows[row], entity_rows[row + 1]):
            own[entities[i]] = stamp
        for i in range(entity_rows[other], entity_rows[other + 1]):
            reached[entities[i]] = stamp
        for i in range(edge_rows[other], edge_rows[other + 1]):
            seen[subjects[edges[i]]] = stamp
            seen[objects[edges[i]]] = stamp
        for i in range(core_rows[row], core_rows[row + 1]):
            members[end] = MARKS * pair_of_fact[core[i]] + IN_CORE
            end += 1
        for i in range(edge_rows[row], edge_rows[row + 1]):
            fact = edges[i]
            mark = _mark_of((subjects[fact], objects[fact]), own, seen, reached, stamp)
            members[end] = MARKS * pair_of_fact[fact] + mark
            end += 1
        offsets[row + 1] = end
    return members, offsets


@leaf
def _next_word(words: Words) -> Any:
    """The next number of a splitmix64 stream, whose state is words[0]."""
    words[0] += np.uint64(0x9E3779B97F4A7C15)
    word = words[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@leaf
def _choose(policy: int, edges: Ints, words: Words) -> int:
    """The action of a policy that needs no network; -1 where no action is legal.

    Equally common actions: the lowest.
    """
    chosen, legal_count = -1, 0
    for action in range(edges.size):
        if edges[action]:
            legal_count += 1
            if chosen < 0 or (policy == COMMONEST and edges[action] > edges[chosen]):
                chosen = action
    if policy == COMMONEST or legal_count == 0:
        return chosen
    # The high 32 bits times the count, divided by 2^32: uniform without a slow remainder.
    share = (_next_word(words) >> np.uint64(32)) * np.uint64(legal_count)
    to_skip = np.int64(share >> np.uint64(32))
    for action in range(edges.size):
        if edges[action]:
            if to_skip == 0:
                return action
            to_skip -= 1
    return -1


@kernel
def roll_out(
    moves: Moves, k: int, queries: QueryColumns, policy: int, seeds: Words, met: Bools,
    trail: Ints, legal_counts: Ints,
) -> None:  # fmt: skip
    """Plays episodes to their end by a policy without a network.

    Fills met (n,), trail (n, steps) with the actions taken, -1 after the last, and legal_counts
    (n, steps) with how many were legal before each. Each episode draws from a stream of its own, so
    that the result does not depend on how queries are cut into chunks.
    """
    keys, stamps = np.empty(64, np.int32), np.full(64, -1, np.int32)
    clock, words = np.zeros(1, np.int64), np.zeros(1, np.uint64)
    counts = (np.zeros(3, np.int64), np.zeros(3, np.int64))
    space, nearest = work_space(k), np.empty(k, np.int32)
    edges = np.zeros(moves.predicate_count, np.int32)
    # Lists, because the arrays of a side are replaced when they grow; one pair serves all episodes.
    entities = [np.empty(64, np.int32), np.empty(64, np.int32)]
    core = [np.empty(64, np.int32), np.empty(64, np.int32)]
    periphery = [np.empty(64, np.int32), np.empty(64, np.int32)]
    for episode in range(len(met)):
        words[0] = seeds[episode]
        action, taken = START, 0
        trail[episode] = -1
        legal_counts[episode] = 0
        while True:
            edges[:] = 0
            for side in range(2):
                if action == START:
                    entities[side][0] = queries[side][episode]
                entities[side], core[side], periphery[side], keys, stamps = expand_side(
                    moves, queries[2][episode], queries[3][episode], action, entities[side],
                    core[side], periphery[side], counts[side], keys, stamps, clock, space, nearest,
                )  # fmt: skip
                count_actions(moves.facts.predicates, periphery[side], counts[side][2], edges)
            empty = counts[0][1] == 0 or counts[1][1] == 0
            met[episode] = not (moves.literal and empty) and sides_meet(
                entities[0], counts[0][0], entities[1], counts[1][0], keys, stamps, clock
            )
            if met[episode] or taken == trail.shape[1]:
                break
            action = _choose(policy, edges, words)
            if action < 0:
                break
            legal_counts[episode, taken] = np.count_nonzero(edges)
            trail[episode, taken] = action
            taken += 1
