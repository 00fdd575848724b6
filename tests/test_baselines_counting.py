"""Counting: as a baseline of its own, and beside the features."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from counting_oracles import frequency_scores, recency_scores
from forecast_oracles import start_of
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_queries import query_about
from reference import PlainFact
from test_quality import newcomers, noise
from worlds import ENTITIES, PREDICATES, dataset_of, graph_of, plain_facts

from apptek.config import VIEWS, View, preset
from apptek.errors import ApptekError
from apptek.facts.facts import Dataset, OpenEnd
from apptek.facts.queries import Queries, held_out_queries, training_queries
from apptek.facts.times import UNKNOWN
from apptek.models.counting import (
    FREQUENCY,
    Counted,
    CountingConfig,
    CountingScorer,
    FrequencyScorer,
    Variant,
    choose_weights,
    is_surely_better,
)
from apptek.models.counting_kernels import Weights, dating_of
from apptek.predictor import Predictor
from apptek.reading.reader import read_dataset
from apptek.setting_rules import with_settings

Plain = list[PlainFact]
facts = st.lists(plain_facts(), min_size=1, max_size=14)
entities = st.integers(-1, ENTITIES - 1)
moments = st.one_of(st.none(), st.integers(-5, 15))
rates = st.sampled_from([0.3, 1.0, 4.0])
weights = st.builds(
    Weights,
    pair=st.sampled_from([0.0, 1.0]),
    reversed=st.sampled_from([0.0, 0.3]),
    backoff=rates,
    smoothing=rates,
    pair_decay=rates,
    entity_decay=rates,
    floor=st.sampled_from([0.0, 0.1, 1.0]),
)


triples = st.lists(st.tuples(entities, entities, moments), min_size=1, max_size=3)
PlainRow = tuple[int, int, int | None, int]  # subject, object, time, hidden


def queries_from(*queries: PlainRow) -> Queries:
    plain = [(s, o, UNKNOWN if t is None else t, h) for s, o, t, h in queries]
    return Queries(*(np.asarray(column, np.int32) for column in zip(*plain, strict=True)))


def with_training_queries(asked: list[tuple[int, int, int | None]], plain: Plain) -> list[PlainRow]:
    """These queries, and the query of each fact, from which the fact and its twins are hidden."""
    own = [(fact.subject, fact.object, start_of(fact), row) for row, fact in enumerate(plain)]
    return [*((*triple, -1) for triple in asked), *own]


@settings(max_examples=200)
@given(
    facts, triples, weights, st.sampled_from([(False, "point"), (True, "point"), (True, "ongoing")])
)
def test_the_kernel_agrees_with_the_definition(
    plain: Plain,
    asked: list[tuple[int, int, int | None]],
    chosen: Weights,
    view: tuple[bool, OpenEnd],
) -> None:
    ahead, open_end = view
    queries = with_training_queries(asked, plain)
    graph = graph_of(plain, open_end)
    seen = graph.past_view() if ahead else graph
    scores = CountingScorer(seen, chosen).scores(queries_from(*queries))
    how = {"ahead": ahead, "lasting": open_end == "ongoing"}
    expected = [recency_scores(plain, query, chosen, PREDICATES, **how) for query in queries]
    assert scores == pytest.approx(np.asarray(expected), abs=1e-4)


@given(facts)
def test_frequency_agrees_with_the_definition(plain: Plain) -> None:
    graph = graph_of(plain)
    scores = FrequencyScorer(graph).scores(training_queries(graph.facts))
    expected = [frequency_scores(plain, row, PREDICATES) for row in range(len(plain))]
    assert scores == pytest.approx(np.asarray(expected), abs=1e-5)
    nothing_hidden = FrequencyScorer(graph).scores(held_out_queries(graph.facts))
    assert nothing_hidden[0] == pytest.approx(frequency_scores(plain, -1, PREDICATES), abs=1e-5)


@settings(max_examples=20)
@given(facts, weights)
def test_many_queries_in_threads_score_as_one_by_one(plain: Plain, chosen: Weights) -> None:
    scorer = CountingScorer(graph_of(plain), chosen)
    few = queries_from((0, 1, 3, -1), (1, 0, None, -1), (-1, 2, 5, 0))
    many = few.take(np.resize(np.arange(3), 3000))
    assert np.array_equal(scorer.scores(many), np.resize(scorer.scores(few), (3000, PREDICATES)))


def test_weights_are_chosen_one_at_a_time_until_none_helps() -> None:
    def quality(chosen: Weights) -> float:
        return -abs(chosen.backoff - 3.0) - abs(chosen.smoothing - 10 * chosen.backoff) / 100

    variant = Variant(Weights(pair=1.0), ("backoff", "smoothing"))
    best, mrr, tried = choose_weights(variant, CountingConfig(), quality)
    assert (best.backoff, best.smoothing, mrr) == (3.0, 30.0, 0.0)
    assert tried <= 25  # all there are


def test_rolling_counts_earlier_facts_of_the_held_out_splits_but_none_of_the_future() -> None:
    pair = PlainFact(0, 0, 1, 0, 0)
    held_out = [PlainFact(0, 1, 1, day, day) for day in range(10, 20)]
    data = dataset_of([pair, PlainFact(2, 1, 3, 2, 2)], held_out)
    recency = Predictor.fit(data, model="recency")
    assert recency.views_of("test") == ("past_only",)  # train ends on day 2
    assert recency.evaluate("test").metrics.mrr < 1
    rolling = recency.evaluate("test", rolling=True)
    # The first of them knows only train; each later one sees what the pair did the day before.
    assert rolling.ranks[0] > 1
    assert rolling.ranks[1:].tolist() == [1.0] * 9


def test_rolling_sees_no_undated_fact_of_the_held_out_splits() -> None:
    held_out = [PlainFact(0, 1, 1, None, None), PlainFact(2, 1, 3, 9, 9)]
    data = dataset_of([PlainFact(0, 0, 1, 0, 0), PlainFact(2, 0, 3, 2, 2)], held_out)
    recency = Predictor.fit(data, model="recency")
    undated = recency.evaluate("test", rolling=True).ranks[0]
    assert undated == recency.evaluate("test").ranks[0] > 1


# Counting beside the features: what it sees, when it is chosen, and what is said of it


def counted_on(plain: Plain, kernel: Weights, weight: float) -> Counted:
    return Counted(weight, kernel, dating_of(graph_of(plain).facts, PREDICATES))


@given(facts, triples, weights, st.sampled_from(["all_facts", "past_only"]))
def test_it_adds_the_weighted_logarithms_of_the_shares_that_are_counted(
    plain: Plain, asked: list[tuple[int, int, int | None]], kernel: Weights, view: View
) -> None:
    graph, rows = graph_of(plain), with_training_queries(asked, plain)
    queries, counted = queries_from(*rows), counted_on(plain, kernel, 0.5)
    for other in VIEWS:  # what a graph keeps for one view serves no other
        counted.log_shares(graph.seen_in(other), queries)
    scores = counted.scores(graph.seen_in(view), queries)
    for row, query in enumerate(rows):
        slow = recency_scores(plain, query, kernel, PREDICATES, ahead=view == "past_only")
        assert np.exp(2 * scores[row]) == pytest.approx(np.exp(slow) / np.exp(slow).sum(), abs=1e-4)


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
    assert "Evidence for it: what was recorded most often for any pair" in why.paragraph
    assert "recently" not in why.paragraph


def test_where_there_is_something_to_learn_it_is_not() -> None:
    predictor = Predictor.fit(newcomers(40))
    for fitted in predictor.model.views.values():
        assert fitted.report["quality"]["mrr"] > fitted.report["quality"]["frequency"]["mrr"]
        assert fitted.counted is None or fitted.counted.kernel != FREQUENCY


def test_a_setting_fixes_the_weight_and_the_regularisation() -> None:
    fixed = with_settings(
        preset("default"),
        ["classifier.counting=[0.7]", "classifier.l2=[10]", "classifier.epochs=1"],
    )
    predictor = Predictor.fit(newcomers(40), config=fixed)
    for fitted in predictor.model.views.values():
        assert fitted.report["l2"] == 10
        assert {each["counting"] for each in fitted.report["tried"] if each["epoch"]} <= {0.7}
    without = with_settings(preset("default"), ["classifier.counting=[0]"])
    model = Predictor.fit(newcomers(20), config=without).model
    assert all(fitted.counted is None for fitted in model.views.values())


def test_the_reasons_add_up_with_counting_among_them(explored_model: Path) -> None:
    predictor = Predictor.load(explored_model)
    fitted = predictor.model.views["all_facts"]
    dating = dating_of(predictor.model.dataset.train, len(predictor.model.dataset.predicates))
    counted = fitted.counted or Counted(0.5, Weights(pair=1.0), dating)
    views = {**predictor.model.views, "all_facts": replace(fitted, counted=counted)}
    predictor = Predictor(replace(predictor.model, views=views))
    data = predictor.model.dataset
    explanation = predictor.explain(query_about(data, data.train, 7))
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
