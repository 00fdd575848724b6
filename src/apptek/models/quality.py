"""How good a fitted model is on its tuning queries, beside two baselines that only count."""

from typing import Any

import numpy as np

from apptek.arrays import Bools, Doubles, Floats, Matrix
from apptek.evaluation.ranking import expected_ranks, filtered_mrr
from apptek.facts.queries import Queries
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.counting import (
    VARIANTS,
    CountingConfig,
    CountingScorer,
    choose_weights,
)
from apptek.models.counting_kernels import Weights
from apptek.models.fitting.examples import Examples
from apptek.ragged import Ragged

MAX_QUERIES = 10_000  # tuning queries that are compared
MAX_TRIED_QUERIES = 1_000  # of these, queries that the weights of `recency` are chosen on
MAX_FACTS = 5_000_000  # with more facts, the index of `recency` would need too much memory
RESAMPLES = 2_000
# Fewer values than the baseline `recency` tries: a fit should spend no more than a second on it.
FEW_VALUES = CountingConfig(
    smoothing=(3.0,),
    backoff=(0.3, 1.0, 3.0),
    reversed=(0.1, 0.4),
    pair_decay=(0.3, 3.0, 30.0),
    entity_decay=(0.3, 3.0, 30.0),
    floor=(0.01, 0.1),
)


def measure_quality(
    graph: TemporalGraph,
    queries: Queries,
    tuning: Examples,
    scores: Matrix,
    *,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return Hits@1 and MRR of a model and of `frequency` and `recency`, ready for JSON.

    graph   the training facts, as the view sees them
    scores  of the model, (B, R), for the tuning queries

    `interval` is the 95 % interval of the model's Hits@1 minus that of the baseline.
    """
    rows = np.arange(0, len(queries), -(-len(queries) // MAX_QUERIES))
    queries, truths, known = queries.take(rows), tuning.labels[rows], tuning.others.take(rows)
    ranks = expected_ranks(scores[rows], truths, known)
    quality = {"queries": len(rows)} | _metrics(ranks)
    baselines = {"frequency": np.tile(_frequency_order(graph), (len(rows), 1))}
    if len(graph.facts) <= MAX_FACTS:
        baselines["recency"] = _recency_scores(graph, queries, tuning.labels[rows], known)
    for name, counted in baselines.items():
        their_ranks = expected_ranks(counted, truths, known)
        interval = paired_interval(ranks <= 1, their_ranks <= 1, rng=rng)
        quality[name] = _metrics(their_ranks) | {"interval": interval}
    return quality


def _frequency_order(graph: TemporalGraph) -> Floats:
    """A score for each predicate, higher the more frequent it is; of equal ones, the first wins.

    The baseline `frequency` hides the fact of a query and knows ties. Here the most frequent
    predicate is one and the same for all queries, as people mean it.
    """
    counts = np.bincount(graph.facts.predicates, minlength=graph.predicate_count)
    order = np.argsort(-counts, kind="stable")
    scores = np.empty(len(counts), np.float32)
    scores[order] = -np.arange(len(counts))
    return scores


def _metrics(ranks: Doubles) -> dict[str, Any]:
    return {"hits_at_1": float(np.mean(ranks <= 1)), "mrr": float(np.mean(1 / ranks))}


def _recency_scores(graph: TemporalGraph, queries: Queries, truths: Any, known: Ragged) -> Matrix:
    scorer = CountingScorer(graph, VARIANTS["recency"].start)
    rows = np.arange(0, len(queries), -(-len(queries) // MAX_TRIED_QUERIES))
    tried, tried_truths, tried_known = queries.take(rows), truths[rows], known.take(rows)

    def mrr(weights: Weights) -> float:
        return filtered_mrr(scorer.with_weights(weights).scores(tried), tried_truths, tried_known)

    weights, *_ = choose_weights(VARIANTS["recency"], FEW_VALUES, mrr)
    return scorer.with_weights(weights).scores(queries)


def paired_interval(ours: Bools, theirs: Bools, *, rng: np.random.Generator) -> list[float]:
    """Return the 95 % interval of the difference of two hit rates on the same queries.

    A bootstrap over queries. A query is won, lost or tied, so a resample is one multinomial draw.
    """
    count = len(ours)
    won, lost = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    shares = np.asarray([won, lost, count - won - lost]) / count
    resampled = rng.multinomial(count, shares, size=RESAMPLES)
    low, high = np.quantile((resampled[:, 0] - resampled[:, 1]) / count, [0.025, 0.975])
    return [float(low), float(high)]
