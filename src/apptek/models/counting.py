"""Scorers that count facts, the choice of their weights, and counting added to the features.

With counting, the score of a predicate is its score from the features plus weight * log
P(predicate), where P is the predicate's proportion of the counts of `recency`. The counts and the
weight are chosen on the tuning queries; see models/fitting/view_counts.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat

from apptek.arrays import Doubles, Floats, Longs
from apptek.compiling import in_threads
from apptek.config import View
from apptek.evaluation.calibration import log_softmax
from apptek.evaluation.ranking import TuningQueries
from apptek.facts.queries import Queries
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.counting_kernels import (
    CountingArrays,
    Weights,
    count_twins,
    counting_arrays,
    score_queries,
)
from apptek.models.manifest import json_bytes
from apptek.setting_rules import Different, checked_dataclass, setting

CHUNK = 1024  # queries per thread task
WEIGHTS = "weights.{view}.json"
MOST_FACTS = 5_000_000  # with more facts, counting would take too much memory and time
MOST_TRIED = 3_000  # tuning queries for choosing the counts
MOST_SHARES = 3_000_000  # maximum of queries x predicates
# The prior outweighs all facts, so each predicate gets its proportion of all facts.
FREQUENCY = Weights(smoothing=1e12)
Share = Annotated[float, Field(ge=0, le=1)]


@checked_dataclass
class CountingConfig:
    """The values of each weight to try on the validation set. Decays are in time axis steps."""

    smoothing: Different[PositiveFloat] = setting(
        (0.3, 1.0, 3.0, 10.0, 30.0), "weight of the prior, in facts"
    )
    backoff: Different[PositiveFloat] = setting(
        (0.3, 1.0, 3.0, 10.0, 100.0), "weight of the profile, in facts"
    )
    reversed: Different[NonNegativeFloat] = setting(
        (0.0, 0.03, 0.1, 0.2, 0.4, 1.0), "weight of each fact of the reversed pair"
    )
    pair_decay: Different[PositiveFloat] = setting(
        (0.1, 0.3, 1.0, 3.0, 10.0, 30.0), "distance over which the pair's facts fade"
    )
    entity_decay: Different[PositiveFloat] = setting(
        (0.1, 0.3, 1.0, 3.0, 10.0, 30.0), "distance over which an entity's facts fade"
    )
    floor: Different[Share] = setting(
        (0.0, 0.003, 0.01, 0.03, 0.1), "weight that remains at any distance"
    )
    most_queries: int = setting(10_000, "max. validation queries, sampled evenly", ge=1)


class FrequencyScorer:
    """The log frequency of each predicate, log(count + 1/2), without the query's hidden fact."""

    def __init__(self, graph: TemporalGraph) -> None:
        predicates = graph.facts.predicates
        self._predicates, self._twin_counts = predicates, count_twins(graph)
        self._counts = np.bincount(predicates, minlength=graph.predicate_count)

    def scores(self, queries: Queries) -> Floats:
        """Return the scores: (B, R)."""
        counts = np.tile(self._counts + 0.5, (len(queries), 1))
        rows = np.flatnonzero(queries.hidden >= 0)
        hidden = queries.hidden[rows]
        # A fact is hidden together with its twins, which have the same predicate.
        hidden_counts = self._twin_counts[hidden] if len(self._twin_counts) else 1
        counts[rows, self._predicates[hidden]] -= hidden_counts
        return np.log(counts).astype(np.float32)

    def save(self, folder: Path, view: View) -> None:
        """Write nothing, because the counts follow from the data."""


class CountingScorer:
    """The other counting baselines: one kernel whose weights determine what it counts."""

    def __init__(
        self, graph: TemporalGraph, weights: Weights, arrays: CountingArrays | None = None
    ) -> None:
        self.graph, self.weights = graph, weights
        self.arrays = counting_arrays(graph) if arrays is None else arrays

    def scores(self, queries: Queries) -> Floats:
        """Return the scores: (B, R). The number of threads does not affect the result."""
        scores = np.empty((len(queries), self.graph.predicate_count), np.float32)
        columns, sight = queries.for_kernels(self.graph.axis), self.graph.directions("both")

        def fill(start: int) -> None:
            rows = slice(start, start + CHUNK)
            part: Any = tuple(column[rows] for column in columns)
            score_queries(self.arrays, self.weights, sight, part, scores[rows])

        in_threads(fill, range(0, len(queries), CHUNK))
        return scores

    def with_weights(self, weights: Weights) -> "CountingScorer":
        """Return a scorer with other weights over the same facts."""
        return CountingScorer(self.graph, weights, self.arrays)

    def with_facts(self, graph: TemporalGraph) -> "CountingScorer":
        """Return a scorer with the same weights and prior over another graph's facts."""
        return CountingScorer(graph, self.weights, counting_arrays(graph, self.arrays.dating))

    def save(self, folder: Path, view: View) -> None:
        """Write the chosen weights."""
        (folder / WEIGHTS.format(view=view)).write_bytes(json_bytes(self.weights._asdict()))


@dataclass(frozen=True, slots=True)
class Variant:
    """A counting baseline: its initial weights, and the weights to choose on the validation set."""

    start: Weights
    chosen: tuple[str, ...]


VARIANTS = {
    "profile": Variant(Weights(), ("smoothing",)),
    "pair": Variant(Weights(pair=1.0), ("backoff", "smoothing")),
    "recency": Variant(
        Weights(pair=1.0, reversed=0.2, pair_decay=3.0, entity_decay=3.0, floor=0.01),
        ("reversed", "backoff", "pair_decay", "entity_decay", "floor", "smoothing"),
    ),
}


def choose_weights(
    variant: Variant, config: CountingConfig, quality: Callable[[Weights], float]
) -> tuple[Weights, float, int]:
    """Return the best weights, their quality, and the number of weights tried.

    Coordinate ascent changes one weight at a time, in rounds, until a whole round brings no
    improvement. On a tie, the weights tried first win.
    """
    best, tried = variant.start, {variant.start: quality(variant.start)}
    while True:
        before = best
        for name in variant.chosen:
            for value in getattr(config, name):
                weights = best._replace(**{name: value})
                if weights not in tried:
                    tried[weights] = quality(weights)
                if tried[weights] > tried[best]:
                    best = weights
        if best == before:
            return best, tried[best], len(tried)


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts that are added to a view's scores.

    kernel  which facts count, and how much
    dating  (2, R): undated and dated training facts of each predicate, from which the prior follows
    """

    weight: float
    kernel: Weights
    dating: Longs

    @property
    def family(self) -> str:
        """`frequency` if P is each predicate's proportion of all facts, otherwise empty."""
        return "frequency" if self.kernel == FREQUENCY else ""

    def scores(self, graph: TemporalGraph, queries: Queries) -> Floats:
        """Return weight * log P(predicate) for each predicate: (B, R)."""
        return np.float32(self.weight) * self.log_shares(graph, queries)

    def log_shares(self, graph: TemporalGraph, queries: Queries) -> Floats:
        """Return log P(predicate) from counting alone: (B, R)."""
        arrays = graph.derived.once("counting", lambda: counting_arrays(graph, self.dating))
        return log_softmax(CountingScorer(graph, self.kernel, arrays).scores(queries))


Asked = tuple[TemporalGraph, TuningQueries]  # queries with the graph that they see


def counted_ranks(counted: Counted, asked: Sequence[Asked]) -> Doubles:
    """Return the ranks of the true predicates from counting alone."""
    ranks = [part.ranks(counted.log_shares(graph, part.queries)) for graph, part in asked]
    return np.concatenate(ranks)


def choose_counts(start: Counted, asked: Sequence[Asked]) -> Counted:
    """Return the counts, among those that `recency` tries, that rank the true predicates best."""

    def mrr(kernel: Weights) -> float:
        return float(np.mean(1 / counted_ranks(replace(start, kernel=kernel), asked)))

    kernel, *_ = choose_weights(VARIANTS["recency"], CountingConfig(), mrr)
    return replace(start, kernel=kernel)


def is_surely_better(ours: Doubles, theirs: Doubles) -> bool:
    """Return whether the mean of 1 / rank is higher by more than two standard errors."""
    gains = 1 / ours - 1 / theirs
    return bool(len(gains) > 1 and gains.mean() > 2 * gains.std(ddof=1) / np.sqrt(len(gains)))
