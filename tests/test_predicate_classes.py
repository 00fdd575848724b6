"""Predicates by class: sums of probabilities, and the ranks of classes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import PlainFact
from ranking_oracles import expected_rank, other_known
from worlds import PREDICATES, dataset_of, plain_facts

from apptek.arrays import Doubles
from apptek.evaluation.predicate_classes import PredicateWords
from apptek.evaluation.ranking import EvaluationQueries, evaluate_scores
from apptek.facts.facts import Dataset
from apptek.facts.predicate_table import PredicateEntry, PredicateTable
from apptek.predictor import Predictor
from apptek.results import Query
from apptek.synthetic.world import make_world

kinds = st.lists(st.sampled_from(["", "talk", "war"]), min_size=PREDICATES, max_size=PREDICATES)
worlds = st.lists(plain_facts(), min_size=1, max_size=12)


def with_classes(data: Dataset, classes: list[str]) -> Dataset:
    pairs = zip(data.predicates, classes, strict=True)
    return replace(data, labels=PredicateTable({p: PredicateEntry(kind=c) for p, c in pairs}))


def random_shares(count: int, seed: int) -> Doubles:
    """Probabilities of few values, so that there are ties, also among sums."""
    weights = np.random.default_rng(seed).integers(1, 4, (count, PREDICATES))
    shares: Doubles = weights / np.sum(weights, axis=1, keepdims=True)
    return shares


def plain_sum(shares: list[float], classes: list[str], name: str) -> float:
    own = [share for share, each in zip(shares, classes, strict=True) if each == name]
    return float(np.float32(sum(own)))


@given(train=worlds, test=worlds, classes=kinds, seed=st.integers(0, 99))
def test_the_ranks_of_classes_agree_with_the_definition(
    train: list[PlainFact], test: list[PlainFact], classes: list[str], seed: int
) -> None:
    data = with_classes(dataset_of(train, test), classes)
    asked = data.test
    shares = random_shares(len(asked), seed).astype(np.float32)
    evaluation = evaluate_scores(
        lambda start, stop: shares[start:stop],
        EvaluationQueries.of(data, "test"),
        probabilities=lambda scores: scores,
    )
    names = sorted(set(classes) - {""})
    wanted = []
    for row, query in enumerate(test):
        truth = classes[query.predicate]
        if not truth:
            continue
        sums = [plain_sum(shares[row].tolist(), classes, name) for name in names]
        known = other_known(query, [*train, *test], "time-aware")
        left_out = {names.index(classes[p]) for p in known if classes[p]} - {names.index(truth)}
        wanted.append(expected_rank(sums, names.index(truth), left_out))
    if not names:
        assert not evaluation.classes
        return
    metrics = evaluation.classes["by_class"]
    if not wanted:
        assert metrics is None
        return
    assert metrics is not None
    assert metrics.queries == len(wanted)
    assert metrics.mrr == pytest.approx(float(np.mean([1 / rank for rank in wanted])))
    assert metrics.ece is not None
    assert 0 <= metrics.ece <= 1


def test_the_probabilities_of_an_answer_add_up_by_class(predictor: Predictor) -> None:
    data = predictor.model.dataset
    query = Query(data.entities[0], data.entities[1], "2019-07-26")
    (answer,) = predictor.predict([query], top=len(data.predicates))
    labels = data.labels
    assert labels is not None
    for shares, of in ((answer.by_class, labels.class_of), (answer.by_group, labels.group_of)):
        expected: dict[str, float] = {}
        for name, probability in zip(answer.predicates, answer.probabilities, strict=True):
            kind = of(name)
            if kind is not None:
                expected[kind] = expected.get(kind, 0.0) + probability
        found = {one.name: one.probability for one in shares}
        assert found == pytest.approx(expected)
        assert list(found.values()) == sorted(found.values(), reverse=True)
    assert len(answer.by_group) == 4
    (short,) = predictor.predict([query], top=1)
    assert short.by_class == answer.by_class  # of all predicates, not only of those shown
    explained = predictor.explain(query)
    assert explained.by_class == answer.by_class
    assert explained.by_group == answer.by_group


def test_without_a_table_there_are_no_classes() -> None:
    data = make_world(600, 0).dataset
    assert not PredicateWords.of(data).levels
    predictor = Predictor.fit(data.labelled(PredicateTable()))
    (answer,) = predictor.predict([Query(data.entities[0], data.entities[1], "?")])
    assert (answer.by_class, answer.by_group) == ((), ())
    assert answer.labels == answer.predicates
    assert "by_class" not in predictor.evaluate("test").as_json()


def test_an_evaluation_reports_classes(predictor: Predictor) -> None:
    report = predictor.evaluate("test").as_json()
    assert report["by_group"]["hits_at_10"] == 1.0  # there are four
    assert 0 < report["by_class"]["queries"] < report["queries"]  # some predicates have no class
