from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from classifier_examples import CLASSES, FEATURES, examples_of, random_examples, rows_of
from hypothesis import given
from hypothesis import strategies as st
from model_folders import Killed, files_of
from plain_queries import query_about
from ranking_oracles import PlainExample

from apptek.config import ClassifierConfig
from apptek.errors import ApptekError, DataError
from apptek.evaluation.calibration import Calibration
from apptek.facts.facts import Facts
from apptek.facts.queries import askable, draw_evenly
from apptek.features.history import Copies
from apptek.models.fitting import examples as shards_module
from apptek.models.fitting.descent import Descent, shuffled_pass
from apptek.models.fitting.examples import (
    Examples,
    StoredExamples,
    join_examples,
    split_into_shards,
    store_examples,
)
from apptek.models.fitting.linear_fit import EpochReport, FitReport, fit_linear_softmax
from apptek.models.linear_softmax import CHUNK, LinearSoftmax, SparseWeights
from apptek.predictor import Predictor
from apptek.resuming import StageCache
from apptek.rules import rules_of
from apptek.seeding import generator
from apptek.synthetic.world import make_world


def fit(
    train: Examples, valid: Examples, class_count: int, *, seed: int = 0, **settings: Any
) -> tuple[LinearSoftmax, FitReport]:
    config = ClassifierConfig(**settings)
    rng = generator(seed, "classifier")
    return fit_linear_softmax([train], valid, class_count=class_count, config=config, rng=rng)


def test_l2_and_the_epoch_are_those_that_rank_valid_best() -> None:
    plain = random_examples(400, np.random.default_rng(6))
    train, valid = examples_of(plain[:300]), examples_of(plain[300:])
    model, report = fit_linear_softmax(
        [train],
        valid,
        class_count=CLASSES,
        config=ClassifierConfig(epochs=4, patience=4, l2=(0.0, 1e4)),
        rng=generator(0, "classifier"),
    )
    assert {(e.l2, e.epoch) for e in report.tried} == {
        (x, y) for x in (0.0, 1e4) for y in (1, 2, 3, 4)
    }
    assert report.valid_mrr is not None
    assert EpochReport(report.l2, report.epoch, report.valid_mrr, 0.0) in report.tried
    assert report.valid_mrr == max(epoch.valid_mrr for epoch in report.tried)
    assert report.l2 == 0.0
    assert model.calibration != Calibration()


def test_it_stops_when_valid_gets_no_better() -> None:
    same = examples_of([PlainExample({0: 1.0}, 0)] * 100, binary=True)
    _, report = fit(same, same, CLASSES, epochs=50, patience=2, l2=(0.0,))
    assert [epoch.epoch for epoch in report.tried] == [1, 2, 3]
    assert report.epoch == 1


def test_the_temperature_mends_confidence_that_is_too_low() -> None:
    plain = random_examples(6000, np.random.default_rng(8))
    train, valid = examples_of(plain[:3000]), examples_of(plain[3000:])
    model, report = fit(train, valid, CLASSES, epochs=1, learning_rate=0.01, l2=(0.0,))
    assert model.calibration.temperature < 0.8
    assert report.ece_after is not None
    assert report.ece_before is not None
    assert report.ece_after < 0.05 < report.ece_before


def some_model() -> LinearSoftmax:
    rng = np.random.default_rng(9)
    weights = rng.normal(size=(FEATURES, CLASSES)).astype(np.float32)
    return LinearSoftmax(weights, rng.normal(size=CLASSES).astype(np.float32), Calibration(1.7))


@pytest.mark.parametrize("binary", [True, False])
def test_scores_agree_with_the_definition_over_many_chunks(binary: bool) -> None:
    model = some_model()
    plain = random_examples(CHUNK + 5, np.random.default_rng(10), binary=binary) * 2
    rows = rows_of([example.features for example in plain], FEATURES, binary)
    scores = model.scores(rows)
    weights, bias = model.weights.astype(np.float64), model.bias.astype(np.float64)
    expected = np.asarray([example.logits(weights, bias) for example in plain])
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    assert np.array_equal(
        model.scores(rows.part(CHUNK - 3, CHUNK + 9)), scores[CHUNK - 3 : CHUNK + 9]
    )


def parts_of(count: int = 60, cuts: tuple[int, ...] = (20, 35)) -> list[Examples]:
    plain = random_examples(count, np.random.default_rng(1))
    bounds = [0, *cuts, count]
    return [examples_of(plain[a:b]) for a, b in pairwise(bounds)]


def same(one: Examples, two: Examples) -> bool:
    arrays = [
        (e.rows.offsets, e.rows.columns, e.rows.flat_values, e.labels, e.others.offsets)
        for e in (one, two)
    ]
    return all(np.array_equal(a, b) for a, b in zip(*arrays, strict=True))


def test_shards_are_read_and_joined_as_they_were(tmp_path: Path) -> None:
    parts, cache = parts_of(), StageCache(tmp_path)
    stages = [f"shard {number}" for number in range(len(parts))]
    for stage, part in zip(stages, parts, strict=True):
        store_examples(cache, stage, part)
    stored = StoredExamples(cache, stages)
    assert all(same(one, other) for one, other in zip(stored, parts, strict=True))
    assert [len(part) for part in stored] == [20, 15, 25]
    plain = random_examples(60, np.random.default_rng(1))
    assert same(join_examples(parts), examples_of(plain))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=60),
    st.integers(1, 60),
)
def test_queries_are_drawn_evenly(drawn_from: list[tuple[int, int]], most: int) -> None:
    predicates, times = (np.asarray(column, np.int32) for column in zip(*drawn_from, strict=True))
    entities = np.zeros(len(times), np.int32)
    facts = Facts(entities, predicates, entities, times, times)
    rows = draw_evenly(facts, np.arange(len(times)), most, np.random.default_rng(0))
    assert len(rows) == min(most, len(times))
    assert (np.diff(rows) > 0).all()
    step = max(1.0, len(times) / most)
    for predicate in range(4):  # and of each predicate the first half of the time like the second
        of_predicate = np.flatnonzero(predicates == predicate)
        by_time = of_predicate[np.argsort(times[of_predicate], kind="stable")]
        for part in (by_time, by_time[: len(by_time) // 2], by_time[len(by_time) // 2 :]):
            assert abs(np.isin(part, rows).sum() - len(part) / step) <= 1


def test_many_rows_are_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = make_world(3_000, 5).dataset.train
    rows = np.flatnonzero(facts.subjects != facts.objects)
    drawn = draw_evenly(facts, rows, 20, np.random.default_rng(0))
    monkeypatch.setattr("apptek.facts.queries._PART", 64)
    assert askable(facts).tolist() == rows.tolist()
    assert (
        draw_evenly(facts, askable(facts), 20, np.random.default_rng(0)).tolist() == drawn.tolist()
    )


def test_few_rows_are_one_shard_as_they_are() -> None:
    rows = np.arange(5, 90)
    (only,) = split_into_shards(rows, generator(0, "shards"), 100)
    assert only is rows
    parts = split_into_shards(rows, generator(0, "shards"), 40)
    assert [len(part) for part in parts] == [40, 40, 5]
    assert sorted(np.concatenate(parts).tolist()) == rows.tolist()
    assert all((np.diff(part) > 0).all() for part in parts)


@pytest.mark.slow
def test_a_fit_in_shards_ranks_as_well_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = make_world(4_000, 3).dataset
    whole = Predictor.fit(data)
    monkeypatch.setattr(shards_module, "SHARD", 700)
    sharded = Predictor.fit(data, folder=tmp_path / "model")
    assert sharded.evaluate().metrics.mrr == pytest.approx(whole.evaluate().metrics.mrr, abs=0.02)
    assert not np.array_equal(
        sharded.model.main.classifier.weights, whole.model.main.classifier.weights
    )

    told: list[str] = []

    def stop(name: str, _done: int, _total: int) -> None:
        told.append(name)
        if name.startswith("features of train, past_only, part 3 of"):
            raise Killed

    with pytest.raises(Killed):
        Predictor.fit(data, folder=tmp_path / "again", progress=stop)
    again = told.copy()
    told.clear()
    Predictor.fit(
        data, folder=tmp_path / "again", resume=True, progress=lambda name, *_: told.append(name)
    )
    assert any(text.endswith("less than a minute left") for text in again)
    assert not any(text.startswith("features of train, past_only, part 1") for text in told)
    assert files_of(tmp_path / "again") == files_of(tmp_path / "model")


def test_of_very_many_facts_some_are_drawn_from() -> None:
    rng = np.random.default_rng(2)
    predicates = rng.choice(3, 40_000, p=[0.7, 0.2, 0.1]).astype(np.int32)
    times = rng.integers(0, 50, 40_000).astype(np.int32)
    facts = Facts(times, predicates, times, times, times)
    rows = draw_evenly(facts, np.arange(40_000), 1_000, rng)
    assert len(np.unique(rows)) == 1_000
    shares = np.bincount(predicates[rows]) / 1_000
    assert shares.tolist() == pytest.approx([0.7, 0.2, 0.1], abs=0.02)


@pytest.mark.parametrize("least", [1, 3])
def test_sparse_weights_learn_what_dense_ones_do_where_they_are_kept(
    monkeypatch: pytest.MonkeyPatch, least: int
) -> None:
    """With every pair of feature and predicate kept, both learn the same numbers."""
    plain = random_examples(300, np.random.default_rng(3))
    train = examples_of(plain)
    config = ClassifierConfig(epochs=2, l2=(3.0,))
    copies = Copies(np.arange(4, dtype=np.int32) % CLASSES, np.zeros(4, np.int32))
    dense = Descent([train], CLASSES, config, 3.0, copies)
    monkeypatch.setattr("apptek.models.fitting.descent.MOST_DENSE", 0)
    monkeypatch.setattr("apptek.models.fitting.descent.LEAST_TOGETHER", least)
    sparse = Descent([train], CLASSES, config, 3.0, copies)
    assert sparse.pattern is not None
    starts, kept = sparse.pattern
    together = np.zeros((train.rows.width, CLASSES), np.int64)
    for example, label in enumerate(train.labels.tolist()):
        together[train.rows.row(example)[0], label] += 1
    expected = together >= least
    expected[np.arange(4), copies.predicates] = True
    pattern = np.zeros_like(expected)
    pattern[np.repeat(np.arange(len(starts) - 1), np.diff(starts)), kept] = True
    np.testing.assert_array_equal(pattern, expected)
    dense.sums[~expected] = 1e30  # such weights do not move
    for number in range(2):
        order = shuffled_pass([train], generator(number, "order"))
        dense.run_epoch(order)
        sparse.run_epoch(order)
    one, two = dense.model(), sparse.model()
    assert isinstance(two.weights, SparseWeights)
    columns = np.arange(train.rows.width)
    np.testing.assert_allclose(two.weights[columns], one.weights, atol=1e-5)
    np.testing.assert_allclose(two.weights[columns, 1], one.weights[:, 1], atol=1e-5)
    np.testing.assert_allclose(two.weights[:, 1], one.weights[:, 1], atol=1e-5)
    np.testing.assert_allclose(two.scores(train.rows), one.scores(train.rows), atol=1e-4)


def test_a_fit_with_sparse_weights_is_stored_explained_and_evaluated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = make_world(1500, 2).dataset
    dense = Predictor.fit(data).evaluate("valid").metrics.mrr
    monkeypatch.setattr("apptek.models.fitting.descent.MOST_DENSE", 1000)
    monkeypatch.setattr("apptek.models.fitting.view_fit.MOST_DENSE", 1000)
    fitted = Predictor.fit(data)
    fitted.save(tmp_path / "model")
    loaded = Predictor.load(tmp_path / "model")
    assert isinstance(loaded.model.main.classifier.weights, SparseWeights)
    assert loaded.evaluate("valid").metrics.mrr == pytest.approx(dense, abs=0.05)
    query = query_about(data, data.test, 0)
    found = loaded.explain(query)
    total = found.bias + sum(each.log_odds for each in found.contributions())
    assert total == pytest.approx(found.log_odds)
    loaded.counterfactual(query, add=True)
    with pytest.raises(ApptekError, match="so many predicates"):
        rules_of(loaded.model)
    with pytest.raises(DataError, match="too many for the trees"):
        Predictor.fit(data, model="max")
