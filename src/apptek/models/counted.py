"""Counting beside the features: what was recorded most often and most recently.

The score of a predicate is that of the features plus weight * log P(predicate), where P is the
share of the predicate in the counts of `recency`. The counts and the weight are chosen on the
tuning queries; see models/fitting/pipeline.py.
"""

from dataclasses import dataclass, replace

import numpy as np

from apptek.arrays import Doubles, Floats, Ints, Longs
from apptek.evaluation.ranking import filtered_mrr
from apptek.facts.queries import Queries
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.counting import VARIANTS, CountingConfig, CountingScorer, choose_weights
from apptek.models.counting_kernels import Weights, counting_arrays
from apptek.models.reranking.reranker import log_softmax
from apptek.ragged import Ragged

MOST_FACTS = 5_000_000  # with more facts, counting would need too much memory and time
MOST_TRIED = 2_000  # queries that the counts are chosen on
# The prior outweighs all facts: each predicate has its share among all of them.
FREQUENCY = Weights(smoothing=1e12)


@dataclass(frozen=True, slots=True)
class Counted:
    """What counting adds to the scores of a view.

    kernel  which facts count, and how much
    dating  (2, R): undated and dated training facts of each predicate, which the prior is made of
    """

    weight: float
    kernel: Weights
    dating: Longs

    def scores(self, graph: TemporalGraph, queries: Queries) -> Floats:
        """Return weight * log P(predicate) of each predicate: (B, R)."""
        return np.float32(self.weight) * self.log_shares(graph, queries)

    def log_shares(self, graph: TemporalGraph, queries: Queries) -> Floats:
        """Return log P(predicate) by counting alone: (B, R)."""
        arrays = graph.derived.once("counting", lambda: counting_arrays(graph, self.dating))
        return log_softmax(CountingScorer(graph, self.kernel, arrays).scores(queries))


def choose_counts(
    start: Counted, graph: TemporalGraph, queries: Queries, truths: Ints, known: Ragged
) -> Counted:
    """Return the counts that rank the truths best, among those that `recency` tries."""
    rows = np.arange(0, len(queries), -(-len(queries) // MOST_TRIED))
    asked, wanted, others = queries.take(rows), truths[rows], known.take(rows)

    def mrr(kernel: Weights) -> float:
        scores = replace(start, kernel=kernel).log_shares(graph, asked)
        return filtered_mrr(scores, wanted, others)

    kernel, *_ = choose_weights(VARIANTS["recency"], CountingConfig(), mrr)
    return replace(start, kernel=kernel)


def is_surely_better(ours: Doubles, theirs: Doubles) -> bool:
    """Return whether the mean of 1 / rank is higher by more than two standard errors."""
    gains = 1 / ours - 1 / theirs
    return bool(len(gains) > 1 and gains.mean() > 2 * gains.std(ddof=1) / np.sqrt(len(gains)))
