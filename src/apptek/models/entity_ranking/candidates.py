"""The candidates for a missing entity, and their evidence before the time.

A question (actor, predicate, ?, time) asks for an object. The same with predicate + R, where R is
the number of predicates, asks for the subject whose object is the actor: every fact is also kept
reversed. A candidate has some evidence before the time: it was seen with the actor, or with the
predicate in the missing role. For each candidate there are decayed counts:

| family    | counts                                                             |
|-----------|--------------------------------------------------------------------|
| triple    | facts of the actor, the predicate and the candidate                |
| pair      | facts of the actor and the candidate in this direction             |
| reversed  | facts of the actor and the candidate in the other direction        |
| predicate | facts with the predicate that have the candidate in this role      |
| role      | facts with any predicate that have the candidate in this role      |

The features are log(1 + count / UNIT) by three time scales: brief, middle, and ever.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from apptek.arrays import Doubles, Floats, Longs, for_kernel, read_only
from apptek.compiling import kernel, leaf
from apptek.facts.facts import Facts, with_inverses
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.features.clock import Clock
from apptek.graph.decayed_counts import decayed_counts

FAMILIES = ("triple", "pair", "reversed", "predicate", "role")
SCALES = ("brief", "middle", "ever")
FEATURES = tuple(f"{family} {scale}" for family in FAMILIES for scale in SCALES)
UNIT = 0.003  # scale of decayed counts: much smaller ones have no effect
CHUNK = 256  # queries whose candidates are in memory at once


@dataclass(frozen=True, slots=True)
class EntityQueries:
    """Questions (actor, predicate, ?, time); a predicate from R on asks for the subject."""

    actors: Longs
    predicates: Longs
    times: Longs  # positions on the axis

    def __len__(self) -> int:
        return len(self.times)

    def take(self, rows: Longs) -> "EntityQueries":
        """Return the questions of these rows."""
        return EntityQueries(self.actors[rows], self.predicates[rows], self.times[rows])


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of n questions: row i has entities[offsets[i] : offsets[i + 1]]."""

    offsets: Longs  # (n + 1,)
    entities: Longs
    features: Floats  # (candidates, FEATURES)

    @property
    def rows(self) -> Longs:
        """The question of each candidate."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


class EntityIndex:
    """The dated facts, each also reversed, by actor and by predicate in order of time."""

    def __init__(self, facts: Facts, axis: TimeAxis, counts: tuple[int, int], clock: Clock) -> None:
        self.entity_count, self.predicate_count = counts
        doubled = with_inverses(facts.take(axis.positions(facts.times) != UNKNOWN), counts[1])
        columns = (doubled.subjects, doubled.predicates, doubled.objects)
        subjects, predicates, objects = (column.astype(np.int64) for column in columns)
        times = axis.positions(doubled.times).astype(np.int64)
        by_actor = np.lexsort((times, subjects))
        self._of_actor = _sorted(by_actor, subjects, counts[0], predicates, objects, times)
        by_predicate = np.lexsort((times, predicates))
        self._of_predicate = _sorted(by_predicate, predicates, 2 * counts[1], objects, times)
        self._roles = 2 * subjects + (predicates >= counts[1])  # 2 e: e as subject; + 1: as object
        self._times = times
        self._scales = read_only(np.asarray([clock.brief, clock.middle, np.inf]))

    def candidates(self, queries: EntityQueries) -> Candidates:
        """Return every entity with evidence before the time of each question, ascending by id.

        An actor below 0 is unknown: then only the predicate gives evidence.
        """
        order = np.lexsort((queries.times, queries.predicates))
        columns = (queries.actors, queries.predicates, queries.times)
        asked = [for_kernel(column[order], np.int64) for column in columns]
        most = self._most(asked[0], asked[1])
        offsets = np.zeros(len(queries) + 1, np.int64)
        entities = np.empty(int(most.sum()), np.int64)
        counts = np.zeros((len(entities), len(FEATURES)), np.float32)
        arguments: Any = (
            *asked, self.predicate_count, *self._of_actor, *self._of_predicate, self._scales,
            self.entity_count, offsets, entities, counts,
        )  # fmt: skip
        _fill(*arguments)
        entities, counts = entities[: offsets[-1]], counts[: offsets[-1]]
        rows = np.repeat(np.arange(len(queries)), np.diff(offsets))
        roles, times = 2 * entities + (asked[1] < self.predicate_count)[rows], asked[2][rows]
        of_roles, _ = decayed_counts(self._roles, self._times, roles, times, self._scales)
        counts[:, -len(SCALES) :] = of_roles
        features = np.log1p(counts / np.float32(UNIT))
        return _in_order(Candidates(offsets, entities, features), order)

    def _most(self, actors: Longs, predicates: Longs) -> Longs:
        """Return an upper bound of the number of candidates for each question."""
        known = np.maximum(actors, 0)
        starts, of_predicate = self._of_actor[0], self._of_predicate[0]
        of_actors = np.where(actors >= 0, starts[known + 1] - starts[known], 0)
        facts = of_actors + of_predicate[predicates + 1] - of_predicate[predicates]
        most: Longs = np.minimum(facts, self.entity_count)
        return most


def _sorted(order: Longs, keys: Longs, count: int, *columns: Longs) -> tuple[Longs, ...]:
    """Return the offsets of the facts of each key, then the columns in this order."""
    starts = np.searchsorted(keys[order], np.arange(count + 1)).astype(np.int64)
    return tuple(for_kernel(c, np.int64) for c in (starts, *(c[order] for c in columns)))


def _in_order(found: Candidates, order: Longs) -> Candidates:
    """Return the candidates in the order of the questions, sorted by id within a question."""
    rows = order[found.rows]
    places = np.lexsort((found.entities, rows))
    offsets = np.searchsorted(rows[places], np.arange(len(order) + 1)).astype(np.int64)
    return Candidates(offsets, found.entities[places], found.features[places])


@leaf
def _add_event(sums: Doubles, before: int, scales: Doubles) -> None:
    """Add an event to decayed counts that are of an earlier time; `before` is not above 0."""
    for scale in range(len(scales)):
        sums[scale] = sums[scale] * np.exp(before / scales[scale]) + 1.0


@leaf
def _add_fact(counts: Floats, before: int, scales: Doubles, family: int) -> None:
    """Add a fact of an earlier time to the counts of a family."""
    for scale in range(len(scales)):
        counts[family * len(scales) + scale] += np.exp(before / scales[scale])


@leaf
def _decay(sums: Doubles, before: int, scales: Doubles, counts: Floats, family: int) -> None:
    """Set the counts of a family to decayed counts of an earlier time."""
    for scale in range(len(scales)):
        counts[family * len(scales) + scale] = sums[scale] * np.exp(before / scales[scale])


@kernel
def _fill(  # noqa: C901  one pass over the questions; each branch is a line or two
    actors: Longs, predicates: Longs, times: Longs, predicate_count: int,
    actor_starts: Longs, fact_predicates: Longs, fact_objects: Longs, fact_times: Longs,
    predicate_starts: Longs, event_entities: Longs, event_times: Longs, scales: Doubles,
    entity_count: int, offsets: Longs, entities: Longs, counts: Floats,
) -> None:  # fmt: skip
    """Fill in the candidates of questions that ascend by predicate, then by time, without roles.

    Facts with one predicate are added up in one sweep through time. `sums` holds the decayed counts
    of each entity as they were at the time `last` of its latest fact.
    """
    sums, last = np.zeros((entity_count, len(scales))), np.zeros(entity_count, np.int64)
    slot_of, active = np.full(entity_count, -1, np.int64), np.empty(entity_count, np.int64)
    active_count, event, swept, slots = 0, 0, -1, 0
    for query in range(len(times)):
        actor, predicate, when = actors[query], predicates[query], times[query]
        if predicate != swept:
            sums[active[:active_count]] = 0.0
            active_count, event, swept = 0, predicate_starts[predicate], predicate
        while event < predicate_starts[predicate + 1] and event_times[event] < when:
            entity = event_entities[event]
            if sums[entity, -1] == 0.0:
                active[active_count] = entity
                active_count += 1
                last[entity] = event_times[event]
            _add_event(sums[entity], last[entity] - event_times[event], scales)
            last[entity] = event_times[event]
            event += 1
        first = slots
        for place in range(active_count):
            entity = active[place]
            if entity != actor:
                entities[slots], slot_of[entity] = entity, slots
                _decay(sums[entity], last[entity] - when, scales, counts[slots], 3)
                slots += 1
        if actor >= 0:
            for fact in range(actor_starts[actor], actor_starts[actor + 1]):
                if fact_times[fact] >= when:
                    break
                entity, other = fact_objects[fact], fact_predicates[fact]
                if slot_of[entity] < 0:
                    entities[slots], slot_of[entity] = entity, slots
                    slots += 1
                slot, age = slot_of[entity], fact_times[fact] - when
                same = (other < predicate_count) == (predicate < predicate_count)
                _add_fact(counts[slot], age, scales, 1 if same else 2)
                if other == predicate:
                    _add_fact(counts[slot], age, scales, 0)
        for slot in range(first, slots):
            slot_of[entities[slot]] = -1
        offsets[query + 1] = slots
