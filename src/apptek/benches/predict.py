"""The predictor's bench: queries per second beside counting, and on a large graph."""

from statistics import median

import numpy as np

from apptek.baselines.counting import VARIANTS, CountingScorer
from apptek.baselines.counting_index import CountingIndex
from apptek.benches.report import BenchReport, Target, bench_dataset, seconds
from apptek.config import DEFAULT, preset
from apptek.data.facts import Dataset
from apptek.data.queries import Queries, held_out_queries
from apptek.data.synthetic.world import make_world
from apptek.features.clock import Clock
from apptek.features.space import FeatureSpace
from apptek.features.topologies.topology import topology_set
from apptek.features.traits import types_from_names
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answerer import linear_scores
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.model import FeatureSources
from apptek.seeding import generator

ROUNDS = 4  # the first compiles
TARGETS = {"predict_vs_counting": Target(0.3, at_most=False), "query_10m_vs_100k": Target(3)}


def bench_predict(*, quick: bool = False) -> BenchReport:
    """Scores all test queries of ICEWS14 (or of a world of its size) by the default features.

    The weights are drawn at random: they cost what fitted ones cost. In turns with the recency
    baseline; then single queries' cost on worlds of 100 k and 10 M facts (quick: 50 k and 500 k).
    """
    large, small = (500_000, 50_000) if quick else (10_000_000, 100_000)
    dataset = bench_dataset(quick)
    space, classifier = _default(dataset)
    index = CountingIndex(TemporalGraph.of(dataset))
    counting = CountingScorer(index, VARIANTS["recency"].start)
    asked = held_out_queries(dataset.test)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(ROUNDS):
        ours.append(seconds(lambda: linear_scores(space, classifier, asked)))
        theirs.append(seconds(lambda: counting.scores(asked)))
    default, recency = (median(runs[1:]) / len(asked) for runs in (ours, theirs))
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


def _default(dataset: Dataset) -> tuple[FeatureSpace, LinearSoftmax]:
    """The features of the default preset, and weights for them."""
    graph, config = TemporalGraph.of(dataset), preset(DEFAULT)
    kinds = tuple(types_from_names(dataset.entities, dataset.train))
    space = FeatureSources(
        config=config,
        dataset=dataset,
        graph=graph,
        clock=Clock.of(graph),
        kinds=kinds,
        topologies=topology_set([]),
    ).space()
    shape = (len(space), len(dataset.predicates))
    weights = generator(0, "bench").standard_normal(shape, np.float32)
    return space, LinearSoftmax(weights, np.zeros(shape[1], np.float32))


def _seconds_per_query(size: int) -> float:
    """What one of many queries costs on a world of so many facts."""
    data = make_world(size, 0).dataset
    space, classifier = _default(data)
    rows = generator(0, "bench").permutation(len(data.test))[:4096]
    asked: Queries = held_out_queries(data.test.take(rows))
    runs = [seconds(lambda: linear_scores(space, classifier, asked)) for _ in range(ROUNDS)]
    return median(runs[1:]) / len(asked)
