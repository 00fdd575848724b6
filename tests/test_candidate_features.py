"""What such actors do: by definition, and without leaks."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import PlainHistory, plain_typed
from plain_queries import PlainQuery, plain_queries, queries_of
from reference import PlainFact
from worlds import ENTITIES, PREDICATES, graph_of, plain_facts

from apptek.arrays import Floats, Ints, read_only
from apptek.config import FAMILIES, KERNELS
from apptek.features.clock import Clock
from apptek.features.traits import COUNTRY, SECTOR, Kind, NewNames
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.reranking.typed_histories import TypedHistories

PLAIN = PlainHistory(FAMILIES, KERNELS, 40, 60, 1.0, 0.4, (2.0, 7.0, 30.0, 120.0))
types = st.lists(st.integers(-1, 1), min_size=ENTITIES, max_size=ENTITIES)


def kind_of(name: str, values: list[int]) -> Kind:
    return Kind(name, ("a", "b"), np.asarray(values, np.int32), np.zeros(0, np.int64))


def typed_of(graph: TemporalGraph, kinds: tuple[Kind, ...], config: PlainHistory) -> TypedHistories:
    graph = graph.past_view() if config.ahead else graph
    history = SimpleNamespace(graph=graph, clock=Clock(*config.scales))
    space: Any = SimpleNamespace(history=history, traits=SimpleNamespace(kinds=kinds))
    return TypedHistories.of(space)


def every_predicate(asked: list[PlainQuery]) -> Ints:
    return read_only(np.tile(np.arange(PREDICATES, dtype=np.int32), (len(asked), 1)))


def all_features(index: TypedHistories, asked: list[PlainQuery]) -> Floats:
    return index.describe(queries_of(asked), every_predicate(asked))


def present(index: TypedHistories, features: Floats) -> dict[tuple[int, int, int, str], float]:
    """The numbers of one query that are not 0, as the definition names them."""
    values = {
        (*pair, predicate, kernel): float(features[predicate, 4 * number + place])
        for number, pair in enumerate(index.groupings)
        for place, kernel in enumerate(("same", "short", "middle", "ever"))
        for predicate in range(PREDICATES)
    }
    return {key: value for key, value in values.items() if value}


def levels_of(sectors: list[int], countries: list[int]) -> list[dict[int, int]]:
    one, other = (
        {entity: value for entity, value in enumerate(values) if value >= 0}
        for values in (sectors, countries)
    )
    both = {entity: 2 * one[entity] + other[entity] for entity in one if entity in other}
    return [{entity: entity for entity in range(ENTITIES)}, one, other, both]


@settings(max_examples=200)
@given(
    st.lists(plain_facts(), min_size=1, max_size=40), types, types, st.integers(1, 8),
    st.booleans(), st.booleans(), st.data(),
)  # fmt: skip
def test_agrees_with_the_definition(
    plain: list[PlainFact],
    sectors: list[int],
    countries: list[int],
    most: int,
    ahead: bool,
    lasting: bool,
    data: st.DataObject,
) -> None:
    config = replace(PLAIN, ahead=ahead, lasting=lasting)
    kinds = (kind_of("sector", sectors), kind_of("country", countries))
    index = typed_of(graph_of(plain, "ongoing" if lasting else "point"), kinds, config)
    index = replace(index, most=most)
    asked = [data.draw(plain_queries(plain)) for _ in range(3)]
    found = all_features(index, asked)
    names = index.feature_names()
    assert len(names) == found.shape[2] == 36
    for row, query in enumerate(asked):
        levels = levels_of(sectors, countries)
        wanted = plain_typed(plain, query, levels, most, config)
        assert present(index, found[row]) == pytest.approx(wanted, abs=1e-5)


def test_without_types_there_is_nothing_to_say() -> None:
    index = typed_of(graph_of([PlainFact(0, 1, 2, 5, 5)]), (), PLAIN)
    assert index.feature_names() == []
    found = all_features(index, [(0, 2, 5, None)])
    assert found.shape == (1, PREDICATES, 0)


@settings(max_examples=100)
@given(st.lists(plain_facts(), min_size=5, max_size=30), types, types, st.booleans())
def test_a_new_name_may_have_types_that_nobody_has_together(
    plain: list[PlainFact], sectors: list[int], countries: list[int], is_subject: bool
) -> None:
    countries = [0 if sectors[entity] == 1 else countries[entity] for entity in range(ENTITIES)]
    kinds = (kind_of(SECTOR, sectors), kind_of(COUNTRY, countries))
    index = typed_of(graph_of(plain), kinds, PLAIN)
    told = NewNames(kinds).id("b (b)")
    levels = levels_of(sectors, countries)
    for level, value in zip(levels[1:], (1, 1, 3), strict=True):
        level[told] = value
    for entity in range(ENTITIES):
        query: PlainQuery = (*((told, entity) if is_subject else (entity, told)), 5, None)
        found = all_features(index, [query])[0]
        wanted = plain_typed(plain, query, levels, index.most, PLAIN)
        assert present(index, found) == pytest.approx(wanted, abs=1e-5)
