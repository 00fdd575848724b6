"""Counting in a fit: which facts count, and how good a model is compared with counting alone."""

from dataclasses import replace
from typing import Any

import numpy as np

from apptek.arrays import Bools, Doubles, Floats, Matrix
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.ranking import TuningQueries, expected_ranks
from apptek.facts.queries import training_queries
from apptek.facts.times import UNKNOWN
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.counting import (
    FREQUENCY,
    MOST_FACTS,
    MOST_SHARES,
    MOST_TRIED,
    VARIANTS,
    Asked,
    Counted,
    choose_counts,
    counted_ranks,
    is_surely_better,
)
from apptek.models.counting_kernels import dating_of
from apptek.models.fitting.examples import Examples, ViewExamples
from apptek.models.fitting.stages import Fit

LEAST_JUDGED = 60  # queries needed to decide that nothing can be learned
MAX_QUERIES = 10_000  # maximum number of tuning queries to compare
RESAMPLES = 2_000


def choose_view_counts(fit: Fit, made: ViewExamples) -> tuple[Counted | None, Floats | None]:
    """Return how to count facts, and each predicate's log P from counting for the tuning queries.

    The choice uses tuning queries, and training queries whose own fact is hidden. Training queries
    can be used because counting is not fitted, and more queries make the choice more reliable.
    Return None if there are too many facts to count.
    """
    data, tuning = fit.dataset, made.tuning
    if len(data.train) > MOST_FACTS:
        return None, None
    dating = dating_of(data.train, len(data.predicates))
    counted = Counted(1.0, VARIANTS["recency"].start, dating)
    counted = choose_counts(counted, _known_answers(made, newer=True))
    return counted, None if tuning is None else counted.log_shares(made.seen.graph, made.queries)


def _known_answers(made: ViewExamples, *, newer: bool) -> list[Asked]:
    """Return the tuning queries. If they are few, add training queries that hide their own fact.

    newer  whether to add queries from the newer half of the training facts, which have earlier
           facts. Undated facts alternate between the halves
    """
    graph, tuning, rows = made.space.graph, made.tuning, made.rows
    answers, most = [], min(MOST_TRIED, -(-MOST_SHARES // graph.predicate_count))
    if tuning is not None:
        asked = TuningQueries(made.queries, tuning.labels, tuning.others)
        answers = [(made.seen.graph, asked.spread(most))]
        if len(tuning) >= most:
            return answers
    positions = graph.axis.positions(graph.facts.times[rows])
    is_dated = positions != UNKNOWN
    middle = np.median(positions[is_dated]) if is_dated.any() else 0
    is_newer = np.where(is_dated, positions >= middle, np.arange(len(rows)) % 2 == 0)
    rows = rows[is_newer == newer]
    facts = graph.facts.take(rows)
    known = known_predicates(facts, (graph.facts,))
    of_train = TuningQueries(training_queries(graph.facts, rows), facts.predicates, known)
    return [*answers, (graph, of_train.spread(most - len(made.queries)))]


def has_signal(made: ViewExamples, counted: Counted, scores: Floats) -> bool:
    """Return whether the model is reliably better than the most frequent predicate.

    Either the scores or counting must be better. The scores are judged on the tuning queries.
    Counting is also judged on training queries that were not used to choose it. With too few
    queries to decide, return True.
    """
    tuning, frequency = made.tuning, replace(counted, kernel=FREQUENCY)
    assert tuning is not None
    asked = TuningQueries(made.queries, tuning.labels, tuning.others)
    usual = counted_ranks(frequency, [(made.seen.graph, asked)])
    if is_surely_better(asked.ranks(scores), usual):
        return True
    answers = _known_answers(made, newer=False)
    ours, theirs = (counted_ranks(by, answers) for by in (counted, frequency))
    return len(ours) < LEAST_JUDGED or is_surely_better(ours, theirs)


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
