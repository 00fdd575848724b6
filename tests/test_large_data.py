"""What is done differently where the data is large: the same answers, or an even draw."""

from pathlib import Path

import numpy as np
import pytest
from command_line import answered, apptek
from model_folders import files_of

from apptek.evaluation.filters import groups, known_predicates
from apptek.facts import fact_keys
from apptek.features import clock as clock_module
from apptek.features.clock import Clock
from apptek.forecast import learning
from apptek.graph.lookups import PairIndex
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.occurrence.pair_counts import Events, PairCounts, Pairs
from apptek.predictor import Predictor
from apptek.synthetic.world import make_world

WORLD = make_world(3_000, 5).dataset


def test_most_other_keys_are_ruled_out() -> None:
    rng = np.random.default_rng(0)
    keys, others = rng.integers(0, 2**40, 100_000), rng.integers(0, 2**40, 5_000)
    assert fact_keys.may_be_among(keys, others).mean() < 0.1


@pytest.mark.parametrize("filtering", ["static", "time-aware"])
def test_few_queries_know_what_many_know(filtering: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few queries, facts between other entities are left out first, some facts at a time."""
    monkeypatch.setattr(fact_keys, "_CHUNK", 97)
    few, everything = WORLD.test.first(30), (WORLD.train, WORLD.valid, WORLD.test)
    one = known_predicates(few, everything, filtering)  # type: ignore[arg-type]
    all_ = known_predicates(WORLD.test, everything, filtering)  # type: ignore[arg-type]
    assert np.array_equal(one.offsets, all_.offsets[:31])
    assert np.array_equal(one.columns, all_.columns[: one.offsets[-1]])
    of_few, of_all = (groups(part, WORLD.train, WORLD.predicates) for part in (few, WORLD.test))
    assert all(np.array_equal(of_few[name], of_all[name][:30]) for name in of_few)


def test_both_views_share_the_index_of_pairs() -> None:
    graph = TemporalGraph.of(WORLD)
    assert PairIndex.of(graph.past_view()) is PairIndex.of(graph)
    assert PairIndex.of(TemporalGraph.of(WORLD)) is not PairIndex.of(graph)


def test_the_scales_of_some_subjects_are_close_to_those_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = TemporalGraph.of(make_world(20_000, 1).dataset)
    of_all = Clock.of(graph)
    monkeypatch.setattr(clock_module, "MOST_FACTS", 4_000)
    of_some = Clock.of(graph)
    assert of_some != of_all
    assert of_some.middle == pytest.approx(of_all.middle, rel=0.5)


def test_of_some_entities_everything_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "MOST_EVENTS", 1_500)
    facts, count = WORLD.all_facts(), len(WORLD.entities)
    members = learning.draw_members([facts], count, np.random.default_rng(0))
    assert members is not None
    assert 2 <= len(members) < count
    some = learning.facts_around(facts, members)
    assert len(some) < len(facts)
    clock, rng = Clock(1, 3, 10, 30), np.random.default_rng(1)
    subjects, objects = rng.choice(members, (2, 50))
    pairs = Pairs(subjects, objects, rng.integers(16_000, 16_400, 50).astype(np.int32))
    features = [
        PairCounts(Events.of(part, WORLD.axis, count), clock).features(pairs)
        for part in (some, facts)
    ]
    assert np.array_equal(features[0], features[1])
    candidates = PairCounts(Events.of(some, WORLD.axis, count), clock, members).candidates
    assert np.isin(candidates.subjects, members).all()
    assert np.isin(candidates.objects, members).all()


def test_evaluate_on_some_queries(tmp_path: Path) -> None:
    predictor = Predictor.fit(WORLD, folder=tmp_path / "model")
    before = files_of(tmp_path / "model")
    shown = answered("evaluate", str(tmp_path / "model"), "--queries", "100")
    assert shown["queries"] == 100
    assert shown["mrr"] == pytest.approx(predictor.evaluate().metrics.mrr, abs=0.1)
    assert files_of(tmp_path / "model") == before
    done = apptek("evaluate", str(tmp_path / "model"), "--queries", "100", "--rolling")
    assert done.returncode == 2
    assert "--rolling cannot be combined with --queries, which estimates the metrics" in done.stderr
