"""Facts by pair of entities and time, to look up what happened between two entities."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from apptek.arrays import Ints, Longs, read_only
from apptek.compiling import leaf
from apptek.graph.incidence import PART, Incidence, build_incidence
from apptek.graph.slot_search import lower_bound
from apptek.graph.temporal_graph import TemporalGraph


class PairIndex(NamedTuple):
    """Every ordered pair of entities that has a fact; pair p owns slot p of the incidence.

    The pairs of subject s are firsts[s] to firsts[s + 1] - 1; their objects ascend.
    """

    firsts: Ints  # (entities + 1,)
    objects: Ints  # (pairs,)
    incidence: Incidence

    @classmethod
    def of(cls, graph: TemporalGraph) -> "PairIndex":
        """Indexes the pairs of a graph, once for all of its views. O(n log n)."""
        return graph.derived.once("pairs", lambda: _index(graph))


def _index(graph: TemporalGraph) -> PairIndex:
    firsts, objects, pair_of_fact = _pairs(graph)
    times = graph.since, graph.until, graph.incidence.twins
    incidence = build_incidence((pair_of_fact,), len(objects), *times)
    return PairIndex(read_only(firsts), read_only(objects), incidence)


def _pairs(graph: TemporalGraph) -> tuple[Ints, Ints, Ints]:
    """Where the pairs of each subject start, the objects of the pairs, and the pair of each fact.

    Some subjects at a time: a sort of all facts at once would need several times their memory.
    """
    width, facts = graph.entity_count, graph.incidence.facts
    starts = graph.incidence.offsets[: 3 * width + 1 : 3]  # of each entity's outgoing facts
    wanted = np.searchsorted(starts, np.arange(0, len(graph.facts), PART), side="right") - 1
    cuts = np.unique([*wanted.tolist(), width])
    firsts, objects = np.zeros(width + 1, np.int32), [np.empty(0, np.int32)]
    pair_of_fact = np.empty(len(graph.facts), np.int32)
    count = 0
    for low, high in pairwise(cuts.tolist()):
        rows = facts[starts[low] : starts[high]]
        keys = graph.facts.subjects[rows].astype(np.int64) * width + graph.facts.objects[rows]
        distinct, places = _numbered(keys)
        pair_of_fact[rows] = places + np.int32(count)
        firsts[low + 1 : high + 1] = count + np.cumsum(
            np.bincount(distinct // width - low, minlength=high - low)
        )
        objects.append((distinct % width).astype(np.int32))
        count += len(distinct)
    return firsts, np.concatenate(objects), pair_of_fact


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
def find_pair(pairs: PairIndex, subject: int, object_: int) -> int:
    """The pair of two entities, -1 where they have no fact. O(log n) in the subject's partners."""
    if subject < 0 or object_ < 0:
        return -1
    stop = pairs.firsts[subject + 1]
    pair = lower_bound(pairs.objects, pairs.firsts[subject], stop, object_)
    return pair if pair < stop and pairs.objects[pair] == object_ else -1
