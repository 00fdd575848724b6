from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import PlainFact, nearest
from worlds import ENTITIES, graph_of, moments, plain_facts, random_intervals

from apptek.facts.times import UNKNOWN
from apptek.graph import pairs
from apptek.graph.pairs import PairIndex, find_pair
from apptek.graph.slot_search import FIELDS, STREAMS, UNDATED, nearest_in_slot
from apptek.graph.temporal_graph import TemporalGraph


def facts_between(index: PairIndex, subject: int, object_: int) -> list[int]:
    """The facts of a pair in the order of their stretch."""
    pair = find_pair(index, subject, object_)
    if pair < 0:
        return []
    lo, hi = index.incidence.offsets[3 * pair], index.incidence.offsets[3 * pair + 3]
    return [int(fact) for fact in index.incidence.facts[lo:hi]]


def between(plain: list[PlainFact], subject: int, object_: int) -> list[int]:
    return [i for i, f in enumerate(plain) if (f.subject, f.object) == (subject, object_)]


@given(st.lists(plain_facts(), max_size=40), st.integers(1, 50))
def test_a_pair_owns_exactly_its_facts(plain: list[PlainFact], part: int) -> None:
    with patch("apptek.graph.pairs.PART", part):  # numbered a few facts at a time
        index = PairIndex.of(graph_of(plain))
    for subject in range(-1, ENTITIES):  # -1 is an unknown entity
        for object_ in range(-1, ENTITIES):
            facts = facts_between(index, subject, object_)
            assert sorted(facts) == between(plain, subject, object_)
    assert len(index.objects) == len({(fact.subject, fact.object) for fact in plain})


def nearest_of_pair(
    graph: TemporalGraph, subject: int, object_: int, when: int | None, k: int, hidden: int | None
) -> list[int]:
    index = PairIndex.of(graph)
    pair = find_pair(index, subject, object_)
    if pair < 0:
        return []
    facts, streams = np.empty((k, 3), np.int64), np.empty((STREAMS, FIELDS), np.int64)
    count = nearest_in_slot(
        index.incidence, pair, UNKNOWN if when is None else when, k,
        -1 if hidden is None else hidden, 0, UNDATED, streams, facts,
    )  # fmt: skip
    return [int(fact) for fact in facts[:count, 2]]


@given(
    st.lists(plain_facts(), min_size=1, max_size=40),
    st.integers(0, ENTITIES - 2),
    st.integers(0, ENTITIES - 2),
    st.none() | moments,
    st.integers(1, 6),
    st.data(),
)
def test_the_nearest_of_a_pair_are_those_of_the_definition(
    plain: list[PlainFact],
    subject: int,
    object_: int,
    when: int | None,
    k: int,
    data: st.DataObject,
) -> None:
    hidden = data.draw(st.none() | st.integers(0, len(plain) - 1))
    facts = nearest_of_pair(graph_of(plain), subject, object_, when, k, hidden)
    assert facts == nearest(plain, between(plain, subject, object_), when, k, hidden)


def test_agrees_where_the_tree_of_interval_ends_has_several_levels() -> None:
    rng = np.random.default_rng(2)
    plain = random_intervals(3000, rng)
    graph = graph_of(plain)
    for when in rng.integers(-5, 710, 20).tolist():
        facts = nearest_of_pair(graph, 1, 2, when, 30, None)
        assert facts == nearest(plain, between(plain, 1, 2), when, 30)


def test_threads_that_ask_at_once_share_one_index(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, build = graph_of([PlainFact(0, 0, 1, 3, None)]), pairs._index
    built: list[int] = []
    both = Barrier(2)

    def slowly(graph: TemporalGraph) -> PairIndex:
        built.append(1)
        with suppress(BrokenBarrierError):
            both.wait(0.2)  # a second build would come here, too
        return build(graph)

    monkeypatch.setattr(pairs, "_index", slowly)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: PairIndex.of(graph), range(2))
    assert one is other
    assert built == [1]
