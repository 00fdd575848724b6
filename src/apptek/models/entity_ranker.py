"""Ranks the missing entity of (subject, predicate, ?, time) or (?, predicate, object, time).

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

The ranker is a conditional logit over the candidates, fitted on the newest training facts.
A candidate's utility is the sum of weight * feature. All entities without evidence together form
one more alternative with a constant utility. They share its probability and rank last. A question
with several correct answers at the same time is used once for each of them, with the other correct
answers excluded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from apptek.arrays import Bools, Doubles, Floats, Longs, read_only
from apptek.compiling import in_threads
from apptek.evaluation.filters import known_predicates
from apptek.facts.facts import Facts, with_inverses
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.features.clock import Clock
from apptek.graph.decayed_counts import decayed_counts
from apptek.ragged import Ragged

FAMILIES = ("triple", "pair", "reversed", "predicate", "role")
SCALES = ("brief", "middle", "ever")
FEATURES = tuple(f"{family} {scale}" for family in FAMILIES for scale in SCALES)
UNIT = 0.003  # scale of decayed counts: much smaller ones have no effect
CHUNK = 256  # queries whose candidates are in memory at once
LATE = 0.7  # the ranker is fitted on the dated training facts after this proportion of them
MOST_QUERIES, MOST_CANDIDATES = 4_000, 3_000_000  # limits of the fit
MOST_AT_ONCE = 12_000_000  # candidates are only found if their upper bound is at most this
FEWEST = 50  # with fewer questions, nothing is fitted
PENALTY = 3.0  # on the squares of the weights
STEPS, ENOUGH = 12, 1e-6
_DIGITS = 6  # digits kept of fitted numbers; later digits differ between machines


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
        others = took_part[
            took_part % self.entity_count != queries.actors[took_part // self.entity_count]
        ]
        found = np.union1d(met, others)
        rows, entities = np.divmod(found, self.entity_count)
        offsets = np.searchsorted(rows, np.arange(len(queries) + 1)).astype(np.int64)
        return Candidates(offsets, entities, self._features(queries.take(rows), entities))

    def most_candidates(self, queries: EntityQueries) -> int:
        """Return an upper bound of the number of candidates, without finding them."""
        by_actor = _group_ends(self._of_actor[0], queries.actors, self.entity_count)
        by_predicate = _group_ends(self._of_predicate[0], queries.predicates, self.entity_count)
        return sum(int((ends - starts).sum()) for starts, ends in (by_actor, by_predicate))

    def _features(self, asked: EntityQueries, entities: Longs) -> Floats:
        """Return the features of each candidate for the question in the same row."""
        by_actor = _among(self._subjects, asked.actors)
        by_predicate = _among(self._predicates, asked.predicates)
        of_role = _among(self._objects, entities)
        features = np.empty((len(entities), len(FAMILIES), len(SCALES)), np.float32)
        for place, (family, rows) in enumerate(
            zip(FAMILIES, (by_actor, by_actor, by_actor, by_predicate, of_role), strict=True)
        ):
            events = (self._subjects[rows], self._predicates[rows], self._objects[rows])
            groups = self._groups("pair" if family == "reversed" else family, *events)
            wanted = self._groups(family, asked.actors, asked.predicates, entities)
            times = self._times[rows]
            counts, _ = decayed_counts(groups, times, wanted, asked.times, self._scales)
            if family == "predicate":  # an actor's own facts do not make it a candidate
                counts[entities == asked.actors] = 0.0
            features[:, place] = np.log1p(counts / UNIT)
        return features.reshape(len(entities), len(FEATURES))

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
        return groups * self.entity_count + entities

    def _since(self, groups: Longs) -> tuple[Longs, Longs]:
        """Return each distinct group * entity_count + entity, and the time of its first fact."""
        keys = groups * self.entity_count + self._objects
        order = np.lexsort((self._times, keys))
        is_first = np.diff(keys[order], prepend=-1) != 0
        return keys[order][is_first], self._times[order][is_first]

    def _known(self, keys: Longs, since: Longs, groups: Longs, times: Longs) -> Longs:
        """Return row * entity_count + entity for each entity with an earlier fact in its group."""
        starts, ends = _group_ends(keys, groups, self.entity_count)
        counts = ends - starts
        rows = np.repeat(np.arange(len(groups)), counts)
        places = np.arange(len(rows)) + np.repeat(starts - np.cumsum(counts) + counts, counts)
        kept = since[places] < times[rows]
        known: Longs = rows[kept] * self.entity_count + keys[places[kept]] % self.entity_count
        return known


def _group_ends(keys: Longs, groups: Longs, entity_count: int) -> tuple[Longs, Longs]:
    """Return where each group's keys start and end."""
    starts, ends = (np.searchsorted(keys, each * entity_count) for each in (groups, groups + 1))
    return starts, ends


def _among(ids: Longs, wanted: Longs) -> Longs:
    """Return the rows whose id is among the wanted ids."""
    is_wanted = np.zeros(int(max(ids.max(initial=-1), wanted.max(initial=-1))) + 2, np.bool_)
    is_wanted[wanted] = True
    is_wanted[-1] = False  # an unknown actor
    return np.flatnonzero(is_wanted[ids])


@dataclass(frozen=True, slots=True)
class EntityRanker:
    """The weights of the features, and the utility of all entities without evidence."""

    weights: Doubles  # (FEATURES,)
    others: float

    def utilities(self, found: Candidates) -> Doubles:
        """Return the utility of each candidate."""
        # Not a matrix product, because its rounding depends on the number of rows.
        values: Doubles = (found.features * self.weights).sum(axis=1)
        return values

    def probabilities(self, found: Candidates) -> tuple[Doubles, Doubles]:
        """Return each candidate's probability, and each question's probability of any other entity.

        For each question, these probabilities sum to 1.
        """
        return _shares(self.utilities(found), found.offsets, self.others)

    def ranks(
        self, index: EntityIndex, queries: EntityQueries, truths: Longs, known: Ragged
    ) -> Doubles:
        """Return each true entity's expected rank among all entities, without the known answers.

        Entities without evidence come last and are tied.
        """
        order = np.lexsort((queries.times, queries.predicates))
        size = max(1, min(CHUNK, MOST_CANDIDATES // index.entity_count))
        ranks = np.empty(len(queries))

        def work(start: int) -> None:
            rows = order[start : start + size]
            found = index.candidates(queries.take(rows))
            others, values = known.take(rows), self.utilities(found)
            ranks[rows] = _ranks(found, values, truths[rows], others, index.entity_count)

        in_threads(work, range(0, len(queries), size))
        return ranks

    def to_json(self) -> dict[str, Any]:
        """Return the ranker as values that `json_bytes` can write."""
        return {"features": FEATURES, "weights": self.weights, "others": self.others}

    @classmethod
    def from_json(cls, about: Mapping[str, Any]) -> "EntityRanker":
        """Return the ranker from the result of `to_json`."""
        weights = np.asarray(about["weights"], np.float64)
        if tuple(about["features"]) != FEATURES or weights.shape != (len(FEATURES),):
            raise ValueError("the entity ranker has different features from this version")
        return cls(read_only(weights), float(about["others"]))


def entity_queries(facts: Facts, axis: TimeAxis, predicate_count: int) -> EntityQueries:
    """Return a question for the object of each fact, then one for the subject of each fact."""
    both = with_inverses(facts, predicate_count)
    columns = (both.subjects, both.predicates, axis.positions(both.times))
    return EntityQueries(*(column.astype(np.int64) for column in columns))


def known_entities(queries: EntityQueries, truths: Longs, facts: Facts, axis: TimeAxis,
                   predicate_count: int) -> Ragged:  # fmt: skip
    """Return each question's other correct answers, from other facts at the same time."""
    both = with_inverses(facts, predicate_count)
    asked = (queries.actors, truths, queries.predicates, queries.times)
    # Exchange entities and predicates, so that `known_predicates` finds known entities.
    turned = [
        Facts(*(column.astype(np.int32) for column in (*columns, columns[3])))
        for columns in (
            asked, (both.subjects, both.objects, both.predicates, axis.positions(both.times))
        )
    ]  # fmt: skip
    return known_predicates(turned[0], turned[1:])


def fit_entity_ranker(
    index: EntityIndex, train: Facts, axis: TimeAxis, *, rng: np.random.Generator
) -> EntityRanker | None:
    """Fit the weights on late training facts, each predicted from the facts before it.

    Return None if there are too few facts.

    index  the index of the training facts
    """
    positions = axis.positions(train.times)
    rows = np.flatnonzero(positions != UNKNOWN)
    rows = rows[np.argsort(positions[rows], kind="stable")][int(LATE * len(rows)) :]
    if len(rows) > MOST_QUERIES // 2:
        rows = np.sort(rng.choice(rows, MOST_QUERIES // 2, replace=False))
    asked = train.take(rows)
    queries = entity_queries(asked, axis, index.predicate_count)
    truths = np.concatenate([asked.objects, asked.subjects]).astype(np.int64)
    if len(queries) < FEWEST:
        return None
    known = known_entities(queries, truths, train, axis, index.predicate_count)
    while True:
        is_last = len(queries) <= FEWEST
        if is_last or index.most_candidates(queries) <= MOST_AT_ONCE:
            found = index.candidates(queries)
            if is_last or len(found.entities) <= MOST_CANDIDATES:
                return _fit(found, truths, known)
        kept = np.sort(rng.choice(len(queries), len(queries) // 2, replace=False))
        queries, truths, known = queries.take(kept), truths[kept], known.take(kept)


def _fit(found: Candidates, truths: Longs, known: Ragged) -> EntityRanker:
    rows = found.rows
    others = _known_among(found, known)
    rows, entities, features = rows[~others], found.entities[~others], found.features[~others]
    offsets = np.searchsorted(rows, np.arange(len(truths) + 1)).astype(np.int64)
    is_truth: Bools = entities == truths[rows]
    has_truth = np.zeros(len(truths), np.bool_)
    has_truth[rows[is_truth]] = True
    # The last parameter is the utility of all other entities. Its feature is 1 only for them.
    wanted = np.append(features[is_truth].sum(axis=0, dtype=np.float64), float((~has_truth).sum()))

    def loss(parameters: Doubles) -> tuple[float, Doubles, Doubles]:
        values = np.einsum("nf,f->n", features, parameters[:-1].astype(np.float32))
        shares, of_others = _shares(values.astype(np.float64), offsets, parameters[-1])
        own = np.concatenate([shares[is_truth], of_others[~has_truth]])
        penalty = 0.5 * PENALTY * float(parameters @ parameters)
        return penalty - float(np.log(np.maximum(own, 1e-300)).sum()), shares, of_others

    parameters = np.zeros(len(FEATURES) + 1)
    value, shares, of_others = loss(parameters)
    for _ in range(STEPS):
        weighted = features * shares[:, None].astype(np.float32)
        means = _sums(weighted, rows, len(truths))
        means = np.concatenate([means, of_others[:, None]], axis=1)
        gradient = wanted - means.sum(axis=0) - PENALTY * parameters
        curvature = -np.einsum("ni,nj->ij", means, means) + PENALTY * np.eye(len(parameters))
        curvature[:-1, :-1] += np.einsum("ni,nj->ij", features, weighted, dtype=np.float64)
        curvature[-1, -1] += of_others.sum()
        step, before = np.linalg.solve(curvature, gradient), value
        for length in 0.5 ** np.arange(8):
            value, shares, of_others = loss(parameters + length * step)
            if value < before:
                parameters = parameters + length * step
                break
        if before - value < ENOUGH * abs(before):
            break
    kept = np.round(parameters, _DIGITS)
    return EntityRanker(read_only(kept[:-1]), float(kept[-1]))


def _sums(values: Any, rows: Longs, count: int) -> Doubles:
    """Return the sum of each column over each question's rows: (n, F)."""
    columns = (np.bincount(rows, column, minlength=count) for column in values.T)
    return np.stack(list(columns), axis=1)


def _shares(values: Doubles, offsets: Longs, others: float) -> tuple[Doubles, Doubles]:
    """Return the softmax over each question's candidates and the alternative of all others."""
    counts = np.diff(offsets)
    rows = np.repeat(np.arange(len(counts)), counts)
    largest = np.full(len(counts), others)
    np.maximum.at(largest, rows, values)
    powers = np.exp(values - largest[rows])
    of_others = np.exp(others - largest)
    total = np.bincount(rows, powers, minlength=len(counts)) + of_others
    return powers / total[rows], of_others / total


def _known_among(found: Candidates, known: Ragged) -> Bools:
    """Return which candidates are other correct answers to their question."""
    width = 1 + max(int(part.max(initial=0)) for part in (found.entities, known.columns))
    keys = known.row_of_each * width + known.flat_columns
    return np.isin(found.rows * width + found.entities, keys)


def _ranks(
    found: Candidates, values: Doubles, truths: Longs, known: Ragged, entity_count: int
) -> Doubles:
    """Return the expected rank of each true entity."""
    rows, count = found.rows, len(truths)
    is_truth = found.entities == truths[rows]
    own = np.full(count, -np.inf)  # every candidate outranks a true entity without evidence
    own[rows[is_truth]] = values[is_truth]
    kept = ~_known_among(found, known)
    rows, values = rows[kept], values[kept]
    better, equal = (
        np.bincount(rows, same(values, own[rows]), minlength=count)
        for same in (np.greater, np.equal)
    )
    # Entities without evidence that are not other correct answers.
    others = entity_count - np.diff(known.offsets) - np.bincount(rows, minlength=count)
    return 1.0 + better + 0.5 * (np.where(np.isinf(own), others, equal) - 1)
