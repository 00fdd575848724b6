import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import PlainFact, incident, nearest, nearest_seen, seen_facts
from worlds import ENTITIES, graph_of, moments, plain_facts, random_intervals

from apptek.errors import GraphError
from apptek.facts.facts import OpenEnd
from apptek.facts.times import UNKNOWN
from apptek.graph.temporal_graph import Traversal

TRAVERSALS: list[Traversal] = ["both", "outgoing", "incoming"]
given_any_look_up = given(
    plain=st.lists(plain_facts(), max_size=40),
    entity=st.integers(0, ENTITIES - 1),
    when=st.none() | moments,
    k=st.integers(1, 14),
    traversal=st.sampled_from(TRAVERSALS),
    data=st.data(),
)


def looked_up(
    plain: list[PlainFact],
    entity: int,
    when: int | None,
    k: int,
    hidden: int | None = None,
    traversal: Traversal = "both",
) -> list[int]:
    time = UNKNOWN if when is None else when
    hide = None if hidden is None else [hidden]
    facts = graph_of(plain).nearest([entity], [time], k, hidden=hide, traversal=traversal)
    return [int(fact) for fact in facts[0] if fact >= 0]


@settings(max_examples=400)
@given_any_look_up
def test_agrees_with_the_definition(plain, entity, when, k, traversal, data) -> None:  # type: ignore[no-untyped-def]
    hidden = data.draw(st.none() | st.integers(0, len(plain) - 1)) if plain else None
    expected = nearest(plain, incident(plain, entity, traversal), when, k, hidden)
    assert looked_up(plain, entity, when, k, hidden, traversal) == expected


@settings(max_examples=400)
@given_any_look_up
def test_every_view_agrees_with_the_definition(plain, entity, when, k, traversal, data) -> None:  # type: ignore[no-untyped-def]
    hidden = data.draw(st.none() | st.integers(0, len(plain) - 1)) if plain else None
    ahead, lasting = data.draw(st.booleans()), data.draw(st.booleans())
    seen = seen_facts(plain, when, ahead=ahead, lasting=lasting)
    candidates = incident(plain, entity, traversal)
    graph = graph_of(plain, "ongoing" if lasting else "point")
    facts = (graph.past_view() if ahead else graph).nearest(
        [entity],
        [UNKNOWN if when is None else when],
        k,
        hidden=None if hidden is None else [hidden],
        traversal=traversal,
    )
    assert [fact for fact in facts[0].tolist() if fact >= 0] == nearest_seen(
        plain, seen, candidates, when, k, hidden
    )


@pytest.mark.parametrize("open_end", ["point", "ongoing"])
def test_looking_ahead_agrees_where_there_are_many_intervals(open_end: OpenEnd) -> None:
    rng = np.random.default_rng(5)
    plain = random_intervals(1500, rng)
    entities, times = rng.integers(0, 3, 40), rng.integers(-5, 710, 40)
    facts = graph_of(plain, open_end).past_view().nearest(entities, times, 30)
    for row, (entity, when) in enumerate(zip(entities.tolist(), times.tolist(), strict=True)):
        seen = seen_facts(plain, when, ahead=True, lasting=open_end == "ongoing")
        expected = nearest_seen(plain, seen, incident(plain, entity, "both"), when, 30, None)
        assert [fact for fact in facts[row].tolist() if fact >= 0] == expected


def test_looking_ahead_an_end_to_come_is_not_known() -> None:
    """Two in office since 2 and 6, until 9 and for ever: at 7 neither end is known."""
    plain = [PlainFact(0, 0, 1, 2, 9), PlainFact(0, 0, 1, 6, None), PlainFact(0, 0, 1, 7, 8)]
    found = [
        [fact for fact in graph.past_view().nearest([0], [7], 9)[0].tolist() if fact >= 0]
        for graph in (graph_of(plain), graph_of(plain, "ongoing"))
    ]
    assert found == [[1, 0], [0, 1]]  # by their starts; both at distance 0, the earlier first


@pytest.mark.parametrize("seed", range(3))
def test_agrees_where_the_tree_of_interval_ends_has_several_levels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    plain = random_intervals(3000, rng)
    entities, times = rng.integers(0, 3, 100), rng.integers(-5, 710, 100)
    facts = graph_of(plain).nearest(entities, times, 30)
    for row, (entity, when) in enumerate(zip(entities.tolist(), times.tolist(), strict=True)):
        expected = nearest(plain, incident(plain, entity, "both"), when, 30)
        assert facts[row].tolist() == expected


def point(time: int, subject: int = 0, object_: int = 1) -> PlainFact:
    return PlainFact(subject, 0, object_, time, time)


def test_the_earlier_fact_wins_a_tie() -> None:
    assert looked_up([point(6), point(4)], 0, 5, 1) == [1]


def test_of_one_day_at_the_edge_of_k_the_lowest_indices_stay() -> None:
    assert looked_up([point(3), point(5), point(3), point(3)], 0, 5, 3) == [1, 0, 2]


def test_a_self_loop_counts_once() -> None:
    assert looked_up([point(1, 0, 0), point(2)], 0, 1, 5) == [0, 1]


def test_inside_an_interval_the_distance_is_zero() -> None:
    long_ago = PlainFact(0, 0, 1, -100, 100)
    assert looked_up([point(4), long_ago], 0, 5, 1) == [1]


def test_of_an_interval_with_one_unknown_end_the_known_one_counts() -> None:
    assert looked_up([PlainFact(0, 0, 1, 1, None), PlainFact(0, 0, 1, None, 7)], 0, 5, 1) == [1]


def test_undated_facts_come_last_and_for_an_undated_query_first() -> None:
    plain = [point(1000), PlainFact(0, 0, 1, None, None)]
    assert looked_up(plain, 0, 0, 2) == [0, 1]
    assert looked_up(plain, 0, None, 2) == [1, 0]


def test_the_hidden_fact_is_replaced_by_the_next_one() -> None:
    assert looked_up([point(5), point(6), point(7)], 0, 5, 2, hidden=0) == [1, 2]


def test_since_and_until_lines_of_one_triple_are_hidden_together() -> None:
    twins = [PlainFact(0, 0, 1, 3, None), PlainFact(0, 0, 1, None, 7), PlainFact(0, 1, 1, 3, None)]
    assert looked_up(twins, 0, 3, 3, hidden=1) == [2]


def test_an_entity_without_facts_and_one_that_is_unknown_have_none() -> None:
    graph = graph_of([point(1)])
    assert (graph.nearest([4, -1], [1, 1], 2) == -1).all()


def test_many_chunks_equal_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    graph = graph_of(random_intervals(500, rng))
    entities, times = rng.integers(0, 3, 1000), rng.integers(0, 400, 1000)
    in_one_chunk = graph.nearest(entities, times, 5)
    monkeypatch.setattr("apptek.graph.temporal_graph.CHUNK", 7)
    assert np.array_equal(graph.nearest(entities, times, 5), in_one_chunk)


@pytest.mark.parametrize(
    ("entities", "times", "k", "message"),
    [
        ([0], [0], 0, "k must be at least 1"),
        ([9], [0], 1, "there is no entity 9"),
        ([0, 1], [0], 1, "equally many"),
    ],
)
def test_senseless_queries_are_refused(entities, times, k, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(GraphError, match=message):
        graph_of([point(1)]).nearest(entities, times, k)
