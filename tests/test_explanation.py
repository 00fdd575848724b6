import re

import numpy as np
import pytest
from plain_queries import query_about
from test_default_model import assert_cited

from apptek.explain.explainer import explain
from apptek.predictor import Predictor, Query
from apptek.present.explanation_text import explanation_text
from apptek.synthetic.world import World as PlantedWorld
from apptek.synthetic.world import make_world

MODEL = "topologies"  # of the fixture `predictor`
RETALIATION = {"Mobilize or increase armed forces", "Provide military aid"}


@pytest.fixture(scope="module")
def planted() -> PlantedWorld:
    return make_world(6000, 0)


def training_query(predictor: Predictor, row: int) -> Query:
    return query_about(predictor.model.dataset, predictor.model.dataset.train, row)


def test_cited_facts_exist_and_are_never_the_hidden_one(predictor: Predictor) -> None:
    data, facts = predictor.model.dataset, predictor.model.graph.facts
    for row in range(0, len(facts), 150):
        found = explain(predictor.answerer, training_query(predictor, row), hidden=row)
        for reason in found.all_reasons():
            assert set(reason.topology) >= {f.expanded_by for f in reason.facts}
            named = set(re.findall("'(.*?)'", reason.sentence))
            assert named == {found.shown(fact.predicate) for fact in reason.path}
            for fact in reason.facts:
                assert fact.fact != row
                assert 1 <= fact.step <= reason.steps
                assert fact.predicate == fact.expanded_by
                assert_cited(data, fact)


def test_the_planted_rule_is_the_first_reason(planted: PlantedWorld, predictor: Predictor) -> None:
    place = [rule.name for rule in planted.rules].index("ally-retaliates")
    data, right, cited = predictor.model.dataset, 0, 0
    for split in ("valid", "test"):
        facts = data.split(split)
        for row in np.flatnonzero(planted.origins[split] == place):
            found = predictor.explain(query_about(data, facts, int(row)), most=1)
            if found.predicate == data.predicates[facts.predicates[row]]:
                right += 1
                cited += {fact.predicate for fact in found.reasons[0].path} == RETALIATION
    assert right >= 8
    assert cited >= 0.9 * right


def test_subject_and_object_may_be_the_same(predictor: Predictor) -> None:
    name = predictor.model.dataset.entities[0]
    found = predictor.explain(Query(name, name, "2019-05-05"))
    assert len(found.contributions()) == len(predictor.model.added[0])
    assert [(r.steps, r.facts, [m.entity for m in r.meeting]) for r in found.all_reasons()] == [
        (0, (), [name])
    ] * 10
    assert "every path connects them" in explanation_text(found)
