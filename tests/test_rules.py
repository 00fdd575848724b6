"""Rules: what is exported is what the model computes with."""

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

from apptek.errors import DataError
from apptek.facts.queries import training_queries
from apptek.predictor import Predictor
from apptek.rules import bodies_of, rules_of, write_rules


@pytest.fixture(scope="module")
def rules(predictor: Predictor) -> list[dict[str, Any]]:
    exported: list[dict[str, Any]] = rules_of(predictor.model).to_pylist()
    return exported


def test_all_weights_are_rules(predictor: Predictor) -> None:
    """Their weights, put back into an empty table, are the weights of the model."""
    model, every = predictor.model, rules_of(predictor.model, 0.0).to_pylist()
    for view, fitted in model.views.items():
        columns = {body: column for column, body in enumerate(bodies_of(model, model.space(view)))}
        weights = np.zeros_like(fitted.classifier.weights)
        for rule in (rule for rule in every if rule["view"] == view):
            body = (rule["part"], rule["where"], tuple(rule["what"]), rule["when"])
            weights[columns[body], model.dataset.predicates.find(rule["head"])] = rule["weight"]
        assert np.array_equal(weights, fitted.classifier.weights)


def test_support_is_counted_over_the_training_queries(
    predictor: Predictor, rules: list[dict[str, Any]]
) -> None:
    model = predictor.model
    rows = model.space("all_facts").rows(training_queries(model.dataset.train))
    columns = {
        body: column for column, body in enumerate(bodies_of(model, model.space("all_facts")))
    }
    train = model.dataset.train
    usable = train.subjects != train.objects
    own = [rule for rule in rules if rule["view"] == "all_facts"]
    for rule in own[:: max(1, len(own) // 20)]:
        body = (rule["part"], rule["where"], tuple(rule["what"]), rule["when"])
        column, head = columns[body], model.dataset.predicates.find(rule["head"])
        active = [usable[row] and column in rows.row(row)[0] for row in range(len(rows))]
        followed = np.flatnonzero(active)[train.predicates[active] == head]
        assert (rule["queries"], rule["followed"]) == (sum(active), len(followed))
        share = np.mean(train.predicates[usable] == head)
        lift = len(followed) / max(sum(active), 1) / share
        assert rule["lift"] == pytest.approx(lift, abs=0.001)


def test_common_heads_and_weighty_rules_with_support_come_first(
    predictor: Predictor, rules: list[dict[str, Any]]
) -> None:
    shares = np.bincount(predictor.model.dataset.train.predicates)
    names = predictor.model.dataset.predicates
    for view in ("all_facts", "past_only"):
        own = [rule for rule in rules if rule["view"] == view]
        heads = [head for head, _ in groupby(own, lambda rule: rule["head"])]
        counts = [int(shares[names.find(head) or 0]) for head in heads]
        assert counts == sorted(counts, reverse=True)
        for _, group in groupby(own, lambda rule: rule["head"]):
            strengths = [abs(r["weight"]) * np.log1p(r["queries"]) for r in group]
            assert strengths == pytest.approx(sorted(strengths, reverse=True))


def test_rules_are_written_as_lines_of_json_or_as_a_table(
    predictor: Predictor, rules: list[dict[str, Any]], tmp_path: Path
) -> None:
    lines, table = tmp_path / "rules.jsonl", tmp_path / "rules.parquet"
    assert write_rules(predictor.model, lines) == write_rules(predictor.model, table) == len(rules)
    assert [json.loads(line) for line in lines.read_text().splitlines()] == rules
    assert parquet.read_table(table).to_pylist() == rules
    with pytest.raises(DataError, match=r"expected \.jsonl, \.parquet"):
        write_rules(predictor.model, tmp_path / "rules.txt")


@pytest.mark.gate
def test_topologies_are_rules_of_several_steps(served_model: Path) -> None:
    rules = rules_of(Predictor.load(served_model).model, 0.0).to_pylist()
    assert {rule["part"] for rule in rules} == {"topology"}
    assert max(len(rule["what"]) for rule in rules) > 1
