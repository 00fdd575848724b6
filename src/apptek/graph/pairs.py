"""Facts by pair of entities and time, to look up what happened between two entities."""

from dataclasses import dataclass

import numpy as np

from apptek.arrays import Ints, read_only
from apptek.compiling import leaf
from apptek.graph.incidence import Incidence, build_incidence
from apptek.graph.slot_search import lower_bound
from apptek.graph.temporal_graph import TemporalGraph


@dataclass(frozen=True, slots=True)
class PairIndex:
    """Every ordered pair of entities that has a fact; pair p owns slot p of the incidence.

    The pairs of subject s are firsts[s] to firsts[s + 1] - 1; their objects ascend.
    """

    firsts: Ints  # (entities + 1,)
    objects: Ints  # (pairs,)
    incidence: Incidence

    @classmethod
    def of(cls, graph: TemporalGraph) -> "PairIndex":
        """Indexes the pairs of a graph, once for all of its views. O(n log n)."""
        if "pairs" not in graph.indexed:
            graph.indexed["pairs"] = cls._of(graph)
        index: PairIndex = graph.indexed["pairs"]
        return index

    @classmethod
    def _of(cls, graph: TemporalGraph) -> "PairIndex":
        subjects, objects = graph.facts.subjects, graph.facts.objects
        keys = subjects.astype(np.int64) * graph.entity_count + objects
        pairs, pair_of_fact = np.unique(keys, return_inverse=True)
        firsts = np.searchsorted(pairs, np.arange(graph.entity_count + 1) * graph.entity_count)
        return cls(
            read_only(firsts.astype(np.int32)),
            read_only((pairs % graph.entity_count).astype(np.int32)),
            build_incidence((pair_of_fact.astype(np.int32),), len(pairs), graph.since, graph.until),
        )


@leaf
def find_pair(firsts: Ints, objects: Ints, subject: int, object_: int) -> int:
    """The pair of two entities, -1 where they have no fact. O(log n) in the subject's partners."""
    if subject < 0 or object_ < 0:
        return -1
    stop = firsts[subject + 1]
    pair = lower_bound(objects, firsts[subject], stop, object_)
    return pair if pair < stop and objects[pair] == object_ else -1
