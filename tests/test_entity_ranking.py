"""The missing entity of a fact: candidates, counts, ranks, and what a question must not see."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import PlainFact
from worlds import ENTITIES, PREDICATES, facts_of, moments, plain_facts

from apptek.arrays import Longs
from apptek.facts.facts import join_facts
from apptek.facts.times import TimeAxis
from apptek.features.clock import Clock
from apptek.models.entity_ranker import (
    FEATURES,
    UNIT,
    Candidates,
    EntityIndex,
    EntityQueries,
    EntityRanker,
    entity_queries,
    fit_entity_ranker,
    known_entities,
)
from apptek.seeding import generator

AXIS, CLOCK, SIZES = TimeAxis("integer"), Clock(1.0, 2.0, 4.0, 8.0), (ENTITIES, PREDICATES)
worlds = st.lists(plain_facts(), min_size=1, max_size=15)
questions = st.lists(
    st.tuples(st.integers(-1, ENTITIES - 1), st.integers(0, 2 * PREDICATES - 1), moments),
    min_size=1,
    max_size=5,
)
RANKER = EntityRanker(np.linspace(1.0, 0.1, len(FEATURES)), 0.5)


def time_of(fact: PlainFact) -> int | None:
    return fact.until if fact.since is None else fact.since


def plain_counts(  # noqa: C901  the definition in one place
    facts: list[PlainFact], actor: int, predicate: int, when: int
) -> dict[int, list[float]]:
    """The definition: the counts of each candidate by family and scale."""
    wants_object, own = predicate < PREDICATES, predicate % PREDICATES
    counts: dict[int, list[float]] = {}
    earlier = [(fact, time) for fact in facts if (time := time_of(fact)) is not None]
    for entity in range(ENTITIES):
        row = [0.0] * len(FEATURES)
        evidence = False
        for fact, time in earlier:
            if time >= when:
                continue
            roles = (fact.subject, fact.object)
            acting, asked = roles if wants_object else roles[::-1]
            families = []
            if (acting, asked) == (actor, entity):
                families += [0, 1] if fact.predicate == own else [1]
            if (asked, acting) == (actor, entity):
                families.append(2)
            evidence |= bool(families)
            if asked == entity:
                families.append(4)
                if fact.predicate == own and entity != actor:
                    families.append(3)
                    evidence = True
            for family in families:
                for place, scale in enumerate((CLOCK.brief, CLOCK.middle, math.inf)):
                    row[3 * family + place] += math.exp(-(when - time) / scale)
        if evidence:
            counts[entity] = row
    return counts


def asked_of(rows: list[tuple[int, int, int]]) -> EntityQueries:
    return EntityQueries(*(np.asarray(column, np.int64) for column in zip(*rows, strict=True)))


@given(facts=worlds, rows=questions)
def test_candidates_agree_with_the_definition(
    facts: list[PlainFact], rows: list[tuple[int, int, int]]
) -> None:
    found = EntityIndex(facts_of(facts), AXIS, SIZES, CLOCK).candidates(asked_of(rows))
    for number, row in enumerate(rows):
        part = slice(found.offsets[number], found.offsets[number + 1])
        expected = plain_counts(facts, *row)
        assert found.entities[part].tolist() == sorted(expected)
        for entity, features in zip(found.entities[part], found.features[part], strict=True):
            plain = [math.log1p(count / UNIT) for count in expected[entity]]
            assert features.tolist() == pytest.approx(plain, rel=1e-4, abs=1e-5)


def plain_rank(scores: dict[int, float], truth: int, known: set[int]) -> float:
    values = [scores.get(e, -math.inf) for e in range(ENTITIES) if e == truth or e not in known]
    own = scores.get(truth, -math.inf)
    return 1 + sum(v > own for v in values) + 0.5 * (sum(v == own for v in values) - 1)


@given(facts=worlds, held_out=worlds)
def test_ranks_agree_with_the_definition(facts: list[PlainFact], held_out: list[PlainFact]) -> None:
    dated = [fact for fact in held_out if time_of(fact) is not None]
    if not dated:
        return
    asked = facts_of(dated)
    everything = join_facts(facts_of(facts), asked)
    queries = entity_queries(asked, AXIS, PREDICATES)
    truths = np.concatenate([asked.objects, asked.subjects]).astype(np.int64)
    known = known_entities(queries, truths, everything, AXIS, PREDICATES)
    index = EntityIndex(everything, AXIS, SIZES, CLOCK)
    ranks = RANKER.ranks(index, queries, truths, known)
    found = index.candidates(queries)
    assert len(found.entities) <= index.most_candidates(queries)
    for row, rank in enumerate(ranks.tolist()):
        part = slice(found.offsets[row], found.offsets[row + 1])
        values = RANKER.utilities(found)[part].tolist()
        scores = dict(zip(found.entities[part].tolist(), values, strict=True))
        fact = dated[row % len(dated)]
        same_time = [each for each in (*facts, *dated) if time_of(each) == time_of(fact)]
        same = [each for each in same_time if each.predicate == fact.predicate]
        if row < len(dated):
            others = {each.object for each in same if each.subject == fact.subject}
        else:
            others = {each.subject for each in same if each.object == fact.object}
        assert rank == plain_rank(scores, int(truths[row]), others - {int(truths[row])})


def test_probabilities_add_up_to_one() -> None:
    facts = [PlainFact(0, 0, 1, 1, 1), PlainFact(0, 1, 2, 2, 2)]
    found = EntityIndex(facts_of(facts), AXIS, SIZES, CLOCK).candidates(asked_of([(0, 0, 5)]))
    chances, others = RANKER.probabilities(found)
    assert chances.sum() + others[0] == pytest.approx(1.0)
    assert found.entities.tolist() == [1, 2]
    assert chances[0] > chances[1] > 0


def busy_world() -> list[PlainFact]:
    """At every time, 0 acts on 1 with predicate 0 and on 2 with predicate 1."""
    return [PlainFact(0, p, p + 1, time, time) for time in range(60) for p in (0, 1)]


def fitted(plain: list[PlainFact]) -> EntityRanker | None:
    facts = facts_of(plain)
    index = EntityIndex(facts, AXIS, SIZES, CLOCK)
    return fit_entity_ranker(index, facts, AXIS, rng=generator(0, "test"))


def test_a_fit_learns_that_facts_repeat_and_is_the_same_again() -> None:
    ranker = fitted(busy_world())
    again = fitted(busy_world())
    assert ranker is not None
    assert again is not None
    assert ranker.weights.tolist() == again.weights.tolist()
    index = EntityIndex(facts_of(busy_world()), AXIS, SIZES, CLOCK)
    queries = asked_of([(0, 0, 50), (0, 1, 50)])
    truths: Longs = np.asarray([1, 2])
    known = known_entities(queries, truths, facts_of(busy_world()), AXIS, PREDICATES)
    assert ranker.ranks(index, queries, truths, known).tolist() == [1.0, 1.0]
    assert EntityRanker.from_json(ranker.to_json()).others == ranker.others


def test_a_fit_finds_no_more_candidates_at_once_than_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bounds = []

    def note(self: EntityIndex, queries: EntityQueries) -> Candidates:
        bounds.append((self.most_candidates(queries), len(queries)))
        return find(self, queries)

    find = EntityIndex.candidates
    monkeypatch.setattr(EntityIndex, "candidates", note)
    monkeypatch.setattr("apptek.models.entity_ranker.MOST_AT_ONCE", 200)
    monkeypatch.setattr("apptek.models.entity_ranker.FEWEST", 4)
    assert fitted(busy_world()) is not None
    assert bounds
    assert all(bound <= 200 and count > 4 for bound, count in bounds)


def test_too_few_facts_are_not_fitted() -> None:
    assert fitted(busy_world()[:4]) is None
