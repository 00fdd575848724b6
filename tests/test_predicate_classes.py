"""Predicates by class: sums of probabilities, and the ranks of classes."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from reference import PlainFact
from worlds import PREDICATES, dataset_of

from apptek.evaluation.predicate_classes import PredicateWords
from apptek.facts.facts import Dataset
from apptek.facts.predicate_table import PredicateEntry, PredicateTable
from apptek.predictor import Predictor
from apptek.results import Query
from apptek.synthetic.world import make_world

kinds = st.lists(st.sampled_from(["", "talk", "war"]), min_size=PREDICATES, max_size=PREDICATES)


def with_classes(data: Dataset, classes: list[str]) -> Dataset:
    pairs = zip(data.predicates, classes, strict=True)
    return replace(data, labels=PredicateTable({p: PredicateEntry(kind=c) for p, c in pairs}))


@given(classes=kinds, seed=st.integers(0, 99))
def test_classes_add_up_the_probabilities_of_their_predicates(
    classes: list[str], seed: int
) -> None:
    shares = np.random.default_rng(seed).random((3, PREDICATES)).astype(np.float32)
    levels = PredicateWords.of(with_classes(dataset_of([PlainFact(0, 0, 1, 0, 0)]), classes)).levels
    names = sorted(set(classes) - {""})
    if not names:
        assert not levels
        return
    assert levels["class"].names == tuple(names)
    for number, name in enumerate(names):
        own = [p for p, each in enumerate(classes) if each == name]
        np.testing.assert_allclose(
            levels["class"].sums(shares)[:, number], np.minimum(shares[:, own].sum(1), 1), rtol=1e-6
        )
        largest = levels["class"].largest(shares)[:, number]
        assert np.array_equal(largest, shares[:, own].max(1))


def test_without_a_table_there_are_no_classes() -> None:
    data = make_world(600, 0).dataset
    assert not PredicateWords.of(data).levels
    predictor = Predictor.fit(data.labelled(PredicateTable()))
    (answer,) = predictor.predict([Query(data.entities[0], data.entities[1], "?")])
    assert (answer.by_class, answer.by_group) == ((), ())
    assert answer.labels == answer.predicates
