from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import PlainHistory, family_facts, plain_history
from plain_queries import PlainQuery, plain_queries, queries_of
from reference import PlainFact
from worlds import ENTITIES, PREDICATES, graph_of, plain_facts, random_intervals

from apptek.config import FAMILIES, KERNELS, MOST_HISTORY_FACTS, HistoryConfig
from apptek.facts.times import TimeAxis
from apptek.features import history as module
from apptek.features.clock import Clock
from apptek.features.history import History, HistoryFeature
from apptek.graph.temporal_graph import TemporalGraph
from apptek.ragged import Ragged

PLAIN = PlainHistory(FAMILIES, KERNELS, 40, 60, 1.0, 0.4, (2.0, 7.0, 30.0, 120.0))


@st.composite
def plain_settings(draw: st.DrawFn) -> PlainHistory:
    """All families and kernels or some in any order, K small enough to leave facts out."""
    some_families = st.lists(st.sampled_from(FAMILIES), min_size=1, unique=True)
    some_kernels = st.lists(st.sampled_from(KERNELS), min_size=1, unique=True)
    return PlainHistory(
        families=tuple(draw(st.just(FAMILIES) | some_families)),
        kernels=tuple(draw(st.just(KERNELS) | some_kernels)),
        pair_facts=draw(st.integers(1, 5)),
        profile_facts=draw(st.integers(1, 6)),
        pair_weight=draw(st.sampled_from([0.5, 1.0])),
        profile_weight=draw(st.sampled_from([0.4, 2.0])),
        scales=draw(st.sampled_from([(1.0, 1.0, 2.0, 3.0), (2.0, 7.0, 30.0, 120.0)])),
        ahead=draw(st.booleans()),
        lasting=draw(st.booleans()),
    )


def history_of(graph: TemporalGraph, plain: PlainHistory = PLAIN) -> History:
    """The features that the plain settings describe."""
    config = HistoryConfig(
        families=plain.families,  # type: ignore[arg-type]
        kernels=plain.kernels,  # type: ignore[arg-type]
        pair_facts=plain.pair_facts,
        profile_facts=plain.profile_facts,
        pair_weight=plain.pair_weight,
        profile_weight=plain.profile_weight,
    )
    return History(graph.past_view() if plain.ahead else graph, Clock(*plain.scales), config)


def named(history: History, rows: Ragged, row: int) -> dict[HistoryFeature, float]:
    """The features of one row by what they stand for; each stands there once."""
    columns, values = rows.row(row)
    found = {
        history.feature(int(column)): float(value)
        for column, value in zip(columns, values, strict=True)
    }
    assert len(found) == len(columns)
    return found


def assert_agrees(plain: list[PlainFact], asked: list[PlainQuery], config: PlainHistory) -> None:
    history = history_of(graph_of(plain, "ongoing" if config.lasting else "point"), config)
    rows = history.rows(queries_of(asked))
    assert rows.width == len(history)
    for row, query in enumerate(asked):
        expected = plain_history(plain, query, config)
        assert named(history, rows, row) == pytest.approx(expected, abs=1e-5)


@settings(max_examples=250)
@given(st.lists(plain_facts(), max_size=40), plain_settings(), st.data())
def test_agrees_with_the_definition(
    plain: list[PlainFact], config: PlainHistory, data: st.DataObject
) -> None:
    assert_agrees(plain, [data.draw(plain_queries(plain)) for _ in range(3)], config)


@settings(max_examples=100)
@given(st.lists(plain_facts().filter(lambda fact: fact.since is not None), max_size=30), st.data())
def test_agrees_where_every_fact_is_dated(plain: list[PlainFact], data: st.DataObject) -> None:
    history = history_of(graph_of(plain))
    assert not [name for name in history.kernels if "undated" in name]
    assert_agrees(plain, [data.draw(plain_queries(plain)) for _ in range(3)], PLAIN)


@pytest.mark.parametrize("ahead", [False, True])
def test_agrees_where_there_are_many_intervals(ahead: bool) -> None:
    rng = np.random.default_rng(3)
    plain = random_intervals(2000, rng)
    asked: list[PlainQuery] = [
        (int(rng.integers(0, 3)), int(rng.integers(0, 3)), int(rng.integers(-5, 710)), None)
        for _ in range(15)
    ]
    assert_agrees(plain, asked, replace(PLAIN, ahead=ahead))


@settings(max_examples=100)
@given(st.lists(plain_facts(), max_size=40), plain_settings(), st.data())
def test_its_facts_are_those_that_the_features_were_made_of(
    plain: list[PlainFact], config: PlainHistory, data: st.DataObject
) -> None:
    asked = [data.draw(plain_queries(plain)) for _ in range(2)]
    history = history_of(graph_of(plain, "ongoing" if config.lasting else "point"), config)
    found = history.facts(queries_of(asked), 1)
    assert {family: facts.tolist() for family, facts in found.items()} == {
        family: family_facts(plain, asked[1], family, config) for family in config.families
    }


def point(predicate: int, time: int, subject: int = 0, object_: int = 1) -> PlainFact:
    return PlainFact(subject, predicate, object_, time, time)


def test_days_are_counted_on_the_axis_not_by_the_codes() -> None:
    axis = TimeAxis("day", mixed=True)
    year, day, later = (axis.parse(text) for text in ("1999", "1999-01-01", "1999-01-03"))
    plain = [point(0, year), point(1, day), point(2, later)]
    codes = graph_of(plain).facts
    graph = TemporalGraph.build(codes, axis, ENTITIES, PREDICATES)
    history = history_of(graph)
    rows = history.rows(queries_of([(0, 1, day, None)]))
    found = named(history, rows, 0)
    assert {f.predicate for f in found if f.kernel == "same"} == {0, 1}
    after = found[HistoryFeature("pair", 2, "after")]
    z = np.exp(-1 / 2)
    assert after == pytest.approx(np.log(1 + 6 * z / (1 + z)), abs=1e-6)


# A dominant partner


def dominated(before: int, after: int) -> list[PlainFact]:
    """0 -> 1 daily, but for one fact 0 -> 2 after so many of them, and again at the very end."""
    found = [point(0, time) for time in range(before)]
    found.append(point(1, before, 0, 2))
    found += [point(0, before + 1 + time) for time in range(after)]
    return [*found, point(2, before + after + 1, 0, 2)]


def test_behind_a_dominant_partner_the_search_ends() -> None:
    """The query stands at 0, so that the days are the order of nearness."""
    for place, is_found in ((MOST_HISTORY_FACTS - 1, True), (MOST_HISTORY_FACTS, False)):
        plain = dominated(place, MOST_HISTORY_FACTS)
        history = history_of(graph_of(plain), replace(PLAIN, families=("pair", "subject_out")))
        queries = queries_of([(0, 1, 0, None), (0, 2, 0, None), (2, 0, 0, None)])
        rows = history.rows(queries)
        found = {f.predicate for f in named(history, rows, 0) if f.family == "subject_out"}
        assert found == ({1} if is_found else set())
        assert history.facts(queries, 0)["subject_out"].tolist() == ([place] if is_found else [])


def test_nothing_is_cut_where_enough_others_are_near() -> None:
    plain = [point(0, time) for time in range(2000)]
    plain += [point(1, time, 0, 2) for time in range(0, 2000, 16)]
    history = history_of(graph_of(plain), replace(PLAIN, families=("subject_out",)))
    queries = queries_of([(0, 1, 1000, None)])
    rows = history.rows(queries)
    assert len(history.facts(queries, 0)["subject_out"]) == 60
    assert {f.predicate for f in named(history, rows, 0)} == {1}


# Columns


@given(plain_settings(), st.booleans())
def test_a_column_stands_for_one_family_predicate_and_kernel(
    config: PlainHistory, dated: bool
) -> None:
    plain = [point(0, 1)] if dated else [PlainFact(0, 0, 1, None, None)]
    history = history_of(graph_of(plain, "ongoing" if config.lasting else "point"), config)
    features = [history.feature(column) for column in range(len(history))]
    idle = {"undated", "undated ever", "both undated"} if dated else set()
    wanted = [
        HistoryFeature(family, predicate, kernel)
        for family in FAMILIES
        for predicate in range(PREDICATES)
        for kernel in KERNELS
        if family in config.families and kernel in set(config.kernels) - idle
    ]
    assert features == wanted


@given(plain_settings())
def test_features_of_one_family_and_kernel_share_a_copy_weight(config: PlainHistory) -> None:
    history = history_of(graph_of([PlainFact(0, 0, 1, None, None)]), config)
    predicates, groups = history.copies()
    assert predicates.dtype == groups.dtype == np.int32
    shared: dict[tuple[str, str], set[int]] = {}
    for column in range(len(history)):
        feature = history.feature(column)
        assert predicates[column] == feature.predicate
        shared.setdefault((feature.family, feature.kernel), set()).add(int(groups[column]))
    assert all(len(found) == 1 for found in shared.values())
    assert sorted(found.pop() for found in shared.values()) == list(range(len(shared)))


# Arrays and chunks


def many_queries(rng: np.random.Generator) -> list[PlainQuery]:
    return [
        (int(rng.integers(0, 4)), int(rng.integers(0, 4)), int(rng.integers(-5, 500)), None)
        for _ in range(100)
    ]


def test_any_chunk_size_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    history = history_of(graph_of(random_intervals(500, rng)))
    queries = queries_of(many_queries(rng))
    whole = history.rows(queries)
    for chunk in (1, 7, 100):
        monkeypatch.setattr(module, "CHUNK", chunk)
        found = history.rows(queries)
        for one, other in (
            (found.offsets, whole.offsets),
            (found.columns, whole.columns),
            (found.flat_values, whole.flat_values),
        ):
            assert one.tobytes() == other.tobytes()


LAST = 2**31 - 1


@pytest.mark.parametrize(
    ("since", "until", "when"),
    [
        *((50, 90, 90 + apart) for apart in (1, 2, 1022, 1023, 1024, 1025, 1026, 5000)),
        *((50, 90, 50 - apart) for apart in (1023, 1024, 5000)),
        *((-LAST, -LAST, LAST), (LAST, LAST, -LAST)),  # the farthest times of all
    ],
)
def test_far_distances_agree_with_the_definition(since: int, until: int, when: int) -> None:
    config = replace(PLAIN, scales=(500.0, 1000.0, 2000.0, 4000.0))
    assert_agrees([PlainFact(0, 0, 1, since, until)], [(0, 1, when, None)], config)


# Scales


def test_the_scales_do_not_depend_on_the_view() -> None:
    graph = graph_of([point(0, time) for time in (0, 3, 12, 39)])
    assert Clock.of(graph.past_view()) == Clock.of(graph)
