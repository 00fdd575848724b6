import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from learned_parts import LEARNED, dataset_of, fifty_facts, model_of, settings_of
from model_folders import Killed, files_of
from reference import PlainFact
from worlds import facts_of, graph_of

from apptek.baselines import embedding_baseline
from apptek.baselines.diachronic import DeSimplE, Diachronic, EntityTable, TimeFeatures
from apptek.baselines.embedding import embedding_scores, mask_known, with_unseen
from apptek.baselines.re_gcn import ReGcn, ReGcnConfig, gru
from apptek.baselines.tnt_complex import TntComplEx, nearest_rows
from apptek.errors import CheckpointError, ConfigError, DataError
from apptek.evaluation.filters import known_predicates
from apptek.facts.facts import Dataset, Facts, with_inverses
from apptek.facts.queries import Queries, held_out_queries, training_queries
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.graph.temporal_graph import TemporalGraph
from apptek.predictor import Predictor
from apptek.synthetic.world import make_world


@pytest.fixture(scope="module")
def world() -> Dataset:
    return make_world(1500, 0).dataset


@pytest.mark.parametrize("name", LEARNED)
def test_fifty_facts_are_learned_by_heart(name: str) -> None:
    changes = ["training.epochs=80", "training.batch_size=25", "training.patience=80"]
    config = settings_of(name, *changes, "training.unseen_share=0.0")
    assert (
        Predictor.fit(fifty_facts(), model=name, config=config).evaluate("test").metrics.mrr == 1.0
    )


@pytest.mark.parametrize("name", ["de_transe", "de_distmult", "de_simple"])
def test_telling_entities_apart_teaches_predicates_too(name: str, world: Dataset) -> None:
    config = settings_of(name, "training.epochs=8", "training.batch_size=128", preset="paper")
    assert config.training.objective == "entities"
    report = Predictor.fit(world, model=name, config=config).model.main.report
    assert report["valid_mrr"] > report["epochs"][0]["valid_mrr"]
    assert report["epochs"][-1]["loss"] < report["epochs"][0]["loss"]


@pytest.mark.parametrize("preset", ["default", "paper"])
@pytest.mark.parametrize("name", LEARNED)
def test_all_predicates_at_once_score_as_one_by_one(name: str, preset: str) -> None:
    data = fifty_facts()
    model, queries = model_of(name, data, preset=preset), held_out_queries(data.test)
    encoded, at_once = model.encode(queries), embedding_scores(model, queries)
    assert at_once.shape == (50, 5)
    for predicate in range(5):
        alone = model.score(encoded, torch.full((50,), predicate)).detach().numpy()
        assert alone == pytest.approx(at_once[:, predicate], abs=1e-4)


def complex_rows(table: torch.Tensor) -> Any:
    """Rows of real and imaginary parts as complex numbers."""
    real, imaginary = np.split(table.detach().numpy().astype(np.float64), 2, axis=-1)
    return real + 1j * imaginary


def test_tnt_complex_is_what_its_formula_says() -> None:
    data = fifty_facts()
    model = model_of("tnt_complex", data)
    assert isinstance(model, TntComplEx)
    entities, static, changing, times = (
        complex_rows(part) for part in (model.entities, model.static, model.changing, model.times)
    )
    scores = embedding_scores(model, held_out_queries(data.test))
    moments = model.moments(data.test.times).tolist()
    for row in range(50):
        subject, object_ = entities[data.test.subjects[row]], entities[data.test.objects[row]]
        for r in range(5):
            named = static[r] + changing[r] * times[moments[row]]
            score = (subject * named * object_.conj()).sum().real + model.bias[r].item()
            assert scores[row, r] == pytest.approx(score, abs=1e-4)


def vector_at(table: EntityTable, entity: int, features: Any) -> Any:
    """An entity's vector at a time, feature by feature."""
    still, amplitudes, frequencies, phases = (
        part[entity].detach().numpy().astype(np.float64)
        for part in (table.still, table.amplitudes, table.frequencies, table.phases)
    )
    moving = sum(
        amplitudes[k] * np.sin(frequencies[k] * features[k] + phases[k])
        for k in range(len(features))
    )
    return np.concatenate([still, moving])


@pytest.mark.parametrize("name", ["de_transe", "de_distmult", "de_simple"])
def test_the_diachronic_baselines_are_what_their_formulas_say(name: str) -> None:
    data = fifty_facts()
    model = model_of(name, data)
    assert isinstance(model, Diachronic)
    scores = embedding_scores(model, held_out_queries(data.test))
    moments = model.moments(data.test.times).numpy()
    for row in range(50):
        subject, object_ = int(data.test.subjects[row]), int(data.test.objects[row])
        s, o = (vector_at(model.first, entity, moments[row]) for entity in (subject, object_))
        for r in range(5):
            named = model.predicates[r].detach().numpy()
            if name == "de_transe":
                score = -float(np.linalg.norm(s + named - o))
            elif name == "de_distmult":
                score = float((s * named * o).sum())
            else:
                assert isinstance(model, DeSimplE)
                s_as_object = vector_at(model.second, subject, moments[row])
                o_as_object = vector_at(model.second, object_, moments[row])
                inverse = model.inverses[r].detach().numpy()
                score = float((s * named * o_as_object + o * inverse * s_as_object).sum()) / 2
            assert scores[row, r] == pytest.approx(score + model.bias[r].item(), abs=1e-3)


@pytest.mark.parametrize("name", LEARNED)
def test_an_unseen_entity_is_answered_like_every_other_unseen_one(name: str) -> None:
    data = fifty_facts()  # of 21 entities, the last has no fact
    model = model_of(name, data)
    columns = ([20, -1, 20], [0, 0, -1], [3, 3, UNKNOWN], [-1, -1, -1])
    scores = embedding_scores(model, Queries(*(np.asarray(part, np.int32) for part in columns)))
    assert np.isfinite(scores).all()
    assert np.array_equal(scores[0], scores[1])
    assert np.ptp(scores[0]) > 0


@pytest.mark.parametrize("name", LEARNED)
def test_a_killed_run_resumes_to_the_same_bytes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_baseline, "CHECKPOINT_SECONDS", 0.0)
    data, config = fifty_facts(), settings_of(name, "training.epochs=4", "training.patience=4")
    Predictor.fit(data, model=name, config=config, folder=tmp_path / "one")
    Predictor.fit(data, model=name, config=config, folder=tmp_path / "two")
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")

    def kill(_: str, done: int, __: int) -> None:
        if done == 2:
            raise Killed

    with pytest.raises(Killed):
        Predictor.fit(data, model=name, config=config, folder=tmp_path / "three", progress=kill)
    with pytest.raises(CheckpointError, match="continue it with --resume"):
        Predictor.fit(data, model=name, config=config, folder=tmp_path / "three")
    Predictor.fit(data, model=name, config=config, folder=tmp_path / "three", resume=True)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "three")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "three", "two"]
    loaded = Predictor.load(tmp_path / "one")
    assert loaded.evaluate("valid").metrics.mrr == loaded.model.main.report["valid_mrr"]


@pytest.mark.parametrize("name", ["tnt_complex", "de_simple"])
def test_undated_facts_are_learned_too(name: str) -> None:
    plain = [PlainFact(n, n % 3, n + 10, None, None) for n in range(10)]
    data = dataset_of(facts_of(plain), 20, 3)
    config = settings_of(name, "training.epochs=60", "training.patience=60")
    assert Predictor.fit(data, model=name, config=config).evaluate("valid").metrics.mrr == 1.0


@given(
    st.lists(st.integers(-50, 50), unique=True, max_size=6).map(sorted),
    st.lists(st.one_of(st.none(), st.integers(-60, 60)), min_size=1, max_size=5),
)
def test_a_time_is_the_nearest_known_one(known: list[int], moments: list[int | None]) -> None:
    positions = np.asarray([UNKNOWN if when is None else when for when in moments], np.int32)
    rows = nearest_rows(np.asarray(known, np.int64), positions)
    for when, row in zip(moments, rows.tolist(), strict=True):
        if when is None or not known:
            assert row == len(known)
        else:
            assert abs(known[row] - when) == min(abs(other - when) for other in known)


@given(st.lists(st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)), min_size=1))
def test_a_day_has_a_year_a_month_and_a_day(days: list[datetime.date]) -> None:
    codes = np.asarray([(day - datetime.date(1970, 1, 1)).days for day in days], np.int32)
    zeros = np.zeros(len(days), np.int32)
    graph = TemporalGraph.build(Facts(zeros, zeros, zeros, codes, codes), TimeAxis("day"), 1, 1)
    years = [day.year for day in days]
    span = max(max(years) - min(years), 1)
    expected = [(1 + (day.year - min(years)) / span, day.month / 12, day.day / 31) for day in days]
    assert TimeFeatures(graph).of(codes) == pytest.approx(np.asarray(expected), abs=1e-6)
    assert not TimeFeatures(graph).of(np.asarray([UNKNOWN], np.int32)).any()


@pytest.mark.parametrize(("unit", "count"), [("integer", 1), ("year", 1), ("month", 2)])
def test_coarser_axes_have_fewer_features(unit: Any, count: int) -> None:
    codes, zeros = np.asarray([5, 29], np.int32), np.zeros(2, np.int32)
    graph = TemporalGraph.build(Facts(zeros, zeros, zeros, codes, codes), TimeAxis(unit), 1, 1)
    features = TimeFeatures(graph).of(codes)
    assert features.shape == (2, count)
    assert features[:, 0].tolist() == [1.0, 2.0]
    if unit == "month":
        assert features[:, 1] == pytest.approx([6 / 12, 6 / 12])


def test_other_known_predicates_take_no_part_in_the_loss() -> None:
    plain = [PlainFact(0, r, 1, 5, 5) for r in (0, 2)] + [PlainFact(0, 1, 1, 6, 6)]
    facts = facts_of(plain)
    others = known_predicates(facts, (facts,))
    logits = mask_known(torch.zeros(3, 3), others, torch.tensor([1, 2, 0]))
    assert (logits < -1e20).tolist() == [
        [True, False, False], [False, False, False], [False, False, True],
    ]  # fmt: skip


def test_a_share_of_the_entities_is_replaced_by_the_unseen_one(world: Dataset) -> None:
    model = model_of("de_distmult", world)
    encoded = model.encode(training_queries(world.train))
    replaced = with_unseen(encoded, model.unseen, 0.25, torch.Generator().manual_seed(0))
    assert float((replaced.subjects == model.unseen).float().mean()) == pytest.approx(
        0.25, abs=0.05
    )
    assert with_unseen(encoded, model.unseen, 0.0, torch.Generator()) is encoded


# RE-GCN


def test_the_gate_is_that_of_a_gated_recurrent_unit() -> None:
    cell, rng = torch.nn.GRUCell(6, 3), torch.Generator().manual_seed(0)
    seen, before = torch.rand(4, 6, generator=rng), torch.rand(4, 3, generator=rng)
    bias = torch.stack([cell.bias_ih, cell.bias_hh])
    updated = gru(seen, before, cell.weight_ih, cell.weight_hh, bias)
    assert torch.allclose(updated, cell(seen, before), atol=1e-6)


def re_gcn_scores(plain: list[PlainFact], queries: Queries) -> Any:
    """The scores of an untrained RE-GCN over these facts."""
    model = ReGcn(graph_of(plain), ReGcnConfig(size=8), rng=np.random.default_rng(0))
    return embedding_scores(model, queries)


def test_re_gcn_sees_nothing_of_the_querys_own_time_or_later() -> None:
    early = [PlainFact(n % 4, n % 3, (n + 1) % 4, n % 3, n % 3) for n in range(12)]
    late = [PlainFact(n % 4, n % 3, (n + 2) % 4, 3 + n % 2, 3 + n % 2) for n in range(8)]
    other = [replace(f, predicate=(f.predicate + 1) % 3, object=f.subject) for f in late]
    columns = ([0, 1, 2, 3], [1, 2, 3, 0], [3, 3, 2, UNKNOWN], [-1] * 4)
    queries = Queries(*(np.asarray(part, np.int32) for part in columns))
    scores = re_gcn_scores(early + late, queries)
    assert np.array_equal(scores, re_gcn_scores(early + other, queries))
    past = [replace(fact, predicate=(fact.predicate + 1) % 3) for fact in early]
    changed = re_gcn_scores(past + late, queries)
    assert not np.allclose(changed[0], scores[0])
    assert np.array_equal(changed[3], scores[3])  # undated: no snapshot at all


@pytest.mark.gate
def test_re_gcn_can_be_held_to_its_own_protocol() -> None:
    data, changes = fifty_facts(), ("training.epochs=40", "training.patience=40")
    config = settings_of("re_gcn", *changes, preset="paper")
    report = Predictor.fit(data, model="re_gcn", config=config).model.main.report
    assert report["valid_mrr"] >= report["valid_mrr_of_both_ways"] > 0.8
    facts = with_inverses(data.train, 5)
    assert len(facts) == 100
    assert (facts.subjects[50:] == data.train.objects).all()
    assert (facts.predicates[50:] == data.train.predicates + 5).all()


def test_entities_outside_the_snapshots_change_no_others() -> None:
    plain = [PlainFact(n % 3, n % 3, (n + 1) % 3, n % 4, n % 4) for n in range(12)]
    model = ReGcn(graph_of(plain), ReGcnConfig(size=8), rng=np.random.default_rng(0))
    all_rows = torch.arange(6)
    _, entities, predicates = model.evolve(4, all_rows)
    rows, part, same = model.evolve(4, torch.tensor([1]))
    assert torch.allclose(entities[rows], part, atol=1e-6)
    assert torch.allclose(predicates, same, atol=1e-6)


def test_re_gcn_learns_from_whole_snapshots() -> None:
    plain = [PlainFact(n % 4, 0, (n + 1) % 4, n % 5, n % 5) for n in range(40)]
    plain += [PlainFact(0, 1, 1, None, None)] * 50
    graph = graph_of(plain)
    model = ReGcn(graph, ReGcnConfig(size=8), rng=np.random.default_rng(0))
    encoded = model.encode(training_queries(graph.facts))
    batches = list(model.batches(encoded, 3, rng=np.random.default_rng(0)))
    assert sorted(torch.cat(batches).tolist()) == list(range(90))
    times = [{plain[row].since for row in batch.tolist()} for batch in batches]
    assert all(len(of_batch) == 1 for of_batch in times if None not in of_batch)
    assert max(map(len, batches)) <= 30 + 8  # the undated ones, with those of time 0


def test_re_gcn_needs_times() -> None:
    undated = facts_of([PlainFact(0, 0, 1, None, None), PlainFact(1, 0, 2, None, None)])
    with pytest.raises(DataError, match="no training fact has a time"):
        Predictor.fit(dataset_of(undated, 3, 1), model="re_gcn")
    with pytest.raises(ConfigError, match=r"training\.objective must be predicates"):
        settings_of("re_gcn", "training.objective=entities")
