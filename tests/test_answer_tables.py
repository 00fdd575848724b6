"""Answers to many queries as one table: those of the answers one by one."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_queries import query_about
from reference import PlainFact
from service_parts import tuning_query
from worlds import ENTITIES, graph_of, moments, plain_facts

from apptek.facts.queries import Queries
from apptek.facts.times import UNKNOWN
from apptek.graph.lookups import between, ends_of, known_at
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answer_tables import best_predicates
from apptek.predictor import Predictor
from apptek.present.tables import to_arrow
from apptek.results import Query
from apptek.server.served_model import ServedModel


@pytest.fixture
def queries(served: ServedModel) -> list[dict[str, str]]:
    asked = [tuning_query(served, row) for row in range(40)]
    asked[3]["time"] = "?"
    asked[4]["subject"] = "Nobody at all"
    asked[5]["object"] = asked[5]["object"].upper()
    asked[6]["time"] = "2031-01-01"
    return asked


entities = st.integers(-1, ENTITIES - 1)


def predicates_at(
    graph: TemporalGraph, subject: int, object_: int, moment: int, *, ahead: bool = False
) -> list[int]:
    """The predicates that hold from one entity to another at a position, ascending: an oracle."""
    if min(subject, object_) < 0:
        return []
    facts = between(graph, subject, object_)
    if not len(facts):
        return []
    first, last = ends_of(graph, facts)
    started = first < moment if ahead and moment != UNKNOWN else first <= moment
    holding = facts[started & (moment <= last)]
    return sorted(set(graph.facts.predicates[holding].tolist()))


@given(
    st.lists(plain_facts(), min_size=1, max_size=30),
    st.lists(st.tuples(entities, entities, st.none() | moments, st.booleans()), max_size=8),
)
def test_what_is_known_of_many_queries_is_what_is_known_of_each(
    plain: list[PlainFact], asked: list[tuple[int, int, int | None, bool]]
) -> None:
    graph = graph_of(plain)
    whens = [UNKNOWN if when is None else when for _, _, when, _ in asked]
    columns = ([one for one, *_ in asked], [other for _, other, *_ in asked], whens)
    subjects, objects, times = (np.asarray(column, np.int32) for column in columns)
    queries = Queries(subjects, objects, times, np.full(len(asked), -1, np.int32))
    ahead = np.asarray([last for *_, last in asked], np.bool_)
    flags = known_at(graph, queries, ahead)
    for row, (subject, object_, _, from_past) in enumerate(asked):
        known = predicates_at(graph, subject, object_, whens[row], ahead=from_past)
        assert np.flatnonzero(flags[row]).tolist() == known


@given(st.integers(1, 9), st.integers(1, 12), st.data())
def test_the_best_predicates_are_those_of_a_stable_order(
    width: int, top: int, data: st.DataObject
) -> None:
    values = st.sampled_from([0.0, 1e-40, 1e-9, 0.25, 0.5, 1.0])
    rows = data.draw(st.lists(st.lists(values, min_size=width, max_size=width), max_size=5))
    matrix = np.asarray(rows, np.float32).reshape(-1, width)
    order, largest = best_predicates(matrix, top)
    expected = np.argsort(-matrix, axis=1, kind="stable")[:, :top]
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(largest, np.take_along_axis(matrix, expected, 1))


@pytest.mark.parametrize("top", [1, 3, 100])
def test_the_table_is_that_of_the_answers_one_by_one(
    served: ServedModel, queries: list[dict[str, str]], top: int
) -> None:
    asked = [Query(**query) for query in queries]
    slow = to_arrow(served.predictor.predict(asked, top=top))
    fast = served.predictor.predict_table(asked, top=top)
    assert fast.equals(slow)
    assert {"all_facts", "past_only"} == set(slow["view"].to_pylist())


def test_past_only_flags_what_comes_later(
    served: ServedModel, queries: list[dict[str, str]]
) -> None:
    ahead = Predictor(served.predictor.model, past_only=True)
    asked = [Query(**query) for query in queries]
    early = [Query(query.subject, query.object, "2019-01-02") for query in asked]
    slow = to_arrow(ahead.predict([*asked, *early], top=2))
    assert ahead.predict_table([*asked, *early], top=2).equals(slow)
    assert slow["unseen_object"].to_pylist().count(True) > 4


def test_classes_and_labels_are_in_the_table(forecast_model: Path) -> None:
    predictor = Predictor.load(forecast_model)
    data = predictor.model.dataset
    asked = [query_about(data, data.valid, row) for row in range(30)]
    slow = to_arrow(predictor.predict(asked, top=4))
    assert slow["class_probability"].null_count < len(slow)
    assert predictor.predict_table(asked, top=4).equals(slow)
