import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ranking_oracles import calibration_error, expected_rank, group_of, is_mirrored, other_known
from reference import PlainFact
from worlds import PREDICATES, dataset_of, facts_of, plain_facts

from apptek.arrays import Matrix
from apptek.errors import DataError
from apptek.evaluation.calibration import expected_calibration_error, softmax, top_predictions
from apptek.evaluation.filters import Filter, groups, known_predicates
from apptek.evaluation.ranking import (
    CHUNK,
    EvaluationQueries,
    evaluate_scores,
    expected_ranks,
    filtered_mrr,
    metrics_of,
)
from apptek.facts.benchmarks import find_benchmark
from apptek.facts.facts import Dataset, Names
from apptek.ragged import Ragged
from apptek.reading.reader import read_dataset
from apptek.research.result import read_result

RESULTS = Path(__file__).parents[1] / "paper" / "results"
FILTERS: tuple[Filter, ...] = ("raw", "static", "time-aware")
NAMES = Names(pa.array(["Consult", "Host a visit", "Make a visit"]))
VISITS = {1: 2, 2: 1}
worlds = st.lists(plain_facts(), max_size=12)
point = PlainFact(0, 0, 1, 5, 5)


def known_of(rows: list[list[int]]) -> Ragged:
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Ragged(offsets, np.asarray([r for row in rows for r in row], np.int32))


def rows_of(known: Ragged) -> list[list[int]]:
    bounds = zip(known.offsets[:-1], known.offsets[1:], strict=True)
    return [known.columns[lo:hi].tolist() for lo, hi in bounds]


def truths_of(truths: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.asarray(truths, np.int32)


@given(queries=worlds, first=worlds, second=worlds, filtering=st.sampled_from(FILTERS))
def test_known_predicates_agree_with_the_definition(
    queries: list[PlainFact], first: list[PlainFact], second: list[PlainFact], filtering: Filter
) -> None:
    parts = [facts_of(queries), facts_of(first), facts_of(second)]  # the query's own fact is known
    known = known_predicates(parts[0], parts, filtering)
    everything = [*queries, *first, *second]
    assert rows_of(known) == [other_known(query, everything, filtering) for query in queries]


@given(queries=worlds, facts=worlds, asked=st.integers(0, PREDICATES - 1))
def test_a_part_of_the_known_is_the_known_of_a_part(
    queries: list[PlainFact], facts: list[PlainFact], asked: int
) -> None:
    known = known_predicates(facts_of(queries), [facts_of(facts)])
    part = known.part(len(queries) // 3, len(queries))
    rows = rows_of(known)[len(queries) // 3 :]
    assert rows_of(part) == rows
    answers = np.full(len(part), asked, np.int32)
    assert part.contains(answers).tolist() == [asked in row for row in rows]


@st.composite
def score_tables(draw: st.DrawFn) -> tuple[list[list[float]], list[int], list[list[int]]]:
    """Few different scores, so that most of them are ties; infinite ones too."""
    count, width = draw(st.integers(0, 6)), draw(st.integers(1, 8))
    score = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, np.inf])
    predicate = st.integers(0, width - 1)
    row = st.lists(score, min_size=width, max_size=width)
    return (
        draw(st.lists(row, min_size=count, max_size=count)),
        draw(st.lists(predicate, min_size=count, max_size=count)),
        [sorted(draw(st.sets(predicate))) for _ in range(count)],  # the truth may be among them
    )


@given(table=score_tables(), kind=st.sampled_from([np.float32, np.float64]))
def test_ranks_agree_with_the_definition(
    table: tuple[list[list[float]], list[int], list[list[int]]], kind: type[np.floating[Any]]
) -> None:
    rows, truths, left_out = table
    width = len(rows[0]) if rows else 3
    scores = np.asarray(rows, kind).reshape(len(rows), width)
    found = expected_ranks(scores, truths_of(truths), known_of(left_out))
    expected = [
        expected_rank(row, truth, set(others))
        for row, truth, others in zip(rows, truths, left_out, strict=True)
    ]
    assert found.tolist() == expected


def test_nan_has_no_rank() -> None:
    for row in (0, 1):
        scores = np.asarray([[1, 2], [0, 3]], np.float32)
        scores[row, 1] = np.nan
        with pytest.raises(ValueError, match=f"row {row} contain NaN"):
            expected_ranks(scores, truths_of([0, 0]), Ragged.empty(2))


LONGS, ONES = np.asarray([0, 1, 2]), np.ones(2, np.float32)


@pytest.mark.parametrize(
    ("offsets", "columns", "values", "message"),
    [
        *((np.asarray(wrong, np.int64), [0, 1], None, "out of bounds") for wrong in (
            [0, 3], [0, 2, 1], [-1, 1], [],
        )),
        (LONGS.astype(np.int32), [0, 1], None, "offsets must be int64"),
        (LONGS, [0, 5], None, "not one of the 5"),
        (LONGS, [0, -1], None, "not one of the 5"),
        (LONGS, [0, 1], ONES[:1], "each column needs one float32 value"),
        (LONGS, [0, 1], np.asarray([1, np.inf], np.float32), "not a finite number"),
    ],
)  # fmt: skip
def test_a_ragged_array_that_a_kernel_would_read_wrongly_is_refused(
    offsets: Any, columns: list[int], values: Any, message: str
) -> None:
    ragged = Ragged(offsets, truths_of(columns), 5, values)
    assert not ragged.offsets.flags.writeable
    assert not ragged.columns.flags.writeable
    with pytest.raises(ValueError, match=message):
        ragged.checked()


def test_the_tuning_mrr_is_the_mean_of_the_inverse_ranks() -> None:
    scores = np.asarray([[3.0, 2.0, 1.0], [1.0, 1.0, 0.0], [5.0, 4.0, 3.0]])
    found = filtered_mrr(scores, truths_of([0, 1, 2]), known_of([[], [], [0]]))
    assert found == pytest.approx((1 + 1 / 1.5 + 1 / 2) / 3)


def test_metrics_are_means_over_ranks() -> None:
    ranks = [1.0, 1.5, 3.0, 3.5, 10.0, 10.5]
    metrics = metrics_of(np.asarray(ranks))
    assert metrics is not None
    assert metrics.mrr == pytest.approx(np.mean([1 / rank for rank in ranks]))
    hits = (metrics.hits_at_1, metrics.hits_at_3, metrics.hits_at_10)
    assert hits == pytest.approx((1 / 6, 3 / 6, 5 / 6))
    assert metrics_of(np.zeros(0)) is None


@given(queries=worlds, train=worlds)
def test_groups_agree_with_the_definition(queries: list[PlainFact], train: list[PlainFact]) -> None:
    masks = groups(facts_of(queries), facts_of(train), NAMES)
    for place, query in enumerate(queries):
        kinds = [n for n in ("unseen_entity", "unseen_pair", "seen_pair") if masks[n][place]]
        assert kinds == [group_of(query, train)]
        mirrored = is_mirrored(query, train, VISITS)
        assert (masks["mirrored"][place], masks["not_mirrored"][place]) == (mirrored, not mirrored)
        dated = (query.since, query.until) != (None, None)
        assert (masks["dated"][place], masks["undated"][place]) == (dated, not dated)


def data_of(test: list[PlainFact]) -> Dataset:
    """A data set of two training facts and some to test."""
    train = dataset_of([point, PlainFact(1, 1, 2, 5, 5)])
    return replace(train, predicates=NAMES, test=facts_of(test))


def test_an_evaluation_has_every_group_and_is_json() -> None:
    data = data_of([PlainFact(0, 1, 1, 5, 5), PlainFact(1, 2, 0, 6, 6), PlainFact(0, 0, 4, 7, 7)])
    scores = np.asarray([[3, 2, 1], [0, 1, 0], [1, 1, 1]], np.float64)
    result = evaluate_scores(lambda rows: scores[rows], EvaluationQueries.of(data, "test"))
    assert result.ranks.tolist() == [1.0, 2.5, 2.0]  # the first: (0, 0, 1, 5) is known
    read = json.loads(json.dumps(result.as_json()))
    assert read["queries"] == 3
    assert read["ece"] is None
    assert read["undated"] is None
    assert read["seen_pair"]["mrr"] == 1.0
    assert read["unseen_pair"]["mrr"] == 0.4
    assert read["unseen_entity"]["mrr"] == 0.5


def test_a_known_predicate_on_top_counts_as_right_for_calibration() -> None:
    data = data_of([PlainFact(0, 1, 1, 5, 5), PlainFact(0, 1, 1, 6, 6)])
    sure = np.asarray([[1, 0, 0], [1, 0, 0]], np.float64)
    for filtering in FILTERS:
        questions = EvaluationQueries.of(data, "test", filtering)
        result = evaluate_scores(lambda rows: sure[rows], questions, probabilities=lambda p: p)
        assert result.metrics.ece == 0.5  # right at 5, where train says so, and wrong at 6


def test_chunks_make_no_difference() -> None:
    count = 2 * CHUNK + 17
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, n, count).tolist() for n in (4, 3, 4, 9)]
    data = data_of([PlainFact(s, r, o, t, t) for s, r, o, t in zip(*columns, strict=True)])
    scores = rng.integers(0, 3, (count, 3)).astype(np.float32)
    questions = EvaluationQueries.of(data, "test")
    asked: list[int] = []

    def score(rows: slice) -> Matrix:
        asked.append(len(scores[rows]))
        return scores[rows]

    found = evaluate_scores(score, questions, probabilities=softmax)
    assert max(asked) == CHUNK
    truths = questions.facts.predicates
    assert np.array_equal(found.ranks, expected_ranks(scores, truths, questions.known))
    best, confidences = top_predictions(softmax(scores))
    correct = (best == truths) | questions.right.contains(best)
    assert found.metrics.ece == expected_calibration_error(confidences, correct)


def test_nothing_to_evaluate_is_said() -> None:
    with pytest.raises(DataError, match="no queries"):
        evaluate_scores(lambda _rows: np.zeros((0, 3)), EvaluationQueries.of(data_of([]), "test"))


@given(
    answers=st.lists(
        st.tuples(st.floats(0, 1) | st.sampled_from([0.2, 0.4, 1.0]), st.booleans()), min_size=1
    )
)
def test_the_calibration_error_agrees_with_the_definition(
    answers: list[tuple[float, bool]],
) -> None:
    confidences, correct = map(list, zip(*answers, strict=True))
    found = expected_calibration_error(np.asarray(confidences), np.asarray(correct))
    assert found == pytest.approx(calibration_error(confidences, correct), abs=1e-12)


@pytest.mark.parametrize("confidence", [np.nan, -0.1, 1.1])
def test_a_confidence_is_a_probability(confidence: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        expected_calibration_error(np.asarray([confidence]), np.asarray([True]))


@pytest.mark.real_data
def test_predicate_frequency_on_icews14_comes_out_as_it_is_recorded() -> None:
    if find_benchmark("icews14") is None:
        pytest.skip(f"icews14 is not in $APPTEK_DATA ({os.environ.get('APPTEK_DATA', 'unset')})")
    data = read_dataset("icews14")
    counts = np.bincount(data.train.predicates, minlength=len(data.predicates))
    chances = counts / counts.sum()
    result = evaluate_scores(
        lambda rows: np.broadcast_to(chances, (rows.stop - rows.start, len(chances))),
        EvaluationQueries.of(data, "test"),
        probabilities=lambda scores: scores,
    )
    recorded = read_result(RESULTS / "frequency-icews14-official.json").extras["all_facts"]
    found = json.loads(json.dumps(result.as_json()))
    for group in ("mirrored", "unseen_entity", "unseen_pair", "seen_pair", "dated"):
        assert found[group]["queries"] == recorded[group]["queries"]
        assert found[group]["mrr"] == pytest.approx(recorded[group]["mrr"], abs=1e-9)
    assert (found["queries"], found["undated"]) == (8963, None)
    assert found["hits_at_10"] == pytest.approx(recorded["hits_at_10"], abs=1e-9)
