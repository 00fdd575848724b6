"""The ladder of counting: controls that learn nothing but a few weights, chosen on valid.

| rung      | what it counts                                                                    |
|-----------|-----------------------------------------------------------------------------------|
| frequency | each predicate                                                                    |
| profile   | what the subject does, what is done to the object, whether facts of it are dated  |
| pair      | what the subject does to the object, backing off to the profile                   |
| recency   | the same with a memory for time, and what the object does to the subject          |
"""

import math
from collections.abc import Callable
from dataclasses import asdict, astuple, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from apptek.arrays import Floats, Ints, read_only
from apptek.baselines.counting_kernels import score_all
from apptek.baselines.counts import Counts, count_twins
from apptek.baselines.definition import BaselineDefinition, FitTask, Scorer
from apptek.compiling import in_threads
from apptek.data.facts import Dataset
from apptek.data.queries import Queries, held_out_queries
from apptek.errors import ApptekError, ConfigError
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.ranking import expected_ranks
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.storage import read_json, write_json

CHUNK = 1024  # queries that one thread scores at a time
WEIGHTS = "weights.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What the kernel weighs with; as they stand, nothing but the entities counts, at any time."""

    pair: float = 0.0
    reversed: float = 0.0
    backoff: float = 1.0  # facts that the entities' profile weighs beside those of the pair
    smoothing: float = 3.0  # facts that the prior weighs beside those of an entity
    pair_decay: float = 1.0  # distance at which a fact has lost half of what it can lose
    entity_decay: float = 1.0
    floor: float = 1.0  # what it never loses


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingConfig:
    """The values of each weight that are tried on valid. Decays are in steps of the time axis."""

    smoothing: tuple[float, ...] = (0.3, 1.0, 3.0, 10.0, 30.0)
    backoff: tuple[float, ...] = (0.3, 1.0, 3.0, 10.0, 100.0)
    reversed: tuple[float, ...] = (0.0, 0.03, 0.1, 0.2, 0.4, 1.0)
    pair_decay: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
    entity_decay: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
    floor: tuple[float, ...] = (0.0, 0.003, 0.01, 0.03, 0.1)
    most_queries: int = 10_000  # of valid, spread evenly over it

    def __post_init__(self) -> None:
        for name in ("smoothing", "backoff", "pair_decay", "entity_decay"):
            self._require(name, lambda value: 0 < value < math.inf, "values above 0")
        self._require("reversed", lambda value: 0 <= value < math.inf, "values from 0")
        self._require("floor", lambda value: 0 <= value <= 1, "values from 0 to 1")
        if self.most_queries < 1:
            raise ConfigError(f"counting.most_queries must be at least 1, not {self.most_queries}")

    def _require(self, name: str, holds: Callable[[float], bool], what: str) -> None:
        values = getattr(self, name)
        if not values or not all(map(holds, values)):
            raise ConfigError(f"counting.{name} must be a list of {what}, not {values!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting of the ladder."""

    counting: CountingConfig = field(default_factory=CountingConfig)


class Frequency:
    """log(count of each predicate + 1/2), without what the query hides."""

    def __init__(self, graph: TemporalGraph) -> None:
        predicates = graph.facts.predicates
        self._predicates, self._twin_counts = predicates, count_twins(graph)
        self._counts = np.bincount(predicates, minlength=graph.predicate_count)

    def scores(self, queries: Queries) -> Floats:
        """(B, R)."""
        counts = np.tile(self._counts + 0.5, (len(queries), 1))
        rows = np.flatnonzero(queries.hidden >= 0)
        hidden = queries.hidden[rows]
        gone = self._twin_counts[hidden] if len(self._twin_counts) else 1
        counts[rows, self._predicates[hidden]] -= gone
        return np.log(counts).astype(np.float32)

    def save(self, folder: Path) -> None:
        """There is nothing beside the data."""


class Counting:
    """The other rungs: one kernel, told by its weights what to count."""

    def __init__(self, counts: Counts, weights: Weights) -> None:
        self.counts, self.weights = counts, weights

    def scores(self, queries: Queries) -> Floats:
        """(B, R). In threads; the same for any number of them."""
        graph, arrays = self.counts.graph, self.counts.kernel_arrays()
        _check(queries, graph)
        scores = np.empty((len(queries), graph.predicate_count), np.float32)
        moments = graph.axis.positions(queries.times)
        weights = read_only(np.asarray(astuple(self.weights), np.float64))

        def fill(start: int) -> None:
            part = slice(start, start + CHUNK)
            asked = (queries.subjects, queries.objects, moments, queries.hidden)
            columns: tuple[Any, ...] = tuple(_closed(column[part]) for column in asked)
            score_all(*arrays, *(weights, *columns, scores[part]))

        in_threads(fill, range(0, len(queries), CHUNK))
        return scores

    def save(self, folder: Path) -> None:
        """The weights that were chosen."""
        write_json(folder / WEIGHTS, asdict(self.weights))


def _check(queries: Queries, graph: TemporalGraph) -> None:
    """Kernels check nothing: ids outside the graph must not reach them."""
    limits = (
        ("entity", queries.subjects, graph.entity_count),
        ("entity", queries.objects, graph.entity_count),
        ("fact", queries.hidden, len(graph.facts)),
    )
    for what, ids, count in limits:
        if len(ids) and not (ids.min() >= -1 and ids.max() < count):
            raise ApptekError(f"a query has {what} {ids.max()}, but there are only {count}")


def _closed(column: Ints) -> Ints:
    """A view for a kernel, which is compiled for contiguous int32 arrays closed for writing."""
    return read_only(np.ascontiguousarray(column, np.int32).view())


@dataclass(frozen=True, slots=True)
class Rung:
    """Weights to start from, and those that are chosen on valid."""

    start: Weights
    chosen: tuple[str, ...]


LADDER = {
    "profile": Rung(Weights(), ("smoothing",)),
    "pair": Rung(Weights(pair=1.0), ("backoff", "smoothing")),
    "recency": Rung(
        Weights(pair=1.0, reversed=0.2, pair_decay=3.0, entity_decay=3.0, floor=0.01),
        ("reversed", "backoff", "pair_decay", "entity_decay", "floor", "smoothing"),
    ),
}


def choose_weights(
    rung: Rung, config: CountingConfig, quality: Callable[[Weights], float]
) -> tuple[Weights, float, int]:
    """Weights of the best quality, that quality, and how many were tried: one weight at a time.

    Goes round all weights until no change of a single one is better.
    """
    best, tried = rung.start, {rung.start: quality(rung.start)}
    while True:
        before = best
        for name in rung.chosen:
            for value in getattr(config, name):
                weights = replace(best, **{name: value})
                if weights not in tried:
                    tried[weights] = quality(weights)
                if tried[weights] > tried[best]:
                    best = weights
        if best == before:
            return best, tried[best], len(tried)


def _valid_mrr(dataset: Dataset, most: int) -> Callable[[Scorer], float]:
    """A function that gives a scorer's filtered MRR on at most so many queries of valid."""
    step = -(-len(dataset.valid) // most)
    asked = dataset.valid.take(np.arange(0, len(dataset.valid), step))
    known = known_predicates(asked, (dataset.train, dataset.valid, dataset.test))

    def quality(scorer: Scorer) -> float:
        ranks = expected_ranks(scorer.scores(held_out_queries(asked)), asked.predicates, known)
        return float(np.mean(1 / ranks))

    return quality


def _fit_frequency(task: FitTask) -> tuple[Scorer, dict[str, Any]]:
    scorer = Frequency(task.graph)
    quality = _valid_mrr(task.dataset, task.config.counting.most_queries)
    return scorer, {"valid_mrr": quality(scorer)}


def _fit_rung(name: str, task: FitTask) -> tuple[Scorer, dict[str, Any]]:
    config, counts = task.config.counting, Counts(task.graph)
    mrr_of = _valid_mrr(task.dataset, config.most_queries)
    weights, mrr, tried = choose_weights(
        LADDER[name], config, lambda weights: mrr_of(Counting(counts, weights))
    )
    report = {"valid_mrr": mrr, "chosen": asdict(weights), "tried": tried}
    return Counting(counts, weights), report


def _load_frequency(_folder: Path, _data: Dataset, graph: TemporalGraph, _config: Any) -> Scorer:
    return Frequency(graph)


def _load_rung(folder: Path, _data: Dataset, graph: TemporalGraph, _config: Any) -> Scorer:
    return Counting(Counts(graph), Weights(**read_json(folder, WEIGHTS)))


PRESETS = {"default": Settings()}
DEFINITIONS = {
    "frequency": BaselineDefinition(presets=PRESETS, fit=_fit_frequency, load=_load_frequency),
    **{
        name: BaselineDefinition(presets=PRESETS, fit=partial(_fit_rung, name), load=_load_rung)
        for name in LADDER
    },
}
