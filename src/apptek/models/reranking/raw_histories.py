"""Features of a candidate from raw facts: distances, counts, and common partners.

**Raw histories.** The features of history are shares: they do not distinguish one fact from forty,
and lack the distance of the nearest one. For a candidate r each family gives four numbers, from the
same nearest facts:

| number | of the facts with r                                          |
|--------|--------------------------------------------------------------|
| before | the distance of the nearest that started by the query's time |
| after  | the distance of the nearest that started later               |
| short  | the sum of e^(-a/short)                                      |
| count  | how many there are                                           |

A distance is NaN if there is no such fact. Undated facts, and all facts of an undated query, are
only counted.

**Common partners.** For a query (s, ?, o, t), a *triangle* is a fact between s and a third party x
with a fact between x and o, in any direction, each among the nearest of its entity. It counts
e^(-(a + b) / short), where a and b are the distances of its two facts from the query's time. A
candidate r has seven numbers. Four are about the triangles at the query's exact time: those in
which both facts have r, those in which the fact of s has r, those in which the fact of o has r, and
all. Three are sums over all triangles: those with r in both facts, those with r in one fact, and
all. Facts between the pair are no part of a triangle.
"""

import numpy as np
import numpy.typing as npt

from apptek.arrays import Floats, Ints
from apptek.compiling import kernel, leaf
from apptek.config import FAMILIES, MOST_HISTORY_FACTS
from apptek.facts.queries import Queries, QueryColumns
from apptek.facts.times import UNKNOWN
from apptek.features.clock import Fading, faded
from apptek.features.history import History
from apptek.features.history_kernels import Sources, family_facts
from apptek.graph.incidence import FactColumns, Incidence
from apptek.graph.slot_search import FIELDS, STREAMS, UNDATED, Longs2, nearest_in_slot
from apptek.graph.temporal_graph import TemporalGraph
from apptek.graph.tknn import VIEW

NUMBERS = ("before", "after", "short", "count")
BEFORE, AFTER, SHORT, COUNT = range(4)
COMMON = ("both now", "subject now", "object now", "now", "both", "one", "all")
NEAREST = 40  # facts of each entity and direction that may be part of a triangle
Table = npt.NDArray[np.int32]  # (n, any)


def near_names(history: History) -> list[str]:
    """Return the names of the features of a candidate."""
    return [f"near {family} {number}" for family in history.families for number in NUMBERS]


def describe_histories(history: History, queries: Queries, candidates: Ints) -> Floats:
    """Return the four numbers of each family for each candidate: (n, C) -> (n, C, 4 families)."""
    families = np.asarray([FAMILIES.index(family) for family in history.families], np.int32)
    features = np.zeros((*candidates.shape, len(families) * len(NUMBERS)), np.float32)
    describe_families(
        history.sources(), families, history.graph.predicate_count, history.fading,
        queries.for_kernels(history.graph.axis), candidates, features,
    )  # fmt: skip
    return features


@kernel
def describe_families(
    sources: Sources, families: Ints, predicate_count: int, fading: Fading, queries: QueryColumns,
    candidates: Table, features: Floats,
) -> None:  # fmt: skip
    """Fill in the numbers of every family for each candidate."""
    subjects, objects, whens, hidden = queries
    nearest = np.empty((MOST_HISTORY_FACTS, 3), np.int64)
    streams = np.empty((STREAMS, FIELDS), np.int64)
    candidate_of = np.full(predicate_count, -1, np.int32)
    for row in range(candidates.shape[0]):
        for c in range(candidates.shape[1]):
            candidate_of[candidates[row, c]] = c
        for place, family in enumerate(families):
            count = family_facts(
                sources, family, subjects[row], objects[row], whens[row], hidden[row], streams,
                nearest,
            )  # fmt: skip
            numbers = features[row, :, place * len(NUMBERS) : (place + 1) * len(NUMBERS)]
            _write_numbers(
                nearest, count, sources.facts.predicates, whens[row], fading, candidate_of, numbers
            )
        for c in range(candidates.shape[1]):
            candidate_of[candidates[row, c]] = -1


@leaf
def _write_numbers(
    nearest: Longs2, count: int, predicates: Ints, when: int, fading: Fading, candidate_of: Ints,
    numbers: Floats,
) -> None:  # fmt: skip
    """Write the numbers of one family, (candidates, 4), from its facts (distance, start, fact)."""
    for c in range(numbers.shape[0]):
        numbers[c, BEFORE] = np.nan
        numbers[c, AFTER] = np.nan
    for i in range(count):
        distance, start = nearest[i, 0], nearest[i, 1]
        c = candidate_of[predicates[nearest[i, 2]]]
        if c < 0:
            continue
        numbers[c, COUNT] += 1
        if when == UNKNOWN or start == UNKNOWN:
            continue
        numbers[c, SHORT] += faded(fading, 1, distance)
        side = BEFORE if start <= when else AFTER
        if not numbers[c, side] <= distance:  # true also for NaN, the initial value
            numbers[c, side] = distance


def describe_partners(
    graph: TemporalGraph, fading: Fading, queries: Queries, candidates: Ints, most: int = NEAREST
) -> Floats:
    """Return the seven numbers of each candidate: (n, C) -> (n, C, 7)."""
    features = np.zeros((*candidates.shape, len(COMMON)), np.float32)
    count_triangles(
        graph.incidence, graph.columns(), graph.directions("both") & VIEW, most,
        graph.predicate_count, fading, queries.for_kernels(graph.axis), candidates, features,
    )  # fmt: skip
    return features


@kernel
def count_triangles(
    index: Incidence, facts: FactColumns, view: int, most: int, predicate_count: int,
    fading: Fading, queries: QueryColumns, candidates: Table, features: Floats,
) -> None:  # fmt: skip
    """Fill in the features of every candidate."""
    subjects, objects, whens, hidden = queries
    of_subject, of_object = np.empty((2 * most, 3), np.int64), np.empty((2 * most, 3), np.int64)
    streams = np.empty((STREAMS, FIELDS), np.int64)
    candidate_of = np.full(predicate_count, -1, np.int32)
    for row in range(candidates.shape[0]):
        s, o = subjects[row], objects[row]
        if s < 0 or o < 0:
            continue
        own = _list_partners(
            index, facts, view, most, (s, o, whens[row], hidden[row]), streams, of_subject
        )
        other = _list_partners(
            index, facts, view, most, (o, s, whens[row], hidden[row]), streams, of_object
        )
        for c in range(candidates.shape[1]):
            candidate_of[candidates[row, c]] = c
        for i in range(own):
            for j in range(other):
                if of_subject[i, 1] == of_object[j, 1]:
                    _add_triangle(of_subject[i], of_object[j], fading, candidate_of, features[row])
        for c in range(candidates.shape[1]):
            candidate_of[candidates[row, c]] = -1


@leaf
def _list_partners(
    index: Incidence, facts: FactColumns, view: int, most: int,
    query: tuple[int, int, int, int], streams: Longs2, listed: Longs2,
) -> int:  # fmt: skip
    """List the nearest facts of the query's first entity as rows (distance, partner, predicate).

    In each direction the `most` nearest, without those with itself or with the query's other
    entity. Return how many.
    """
    entity, other, when, hidden = query
    kept = 0
    for direction in range(2):
        # Every entity has two slots of three ranges; all outgoing slots come first.
        slot = entity + direction * ((index.offsets.size - 1) // 6)
        partners = facts.subjects if direction else facts.objects
        room = listed[kept:]
        count = nearest_in_slot(index, slot, when, most, hidden, view, UNDATED, streams, room)
        first = kept
        for i in range(first, first + count):
            fact = listed[i, 2]
            partner = partners[fact]
            if partner != entity and partner != other:
                listed[kept, 0] = listed[i, 0]
                listed[kept, 1] = partner
                listed[kept, 2] = facts.predicates[fact]
                kept += 1
    return kept


@leaf
def _add_triangle(
    one: Longs2, other: Longs2, fading: Fading, candidate_of: Ints, features: Floats
) -> None:
    """Add one triangle, of two facts (distance, partner, predicate), to the candidates."""
    now = one[0] == 0 and other[0] == 0
    weight = 0.0
    if one[0] < UNDATED and other[0] < UNDATED:
        weight = faded(fading, 1, one[0]) * faded(fading, 1, other[0])
    for c in range(features.shape[0]):
        features[c, 3] += now
        features[c, 6] += weight
    c = candidate_of[one[2]]
    if c >= 0:
        features[c, 1] += now
        features[c, 5] += weight
    if one[2] == other[2]:
        if c >= 0:
            features[c, 0] += now
            features[c, 2] += now
            features[c, 4] += weight
        return
    c = candidate_of[other[2]]
    if c >= 0:
        features[c, 2] += now
        features[c, 5] += weight
