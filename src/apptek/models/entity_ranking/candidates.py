"""The candidates for a missing entity, and the evidence for each from earlier facts.

A question (actor, predicate, ?, time) asks for an object. With predicate + R instead, where R is
the number of predicates, it asks for the subject of a fact whose object is the actor. For this
purpose, every fact is also stored in reverse. A candidate must have occurred before the question's
time, either with the actor, or with the predicate in the missing role. For each candidate, there
are these decayed counts:

| family    | counts                                                             |
|-----------|--------------------------------------------------------------------|
| triple    | facts of the actor, the predicate and the candidate                |
| pair      | facts of the actor and the candidate in this direction             |
| reversed  | facts of the actor and the candidate in the other direction        |
| predicate | facts with the predicate that have the candidate in this role      |
| role      | facts with any predicate that have the candidate in this role      |

The features are log(1 + count / UNIT) for three time scales: brief, middle and ever.
"""

from dataclasses import dataclass

import numpy as np

from apptek.arrays import Floats, Longs, read_only
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
    """Questions (actor, predicate, ?, time). A predicate of R or more asks for the subject."""

    actors: Longs
    predicates: Longs
    times: Longs  # positions on the axis

    def __len__(self) -> int:
        return len(self.times)

    def take(self, rows: Longs) -> "EntityQueries":
        """Return the questions in these rows."""
        return EntityQueries(self.actors[rows], self.predicates[rows], self.times[rows])


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates for n questions. Question i has entities[offsets[i] : offsets[i + 1]]."""

    offsets: Longs  # (n + 1,)
    entities: Longs
    features: Floats  # (candidates, FEATURES)

    @property
    def rows(self) -> Longs:
        """The question of each candidate."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


class EntityIndex:
    """The dated facts in both directions, and the times from which entities are candidates.

    A group contains the facts that a family counts together. It is identified by one number,
    computed from the ids.
    """

    def __init__(self, facts: Facts, axis: TimeAxis, counts: tuple[int, int], clock: Clock) -> None:
        self.entity_count, self.predicate_count = counts
        doubled = with_inverses(facts.take(axis.positions(facts.times) != UNKNOWN), counts[1])
        columns = (doubled.subjects, doubled.predicates, doubled.objects)
        self._subjects, self._predicates, self._objects = (c.astype(np.int64) for c in columns)
        self._times = axis.positions(doubled.times).astype(np.int64)
        self._scales = read_only(np.asarray([clock.brief, clock.middle, np.inf]))
        self._of_actor = self._since(self._subjects)
        self._of_predicate = self._since(self._predicates)

    def candidates(self, queries: EntityQueries) -> Candidates:
        """Return the entities with evidence before each question's time, ascending by id.

        An actor below 0 is unknown. All candidates then come from the predicate.
        """
        met, took_part = (
            self._known(*since, asked, queries.times)
            for since, asked in (
                (self._of_actor, queries.actors), (self._of_predicate, queries.predicates)
            )
        )  # fmt: skip
        others = took_part[took_part % self.entity_count != queries.actors[self._rows(took_part)]]
        found = np.union1d(met, others)
        rows, entities = self._rows(found), found % self.entity_count
        offsets = np.searchsorted(rows, np.arange(len(queries) + 1)).astype(np.int64)
        return Candidates(offsets, entities, self._features(queries.take(rows), entities))

    def _features(self, asked: EntityQueries, entities: Longs) -> Floats:
        """Return the features of each candidate for the question in the same row."""
        by_actor = _among(self._subjects, asked.actors)
        by_predicate = _among(self._predicates, asked.predicates)
        of_role, columns = _among(self._objects, entities), []
        for family, rows in zip(
            FAMILIES, (by_actor, by_actor, by_actor, by_predicate, of_role), strict=True
        ):
            events = (self._subjects[rows], self._predicates[rows], self._objects[rows])
            groups = self._groups("pair" if family == "reversed" else family, *events)
            wanted = self._groups(family, asked.actors, asked.predicates, entities)
            times = self._times[rows]
            counts, _ = decayed_counts(groups, times, wanted, asked.times, self._scales)
            if family == "predicate":  # an actor's own facts do not make it a candidate
                counts[entities == asked.actors] = 0.0
            columns.append(np.log1p(counts / UNIT).astype(np.float32))
        return np.concatenate(columns, axis=1)

    def _groups(self, family: str, actors: Longs, predicates: Longs, entities: Longs) -> Longs:
        is_reversed = predicates >= self.predicate_count
        if family == "triple":
            groups = actors * (2 * self.predicate_count) + predicates
        elif family == "predicate":
            groups = predicates
        elif family == "role":
            groups = is_reversed.astype(np.int64)
        else:
            groups = 2 * actors + (is_reversed != (family == "reversed"))
        found: Longs = groups * self.entity_count + entities
        return found

    def _since(self, groups: Longs) -> tuple[Longs, Longs]:
        """Return each distinct group * entity_count + entity, and the time of its first fact."""
        keys = groups * self.entity_count + self._objects
        order = np.lexsort((self._times, keys))
        is_first = np.diff(keys[order], prepend=-1) != 0
        return keys[order][is_first], self._times[order][is_first]

    def _known(self, keys: Longs, since: Longs, groups: Longs, times: Longs) -> Longs:
        """Return row * entity_count + entity for each entity with an earlier fact in its group."""
        ends = [np.searchsorted(keys, each * self.entity_count) for each in (groups, groups + 1)]
        counts = ends[1] - ends[0]
        rows = np.repeat(np.arange(len(groups)), counts)
        places = np.arange(len(rows)) + np.repeat(ends[0] - np.cumsum(counts) + counts, counts)
        kept = since[places] < times[rows]
        known: Longs = rows[kept] * self.entity_count + keys[places[kept]] % self.entity_count
        return known

    def _rows(self, found: Longs) -> Longs:
        rows: Longs = found // self.entity_count
        return rows


def _among(ids: Longs, wanted: Longs) -> Longs:
    """Return the rows whose id is among the wanted ids."""
    is_wanted = np.zeros(int(max(ids.max(initial=-1), wanted.max(initial=-1))) + 2, np.bool_)
    is_wanted[wanted] = True
    is_wanted[-1] = False  # an unknown actor
    return np.flatnonzero(is_wanted[ids])
