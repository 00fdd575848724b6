from dataclasses import replace

import numpy as np
import pytest
from counting_oracles import frequency_scores, recency_scores
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import PlainFact
from worlds import ENTITIES, PREDICATES, dataset_of, graph_of, plain_facts

from apptek.facts.facts import Dataset, OpenEnd
from apptek.facts.queries import Queries, held_out_queries, training_queries
from apptek.facts.times import UNKNOWN
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.counting import (
    CountingConfig,
    CountingScorer,
    FrequencyScorer,
    Variant,
    choose_weights,
)
from apptek.models.counting_kernels import Weights
from apptek.predictor import Predictor
from apptek.synthetic.world import make_world

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


def queries_from(*queries: tuple[int, int, int | None, int]) -> Queries:
    """Queries from (subject, object, time, hidden)."""
    plain = [(s, o, UNKNOWN if t is None else t, h) for s, o, t, h in queries]
    return Queries(*(np.asarray(column, np.int32) for column in zip(*plain, strict=True)))


@settings(max_examples=200)
@given(
    facts,
    st.lists(st.tuples(entities, entities, moments), min_size=1, max_size=3),
    weights,
    st.sampled_from([(False, "point"), (True, "point"), (True, "ongoing")]),
)
def test_the_kernel_agrees_with_the_definition(
    plain: Plain,
    triples: list[tuple[int, int, int | None]],
    chosen: Weights,
    view: tuple[bool, OpenEnd],
) -> None:
    ahead, open_end = view
    queries = [(*triple, -1) for triple in triples]
    graph = graph_of(plain, open_end)
    seen = graph.past_view() if ahead else graph
    scores = CountingScorer(seen, chosen).scores(queries_from(*queries))
    how = {"ahead": ahead, "lasting": open_end == "ongoing"}
    expected = [recency_scores(plain, query, chosen, PREDICATES, **how) for query in queries]
    assert scores == pytest.approx(np.asarray(expected), abs=1e-4)


@given(facts, weights)
def test_a_training_query_does_not_see_its_own_fact_or_its_twins(
    plain: Plain, chosen: Weights
) -> None:
    graph = graph_of(plain)
    queries = training_queries(graph.facts)
    scores = CountingScorer(graph, chosen).scores(queries)
    plain_queries = [
        (f.subject, f.object, f.until if f.since is None else f.since, row)
        for row, f in enumerate(plain)
    ]
    expected = [recency_scores(plain, query, chosen, PREDICATES) for query in plain_queries]
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


@pytest.fixture(scope="module")
def world() -> Dataset:
    return make_world(3000, 0).dataset


def test_more_counting_is_better_on_a_planted_world(
    world: Dataset,
) -> None:
    names = ("frequency", "profile", "pair", "recency")
    fitted = {name: Predictor.fit(world, model=name) for name in names}
    frequency, profile, _, recency = (each.evaluate().metrics.mrr for each in fitted.values())
    assert frequency + 0.05 < profile < recency
    chosen = {name: each.evaluate("valid").metrics.mrr for name, each in fitted.items()}
    assert chosen["pair"] >= chosen["profile"]


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


def test_ahead_a_future_fact_changes_no_answer_of_recency(world: Dataset) -> None:
    recency = Predictor.fit(world, model="recency")
    scorer = recency.model.views["past_only"].scorer
    assert isinstance(scorer, CountingScorer)
    late = int(np.quantile(world.train.times, 0.5))
    past = scorer.with_facts(
        TemporalGraph.of(
            replace(world, train=world.train.take(np.flatnonzero(world.train.times < late)))
        ).past_view()
    )
    rows = np.flatnonzero(world.test.dated & (world.test.times <= late))
    queries = held_out_queries(world.test.take(rows))
    assert np.array_equal(past.scores(queries), scorer.scores(queries))
