"""The support of reasons: counted as the definition says."""

import math
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import PlainFact
from worlds import PREDICATES, dataset_of, plain_facts

from apptek.arrays import Ints
from apptek.config import FAMILIES, preset
from apptek.facts.queries import Queries, training_queries
from apptek.facts.times import UNKNOWN
from apptek.features.clock import Clock
from apptek.features.history import History
from apptek.features.history_kernels import LEAST
from apptek.features.space import FeatureSpace, make_space
from apptek.features.support import LEVELS, Level, count_support, history_evidence, level_of
from apptek.graph.temporal_graph import TemporalGraph
from apptek.predictor import Predictor, Query
from apptek.ragged import Ragged


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
        Shard(space.rows(queries.take(part)), facts.predicates[part])
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
                assert ("records the runner-up" in support.words) != is_asked
                assert support.when.startswith("at most")
    assert found > 5
