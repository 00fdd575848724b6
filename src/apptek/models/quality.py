"""A fitted model's quality on its tuning queries, compared with two baselines that only count."""

from typing import Any

import numpy as np

from apptek.arrays import Bools, Doubles, Floats, Matrix
from apptek.evaluation.ranking import expected_ranks
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.fitting.examples import Examples

MAX_QUERIES = 10_000  # maximum number of tuning queries to compare
RESAMPLES = 2_000


def measure_quality(
    graph: TemporalGraph,
    tuning: Examples,
    scores: Matrix,
    counted: Matrix | None,
    *,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return Hits@1 and MRR for a model, `frequency` and `recency`, ready for JSON.

    graph    the training facts
    scores   the model's scores for the tuning queries, (B, R)
    counted  the scores of `recency`, or None if it was not fitted

    `interval` is the 95 % interval of the model's Hits@1 minus the baseline's.
    """
    rows = np.arange(0, len(tuning), -(-len(tuning) // MAX_QUERIES))
    truths, known = tuning.labels[rows], tuning.others.take(rows)
    ranks = expected_ranks(scores[rows], truths, known)
    quality = {"queries": len(rows)} | _metrics(ranks)
    baselines = {"frequency": np.tile(_frequency_order(graph), (len(rows), 1))}
    if counted is not None:
        baselines["recency"] = counted[rows]
    for name, of_baseline in baselines.items():
        their_ranks = expected_ranks(of_baseline, truths, known)
        interval = paired_interval(ranks <= 1, their_ranks <= 1, rng=rng)
        quality[name] = _metrics(their_ranks) | {"interval": interval}
    return quality


def _frequency_order(graph: TemporalGraph) -> Floats:
    """Return a score for each predicate, higher for more frequent ones. On ties the first wins.

    The baseline `frequency` hides each query's fact and has ties. Here, as readers expect, all
    queries have the same most frequent predicate.
    """
    counts = np.bincount(graph.facts.predicates, minlength=graph.predicate_count)
    order = np.argsort(-counts, kind="stable")
    scores = np.empty(len(counts), np.float32)
    scores[order] = -np.arange(len(counts))
    return scores


def _metrics(ranks: Doubles) -> dict[str, Any]:
    return {"hits_at_1": float(np.mean(ranks <= 1)), "mrr": float(np.mean(1 / ranks))}


def paired_interval(ours: Bools, theirs: Bools, *, rng: np.random.Generator) -> list[float]:
    """Return the 95 % interval of the difference between two hit rates on the same queries.

    Bootstrap over queries. Each query is won, lost or tied, so a resample is one multinomial draw.
    """
    count = len(ours)
    won, lost = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    shares = np.asarray([won, lost, count - won - lost]) / count
    resampled = rng.multinomial(count, shares, size=RESAMPLES)
    low, high = np.quantile((resampled[:, 0] - resampled[:, 1]) / count, [0.025, 0.975])
    return [float(low), float(high)]
