import os
from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import PlainFact, plain_clock
from plain_queries import queries_of
from worlds import graph_of, moments, plain_facts

from apptek.config import KERNELS, HistoryConfig
from apptek.facts.benchmarks import find_benchmark
from apptek.features.clock import WITHOUT_GAPS, Clock
from apptek.features.history import History
from apptek.graph.temporal_graph import TemporalGraph
from apptek.reading.reader import read_dataset

SCALES = (2.0, 7.0, 30.0, 120.0)
ELSEWHERE = PlainFact(3, 0, 4, None, None)  # with an undated fact no kernel is idle
CONFIG = HistoryConfig(families=("pair",), kernels=KERNELS)


def kernels_of(
    fact: PlainFact, when: int | None, scales: tuple[float, float, float, float] = SCALES
) -> dict[str, float]:
    """The kernels z of 0 -> 1 from 0.01 on: with one fact a feature is ln(1 + 6 z / (1 + z))."""
    history = History(graph_of([fact, ELSEWHERE]), Clock(*scales), CONFIG)
    columns, values = history.counted_rows(queries_of([(0, 1, when, None)]))[0].row(0)
    shares = np.expm1(values.astype(np.float64)) / 6
    found = (shares / (1 - shares)).tolist()
    return {history.feature(c).kernel: z for c, z in zip(columns.tolist(), found, strict=True)}


def by_definition(
    fact: PlainFact, when: int | None, scales: tuple[float, float, float, float] = SCALES
) -> dict[str, float]:
    expected = plain_clock(fact, when, scales)
    return {name: value for name, value in expected.items() if value >= 0.01}


@given(fact=plain_facts(), when=st.none() | moments)
def test_agrees_with_the_definition(fact: PlainFact, when: int | None) -> None:
    fact = replace(fact, subject=0, object=1)
    assert kernels_of(fact, when) == pytest.approx(by_definition(fact, when), rel=1e-4)


@pytest.mark.parametrize("apart", [1, 2, 1022, 1023, 1024, 1025, 1026, 5000, -1023, -1024, -5000])
def test_far_distances_agree_with_the_definition(apart: int) -> None:
    fact, scales = PlainFact(0, 0, 1, 50, 90), (500.0, 1000.0, 2000.0, 4000.0)
    when = 90 + apart if apart > 0 else 50 + apart
    expected = by_definition(fact, when, scales)
    assert kernels_of(fact, when, scales) == pytest.approx(expected, rel=1e-4)


def test_the_farthest_times_of_all_are_only_ever() -> None:
    last = 2**31 - 1
    assert kernels_of(PlainFact(0, 0, 1, -last, -last), last).keys() == {"ever"}
    assert kernels_of(PlainFact(0, 0, 1, last, last), -last).keys() == {"ever"}


# Scales


def daily(gaps: list[int], subject: int = 0, object_: int = 1) -> list[PlainFact]:
    """Facts of one pair with these gaps between them."""
    times = np.cumsum([0, *gaps]).tolist()
    return [PlainFact(subject, 0, object_, time, time) for time in times]


def test_the_scales_are_quantiles_of_the_gaps_within_pairs() -> None:
    """Of 1 .. 16: a third of the way is 6, and so on."""
    found = Clock.of(graph_of(daily(list(range(16, 0, -1)))))
    assert astuple(found) == pytest.approx((6.0, 8.5, 12.25, 15.0625))


def test_gaps_are_within_a_pair_and_between_different_times() -> None:
    plain = [*daily([4, 4, 4]), *daily([8], 1, 0), *daily([0, 8, 0], 2, 3)]
    shuffled = [plain[place] for place in np.random.default_rng(0).permutation(len(plain))]
    for facts in (plain, shuffled):
        assert astuple(Clock.of(graph_of(facts))) == pytest.approx((4, 4, 8, 8))


def test_no_scale_is_below_the_unit() -> None:
    assert Clock.of(graph_of(daily([1] * 9))) == Clock(1.0, 1.0, 1.0, 1.0)


def test_intervals_count_by_their_start_half_known_ones_by_that_end_undated_ones_not() -> None:
    plain = [
        PlainFact(0, 0, 1, 0, 90),
        PlainFact(0, 0, 1, 5, None),
        PlainFact(0, 0, 1, None, 10),
        PlainFact(0, 0, 1, None, None),
        PlainFact(0, 0, 1, 15, 17),
    ]
    assert Clock.of(graph_of(plain)) == Clock(5.0, 5.0, 5.0, 5.0)


def test_where_no_pair_has_two_times_the_subjects_count() -> None:
    plain = [PlainFact(0, 0, object_, 3 * object_, 3 * object_) for object_ in range(4)]
    assert Clock.of(graph_of(plain)) == Clock(3.0, 3.0, 3.0, 3.0)


def test_without_any_gap_there_are_scales_all_the_same() -> None:
    for plain in ([], daily([]), [PlainFact(0, 0, 1, None, None)] * 3, daily([0, 0])):
        assert Clock.of(graph_of(plain)) == Clock(*WITHOUT_GAPS)


def test_the_scales_do_not_depend_on_the_view() -> None:
    graph = graph_of(daily([3, 9, 27]))
    assert Clock.of(graph.past_view()) == Clock.of(graph)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "about"), [("icews14", (2, 7, 30, 120)), ("yago15k", (1, 2, 3, 6))]
)
def test_the_scales_of_the_benchmarks(name: str, about: tuple[float, ...]) -> None:
    if find_benchmark(name) is None:
        pytest.skip(f"{name} is not in $APPTEK_DATA ({os.environ.get('APPTEK_DATA', 'unset')})")
    data = read_dataset(name)
    found = Clock.of(TemporalGraph.of(data))
    assert astuple(found) == pytest.approx(about, rel=0.2)
    assert data.axis.unit == ("day" if name == "icews14" else "year")
