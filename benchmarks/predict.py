"""The benchmark of the predictor: queries per second, next to a baseline and on a large graph."""

from statistics import median

import numpy as np

from apptek.config import DEFAULT, preset
from apptek.facts.facts import Dataset
from apptek.facts.queries import Queries, held_out_queries
from apptek.features.clock import Clock
from apptek.features.space import make_space
from apptek.features.traits import types_from_names
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answerer import WorkingView
from apptek.models.counting import VARIANTS, CountingScorer
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.model import FittedView
from apptek.seeding import generator
from apptek.synthetic.world import make_world
from benchmarks.report import BenchReport, bench_dataset, seconds

ROUNDS = 4  # the first compiles
TARGETS = {"predict_vs_counting": "at least 0.3", "query_10m_vs_100k": "at most 3"}


def bench_predict(*, quick: bool = False) -> BenchReport:
    """Score all test queries of ICEWS14 (or synthetic data of its size) with default features.

    The recency baseline scores the same queries, alternating with the model. Then the cost per
    query is compared between 100 k and 10 M synthetic facts (quick: 50 k and 500 k). The weights
    are random, which does not affect the cost.
    """
    large, small = (500_000, 50_000) if quick else (10_000_000, 100_000)
    dataset = bench_dataset(quick)
    view = _default_model(dataset)
    counting = CountingScorer(TemporalGraph.of(dataset), VARIANTS["recency"].start)
    queries = held_out_queries(dataset.test)
    default_runs: list[float] = []
    recency_runs: list[float] = []
    for _ in range(ROUNDS):  # alternate, so that both see the same machine load
        default_runs.append(seconds(lambda: view.scores(queries)))
        recency_runs.append(seconds(lambda: counting.scores(queries)))
    default, recency = (median(runs[1:]) / len(queries) for runs in (default_runs, recency_runs))
    growth = {size: _seconds_per_query(size) for size in (small, large)}
    return BenchReport(
        ratios={
            "predict_vs_counting": recency / default,
            "query_10m_vs_100k": growth[large] / growth[small],
        },
        figures={
            "facts": {dataset.name: len(dataset.train), "small": small, "large": large},
            "queries_per_second": 1 / default,
            "counting_queries_per_second": 1 / recency,
            "query_microseconds": {str(size): 1e6 * cost for size, cost in growth.items()},
        },
        targets=TARGETS,
    )


def _default_model(dataset: Dataset) -> WorkingView:
    """Return a model with the features of the default preset and random weights."""
    graph, config = TemporalGraph.of(dataset), preset(DEFAULT)
    kinds = tuple(types_from_names(dataset.entities, dataset.train))
    space = make_space(graph, dataset, config, Clock.of(graph), kinds)
    shape = (len(space), len(dataset.predicates))
    weights = generator(0, "bench").standard_normal(shape, np.float32)
    classifier = LinearSoftmax(weights, np.zeros(shape[1], np.float32))
    fitted = FittedView(classifier=classifier, kinds=kinds, report={})
    return WorkingView("all_facts", space, fitted)


def _seconds_per_query(size: int) -> float:
    """Return the seconds per query in a batch, on `size` synthetic facts."""
    data = make_world(size, 0).dataset
    view = _default_model(data)
    rows = generator(0, "bench").permutation(len(data.test))[:4096]
    queries: Queries = held_out_queries(data.test.take(rows))
    runs = [seconds(lambda: view.scores(queries)) for _ in range(ROUNDS)]
    return median(runs[1:]) / len(queries)
