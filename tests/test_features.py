"""Features side by side, copy weights, and probabilities that mean what they say."""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from classifier_examples import CLASSES, FEATURES, examples_of, random_examples, rows_of
from forecast_oracles import start_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from plain_queries import PlainQuery, queries_of
from ranking_oracles import PlainExample, adagrad, folded
from reference import PlainFact
from worlds import dataset_of, moments, plain_facts

from apptek.arrays import Doubles
from apptek.config import ClassifierConfig, Config, FeaturesConfig, View
from apptek.evaluation.calibration import (
    COLDEST,
    HOTTEST,
    Calibration,
    balance_calibration,
    expected_calibration_error,
    fit_calibration,
    softmax,
    top_predictions,
)
from apptek.features.clock import Clock
from apptek.features.history import Copies
from apptek.features.space import make_space
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.fitting.descent import Descent, shuffled_pass
from apptek.paper.environment import DecisionProcess
from apptek.paper.features import Topologies
from apptek.paper.topologies import Mined, topology_set
from apptek.ragged import Ragged, hstack

# Side by side

PARTS = ("history", "traits", "topologies")


def dense(rows: Ragged) -> Doubles:
    found = np.zeros((len(rows), rows.width))
    for index in range(len(rows)):
        columns, values = rows.row(index)
        found[index, columns] = values
    return found


@st.composite
def parts_of(draw: st.DrawFn) -> list[Ragged]:
    """Parts of equally many rows, of which some are a stretch of longer ones or hold ones alone."""
    count, parts = draw(st.integers(0, 4)), []
    for _ in range(draw(st.integers(1, 4))):
        features = draw(st.integers(0, 5))
        before, after = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        of_row = st.dictionaries(
            st.integers(0, max(features - 1, 0)),
            st.floats(-2, 2, width=32).filter(bool),
            max_size=features,
        )
        size = before + count + after
        rows = draw(st.lists(of_row if features else st.just({}), min_size=size, max_size=size))
        whole = rows_of(rows, features, draw(st.booleans()))
        parts.append(whole.part(before, before + count))
    return parts


@given(parts_of())
def test_side_by_side_is_what_dense_matrices_would_be(parts: list[Ragged]) -> None:
    found = hstack(parts)
    assert np.array_equal(dense(found), np.concatenate([dense(part) for part in parts], axis=1))
    assert found.width == sum(part.width for part in parts)


THREE = [PlainFact(0, 0, 1, 3, 3), PlainFact(1, 1, 2, 4, 4), PlainFact(0, 2, 2, None, None)]


def space_of(
    parts: tuple[str, ...], plain: list[PlainFact] = THREE, view: View = "all_facts"
) -> Any:
    dataset = dataset_of(plain)
    graph = TemporalGraph.of(dataset)
    config = Config(features=FeaturesConfig(parts=parts))
    process, found = DecisionProcess(graph, config.agent), topology_set([(0,), (1, 2)])
    part = Topologies(process, dataset.predicates, found, Mined((), {}, {}))
    added = [part] if "topologies" in parts else []
    return make_space(graph.seen_in(view), dataset, config, Clock.of(graph), added=added)


@pytest.mark.parametrize(
    "parts", [PARTS, ("history",), ("traits",), ("topologies",), ("history", "topologies")]
)
def test_a_space_is_its_parts_one_after_the_other(parts: tuple[str, ...]) -> None:
    space, whole = space_of(parts), space_of(PARTS)
    queries = queries_of([(0, 1, 3, None), (2, None, None, None), (0, 1, 3, 0)])
    rows, every = dense(space.rows(queries)), dense(whole.rows(queries))
    assert list(space.sizes()) == list(parts)
    assert rows.shape == (3, len(space))
    for name, size in space.sizes().items():
        first, place = space.first(name), whole.first(name)
        assert np.array_equal(rows[:, first : first + size], every[:, place : place + size])
    history, copies = space.sizes().get("history"), space.copies()
    assert (None if copies is None else len(copies.predicates)) == history


@given(
    st.lists(plain_facts(), min_size=9, max_size=25),
    st.tuples(st.integers(0, 3), st.integers(0, 3), moments, st.none()),
)
def test_topologies_of_a_forecast_see_only_what_had_started(
    plain: list[PlainFact], query: PlainQuery
) -> None:
    plain = [*plain, PlainFact(0, 0, 1, None, None)]  # a data set has at least one fact
    starts = [start_of(fact) for fact in plain]
    started = [
        fact
        for fact, start in zip(plain, starts, strict=True)
        if start is None or query[2] is None or start < query[2]
    ]
    one, other = (
        space_of(("topologies",), facts, "past_only").rows(queries_of([query]))
        for facts in (plain, started)
    )
    assert one.columns.tolist() == other.columns.tolist()


# Copy weights

COPIES = {0: (2, 0), 1: (4, 0), 3: (1, 1)}  # feature: predicate, group; feature 2 speaks of none


def copies_of(copies: dict[int, tuple[int, int]], feature_count: int = FEATURES) -> Copies:
    columns = [[copies.get(f, (-1, -1))[part] for f in range(feature_count)] for part in range(2)]
    return Copies(*(np.asarray(column, np.int32) for column in columns))


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("l2", [0.0, 30.0])
@pytest.mark.parametrize("copies", [{}, COPIES])
def test_every_step_agrees_with_adagrad_by_its_definition(
    binary: bool, l2: float, copies: dict[int, tuple[int, int]]
) -> None:
    rng = np.random.default_rng(1)
    plain = random_examples(60, rng, binary=binary)
    starts = [0, 20, 35, 60]  # of shards, which a pass takes one after the other
    shards = [examples_of(plain[a:b], binary=binary) for a, b in pairwise(starts)]
    passes = [shuffled_pass(shards, rng) for _ in range(3)]
    orders = [np.concatenate([starts[shard] + rows for shard, rows in each]) for each in passes]
    assert all(sorted(order.tolist()) == list(range(60)) for order in orders)
    config = ClassifierConfig(epochs=3, learning_rate=0.5, accumulator=0.25)
    descent = Descent(shards, CLASSES, config, l2, copies_of(copies))
    for shuffled in passes:
        descent.run_epoch(shuffled)
    weights, bias, shared = adagrad(
        plain,
        (FEATURES, CLASSES),
        [order.tolist() for order in orders],
        rate=0.5,
        accumulator=0.25,
        l2=l2,
        copies=copies,
    )
    assert (np.abs(shared) > 0.01).all()
    assert shared.size == (2 if copies else 0)
    np.testing.assert_allclose(descent.weights, weights, atol=3e-5)
    np.testing.assert_allclose(descent.bias, bias, atol=3e-5)
    np.testing.assert_allclose(descent.shared, shared, atol=3e-5)
    np.testing.assert_allclose(descent.model().weights, folded(weights, shared, copies), atol=5e-5)


def test_features_after_those_of_the_copies_speak_of_no_predicate() -> None:
    examples = [examples_of([PlainExample({0: 1.0}, 3)])]
    descent = Descent(examples, CLASSES, ClassifierConfig(), 0.0, copies_of({0: (2, 0)}, 1))
    assert descent.copied.tolist() == [2, -1, -1, -1]
    assert descent.groups.tolist() == [0, -1, -1, -1]


# Calibration

score_rows = arrays.arrays(
    np.float32, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=st.floats(-8, 8, width=32)
)


shapes = st.floats(-1, 1)
calibrations = st.builds(Calibration, st.floats(0.2, 5), shapes, shapes, shapes)


@given(score_rows, calibrations)
def test_the_order_stays_and_probabilities_sum_up_to_one(
    scores: npt.NDArray[np.float32], calibration: Calibration
) -> None:
    chances = calibration.probabilities(scores)
    assert chances.sum(axis=1).tolist() == pytest.approx([1.0] * len(scores), abs=1e-5)
    order = np.argsort(-scores, axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(chances, order, axis=1), axis=1) <= 0).all()


@given(score_rows, calibrations)
def test_the_temperature_of_a_row_follows_what_its_best_leaves_to_the_others(
    scores: npt.NDArray[np.float32], calibration: Calibration
) -> None:
    for row, of_row in zip(scores, calibration.temperatures(scores).tolist(), strict=True):
        powers = np.exp(row.astype(np.float64) - row.max())
        v = 1 - 2 * float(powers.max() / powers.sum())
        power = calibration.tilt * v + calibration.bend * (3 * v**2 - 1) / 2
        power += calibration.twist * (5 * v**3 - 3 * v) / 2
        wanted = min(max(calibration.temperature * np.exp(power), COLDEST), HOTTEST)
        assert of_row == pytest.approx(wanted, rel=1e-5)
        alone = softmax(row[None].astype(np.float64), of_row)
        np.testing.assert_allclose(calibration.probabilities(row[None]), alone, atol=1e-5)


def answered(planted: Calibration) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """Scores of decided and undecided queries, and whether the top answers are right."""
    rng = np.random.default_rng(1)
    spread = rng.choice([1.0, 3.0, 6.0], (20_000, 1))
    scores = rng.normal(0, spread, (20_000, 8)).astype(np.float32)
    bounds = planted.probabilities(scores.astype(np.float64)).cumsum(axis=1)
    truths = (rng.random((len(scores), 1)) > bounds).sum(axis=1)
    return scores, scores.argmax(axis=1) == truths


@pytest.mark.parametrize("tilt", [-0.8, -0.5, 0.5, 0.8])
def test_a_planted_tilt_is_found(tilt: float) -> None:
    scores, correct = answered(Calibration(1.0, tilt))
    found = fit_calibration(scores, correct)
    assert found.tilt == pytest.approx(tilt, abs=0.1)

    def error(calibration: Calibration) -> float:
        _, confidences = top_predictions(calibration.probabilities(scores))
        return expected_calibration_error(confidences, correct)

    single = min(error(Calibration(t)) for t in np.geomspace(0.5, 2.5, 20).tolist())
    assert error(found) < 0.7 * single


def test_a_calibration_in_balance_finds_a_planted_twist() -> None:
    scores, correct = answered(Calibration(1.0, 0.3, 0.0, 0.6))
    likeliest = fit_calibration(scores, correct)
    found = balance_calibration(scores, correct, likeliest)
    assert likeliest.twist == 0.0
    assert found.shape == pytest.approx((0.3, 0.0, 0.6), abs=0.15)
    _, confidences = top_predictions(found.probabilities(scores))
    surplus = confidences - correct
    for power in range(4):
        assert np.mean(surplus * confidences**power) == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(
    ("temperature", "tilt"), [(0.0, 0.0), (-1.0, 0.0), (np.nan, 0.0), (np.inf, 0.0), (1.0, np.inf)]
)
def test_a_senseless_calibration_is_refused(temperature: float, tilt: float) -> None:
    with pytest.raises(ValueError, match="a temperature above 0"):
        Calibration(temperature, tilt)
