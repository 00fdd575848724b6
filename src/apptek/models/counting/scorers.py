"""Scorers that count facts, and the choice of their few weights."""

from collections.abc import Callable
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat

from apptek.arrays import Floats, Ints, read_only
from apptek.compiling import in_threads
from apptek.config import View
from apptek.errors import ApptekError
from apptek.facts.queries import Queries
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.counting.index import CountingIndex, count_twins
from apptek.models.counting.kernels import score_queries
from apptek.models.manifest import json_bytes
from apptek.setting_rules import Different, checked_dataclass, setting

CHUNK = 1024  # queries that one thread scores at a time
WEIGHTS = "weights.{view}.json"
Share = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The weights of the kernel, in its order. The defaults count entities only, at any time."""

    pair: float = 0.0
    reversed: float = 0.0
    backoff: float = 1.0  # facts that the profile weighs beside those of the pair
    smoothing: float = 3.0  # facts that the prior weighs beside those of an entity
    pair_decay: float = 1.0  # distance at which a fact has lost half of what it can lose
    entity_decay: float = 1.0
    floor: float = 1.0  # the weight that remains at any distance


@checked_dataclass
class CountingConfig:
    """The values of each weight that are tried on valid. Decays are in steps of the time axis."""

    smoothing: Different[PositiveFloat] = setting(
        (0.3, 1.0, 3.0, 10.0, 30.0), "facts that the prior weighs"
    )
    backoff: Different[PositiveFloat] = setting(
        (0.3, 1.0, 3.0, 10.0, 100.0), "facts that the profile weighs"
    )
    reversed: Different[NonNegativeFloat] = setting(
        (0.0, 0.03, 0.1, 0.2, 0.4, 1.0), "weight of a fact of the reversed pair"
    )
    pair_decay: Different[PositiveFloat] = setting(
        (0.1, 0.3, 1.0, 3.0, 10.0, 30.0), "distance at which a fact of the pair fades"
    )
    entity_decay: Different[PositiveFloat] = setting(
        (0.1, 0.3, 1.0, 3.0, 10.0, 30.0), "the same of a fact of one entity"
    )
    floor: Different[Share] = setting(
        (0.0, 0.003, 0.01, 0.03, 0.1), "weight that remains at any distance"
    )
    most_queries: int = setting(10_000, "of valid, spread evenly over it", ge=1)


class FrequencyScorer:
    """log(count of each predicate + 1/2), without the fact that the query hides."""

    def __init__(self, graph: TemporalGraph) -> None:
        predicates = graph.facts.predicates
        self._predicates, self._twin_counts = predicates, count_twins(graph)
        self._counts = np.bincount(predicates, minlength=graph.predicate_count)

    def scores(self, queries: Queries) -> Floats:
        """(B, R)."""
        counts = np.tile(self._counts + 0.5, (len(queries), 1))
        rows = np.flatnonzero(queries.hidden >= 0)
        hidden = queries.hidden[rows]
        # A fact is hidden together with its twins, which have the same predicate.
        hidden_counts = self._twin_counts[hidden] if len(self._twin_counts) else 1
        counts[rows, self._predicates[hidden]] -= hidden_counts
        return np.log(counts).astype(np.float32)

    def save(self, folder: Path, view: View) -> None:
        """Writes nothing: the counts follow from the data."""


class CountingScorer:
    """The other counting baselines: one kernel, whose weights say what it counts."""

    def __init__(self, index: CountingIndex, weights: Weights) -> None:
        self.index, self.weights = index, weights

    def scores(self, queries: Queries) -> Floats:
        """(B, R). Computed in threads; their number does not change the result."""
        graph, arrays = self.index.graph, self.index.arrays
        _check_ids(queries, graph)
        scores = np.empty((len(queries), graph.predicate_count), np.float32)
        positions = graph.axis.positions(queries.times)
        weights = read_only(np.asarray(astuple(self.weights), np.float64))
        sight = graph.directions("both")

        def fill(start: int) -> None:
            part = slice(start, start + CHUNK)
            columns = (queries.subjects, queries.objects, positions, queries.hidden)
            views: tuple[Any, ...] = tuple(_kernel_view(column[part]) for column in columns)
            score_queries(*(arrays, weights, sight, *views, scores[part]))

        in_threads(fill, range(0, len(queries), CHUNK))
        return scores

    def with_facts(self, graph: TemporalGraph) -> "CountingScorer":
        """Return the same weights and prior over the facts of another graph."""
        return CountingScorer(CountingIndex(graph, self.index.dating), self.weights)

    def save(self, folder: Path, view: View) -> None:
        """Writes the chosen weights."""
        (folder / WEIGHTS.format(view=view)).write_bytes(json_bytes(asdict(self.weights)))


def _check_ids(queries: Queries, graph: TemporalGraph) -> None:
    """Raises ApptekError for an id outside the graph: kernels do not check their indices."""
    limits = (
        ("entity", queries.subjects, graph.entity_count),
        ("entity", queries.objects, graph.entity_count),
        ("fact", queries.hidden, len(graph.facts)),
    )
    for noun, ids, count in limits:
        outside = ids[(ids < -1) | (ids >= count)]
        if len(outside):
            raise ApptekError(f"a query has {noun} {outside[0]}, but there are only {count}")


def _kernel_view(column: Ints) -> Ints:
    """A contiguous, read-only int32 view: other kinds of array would compile the kernel again."""
    return read_only(np.ascontiguousarray(column, np.int32).view())


@dataclass(frozen=True, slots=True)
class Variant:
    """A counting baseline: the weights to start from, and the names of those chosen on valid."""

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
    """The best weights found, their quality, and how many were tried.

    Coordinate ascent: one weight changes at a time, round after round, until a whole round brings
    no improvement. Of equally good weights the first tried stays.
    """
    best, tried = variant.start, {variant.start: quality(variant.start)}
    while True:
        before = best
        for name in variant.chosen:
            for value in getattr(config, name):
                weights = replace(best, **{name: value})
                if weights not in tried:
                    tried[weights] = quality(weights)
                if tried[weights] > tried[best]:
                    best = weights
        if best == before:
            return best, tried[best], len(tried)
