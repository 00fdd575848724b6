"""Counts of how often each piece of evidence occurred in training, and which predicates followed.

A piece of evidence is either a topology, or a combination of a history family, a predicate and a
*level*. There are three levels of nearness to the query:

| level | the family's facts with that predicate                                           |
|-------|----------------------------------------------------------------------------------|
| same  | one of them is at the query's exact time                                         |
| near  | none is, but one is near enough for the kernel `before`, `after` or `close`      |
| far   | all are further away, or undated                                                 |

Only training queries are counted. As during fitting, each query's own fact is hidden.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Literal, Protocol

import numpy as np

from apptek.arrays import Ints, Longs, close_columns
from apptek.features.clock import Clock
from apptek.features.history import History
from apptek.features.history_kernels import LEAST
from apptek.features.space import FeatureSpace
from apptek.ragged import Ragged

Level = Literal["same", "near", "far"]
LEVELS: tuple[Level, ...] = ("same", "near", "far")
MOST_QUERIES = 200_000  # maximum; if there are more, every n-th query is counted
CHUNK = 8192  # queries counted at a time
NEAR_KERNELS = ("before", "after", "close")


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportCounts:
    """The training counts of a piece of evidence and a predicate.

    queries     training queries with this evidence
    followed    how many of these queries had the predicate as their answer
    pairs       the number of different entity pairs in these queries
    confidence  followed / queries
    lift        confidence / the predicate's proportion of all training queries
    """

    queries: int
    followed: int
    pairs: int
    confidence: float
    lift: float


@dataclass(frozen=True, slots=True)
class Support:
    """The counts of all evidence. Piece i has predicates[offsets[i] : offsets[i + 1]].

    totals  the number of training queries per predicate
    """

    offsets: Longs  # (evidence + 1,)
    predicates: Ints
    counts: Ints
    pairs: Ints
    totals: Longs  # (R,)

    def __post_init__(self) -> None:
        sizes = {len(self.predicates), len(self.counts), len(self.pairs)}
        if sizes != {int(self.offsets[-1])} or (np.diff(self.offsets) < 0).any():
            raise ValueError("the columns of a support have different lengths")
        close_columns(self, *(column.name for column in fields(self)))

    def seen(self, evidence: int, predicate: int) -> SupportCounts:
        """Return how often a piece of evidence occurred, and how often the predicate followed."""
        part = slice(int(self.offsets[evidence]), int(self.offsets[evidence + 1]))
        queries = int(self.counts[part].sum())
        at = np.flatnonzero(self.predicates[part] == predicate)
        followed = int(self.counts[part][at].sum())
        confidence = followed / queries if queries else 0.0
        usual = float(self.totals[predicate] / max(int(self.totals.sum()), 1))
        return SupportCounts(
            queries=queries,
            followed=followed,
            pairs=int(self.pairs[part][at].sum()),
            confidence=confidence,
            lift=confidence / usual if usual else 0.0,
        )


def near_distance(clock: Clock) -> int:
    """Return the largest distance at which a single fact still counts as near."""
    return 1 + math.floor(clock.brief * -math.log(LEAST))


def history_evidence(history: History, family: str, predicate: int, level: Level) -> int:
    """Return the index of a piece of history evidence."""
    key = history.families.index(family) * history.graph.predicate_count + predicate
    return len(LEVELS) * key + LEVELS.index(level)


def topology_evidence(space: FeatureSpace, topology: int) -> int:
    """Return the index of a topology among all pieces of evidence."""
    return _history_count(space) + topology


def level_of(kernels: set[str]) -> Level:
    """Return the level of a piece of evidence whose active features use these kernels."""
    if "same" in kernels:
        return "same"
    return "near" if kernels & set(NEAR_KERNELS) else "far"


class Labelled(Protocol):
    """Training queries with their features and predicates."""

    @property
    def rows(self) -> Ragged: ...  # noqa: D102
    @property
    def labels(self) -> Ints: ...  # noqa: D102


def count_support(space: FeatureSpace, shards: Sequence[Labelled], pairs: Longs) -> Support:
    """Count evidence and predicates in the training queries, one shard after the other.

    pairs  the pair of entities in each training query
    """
    predicate_count = space.graph.predicate_count
    count = _history_count(space) + len(space) - space.first_added
    _, pair_ids = np.unique(pairs, return_inverse=True)
    pair_count = int(pair_ids.max(initial=0)) + 1
    step = max(1, -(-len(pairs) // MOST_QUERIES))
    parts, totals = [np.zeros(0, np.int64)], np.zeros(predicate_count, np.int64)
    for rows, labels, places in _every(step, shards):
        totals += np.bincount(labels, minlength=predicate_count)
        queries, evidence = _evidence(space, rows)
        key = evidence * predicate_count + labels[queries]
        parts.append(key * pair_count + pair_ids[places][queries])
    keys = np.concatenate(parts)
    parts.clear()
    followed, counts, pairs_of = _count_keys(keys, pair_count)
    return Support(
        np.searchsorted(followed // predicate_count, np.arange(count + 1)).astype(np.int64),
        (followed % predicate_count).astype(np.int32),
        counts.astype(np.int32),
        pairs_of.astype(np.int32),
        totals,
    )


def _every(step: int, shards: Sequence[Labelled]) -> Iterator[tuple[Ragged, Ints, Longs]]:
    """Yield every step-th query in chunks: features, predicates, and indices among all queries."""
    first = 0
    for number in range(len(shards)):
        shard = shards[number]
        chosen = np.arange(-first % step, len(shard.labels), step)
        for start in range(0, len(chosen), CHUNK):
            part = chosen[start : start + CHUNK]
            yield shard.rows.take(part), shard.labels[part], first + part
        first += len(shard.labels)
        del shard  # frees memory before the next shard is read


def _count_keys(keys: Longs, pair_count: int) -> tuple[Longs, Longs, Longs]:
    """Count distinct keys, ignoring their pairs. Return keys, occurrences, and numbers of pairs.

    A key is the counted item times pair_count, plus the pair. `keys` is sorted and changed in
    place, because there are too many to copy.
    """
    keys.sort()
    is_new_pair = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_new_pair[1:])
    np.floor_divide(keys, pair_count, out=keys)
    is_new = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
    firsts = np.flatnonzero(is_new)
    if not len(firsts):
        return firsts, firsts, firsts
    counts = np.diff(np.append(firsts, len(keys)))
    return keys[firsts], counts, np.add.reduceat(is_new_pair, firsts, dtype=np.int64)


def _history_count(space: FeatureSpace) -> int:
    if space.history is None:
        return 0
    return len(LEVELS) * len(space.history) // len(space.history.kernels)


def _evidence(space: FeatureSpace, rows: Ragged) -> tuple[Longs, Longs]:
    """Return the evidence in each query, as parallel arrays of query and evidence indices."""
    queries, first = rows.row_of_each, space.first_added
    added = rows.columns >= first
    numbers = _history_count(space) + rows.columns[added].astype(np.int64) - first
    if space.history is None:
        return queries[added], numbers
    of_history = _of_history(space.history, rows, queries)
    return np.append(of_history[0], queries[added]), np.append(of_history[1], numbers)


def _of_history(history: History, rows: Ragged, queries: Longs) -> tuple[Longs, Longs]:
    ours = rows.columns < len(history)
    keys, kernels = np.divmod(rows.columns[ours].astype(np.int64), len(history.kernels))
    queries = queries[ours]
    if not len(keys):
        return queries, keys
    levels = np.asarray([LEVELS.index(level_of({kernel})) for kernel in history.kernels])[kernels]
    # The kernels of a family and predicate are adjacent in a row.
    begins = np.ones(len(keys), np.bool_)
    begins[1:] = (keys[1:] != keys[:-1]) | (queries[1:] != queries[:-1])
    firsts = np.flatnonzero(begins)
    return queries[firsts], len(LEVELS) * keys[firsts] + np.minimum.reduceat(levels, firsts)
