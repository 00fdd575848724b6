"""Prediction sets: how often they contain the truth, and how they are asked for."""

import json
from pathlib import Path

import numpy as np
import pyarrow.csv as pc
import pytest
from command_line import apptek, refusal, succeeds
from hypothesis import given
from hypothesis import strategies as st
from plain_queries import queries_about

from apptek.evaluation.filters import groups
from apptek.evaluation.prediction_sets import LEAST_QUERIES, PredictionSets, Strata
from apptek.facts.facts import Facts
from apptek.facts.queries import Queries, held_out_queries, training_queries
from apptek.predictor import Predictor
from apptek.present.tables import to_arrow

CLASSES = 6


def drawn(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities, truths and strata; the truth follows other probabilities than those stated."""
    rng = np.random.default_rng(seed)
    strata = rng.integers(0, 3, count).astype(np.int32)
    stated = rng.dirichlet(np.full(CLASSES, 0.5), count).astype(np.float32)
    sharpness = np.asarray([2.0, 1.0, 0.3])[strata][:, None]
    true = stated**sharpness / (stated**sharpness).sum(axis=1, keepdims=True)
    truths = np.asarray([rng.choice(CLASSES, p=p / p.sum()) for p in true.astype(np.float64)])
    return stated, truths.astype(np.int32), strata


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_the_truth_is_in_the_set_as_often_as_asked_in_every_stratum(coverage: float) -> None:
    sets = PredictionSets.of(*drawn(4000, 0))
    stated, truths, strata = drawn(4000, 1)
    sizes = sets.sizes(stated, strata, coverage)
    places = (stated > stated[np.arange(len(truths)), truths][:, None]).sum(axis=1)
    for stratum in range(3):
        inside = (places < sizes)[strata == stratum]
        error = (coverage * (1 - coverage) / len(inside)) ** 0.5
        assert coverage - 3 * error < inside.mean() < coverage + 3 * error + 0.02


@given(st.integers(0, 300), st.sampled_from([0.1, 0.5, 0.9, 0.99]))
def test_the_threshold_is_that_of_the_definition(count: int, coverage: float) -> None:
    probabilities = np.random.default_rng(count).random((count, 1)).astype(np.float32)
    zeros = np.zeros(count, np.int32)
    sets = PredictionSets.of(probabilities, zeros, zeros)
    least = sets.thresholds(coverage)[0]
    missed = sum(float(p) < least for p in probabilities[:, 0])
    # Slow: the largest of the probabilities that may be missed by a share of 1 - coverage.
    allowed = [
        float(p)
        for rank, p in enumerate(sorted(probabilities[:, 0].tolist()), start=1)
        if rank <= (count + 1) * (1 - coverage) + 1e-9
    ]
    assert least == pytest.approx(max(allowed, default=0.0))
    assert missed <= max((count + 1) * (1 - coverage), 0)


def test_a_small_stratum_uses_the_queries_of_all() -> None:
    stated, truths, strata = drawn(2000, 2)
    strata = np.where(np.arange(2000) < LEAST_QUERIES - 1, 2, strata % 2).astype(np.int32)
    sets = PredictionSets.of(stated, truths, strata)
    pooled = PredictionSets.of(stated, truths, np.zeros(2000, np.int32))
    assert sets.thresholds(0.9)[2] == pooled.thresholds(0.9)[0]
    assert sets.thresholds(0.9)[0] != pooled.thresholds(0.9)[0]


def test_a_stratum_is_the_group_that_evaluate_reports(explored_model: Path) -> None:
    data = Predictor.load(explored_model).model.dataset
    strata = Strata(data.train, len(data.entities))
    masks = groups(data.test, data.train, data.predicates)
    expected = [masks[name] for name in ("seen_pair", "unseen_pair", "unseen_entity")]
    found = strata.of(held_out_queries(data.test))
    assert found.tolist() == np.argmax(expected, axis=0).tolist()
    unknown = Queries(*(np.asarray([n], np.int32) for n in (-3, 0, 0, -1)))
    assert strata.of(unknown).tolist() == [2]


def test_the_fact_that_a_query_hides_makes_no_pair_seen() -> None:
    column = [np.asarray(values, np.int32) for values in ([0, 0, 1], [0, 1, 0], [1, 1, 2])]
    times = np.asarray([1, 2, 3], np.int32)
    facts = Facts(column[0], column[1], column[2], times, times)
    assert Strata(facts, 4).of(training_queries(facts)).tolist() == [0, 0, 2]


def test_every_interface_gives_the_same_set(explored_model: Path, tmp_path: Path) -> None:
    predictor = Predictor.load(explored_model)
    data = predictor.model.dataset
    asked = queries_about(data, data.test.first(20))
    answers = predictor.predict(asked, coverage=0.8)
    for answer in answers:
        assert answer.coverage == 0.8
        assert list(answer.probabilities) == sorted(answer.probabilities, reverse=True)
        assert 1 <= len(answer.predicates) <= len(data.predicates)
    assert predictor.predict_table(asked, coverage=0.8).equals(to_arrow(answers))
    texts = [(each.subject, each.object, each.time) for each in asked]
    lines = ["subject\tobject\ttime", *map("\t".join, texts)]
    (tmp_path / "queries.tsv").write_text("\n".join(lines), encoding="utf-8")
    words = ["--queries", tmp_path / "queries.tsv", "--out", tmp_path / "answers.csv"]
    succeeds("predict", str(explored_model), "--coverage", "0.8", *map(str, words))
    assert pc.read_csv(tmp_path / "answers.csv")["predicate"].to_pylist() == [
        name for answer in answers for name in answer.predicates
    ]
    one = apptek("predict", str(explored_model), *texts[0], "--coverage", "0.8", "--json")
    told = json.loads(one.stdout)
    assert (told["coverage"], tuple(told["predicates"])) == (0.8, answers[0].predicates)
    text = apptek("predict", str(explored_model), *texts[0], "--coverage", "0.8").stdout
    assert "Sets chosen this way contain the true predicate in 80 % of cases; this set has" in text
    assert predictor.explain(asked[0]).set_size == len(
        predictor.predict(asked[0], coverage=0.9)[0].predicates
    )


@pytest.mark.parametrize("coverage", ["0", "1", "1.5", "-1", "nan"])
def test_a_coverage_that_is_no_share_is_refused(explored_model: Path, coverage: str) -> None:
    words = ["A", "B", "2019-01-01", "--allow-unknown", f"--coverage={coverage}"]
    said = refusal("predict", str(explored_model), *words, code=2)
    assert "expected a proportion above 0 and below 1" in said


def test_evaluate_reports_coverage_and_size(explored_model: Path) -> None:
    found = Predictor.load(explored_model).evaluate("valid")
    assert found.metrics.coverage is not None
    assert 0.9 <= found.metrics.coverage <= 1  # on the very queries that the sets were made with
    assert found.metrics.set_size is not None
    shares = [part.coverage for part in found.groups.values() if part is not None]
    assert all(share is not None and 0 <= share <= 1 for share in shares)
