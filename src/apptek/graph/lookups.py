"""Look-ups: an entity's facts, the facts between a pair, and the answers that the facts contain."""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools, Ints, read_only
from apptek.compiling import leaf
from apptek.facts.queries import Queries, QueryColumns
from apptek.facts.times import UNKNOWN
from apptek.graph.incidence import PART, Incidence, build_incidence
from apptek.graph.slot_search import lower_bound
from apptek.graph.temporal_graph import FOR_EVER, TemporalGraph

SOME = 65_536  # number of facts examined at a time


def outgoing(graph: TemporalGraph, entity: int) -> Ints:
    """Return the facts with the entity as subject."""
    return _slot(graph, entity)


def incoming(graph: TemporalGraph, entity: int) -> Ints:
    """Return the facts with the entity as object."""
    return _slot(graph, graph.entity_count + entity)


def _slot(graph: TemporalGraph, slot: int) -> Ints:
    offsets = graph.incidence.offsets
    return graph.incidence.facts[offsets[3 * slot] : offsets[3 * slot + 3]]


def between(graph: TemporalGraph, subject: int, object_: int) -> Ints:
    """Return the facts from one entity to another.

    This takes time proportional to the number of facts of the entity with fewer facts.
    """
    of_subject, of_object = outgoing(graph, subject), incoming(graph, object_)
    facts: Ints
    if len(of_subject) <= len(of_object):
        facts = of_subject[graph.facts.objects[of_subject] == object_]
    else:
        facts = of_object[graph.facts.subjects[of_object] == subject]
    return facts


def facts_of(graph: TemporalGraph, entities: Iterable[int]) -> Ints:
    """Return the distinct facts of the given entities, in ascending order. Skip ids below 0."""
    known = [entity for entity in entities if entity >= 0]
    rows = [look(graph, entity) for entity in known for look in (outgoing, incoming)]
    return np.unique(np.concatenate([np.zeros(0, np.int32), *rows]))


def facts_between(graph: TemporalGraph, one: int, other: int) -> Ints:
    """Return the facts between two entities in both directions, by time, undated facts last."""
    directions = {(one, other), (other, one)}  # use one direction if both entities are the same
    return by_time(graph, np.concatenate([between(graph, *each) for each in directions]))


def by_time(graph: TemporalGraph, facts: Ints) -> Ints:
    """Return the facts in order of time, undated facts last."""
    first, last = ends_of(graph, facts)
    return facts[np.lexsort((facts, last, first, first == UNKNOWN))]


def dated_in(graph: TemporalGraph, facts: Ints, first: int, last: int) -> Ints:
    """Return the dated facts that overlap a span of time, in their given order."""
    starts, ends = ends_of(graph, facts)
    inside: Ints = facts[(starts != UNKNOWN) & (starts <= last) & (ends >= first)]
    return inside


def is_timeless(graph: TemporalGraph) -> bool:
    """Return whether no fact is dated. The search stops at the first dated fact."""
    ends = graph.since, graph.until
    starts = range(0, len(graph.facts), SOME)
    return all(bool((end[at : at + SOME] == UNKNOWN).all()) for at in starts for end in ends)


def ends_of(graph: TemporalGraph, facts: npt.NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Return each fact's first and last position. A known end replaces an unknown one."""
    since, until = graph.since[facts], graph.until[facts]
    return np.where(since == UNKNOWN, until, since), np.where(until == UNKNOWN, since, until)


def knows_end(graph: TemporalGraph, fact: int, moment: int) -> bool:
    """Return whether a query at a given time sees a fact's end. past_only hides future ends."""
    if not graph.past_only or moment == UNKNOWN or graph.since[fact] == UNKNOWN:
        return True
    return bool(graph.until[fact] < moment)


def time_distance(graph: TemporalGraph, fact: int, moment: int) -> int | None:
    """Return a fact's signed distance from a time, negative if earlier. Undated facts have None."""
    since, until = int(graph.since[fact]), int(graph.until[fact])
    if not knows_end(graph, fact, moment):
        until = int(FOR_EVER) if graph.open_end == "ongoing" else UNKNOWN
    if moment == UNKNOWN or since == until == UNKNOWN:
        return None
    first, last = (until if since == UNKNOWN else since), (since if until == UNKNOWN else until)
    return max(first - moment, 0) or min(last - moment, 0)


def is_lasting(graph: TemporalGraph, fact: int) -> bool:
    """Return whether a fact is an interval, including one with an open end."""
    since, until = int(graph.since[fact]), int(graph.until[fact])
    return since != until and UNKNOWN not in (since, until)


class PairIndex(NamedTuple):
    """All ordered pairs of entities that have facts. Pair p owns slot p in the incidence.

    The pairs with subject s are firsts[s] to firsts[s + 1] - 1, in ascending order of their
    objects.
    """

    firsts: Ints  # (entities + 1,)
    objects: Ints  # (pairs,)
    incidence: Incidence

    @classmethod
    def of(cls, graph: TemporalGraph) -> "PairIndex":
        """Index a graph's pairs in O(n log n). All views of the graph share the index."""
        return graph.derived.once("pairs", lambda: _index_pairs(graph))


def _index_pairs(graph: TemporalGraph) -> PairIndex:
    firsts, objects, pair_of_fact = _pairs(graph)
    times = graph.since, graph.until, graph.incidence.twins
    incidence = build_incidence((pair_of_fact,), len(objects), *times)
    return PairIndex(read_only(firsts), read_only(objects), incidence)


def _pairs(graph: TemporalGraph) -> tuple[Ints, Ints, Ints]:
    """Return where each subject's pairs start, the pairs' objects, and each fact's pair.

    Subjects are processed in parts: sorting all facts at once would need several times their
    memory.
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
        distinct, places = np.unique(keys, return_inverse=True)
        pair_of_fact[rows] = places + count
        firsts[low + 1 : high + 1] = count + np.cumsum(
            np.bincount(distinct // width - low, minlength=high - low)
        )
        objects.append((distinct % width).astype(np.int32))
        count += len(distinct)
    return firsts, np.concatenate(objects), pair_of_fact


@leaf
def find_pair(pairs: PairIndex, subject: int, object_: int) -> int:
    """Return a pair's index, or -1 if it has no facts. O(log n) for n partners of the subject."""
    if subject < 0 or object_ < 0:
        return -1
    stop = pairs.firsts[subject + 1]
    pair = lower_bound(pairs.objects, pairs.firsts[subject], stop, object_)
    return pair if pair < stop and pairs.objects[pair] == object_ else -1


def known_at(graph: TemporalGraph, queries: Queries, ahead: Bools) -> Bools:
    """Return which predicates occur between each query's entities at its time: (B, R).

    If the query's time is unknown, undated facts count. With past_only, a fact counts only if it
    started before the query's time.
    """
    flags = np.zeros((len(queries), graph.predicate_count), np.bool_)
    asked = queries.for_kernels(graph.axis)
    _flag_known(PairIndex.of(graph), graph.facts.predicates, asked, ahead, flags)
    return flags


@leaf
def _flag_known(
    pairs: PairIndex, predicates: Ints, queries: QueryColumns, ahead: Bools, flags: Bools
) -> None:
    """Flag every predicate that occurs in one of the pair's facts. O(facts of the pairs)"""
    subjects, objects, moments, _ = queries
    offsets, since, until = pairs.incidence.offsets, pairs.incidence.since, pairs.incidence.until
    for row in range(subjects.size):
        pair = find_pair(pairs, subjects[row], objects[row])
        if pair < 0:
            continue
        moment = moments[row]
        for entry in range(offsets[3 * pair], offsets[3 * pair + 3]):
            fact = pairs.incidence.facts[entry]
            first = until[fact] if since[fact] == UNKNOWN else since[fact]
            last = first if until[fact] == UNKNOWN else until[fact]
            is_new = ahead[row] and moment != UNKNOWN and first == moment
            if not is_new and first <= moment <= last:
                flags[row, predicates[fact]] = True
