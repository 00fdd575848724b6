"""The four figures of forecasts, and the direction prior in two of them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from forecast_oracles import decayed_count, plain_direction_features, rank_of_both_directions
from hypothesis import given
from hypothesis import strategies as st
from ranking_oracles import expected_rank, other_known
from reference import PlainFact
from worlds import ENTITIES, PREDICATES, dataset_of, facts_of, moments, plain_facts

from apptek.arrays import Doubles, Ints, Matrix
from apptek.evaluation.calibration import softmax
from apptek.evaluation.direction import (
    FEATURES,
    SCALES,
    direction_features,
    direction_logs,
    direction_priors,
    fit_direction,
)
from apptek.evaluation.scorer import ViewScorer, evaluate_forecast
from apptek.facts.facts import Dataset
from apptek.facts.queries import Queries
from apptek.facts.times import UNKNOWN
from apptek.graph.decayed_counts import decayed_counts

worlds = st.lists(plain_facts(), min_size=1, max_size=12)
some_facts = st.lists(plain_facts(), min_size=1, max_size=6)
dated = st.lists(st.tuples(st.integers(0, 2), st.none() | moments), max_size=10)


def counts_of(
    events: list[tuple[int, int | None]], queries: list[tuple[int, int | None]]
) -> Doubles:
    def columns(pairs: list[tuple[int, int | None]]) -> tuple[Ints, Ints]:
        groups = [group for group, _ in pairs]
        times = [UNKNOWN if time is None else time for _, time in pairs]
        return np.asarray(groups, np.int32), np.asarray(times, np.int32)

    counts, ages = decayed_counts(*columns(events), *columns(queries), np.asarray(SCALES))
    for (group, when), age in zip(queries, ages.tolist(), strict=True):
        earlier = [at for of, at in events if of == group and at is not None]
        passed = [when - at for at in earlier if when is not None and at < when]
        assert age == min(passed, default=math.inf)
    return counts


@given(events=dated, queries=dated)
def test_decayed_counts_agree_with_the_definition(
    events: list[tuple[int, int | None]], queries: list[tuple[int, int | None]]
) -> None:
    expected = [
        [
            decayed_count([time for of, time in events if of == group], when, scale)
            for scale in SCALES
        ]
        for group, when in queries
    ]
    counts = counts_of(events, queries)
    assert counts.shape == (len(queries), len(SCALES))
    assert counts == pytest.approx(np.reshape(expected, counts.shape), rel=1e-9)


def test_times_far_apart_do_not_overflow() -> None:
    counts = counts_of([(0, -2_000_000_000), (0, 1_999_999_999)], [(0, 2_000_000_000), (1, 0)])
    assert counts[0].tolist() == pytest.approx([*(math.exp(-1 / c) for c in SCALES[:-1]), 2])
    assert counts[1].tolist() == [0] * len(SCALES)


@given(queries=some_facts, facts=worlds)
def test_direction_features_agree_with_the_definition(
    queries: list[PlainFact], facts: list[PlainFact]
) -> None:
    features = direction_features(facts_of(queries), facts_of(facts), dataset_of(facts))
    assert features.shape == (len(queries), FEATURES)
    expected = [plain_direction_features(query, facts) for query in queries]
    assert features == pytest.approx(np.asarray(expected), abs=1e-9)


def test_the_weights_stay_finite_where_a_feature_decides_everything() -> None:
    features = np.zeros((1000, FEATURES))
    features[:, 3] = 50.0
    weights = fit_direction(features)
    assert 0 < weights[3] < 10
    assert np.delete(weights, 3).tolist() == [0] * (FEATURES - 1)
    assert direction_logs(weights, features)[0, 0] == pytest.approx(0, abs=1e-3)


def test_without_facts_to_fit_on_both_directions_are_equally_likely() -> None:
    weights = fit_direction(np.zeros((0, FEATURES)))
    assert np.exp(direction_logs(weights, np.ones((2, FEATURES)))).tolist() == [[0.5, 0.5]] * 2


TABLE = np.random.default_rng(0).integers(0, 3, (ENTITIES, ENTITIES, PREDICATES)).astype(float)


def table_scores(queries: Queries) -> Matrix:
    """Scores with many ties, by ordered pair."""
    scores: Matrix = TABLE[queries.subjects, queries.objects]
    return scores


def constant_scores(queries: Queries) -> Matrix:
    return np.zeros((len(queries), PREDICATES))


def forecast_data(train: list[PlainFact], valid: list[PlainFact], test: list[PlainFact]) -> Dataset:
    return replace(dataset_of(train), valid=facts_of(valid), test=facts_of(test))


@given(train=worlds, valid=worlds, test=some_facts, tilt=st.sampled_from([0.0, 0.5, -2.0]))
def test_the_four_figures_agree_with_their_definitions(
    train: list[PlainFact], valid: list[PlainFact], test: list[PlainFact], tilt: float
) -> None:
    data, facts = forecast_data(train, valid, test), train + valid + test
    logs = (math.log(1 / (1 + math.exp(-tilt))), math.log(1 / (1 + math.exp(tilt))))
    figures = evaluate_forecast(
        ViewScorer(table_scores, softmax), data, rolling=True, priors=np.tile(logs, (len(test), 1))
    )
    ranks: dict[str, list[float]] = {name: [] for name in figures}
    for fact in test:
        own, reverse = TABLE[fact.subject, fact.object], TABLE[fact.object, fact.subject]
        known = set(other_known(fact, facts, "time-aware"))
        ranks["raw_r"].append(expected_rank(own.tolist(), fact.predicate, set()))
        ranks["filtered_r"].append(expected_rank(own.tolist(), fact.predicate, known))
        ahead, back = (softmax(scores[None])[0].tolist() for scores in (own, reverse))
        ranks["raw_2r"].append(rank_of_both_directions(fact, ahead, back, logs, None))
        ranks["filtered_2r"].append(rank_of_both_directions(fact, ahead, back, logs, facts))
    for name, metrics in figures.items():
        assert metrics["mrr"] == pytest.approx(np.mean([1 / rank for rank in ranks[name]]))
        assert metrics["hits_at_3"] == pytest.approx(np.mean([rank <= 3 for rank in ranks[name]]))


def test_the_prior_finds_the_direction_in_which_things_happen() -> None:
    # Entity 0 always acts on 1 and never the other way round; the model knows no predicate better.
    days = [PlainFact(0, day % PREDICATES, 1, day, day) for day in range(90)]
    data = forecast_data(days[:50], days[50:70], days[70:])
    figures = evaluate_forecast(ViewScorer(constant_scores, softmax), data, rolling=True)
    assert figures["raw_2r"] == figures["raw_r"]  # the other direction is behind
    silent = np.log(np.full((20, 2), 0.5))
    undecided = evaluate_forecast(
        ViewScorer(constant_scores, softmax), data, rolling=True, priors=silent
    )
    assert undecided["raw_2r"]["mrr"] < undecided["raw_r"]["mrr"]


def test_only_a_rolling_prior_sees_the_facts_of_test_before_the_query() -> None:
    train = [PlainFact(0, 0, 1, 0, 0), PlainFact(1, 0, 0, 0, 0)]
    valid = [PlainFact(2, 0, 3, day, day) for day in range(1, 9)]
    test = [PlainFact(0, 0, 1, 20, 20), PlainFact(0, 0, 1, 20, 20), PlainFact(0, 1, 1, 21, 21)]
    data = forecast_data(train, valid, test)
    rolling, static = (direction_priors(data, "test", rolling=flag) for flag in (True, False))
    assert rolling[:2] == pytest.approx(math.log(0.5))  # those of the same day see each other not
    assert rolling[2, 0] > math.log(0.5)
    assert static == pytest.approx(math.log(0.5))
