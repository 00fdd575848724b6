"""Counting beside the features: what was recorded most often and most recently.

The score of a predicate is that of the features plus weight * log P(predicate), where P is the
share of the predicate in the counts of `recency`. The counts and the weight are chosen on the
tuning queries; see models/fitting/pipeline.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from apptek.arrays import Doubles, Floats, Ints, Longs
from apptek.evaluation.ranking import expected_ranks
from apptek.facts.queries import Queries
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.counting import VARIANTS, CountingConfig, CountingScorer, choose_weights
from apptek.models.counting_kernels import Weights, counting_arrays
from apptek.models.reranking.reranker import log_softmax
from apptek.ragged import Ragged

MOST_FACTS = 5_000_000  # with more facts, counting would need too much memory and time
MOST_TRIED = 3_000  # queries that the counts are chosen on
MOST_SHARES = 3_000_000  # of them: queries x predicates
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

    @property
    def family(self) -> str:
        """`frequency` where each predicate has its share among all facts; else empty."""
        return "frequency" if self.kernel == FREQUENCY else ""

    def scores(self, graph: TemporalGraph, queries: Queries) -> Floats:
        """Return weight * log P(predicate) of each predicate: (B, R)."""
        return np.float32(self.weight) * self.log_shares(graph, queries)

    def log_shares(self, graph: TemporalGraph, queries: Queries) -> Floats:
        """Return log P(predicate) by counting alone: (B, R)."""
        arrays = graph.derived.once("counting", lambda: counting_arrays(graph, self.dating))
        return log_softmax(CountingScorer(graph, self.kernel, arrays).scores(queries))


@dataclass(frozen=True, slots=True)
class KnownAnswers:
    """Queries with the graph that they see, their true predicates, and the filter of the ranks."""

    graph: TemporalGraph
    queries: Queries
    truths: Ints
    known: Ragged

    def spread(self, most: int) -> "KnownAnswers":
        """Return at most so many of the queries, evenly spread."""
        rows = np.arange(0, len(self.truths), max(1, -(-len(self.truths) // most)))
        asked = self.queries.take(rows), self.truths[rows], self.known.take(rows)
        return KnownAnswers(self.graph, *asked)

    def ranks(self, counted: Counted) -> Doubles:
        """Return the ranks of the truths by counting alone."""
        shares = counted.log_shares(self.graph, self.queries)
        return expected_ranks(shares, self.truths, self.known)


def choose_counts(start: Counted, asked: Sequence[KnownAnswers]) -> Counted:
    """Return the counts that rank the truths best, among those that `recency` tries."""

    def mrr(kernel: Weights) -> float:
        counted = replace(start, kernel=kernel)
        return float(np.mean(1 / np.concatenate([part.ranks(counted) for part in asked])))

    kernel, *_ = choose_weights(VARIANTS["recency"], CountingConfig(), mrr)
    return replace(start, kernel=kernel)


def is_surely_better(ours: Doubles, theirs: Doubles) -> bool:
    """Return whether the mean of 1 / rank is higher by more than two standard errors."""
    gains = 1 / ours - 1 / theirs
    return bool(len(gains) > 1 and gains.mean() > 2 * gains.std(ddof=1) / np.sqrt(len(gains)))
