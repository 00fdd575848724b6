"""Faithfulness: facts are taken away as the definition says, and planted rules are named."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import succeeds

from apptek.explain.explainer import explain
from apptek.facts.queries import Queries, held_out_queries
from apptek.models.answerer import Answerer
from apptek.models.asked_queries import query_of_fact
from apptek.models.model import Model
from apptek.predictor import Predictor
from apptek.research.faithfulness import Ablation, measure_faithfulness
from apptek.research.result import read_result
from apptek.seeding import generator
from apptek.synthetic.world import World, make_world


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(4000, 1)


@pytest.fixture(scope="module")
def model(default_model: Path) -> Model:
    return Predictor.load(default_model).model


def _ablation(
    model: Model, row: int, *, past_only: bool = False
) -> tuple[Ablation, Queries, float]:
    data, answerer = model.dataset, Answerer(model, past_only=past_only)
    queries = held_out_queries(data.test.take(np.asarray([row])))
    why = explain(answerer, query_of_fact(data, data.test, row))
    return Ablation(answerer, queries, why), queries, why.log_odds


def test_neighbours_are_the_facts_of_both_that_a_query_can_see(model: Model) -> None:
    for past_only in (False, True):
        ablation, queries, _ = _ablation(model, 57, past_only=past_only)
        facts, ends = model.graph.facts, {int(queries.subjects[0]), int(queries.objects[0])}
        expected = [
            row
            for row in range(len(facts))
            if {int(facts.subjects[row]), int(facts.objects[row])} & ends
            and not (past_only and facts.times[row] >= queries.times[0])
        ]
        assert ablation.neighbours().tolist() == expected
        assert set(ablation.cited.tolist()) <= set(expected)


def test_cited_facts_matter_and_random_ones_do_not(model: Model) -> None:
    measured = measure_faithfulness(model, 40, rng=generator(0, "test"))
    assert measured.questions == 40
    assert measured.cited_beats_random > 0.9
    assert measured.cited_drop > measured.random_drop
    assert measured.sufficiency > 0.7
    again = measure_faithfulness(model, 40, rng=generator(0, "test"))
    assert again == measured


def test_a_planted_rule_is_named_first(model: Model, world: World) -> None:
    """Facts that a rule has made of one other fact: the first reason is that fact's predicate."""
    predictor, data, named = Predictor(model, past_only=True), model.dataset, []
    for number, rule in enumerate(world.rules):
        if len(rule.body) == 1 and rule.head is not None and rule.lags[0] > 0:
            for row in np.flatnonzero(world.origins["test"] == number)[:10].tolist():
                why = predictor.explain(query_of_fact(data, data.test, row), most=1)
                if why.predicate == rule.head.predicate and why.reasons:
                    named.append(rule.body[0].predicate in why.reasons[0].topology)
    assert len(named) > 20
    assert np.mean(named) > 0.7  # the cause of some is in valid or test


def test_the_command_prints_json_and_keeps_a_result(model: Model, tmp_path: Path) -> None:
    folder, file = str(tmp_path / "model"), tmp_path / "result.json"
    Predictor(model).save(folder)
    words = ("-n", "5", "--json", "--result", str(file))
    done = succeeds("research", "faithfulness", folder, *words)
    printed, result = json.loads(done.stdout), read_result(file)
    assert printed["questions"] == result.metrics["questions"] == 5
    assert result.extras["of"] == "apptek_default"
