"""Counting beside the features: what it sees, when it is chosen, and what is said of it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from counting_oracles import recency_scores
from hypothesis import given
from hypothesis import strategies as st
from reference import PlainFact
from test_baselines_counting import Plain, facts, queries_from, weights
from test_quality import newcomers, noise
from worlds import ENTITIES, PREDICATES, graph_of

from apptek.config import View, preset
from apptek.errors import ApptekError
from apptek.facts.facts import Dataset
from apptek.facts.queries import training_queries
from apptek.models.counting import FREQUENCY, Counted, is_surely_better
from apptek.models.counting_kernels import Weights, dating_of
from apptek.predictor import Predictor
from apptek.reading.reader import read_dataset
from apptek.setting_rules import with_settings

known = st.integers(0, ENTITIES - 1)
moments = st.integers(-5, 15)
views = st.sampled_from(["all_facts", "past_only"])


def counted_on(plain: Plain, kernel: Weights, weight: float = 1.0) -> Counted:
    return Counted(weight, kernel, dating_of(graph_of(plain).facts, PREDICATES))


@given(facts, known, known, moments, weights, views)
def test_it_adds_the_weighted_logarithms_of_the_shares_that_are_counted(
    plain: Plain, subject: int, object_: int, when: int, kernel: Weights, view: View
) -> None:
    graph, query = graph_of(plain), (subject, object_, when, -1)
    for other in ("all_facts", "past_only"):  # what a graph keeps for one view serves no other
        graph.seen_in(other)
        counted_on(plain, kernel).log_shares(graph.seen_in(other), queries_from(query))
    scores = counted_on(plain, kernel, 0.5).scores(graph.seen_in(view), queries_from(query))
    slow = recency_scores(plain, query, kernel, PREDICATES, ahead=view == "past_only")
    shares = np.exp(slow) / np.exp(slow).sum()
    assert np.exp(2 * scores[0]) == pytest.approx(shares, abs=1e-4)


@given(facts, weights, views)
def test_a_training_query_is_counted_as_if_its_own_fact_were_not_there(
    plain: Plain, kernel: Weights, view: View
) -> None:
    graph = graph_of(plain)
    queries = training_queries(graph.facts)
    scores = counted_on(plain, kernel).log_shares(graph.seen_in(view), queries)
    for row, fact in enumerate(plain):
        asked = (fact.subject, fact.object, _time(fact), row)
        slow = recency_scores(plain, asked, kernel, PREDICATES, ahead=view == "past_only")
        shares = np.exp(slow) / np.exp(slow).sum()
        assert np.exp(scores[row]) == pytest.approx(shares, abs=1e-4)


def _time(fact: PlainFact) -> int | None:
    return fact.since if fact.since is not None else fact.until


def test_the_prior_alone_ranks_by_frequency() -> None:
    plain = [PlainFact(0, r, 1, 3, 3) for r in (0, 0, 0, 1, 1, 2)]
    shares = np.exp(
        counted_on(plain, FREQUENCY).log_shares(graph_of(plain), queries_from((2, 3, 5, -1)))
    )
    assert np.argsort(-shares[0], kind="stable")[:3].tolist() == [0, 1, 2]


def test_better_means_by_more_than_two_standard_errors() -> None:
    ones, twos = np.ones(100), np.full(100, 2.0)
    assert is_surely_better(ones, twos)
    assert not is_surely_better(ones, ones)
    assert not is_surely_better(np.ones(1), np.full(1, 2.0))
    mixed = np.where(np.arange(100) % 2 == 0, 1.0, 2.0)
    assert not is_surely_better(mixed, mixed[::-1])


def test_where_there_is_nothing_to_learn_the_most_frequent_predicate_is_the_answer() -> None:
    predictor = Predictor.fit(noise(200))
    train = predictor.model.dataset.train
    counts = np.bincount(train.predicates, minlength=len(predictor.model.dataset.predicates))
    usual = predictor.model.dataset.predicates[int(counts.argmax())]
    for fitted in predictor.model.views.values():
        assert fitted.counted is not None
        assert fitted.counted.kernel == FREQUENCY
        assert not fitted.classifier.weights.any()
    answers = predictor.predict([(s, o, t) for s, _, o, t in noise(40)], top=1)
    assert {answer.predicates[0] for answer in answers} == {usual}
    why = predictor.explain(next((s, o, t) for s, _, o, t in noise(1)))
    assert "For it: what was recorded most often, whoever is involved" in why.paragraph
    assert "recently" not in why.paragraph


def test_where_there_is_something_to_learn_it_is_not() -> None:
    predictor = Predictor.fit(newcomers(40))
    for fitted in predictor.model.views.values():
        assert fitted.report["quality"]["mrr"] > fitted.report["quality"]["frequency"]["mrr"]
        assert fitted.counted is None or fitted.counted.kernel != FREQUENCY


def test_a_setting_fixes_the_weight_and_the_regularisation(tmp_path: Path) -> None:
    fixed = with_settings(
        preset("default"),
        ["classifier.counting=[0.7]", "classifier.l2=[10]", "classifier.epochs=1"],
    )
    predictor = Predictor.fit(newcomers(40), config=fixed)
    for fitted in predictor.model.views.values():
        assert fitted.report["l2"] == 10
        assert {each["counting"] for each in fitted.report["tried"] if each["epoch"]} <= {0.7}
    predictor.save(tmp_path / "model")
    again = Predictor.load(tmp_path / "model")
    for view, fitted in predictor.model.views.items():
        loaded = again.model.views[view].counted
        assert (loaded and (loaded.weight, loaded.kernel)) == (
            fitted.counted and (fitted.counted.weight, fitted.counted.kernel)
        )
    without = with_settings(preset("default"), ["classifier.counting=[0]"])
    model = Predictor.fit(newcomers(20), config=without).model
    assert all(fitted.counted is None for fitted in model.views.values())


def test_with_few_queries_nothing_is_chosen_on_them() -> None:
    rows = newcomers(15)  # 36 facts of valid
    report = Predictor.fit(rows).model.views["all_facts"].report
    assert report["tuning_queries"] < 50
    assert (report["l2"], report["epoch"], report["counting"]) == (3.0, 3, 0.3)
    assert report["ece_after"] is not None


def test_the_reasons_add_up_with_counting_among_them(explored_model: Path) -> None:
    predictor = Predictor.load(explored_model)
    fitted = predictor.model.views["all_facts"]
    dating = dating_of(predictor.model.dataset.train, len(predictor.model.dataset.predicates))
    counted = fitted.counted or Counted(0.5, Weights(pair=1.0), dating)
    views = {**predictor.model.views, "all_facts": replace(fitted, counted=counted)}
    predictor = Predictor(replace(predictor.model, views=views))
    fact = predictor.model.dataset.all_facts().take(np.asarray([7]))
    names, axis = predictor.model.dataset.entities, predictor.model.dataset.axis
    query = (
        names[int(fact.subjects[0])],
        names[int(fact.objects[0])],
        axis.format(int(fact.times[0])),
    )
    explanation = predictor.explain(query)
    (part,) = (each for each in explanation.contributions() if each.kind == "counting")
    assert "most often and most recently" in part.sentence
    total = explanation.bias + sum(each.log_odds for each in explanation.contributions())
    assert total == pytest.approx(explanation.log_odds)
    odds = np.log(explanation.probability / explanation.runner_up_probability)
    assert explanation.log_odds == pytest.approx(odds, abs=1e-3)


def split_of(kind: str) -> Dataset:
    """Facts with a valid split that hardly tells anything; one predicate occurs once in train."""
    rows = [*newcomers(30), ("s1", "occurs once", "o1", "3")]
    data = read_dataset(rows)
    facts, last = data.all_facts(), data.axis.positions(data.all_facts().times).argsort()
    train, rest = facts.take(last[:-120]), facts.take(last[-120:])
    if kind == "one predicate":
        rest = rest.take(rest.predicates == rest.predicates[0])
    valid = rest.first({"ten facts": 10, "one predicate": len(rest), "none": 0}[kind])
    return replace(data, train=train, valid=valid, test=rest, was_split=False)


@pytest.mark.parametrize("kind", ["ten facts", "one predicate", "none"])
def test_a_valid_split_that_tells_little_is_no_obstacle(kind: str) -> None:
    predictor = Predictor.fit(split_of(kind))
    report = predictor.model.views["past_only"].report
    assert report["tuning_queries"] == len(predictor.model.dataset.valid)
    assert (report["epoch"], report["counting"]) == (3, 0.3)  # nothing was chosen on them
    assert predictor.model.calibrated == (kind != "none")
    answer = predictor.predict(("s80", "o1", "29"), top=None)[0]
    assert sum(answer.probabilities) == pytest.approx(1, abs=1e-5)
    assert "occurs once" in answer.predicates
    if kind == "none":
        with pytest.raises(ApptekError, match="no prediction sets"):
            predictor.predict(("s80", "o1", "29"), coverage=0.9)
    else:
        assert predictor.predict(("s80", "o1", "29"), coverage=0.9)[0].predicates
