"""Facts by pair of entities and time, to look up what happened between two entities."""

from dataclasses import dataclass

import numpy as np

from apptek.arrays import Ints, Longs, read_only
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
        pairs, pair_of_fact = _numbered(subjects.astype(np.int64) * graph.entity_count + objects)
        firsts = np.searchsorted(pairs, np.arange(graph.entity_count + 1) * graph.entity_count)
        return cls(
            read_only(firsts.astype(np.int32)),
            read_only((pairs % graph.entity_count).astype(np.int32)),
            build_incidence((pair_of_fact,), len(pairs), graph.since, graph.until),
        )


def _numbered(keys: Longs) -> tuple[Longs, Ints]:
    """The distinct keys, ascending, and the place of each key among them.

    As np.unique does it, in less memory.
    """
    order = np.argsort(keys)
    ascending = keys[order]
    is_new = np.ones(len(keys), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_new[1:])
    distinct = ascending[is_new]
    del keys, ascending
    places = np.empty(len(order), np.int32)
    places[order] = np.cumsum(is_new, dtype=np.int32) - np.int32(1)
    return distinct, places


@leaf
def find_pair(firsts: Ints, objects: Ints, subject: int, object_: int) -> int:
    """The pair of two entities, -1 where they have no fact. O(log n) in the subject's partners."""
    if subject < 0 or object_ < 0:
        return -1
    stop = firsts[subject + 1]
    pair = lower_bound(objects, firsts[subject], stop, object_)
    return pair if pair < stop and objects[pair] == object_ else -1
