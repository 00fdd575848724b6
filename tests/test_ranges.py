from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import PlainFact
from worlds import ENTITIES, PREDICATES, graph_of, plain_facts, random_intervals

from apptek.arrays import Ints
from apptek.errors import GraphError
from apptek.graph.ranges import check_graph
from apptek.graph.temporal_graph import TemporalGraph

OFFSETS = ("offsets", "interval_offsets", "level_offsets")


def changed(graph: TemporalGraph, part: str, name: str, place: int, value: int) -> TemporalGraph:
    """The graph with one value of one array changed."""
    array: Ints = getattr(getattr(graph, part), name).copy()
    array[place] = value
    if part == "facts":
        return replace(graph, facts=replace(graph.facts, **{name: array}))
    return replace(graph, incidence=graph.incidence._replace(**{name: array}))


def limits(graph: TemporalGraph) -> list[tuple[str, str, int]]:
    """Every array of ids, with how many there are."""
    count = len(graph.facts)
    return [
        ("facts", "subjects", ENTITIES),
        ("facts", "predicates", PREDICATES),
        ("facts", "objects", ENTITIES),
        ("incidence", "facts", count),
        ("incidence", "by_end", count),
        ("incidence", "twins", count),
    ]


@given(plain=st.lists(plain_facts(), max_size=40))
def test_a_graph_as_it_is_built_is_within_its_bounds(plain: list[PlainFact]) -> None:
    check_graph(graph_of(plain))


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 255, 256, 257, 600])
def test_every_size_of_the_tree_of_maxima_is_accepted(count: int) -> None:
    check_graph(graph_of(random_intervals(count, np.random.default_rng(count))))


@given(plain=st.lists(plain_facts(), min_size=1, max_size=20), draws=st.data())
def test_an_id_is_refused_exactly_where_there_is_no_such_id(
    plain: list[PlainFact], draws: st.DataObject
) -> None:
    graph = graph_of(plain)
    part, name, count = draws.draw(st.sampled_from(limits(graph)))
    length = len(getattr(getattr(graph, part), name))
    if not length:
        return
    place = draws.draw(st.integers(0, length - 1))
    value = draws.draw(st.integers(-2, count + 1) | st.sampled_from([-(2**31), 2**31 - 1]))
    other = changed(graph, part, name, place, value)
    check_graph(other, every_value=False)
    if 0 <= value < count:
        check_graph(other)
    else:
        with pytest.raises(GraphError, match=f"{name} has the id {value}, but there are {count}"):
            check_graph(other)


@given(plain=st.lists(plain_facts(), min_size=1, max_size=20), draws=st.data())
def test_any_other_offset_that_breaks_the_order_is_refused(
    plain: list[PlainFact], draws: st.DataObject
) -> None:
    graph = graph_of(plain)
    name = draws.draw(st.sampled_from(OFFSETS))
    offsets = getattr(graph.incidence, name)
    place = draws.draw(st.integers(0, len(offsets) - 1))
    before = int(offsets[place - 1]) if place else 0
    after = int(offsets[place + 1]) if place + 1 < len(offsets) else int(offsets[-1])
    for value in (before - 1, after + 1, -(2**31), 2**31 - 1):
        with pytest.raises(GraphError, match="offsets"):
            check_graph(changed(graph, "incidence", name, place, value), every_value=False)


def test_intervals_that_another_slot_owns_are_refused() -> None:
    graph = graph_of(random_intervals(50, np.random.default_rng(3)))
    offsets = graph.incidence.interval_offsets
    place = int(np.flatnonzero(np.diff(offsets) > 1)[0]) + 1
    other = changed(graph, "incidence", "interval_offsets", place, int(offsets[place]) - 1)
    with pytest.raises(GraphError, match=r"interval_offsets do not fit incidence\.offsets"):
        check_graph(other)
