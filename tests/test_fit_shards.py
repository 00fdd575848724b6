"""Examples in shards: stored whole, made once, learned from in the order of the pass."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from classifier_examples import CLASSES, FEATURES, examples_of, random_examples
from hypothesis import given
from hypothesis import strategies as st
from model_folders import files_of
from ranking_oracles import adagrad

from apptek.config import ClassifierConfig, preset
from apptek.facts.facts import Facts
from apptek.facts.queries import askable, draw_evenly
from apptek.models.fitting import examples as shards_module
from apptek.models.fitting.examples import (
    Examples,
    StoredExamples,
    join_examples,
    split_into_shards,
    store_examples,
    with_more,
)
from apptek.models.fitting.linear_fit import Descent, shuffled_pass
from apptek.predictor import Predictor
from apptek.resuming import StageCache
from apptek.seeding import generator
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world


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


def test_stored_shards_are_read_as_they_were(tmp_path: Path) -> None:
    parts, cache = parts_of(), StageCache(tmp_path)
    stages = [f"shard {number}" for number in range(len(parts))]
    for stage, part in zip(stages, parts, strict=True):
        store_examples(cache, stage, part)
    stored = StoredExamples(cache, stages)
    assert all(same(one, other) for one, other in zip(stored, parts, strict=True))
    assert [len(part) for part in stored] == [20, 15, 25]
    more = with_more(stored, parts[0])
    assert same(more[-1], parts[0])
    assert len(more) == len(parts) + 1


def test_shards_are_learned_from_in_the_order_of_the_pass() -> None:
    plain, config = random_examples(60, np.random.default_rng(1)), ClassifierConfig(epochs=2)
    parts, starts = parts_of(), [0, 20, 35]
    rng = np.random.default_rng(3)
    passes = [shuffled_pass(parts, rng) for _ in range(2)]
    descent = Descent(parts, CLASSES, config, 2.0)
    for shuffled in passes:
        descent.run_epoch(shuffled)
    orders = [
        np.concatenate([starts[shard] + order for shard, order in shuffled]) for shuffled in passes
    ]
    assert all(sorted(order.tolist()) == list(range(60)) for order in orders)
    weights, bias, _ = adagrad(
        plain,
        (FEATURES, CLASSES),
        [order.tolist() for order in orders],
        rate=config.learning_rate,
        accumulator=config.accumulator,
        l2=2.0,
    )
    assert np.allclose(descent.model().weights, weights, atol=1e-4)
    assert np.allclose(descent.model().bias, bias, atol=1e-4)


def test_joined_shards_are_all_examples() -> None:
    plain = random_examples(60, np.random.default_rng(1))
    assert same(join_examples(parts_of()), examples_of(plain))


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

    class StoppedError(Exception):
        pass

    def stop(name: str, _done: int, _total: int) -> None:
        told.append(name)
        if name.startswith("features of train, past_only, part 3 of"):
            raise StoppedError

    with pytest.raises(StoppedError):
        Predictor.fit(data, folder=tmp_path / "again", progress=stop)
    again = told.copy()
    told.clear()
    Predictor.fit(
        data, folder=tmp_path / "again", resume=True, progress=lambda name, *_: told.append(name)
    )
    assert any(text.endswith("less than a minute left") for text in again)
    assert not any(text.startswith("features of train, past_only, part 1") for text in told)
    assert files_of(tmp_path / "again") == files_of(tmp_path / "model")


def test_a_fit_of_some_queries_is_told_in_its_settings(tmp_path: Path) -> None:
    data = make_world(3_000, 3).dataset
    config = with_settings(preset("default"), ["fit.queries=500", "fit.tuning_queries=100"])
    predictor = Predictor.fit(data, config=config, folder=tmp_path / "model")
    assert predictor.model.changed == {"fit.queries": 500, "fit.tuning_queries": 100}
    support = predictor.model.main.support
    assert support is not None
    assert support.totals.sum() == 500


def test_of_very_many_facts_some_are_drawn_from() -> None:
    rng = np.random.default_rng(2)
    predicates = rng.choice(3, 40_000, p=[0.7, 0.2, 0.1]).astype(np.int32)
    times = rng.integers(0, 50, 40_000).astype(np.int32)
    facts = Facts(times, predicates, times, times, times)
    rows = draw_evenly(facts, np.arange(40_000), 1_000, rng)
    assert len(np.unique(rows)) == 1_000
    shares = np.bincount(predicates[rows]) / 1_000
    assert shares.tolist() == pytest.approx([0.7, 0.2, 0.1], abs=0.02)
