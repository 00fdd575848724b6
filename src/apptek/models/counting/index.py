"""The training facts in the order in which the counting kernels read them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.arrays import Ints, Longs, read_only
from apptek.data.times import UNKNOWN
from apptek.graph.pairs import PairIndex
from apptek.graph.temporal_graph import TemporalGraph


@dataclass(frozen=True, slots=True)
class GroupedFacts:
    """Facts sorted into groups: group g owns the rows from offsets[g] to offsets[g + 1].

    What a kernel needs of a fact is copied beside it, so that it reads memory in order.

    lows, highs  the positions of since and until; where one of them is unknown, the other twice
    """

    offsets: Longs
    facts: Ints
    lows: Ints
    highs: Ints
    predicates: Ints

    @classmethod
    def of(cls, graph: TemporalGraph, offsets: npt.NDArray[Any], facts: Ints) -> "GroupedFacts":
        """These facts of a graph, in groups with these bounds."""
        since, until = graph.since[facts], graph.until[facts]
        lows = read_only(np.where(since == UNKNOWN, until, since))
        highs = read_only(np.where(until == UNKNOWN, since, until))
        bounds = read_only(offsets.astype(np.int64))
        return cls(bounds, facts, lows, highs, read_only(graph.facts.predicates[facts]))

    def kernel_arrays(self) -> tuple[Any, ...]:
        """Offsets, facts, lows, highs, predicates."""
        return self.offsets, self.facts, self.lows, self.highs, self.predicates


class CountingIndex:
    """Everything that the counting kernel reads, built once from the graph. O(n log n).

    dating  what the prior is made of: (2, R), undated and dated facts of each predicate. Without it
            those of the graph; a graph that has got new facts since the fit keeps those of the fit.
    """

    def __init__(self, graph: TemporalGraph, dating: Longs | None = None) -> None:
        self.graph, facts = graph, graph.facts
        # Every third offset: a slot of an incidence has three stretches, which are one group here.
        self.entities = GroupedFacts.of(graph, graph.incidence.offsets[::3], graph.incidence.facts)
        self.pair_index = PairIndex.of(graph)
        incidence = self.pair_index.incidence
        self.pairs = GroupedFacts.of(graph, incidence.offsets[::3], incidence.facts)
        self.is_dated = read_only(facts.dated)
        parts = (facts.predicates[~self.is_dated], facts.predicates[self.is_dated])
        counts = [np.bincount(part, minlength=graph.predicate_count) for part in parts]
        self.dating = read_only(np.stack(counts).astype(np.int64)) if dating is None else dating
        self.twin_counts = count_twins(graph)

    def kernel_arrays(self) -> tuple[Any, ...]:
        """What `score_queries` takes before the weights."""
        graph = self.graph
        by_fact = (graph.twins, self.twin_counts, graph.facts.predicates, self.is_dated)
        pairs = (self.pair_index.firsts, self.pair_index.objects, *self.pairs.kernel_arrays())
        return (*self.entities.kernel_arrays(), *pairs, *by_fact, self.dating)


def count_twins(graph: TemporalGraph) -> Ints:
    """For each fact, how many facts are hidden with it, itself included; empty if always 1."""
    counts = np.bincount(graph.twins)[graph.twins] if len(graph.twins) else graph.twins
    return read_only(counts.astype(np.int32))
