from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from learned_parts import dataset_of, fifty_facts, settings_of
from reference import PlainFact
from worlds import facts_of, graph_of

from apptek.baselines.embedding import embedding_scores
from apptek.baselines.re_gcn import ReGcn, ReGcnConfig, gru
from apptek.errors import ConfigError, DataError
from apptek.facts.facts import with_inverses
from apptek.facts.queries import Queries, training_queries
from apptek.facts.times import UNKNOWN
from apptek.predictor import Predictor


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
