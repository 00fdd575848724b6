"""Facts laid out for counting: by subject, by object and by pair, side by side in each group."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.arrays import Ints, Longs, read_only
from apptek.data.times import UNKNOWN
from apptek.graph.pairs import PairIndex
from apptek.graph.temporal_graph import TemporalGraph


@dataclass(frozen=True, slots=True)
class Stretches:
    """Facts in groups: those of group g stand from offsets[g] to offsets[g + 1].

    lows, highs  the positions of since and until, each for the other where that is unknown
    """

    offsets: Longs
    facts: Ints
    lows: Ints
    highs: Ints
    predicates: Ints

    @classmethod
    def of(cls, graph: TemporalGraph, offsets: npt.NDArray[Any], facts: Ints) -> "Stretches":
        """These facts of a graph in groups with these bounds."""
        since, until = graph.since[facts], graph.until[facts]
        lows = read_only(np.where(since == UNKNOWN, until, since))
        highs = read_only(np.where(until == UNKNOWN, since, until))
        bounds = read_only(offsets.astype(np.int64))
        return cls(bounds, facts, lows, highs, read_only(graph.facts.predicates[facts]))

    def kernel_arrays(self) -> tuple[Any, ...]:
        """Offsets, facts, lows, highs, predicates."""
        return self.offsets, self.facts, self.lows, self.highs, self.predicates


class Counts:
    """Everything that the kernel counts, made once from the graph. O(n log n)."""

    def __init__(self, graph: TemporalGraph) -> None:
        self.graph, facts = graph, graph.facts
        self.entities = Stretches.of(graph, graph.incidence.offsets[::3], graph.incidence.facts)
        self.index = PairIndex.of(graph)
        between = self.index.incidence
        self.pairs = Stretches.of(graph, between.offsets[::3], between.facts)
        self.is_dated = read_only(facts.dated)
        kinds = (facts.predicates[~self.is_dated], facts.predicates[self.is_dated])
        counted = [np.bincount(kind, minlength=graph.predicate_count) for kind in kinds]
        self.dating = read_only(np.stack(counted).astype(np.int64))
        self.twin_counts = count_twins(graph)

    def kernel_arrays(self) -> tuple[Any, ...]:
        """What `score_all` takes before the weights."""
        graph = self.graph
        about_facts = (graph.twins, self.twin_counts, graph.facts.predicates, self.is_dated)
        pairs = (self.index.firsts, self.index.objects, *self.pairs.kernel_arrays())
        return (*self.entities.kernel_arrays(), *pairs, *about_facts, self.dating)


def count_twins(graph: TemporalGraph) -> Ints:
    """How many facts hide together with each, itself included; empty where that is always 1."""
    counts = np.bincount(graph.twins)[graph.twins] if len(graph.twins) else graph.twins
    return read_only(counts.astype(np.int32))
