import math
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from plain_queries import query_about

from apptek.errors import ApptekError, TimeFormatError
from apptek.explain.explainer import explain
from apptek.facts.queries import training_queries
from apptek.paper.features import topologies_of
from apptek.predictor import Predictor, Query
from apptek.present.explanation_text import explanation_text
from apptek.present.sentences import connected_sentence
from apptek.results import CitedFact, Explanation, Reason
from apptek.synthetic.world import World as PlantedWorld
from apptek.synthetic.world import make_world

RETALIATION = {"Mobilize or increase armed forces", "Provide military aid"}


@pytest.fixture(scope="module")
def planted() -> PlantedWorld:
    return make_world(6000, 0)


@pytest.fixture(scope="module")
def predictor(served_model: Path) -> Predictor:
    return Predictor.load(served_model)


def held_out_query(predictor: Predictor, row: int) -> Query:
    return query_about(predictor.model.dataset, predictor.model.dataset.test, row)


def training_query(predictor: Predictor, row: int) -> Query:
    return query_about(predictor.model.dataset, predictor.model.dataset.train, row)


def test_contributions_and_bias_are_the_log_odds(predictor: Predictor) -> None:
    count = len(predictor.model.dataset.predicates)
    for row in range(0, 300, 6):
        query = held_out_query(predictor, row)
        (answer,) = predictor.predict([query], top=count)
        logs = {
            n: math.log(p) for n, p in zip(answer.predicates, answer.probabilities, strict=True)
        }
        for predicate in (None, answer.predicates[row % count]):
            found = predictor.explain(query, predicate)
            parts = found.contributions()
            odds = logs[found.predicate] - logs[found.runner_up]
            assert found.log_odds == pytest.approx(odds, abs=1e-5)
            assert found.bias + sum(p.log_odds for p in parts) == pytest.approx(odds, abs=1e-5)
            assert [p.log_odds for p in parts] == sorted((p.log_odds for p in parts), reverse=True)


def test_the_runner_up_is_the_most_probable_other(predictor: Predictor) -> None:
    query = held_out_query(predictor, 4)
    (answer,) = predictor.predict([query], top=3)
    first = predictor.explain(query)
    assert (first.predicate, first.runner_up) == answer.predicates[:2]
    assert first.is_first
    third = predictor.explain(query, answer.predicates[2])
    assert (third.predicate, third.runner_up) == (answer.predicates[2], answer.predicates[0])
    assert third.log_odds < 0 < first.log_odds
    assert not third.is_first
    assert [one.predicate for one in first.ranked[:3]] == list(answer.predicates)


def test_the_topologies_that_fired_are_the_features(predictor: Predictor) -> None:
    train = training_queries(predictor.model.graph.facts)
    names = predictor.model.dataset.predicates
    part = topologies_of(predictor.model)
    assert part is not None
    sequences = part.found.sequences
    for row in range(0, len(train), 400):
        fired, _ = predictor.answerer.main.space.rows(train.take(np.asarray([row]))).row(0)
        wanted = {sequences[place] for place in fired.tolist()}
        found = explain(predictor.answerer, training_query(predictor, row), hidden=row, most=3)
        assert {
            tuple(names.find(name) for name in one.topology) for one in found.contributions()
        } == wanted
        signs = [one.log_odds >= 0 for one in found.contributions()]
        assert len(found.reasons) == min(3, signs.count(True))
        assert len(found.against) == min(3, signs.count(False))


def walk(facts: Iterable[CitedFact], start: str) -> set[str]:
    reached, facts = {start}, list(facts)
    for _ in facts:
        for fact in facts:
            if {fact.subject, fact.object} & reached:
                reached |= {fact.subject, fact.object}
    return reached


def assert_connects(found: Explanation, reason: Reason) -> None:
    """Walking the cited facts of each side leads to every meeting entity."""
    for side, start in (("subject", found.subject), ("object", found.object)):
        facts = [fact for fact in reason.path if fact.side in (side, "both")]
        assert {met.entity for met in reason.meeting} <= walk(facts, start)


def test_cited_facts_exist_connect_and_are_never_the_hidden_one(predictor: Predictor) -> None:
    data, facts = predictor.model.dataset, predictor.model.graph.facts
    for row in range(0, len(facts), 150):
        found = explain(predictor.answerer, training_query(predictor, row), hidden=row)
        for reason in found.all_reasons():
            assert_connects(found, reason)
            assert set(reason.topology) >= {f.expanded_by for f in reason.facts}
            for fact in reason.facts:
                assert fact.fact != row
                assert 1 <= fact.step <= reason.steps
                assert fact.predicate == fact.expanded_by
                assert (fact.subject, fact.predicate, fact.object) == (
                    data.entities[facts.subjects[fact.fact]],
                    data.predicates[facts.predicates[fact.fact]],
                    data.entities[facts.objects[fact.fact]],
                )
                assert fact.since == data.axis.format(facts.since[fact.fact])
                assert fact.until == data.axis.format(facts.until[fact.fact])


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


def test_an_unknown_predicate_is_refused_with_near_names(predictor: Predictor) -> None:
    query = held_out_query(predictor, 0)
    with pytest.raises(ApptekError, match="no predicate 'make statment'; did you mean 'Make sta"):
        predictor.explain(query, "make statment")
    with pytest.raises(ApptekError, match=r"no predicate 'zzzz'$"):
        predictor.explain(query, "zzzz")
    with pytest.raises(TimeFormatError, match="yesterday"):
        predictor.explain(Query(query.subject, query.object, "yesterday"))


def test_a_topology_names_the_steps_on_its_path_and_lists_all_in_the_details(
    predictor: Predictor,
) -> None:
    left_out = 0
    for row in range(0, 60, 7):
        found = predictor.explain(held_out_query(predictor, row), most=99)
        text = " ".join(explanation_text(found, 200).split())
        for reason in found.all_reasons():
            steps = {fact.step: fact.expanded_by for fact in reason.path}
            names = dict.fromkeys(steps[step] for step in sorted(steps))
            part = reason
            assert part.sentence == connected_sentence([found.shown(n) for n in names])
            assert re.findall(r"'([^']*)'", part.sentence) == list(names)
            left_out += len(names) < len(part.topology)
            assert ", then ".join(f"'{name}'" for name in part.topology) in text
    assert left_out > 10
