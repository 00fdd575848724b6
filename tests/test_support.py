"""The support of reasons: counted as the definition says."""

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import PlainFact
from worlds import PREDICATES, dataset_of, plain_facts

from apptek.arrays import Ints
from apptek.config import FAMILIES, preset
from apptek.facts.queries import Queries, training_queries
from apptek.facts.times import UNKNOWN
from apptek.features.clock import Clock
from apptek.features.history import History
from apptek.features.history_kernels import LEAST
from apptek.features.space import FeatureSpace, make_space
from apptek.features.support import (
    LEVELS,
    Level,
    count_support,
    history_evidence,
    level_of,
)
from apptek.graph.temporal_graph import TemporalGraph
from apptek.predictor import Predictor, Query
from apptek.present.explanation_text import explanation_text
from apptek.present.explanation_words import contradicts_alone, support_words
from apptek.ragged import Ragged
from apptek.results import Support, to_dict


class Shard(NamedTuple):
    rows: Ragged
    labels: Ints


def space_of(plain: list[PlainFact]) -> FeatureSpace:
    data = dataset_of(plain)
    graph = TemporalGraph.of(data)
    return make_space(graph, data, preset("default"), Clock.of(graph))


def plain_level(history: History, queries: Queries, row: int, facts: list[int]) -> Level:
    """How near the nearest of these facts is, from its features alone."""
    graph, when = history.graph, int(queries.times[row])
    starts = [(int(graph.since[fact]), int(graph.until[fact])) for fact in facts]
    if when == UNKNOWN or all(ends == (UNKNOWN, UNKNOWN) for ends in starts):
        return "far"
    sums = {"before": 0.0, "after": 0.0}  # several facts may be near where one is not
    for since, until in starts:
        first, last = (until if since == UNKNOWN else since), (since if until == UNKNOWN else until)
        if first == UNKNOWN:
            continue
        apart = max(first - when, when - last, 0)
        if apart == 0:
            return "same"
        side = "before" if first < when else "after"
        sums[side] += math.exp(-(apart - 1) / history.clock.brief)
    return "near" if max(sums.values()) >= LEAST else "far"


@given(st.lists(plain_facts(), min_size=1, max_size=14))
def test_the_support_is_what_counting_one_by_one_gives(plain: list[PlainFact]) -> None:
    space = space_of(plain)
    history = space.history
    assert history is not None
    facts = space.graph.facts
    queries = training_queries(facts)
    pairs = facts.subjects.astype(np.int64) * 100 + facts.objects
    # In two shards, as a fit of many queries has them.
    cut = len(facts) // 2
    shards = [
        Shard(space.rows(queries.part(part)), facts.predicates[part])
        for part in (slice(0, cut), slice(cut, None))
    ]
    support = count_support(space, shards, pairs)
    seen: Counter[int] = Counter()
    followed: Counter[tuple[int, int]] = Counter()
    of_pairs: dict[tuple[int, int], set[int]] = {}
    for row in range(len(facts)):
        label = int(facts.predicates[row])
        for family, listed in history.facts(queries, row).items():
            for predicate in set(facts.predicates[listed].tolist()):
                ours = [int(f) for f in listed if facts.predicates[f] == predicate]
                level = plain_level(history, queries, row, ours)
                number = history_evidence(history, family, predicate, level)
                seen[number] += 1
                followed[number, label] += 1
                of_pairs.setdefault((number, label), set()).add(int(pairs[row]))
    for number in range(len(FAMILIES) * PREDICATES * len(LEVELS)):
        for predicate in range(PREDICATES):
            found = support.seen(number, predicate)
            expected = seen[number], followed[number, predicate]
            assert (found.queries, found.followed) == expected
            assert found.pairs == len(of_pairs.get((number, predicate), ()))
            share = np.mean(facts.predicates == predicate)
            if found.followed:
                assert found.confidence == pytest.approx(expected[1] / expected[0])
                assert found.lift == pytest.approx(found.confidence / share)


def test_levels_are_told_by_kernels() -> None:
    assert level_of({"same", "before", "ever"}) == "same"
    assert level_of({"after", "long"}) == "near"
    assert level_of({"short", "ever"}) == "far"


def test_reasons_carry_their_support(default_model: Path) -> None:
    predictor = Predictor.load(default_model)
    data = predictor.model.dataset
    facts = data.test
    names = [data.entities[int(column[0])] for column in (facts.subjects, facts.objects)]
    query = Query(names[0], names[1], data.axis.format(int(facts.times[0])))
    for past_only in (False, True):
        found = Predictor.load(default_model, past_only=past_only).explain(query)
        for reason in found.all_reasons():
            assert reason.support is not None
            assert 0 <= reason.support.followed <= reason.support.queries
    found = predictor.explain(query)
    assert found.reasons
    text, page = " ".join(explanation_text(found).split()), found.html()
    assert "In training, such evidence " in text
    assert "In training, such evidence " in page
    plain = to_dict(found)["reasons"][0]
    wanted = {"when", "queries", "followed", "pairs", "confidence", "lift", "runner_up"}
    wanted |= {"runner_up_lift", "is_itself", "contradicts", "words"}
    assert wanted == plain["support"].keys()
    assert "curve" not in plain


def test_a_fact_that_training_hides_is_not_said_to_speak_against_itself(
    default_model: Path,
) -> None:
    """Asked about a known fact, its support is counted from what was near, and says so."""
    predictor = Predictor.load(default_model)
    data = predictor.model.dataset
    facts, found = data.train, 0
    for row in range(0, len(facts), 40):
        names = [data.entities[int(column[row])] for column in (facts.subjects, facts.objects)]
        time = data.axis.format(int(facts.times[row]))
        why = predictor.explain(Query(names[0], names[1], time))
        for reason in why.all_reasons():
            part, support = reason, reason.support
            assert support is not None
            of_answer = part.topology[0] in (why.predicate, why.runner_up)
            at_once = [fact for fact in reason.facts if fact.distance == 0]
            assert support.is_itself == (part.family == "pair" and of_answer and bool(at_once))
            if support.is_itself:
                found += 1
                assert "hidden during training" in support.words
                is_asked = part.topology[0] == why.predicate
                assert ("the fact you asked about" in support.words) == is_asked
                assert ("a fact of the runner-up" in support.words) != is_asked
                assert "away" in support.when
    assert found > 5


@pytest.mark.parametrize(("log_odds", "whose"), [(1.0, "the runner-up"), (-1.0, "this answer")])
def test_counts_that_point_the_other_way_are_told_as_such(log_odds: float, whose: str) -> None:
    support = Support(
        when="", queries=10, followed=4, pairs=2, confidence=0.4, lift=2.0 - log_odds,
        runner_up=3, runner_up_lift=2.0,
    )  # fmt: skip
    assert contradicts_alone(support, log_odds)
    words = support_words(replace(support, contradicts=True), log_odds)
    assert f"On its own this evidence favours {whose}" in words
    assert "3 times with the runner-up (30.0 %, 2.0 times its usual share)" in words
    assert not contradicts_alone(support, -log_odds)
    assert "alone" not in support_words(support, -log_odds)
    equal = replace(support, lift=2.0 - 0.04 * log_odds)  # a difference that the line does not show
    assert contradicts_alone(equal, log_odds)
    assert contradicts_alone(equal, -log_odds)
    words = support_words(replace(equal, contradicts=True), log_odds)
    answer = "this answer" if log_odds > 0 else "the runner-up"
    assert (
        f"own this evidence favours neither; combined with the other reasons it favours {answer}."
        in words
    )
