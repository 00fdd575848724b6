"""What would catch a leak: with shuffled labels nothing can be known but the frequencies."""

import numpy as np
import pytest

from apptek.agent.environment import World, held_out_queries, play, training_queries
from apptek.config import AgentConfig
from apptek.data.facts import Dataset, Facts
from apptek.data.synthetic import make_world
from apptek.graph.temporal_graph import TemporalGraph
from apptek.prediction.fitting import ClassifierConfig, Examples, fit_linear_softmax
from apptek.prediction.known import known_predicates
from apptek.prediction.ranking import expected_ranks
from apptek.seeding import generator
from apptek.topologies.application import BinaryRows, apply_topologies
from apptek.topologies.mining import mine
from apptek.topologies.sparse import SparseRows
from apptek.topologies.topology import topology_set

TOLERANCE = 0.025  # three standard errors of the mean of these few thousand queries


def shuffled(data: Dataset) -> Facts:
    """The training facts with their predicates dealt out anew."""
    facts = data.train
    order = generator(0, "shuffled").permutation(len(facts))
    return Facts(facts.subjects, facts.predicates[order], facts.objects, facts.since, facts.until)


def sparse_rows(found: BinaryRows, count: int) -> SparseRows:
    return SparseRows(found.offsets, found.columns, count)


def mrr(scores: np.ndarray, facts: Facts, known: tuple[Facts, ...]) -> float:
    ranks = expected_ranks(scores, facts.predicates, known_predicates(facts, known))
    return float(np.mean(1 / ranks))


@pytest.mark.slow
def test_with_shuffled_labels_test_and_out_of_fold_queries_score_like_frequency() -> None:
    data = make_world(12_000, 4).dataset
    train = shuffled(data)
    graph = TemporalGraph.build(train, data.axis, len(data.entities), len(data.predicates))
    world = World(graph, AgentConfig(tknn=10))
    queries = training_queries(train)
    mined = mine([play(world, queries, "random")], train.predicates, 15)
    topologies = topology_set(mined.sequences())

    fold = generator(0, "fold").random(len(train)) < 0.5
    usable = queries.subjects != queries.objects
    parts = [np.flatnonzero(fold & usable), np.flatnonzero(~fold & usable)]
    facts = [train.take(rows) for rows in parts]
    rows = [
        sparse_rows(apply_topologies(world, queries.take(part), topologies), len(topologies))
        for part in parts
    ]
    examples = [
        Examples(row, part.predicates, known_predicates(part, (train,)))
        for row, part in zip(rows, facts, strict=True)
    ]
    model, _ = fit_linear_softmax(
        examples[0],
        examples[1],
        class_count=len(data.predicates),
        config=ClassifierConfig(epochs=3),
        rng=generator(0, "classifier"),
    )
    frequency = np.bincount(facts[0].predicates, minlength=len(data.predicates))

    def like_frequency(count: int) -> np.ndarray:
        return np.tile(frequency.astype(np.float32), (count, 1))

    out_of_fold = mrr(model.scores(rows[1]), facts[1], (train,))
    assert abs(out_of_fold - mrr(like_frequency(len(facts[1])), facts[1], (train,))) < TOLERANCE

    test = data.test
    test_rows = apply_topologies(world, held_out_queries(test), topologies)
    scores = model.scores(sparse_rows(test_rows, len(topologies)))
    known = (train, data.valid, test)
    assert abs(mrr(scores, test, known) - mrr(like_frequency(len(test)), test, known)) < TOLERANCE


@pytest.mark.slow
def test_the_check_would_see_a_fact_that_is_not_hidden() -> None:
    """The same with the query's own fact in sight must be far better than frequency."""
    data = make_world(12_000, 4).dataset
    train = shuffled(data)
    graph = TemporalGraph.build(train, data.axis, len(data.entities), len(data.predicates))
    world = World(graph, AgentConfig(tknn=10))
    topologies = topology_set([(predicate,) for predicate in range(len(data.predicates))])
    rows = sparse_rows(
        apply_topologies(world, held_out_queries(train), topologies), len(topologies)
    )
    examples = Examples(rows, train.predicates, known_predicates(train, (train,)))
    model, _ = fit_linear_softmax(
        examples,
        examples,
        class_count=len(data.predicates),
        config=ClassifierConfig(epochs=2),
        rng=generator(0, "classifier"),
    )
    frequency = np.bincount(train.predicates, minlength=len(data.predicates)).astype(np.float32)
    seen = mrr(model.scores(rows), train, (train,))
    assert seen > mrr(np.tile(frequency, (len(train), 1)), train, (train,)) + 0.2
