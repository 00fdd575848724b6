"""The long run: what the two and such actors have mostly done, whenever that was.

Histories look at the nearest facts. Looking ahead, all earlier ones count as well. A *grouping* is
a level of the subject with one of the object, as in typed histories, where one side may also be
anyone. Let n be the facts of a query's group that started before its time, without those from its
subject to its object, and m those with the candidate r among them. With P(r), the share of r among
all such facts of anyone, each grouping gives one number, the logarithm of

    (m + WEIGHT P(r)) / ((n + WEIGHT) P(r)),

which is 0 where nothing is known, and for a query without a time. Undated facts do not count.

Within the time of the data there is no such thing: the counts of a training query would lack its
own fact, and the trees would learn what is missing instead of what is usual.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools, Floats, Ints, Longs, read_only
from apptek.data.queries import Queries
from apptek.data.times import UNKNOWN
from apptek.features.space import FeatureSpace
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.reranking.typed_histories import ITSELF, TypedHistories

WEIGHT = 10.0  # of what anyone does, in facts
ANYONE = -1  # a level
PAIR, ALL = (0, 0), (ANYONE, ANYONE)
Table = npt.NDArray[np.int64]  # (n, any)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many facts of a key started before a time."""

    keys: Longs  # distinct, ascending
    starts: Longs  # distinct, ascending
    places: Longs  # of each fact, ascending: that of its key, and within it that of its start

    @classmethod
    def of(cls, keys: Longs, starts: Longs) -> "Counts":
        """Counts of facts by their keys. O(n log n)."""
        distinct, of_key = np.unique(keys, return_inverse=True)
        times, of_start = np.unique(starts, return_inverse=True)
        places = np.sort(of_key * (len(times) + 1) + of_start)
        return cls(read_only(distinct), read_only(times), read_only(places))

    def before(self, keys: Longs, whens: Longs) -> Longs:
        """The counts for keys and times of one shape."""
        if not len(self.keys):
            return np.zeros(np.broadcast(keys, whens).shape, np.int64)
        of_key = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        first = of_key * (len(self.starts) + 1)
        last = first + np.searchsorted(self.starts, whens)
        found = np.searchsorted(self.places, last) - np.searchsorted(self.places, first)
        counts: Longs = np.where(self.keys[of_key] == keys, found, 0)
        return counts


@dataclass(frozen=True, slots=True)
class LongRun:
    """The facts of a graph that looks ahead, counted by grouping and predicate."""

    graph: TemporalGraph
    typed: TypedHistories
    names: tuple[str, ...]
    groupings: tuple[tuple[int, int], ...]
    counts: dict[tuple[int, int], Counts]

    @classmethod
    def of(cls, space: FeatureSpace) -> "LongRun":
        """Counts the facts that a space sees, once for each graph. O(n log n)."""
        typed = TypedHistories.of(space)
        index: LongRun | None = typed.graph.indexed.get("long run")
        if index is None or index.typed is not typed:
            index = typed.graph.indexed["long run"] = cls._of(typed.graph, typed)
        return index

    @classmethod
    def _of(cls, graph: TemporalGraph, typed: TypedHistories) -> "LongRun":
        if not graph.looks_ahead:
            return cls(graph, typed, (), (), {})
        groupings = ((0, ANYONE), (ANYONE, 0), *typed.groupings)
        names = (f"{ITSELF}_anyone", f"anyone_{ITSELF}", *typed.names)
        index, starts = cls(graph, typed, names, groupings, {}), _starts(graph)
        dated, width = starts != UNKNOWN, graph.predicate_count + 1
        facts, starts = graph.facts.take(np.flatnonzero(dated)), starts[dated].astype(np.int64)
        for grouping in (ALL, PAIR, *groupings):
            keys = index._keys(grouping, facts.subjects, facts.objects) * width
            known = np.flatnonzero(keys >= 0)
            keyed = [keys[known] + facts.predicates[known], keys[known] + graph.predicate_count]
            index.counts[grouping] = Counts.of(np.concatenate(keyed), np.tile(starts[known], 2))
        return index

    def feature_names(self) -> list[str]:
        """The names of the features of a candidate."""
        return [f"long_run {name}" for name in self.names]

    def _keys(self, grouping: tuple[int, int], subjects: Ints, objects: Ints) -> Longs:
        """One number for the group of each pair, negative: it has none."""
        of_subject, of_object = (
            np.zeros(len(ends), np.int64) if level == ANYONE else self.typed.values(level, ends)
            for level, ends in zip(grouping, (subjects, objects), strict=True)
        )
        span = 1 if grouping[1] == ANYONE else self.typed.span(grouping[1])
        keys: Longs = np.where(
            (of_subject >= 0) & (of_object >= 0), of_subject * span + of_object, -1
        )
        return keys

    def describe(self, queries: Queries, candidates: Ints, gone: Ints) -> Floats:
        """The features of the candidates, as if the facts in `gone` (n, any) were not there."""
        features = np.zeros((*candidates.shape, len(self.groupings)), np.float32)
        if not self.groupings or not len(self.graph.facts):
            return features
        struck = self._struck(queries, gone)
        having, all_ = self._count(ALL, queries, candidates, struck)
        rates = (having + 1.0) / (all_ + self.graph.predicate_count)
        for number, grouping in enumerate(self.groupings):
            having, all_ = self._count(grouping, queries, candidates, struck)
            features[:, :, number] = np.log((having + WEIGHT * rates) / ((all_ + WEIGHT) * rates))
        return features

    def _count(
        self, grouping: tuple[int, int], queries: Queries, candidates: Ints, struck: Ints
    ) -> tuple[Table, Table]:
        """The facts of each query's group with each candidate, (n, C), and all, (n, 1)."""
        whens = queries.for_kernels(self.graph.axis)[2].astype(np.int64)[:, None]
        width, facts = self.graph.predicate_count + 1, self.graph.facts
        keys, pairs = (
            self._keys(each, queries.subjects, queries.objects)[:, None] * width
            for each in (grouping, PAIR)
        )
        having, all_ = (
            self.counts[grouping].before(keys + r, whens)
            - np.where(keys >= 0, self.counts[PAIR].before(pairs + r, whens), 0)
            for r in (candidates, width - 1)
        )
        for ids in struck.T:
            own = self._keys(grouping, facts.subjects[ids], facts.objects[ids])[:, None] * width
            hit = (ids >= 0)[:, None] & (keys >= 0) & (own == keys)
            having -= hit & (facts.predicates[ids][:, None] == candidates)
            all_ -= hit
        return having, all_

    def _struck(self, queries: Queries, gone: Ints) -> Ints:
        """The facts in `gone` that would count, each once; -1: none."""
        whens = queries.for_kernels(self.graph.axis)[2][:, None]
        gone = np.sort(gone, axis=1)
        facts, starts = self.graph.facts, _starts(self.graph)[gone]
        is_first = np.diff(gone, axis=1, prepend=np.int32(-1)) != 0
        is_between = (facts.subjects[gone] == queries.subjects[:, None]) & (
            facts.objects[gone] == queries.objects[:, None]
        )
        counts: Bools = is_first & (starts != UNKNOWN) & (starts < whens) & ~is_between
        return np.where(counts & (gone >= 0), gone, np.int32(-1))


def _starts(graph: TemporalGraph) -> Ints:
    """Where each fact started, UNKNOWN where it has no date."""
    return np.where(graph.since == UNKNOWN, graph.until, graph.since)
