"""The training facts in the order in which the counting kernels read them."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools, Ints, Longs, read_only
from apptek.facts.times import UNKNOWN
from apptek.graph.pairs import PairIndex
from apptek.graph.temporal_graph import TemporalGraph


class GroupedFacts(NamedTuple):
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


class CountingArrays(NamedTuple):
    """What the counting kernel reads.

    entities  the facts of every subject, then of every object
    dating    (2, R): undated and dated facts of each predicate
    """

    entities: GroupedFacts
    pairs: GroupedFacts
    pair_index: PairIndex
    twins: Ints
    twin_counts: Ints
    predicates: Ints
    is_dated: Bools
    dating: Longs


class CountingIndex:
    """Everything that the counting kernel reads, built once from the graph. O(n log n).

    dating  what the prior is made of: (2, R), undated and dated facts of each predicate. Without it
            those of the graph; a graph that has got new facts since the fit keeps those of the fit.
    """

    def __init__(self, graph: TemporalGraph, dating: Longs | None = None) -> None:
        self.graph, facts = graph, graph.facts
        # Every third offset: a slot of an incidence has three stretches, which are one group here.
        pair_index = PairIndex.of(graph)
        entities, pairs = (
            GroupedFacts.of(graph, index.offsets[::3], index.facts)
            for index in (graph.incidence, pair_index.incidence)
        )
        is_dated = read_only(facts.dated)
        parts = (facts.predicates[~is_dated], facts.predicates[is_dated])
        counts = [np.bincount(part, minlength=graph.predicate_count) for part in parts]
        self.dating = read_only(np.stack(counts).astype(np.int64)) if dating is None else dating
        self.arrays = CountingArrays(
            entities, pairs, pair_index, graph.incidence.twins, count_twins(graph),
            facts.predicates, is_dated, self.dating,
        )  # fmt: skip


def count_twins(graph: TemporalGraph) -> Ints:
    """For each fact, how many facts are hidden with it, itself included; empty if always 1."""
    twins = graph.incidence.twins
    counts = np.bincount(twins)[twins] if len(twins) else twins
    return read_only(counts.astype(np.int32))
