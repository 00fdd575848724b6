"""Common partners: what the two of a query do with the same third parties.

Of a query (s, ?, o, t), a *triangle* is a fact between s and a third party x with a fact between x
and o, in any direction, each among the nearest of its entity. It counts e^(-(a + b) / short), where
a and b are the distances of its two facts from the query's time. For a candidate r there are seven
numbers: of the triangles at the query's very time, those in which both facts have r, those in which
that of s has r, those in which that of o has r, and all; of all triangles, what those with r in
both, those with r in one of them, and all add up to. Facts between the two have no part in it.
"""

import numpy as np
import numpy.typing as npt

from apptek.arrays import Floats, Ints
from apptek.compiling import kernel, leaf
from apptek.facts.queries import Queries, QueryColumns
from apptek.features.clock import Fading, faded
from apptek.graph.incidence import FactColumns, Incidence
from apptek.graph.slot_search import FIELDS, STREAMS, UNDATED, Longs2, nearest_in_slot
from apptek.graph.temporal_graph import TemporalGraph
from apptek.graph.tknn import VIEW
from apptek.models.reranking.typed_histories import is_among

NEAREST = 40  # facts of each entity and direction
NAMES = ("both now", "subject now", "object now", "now", "both", "one", "all")
Table = npt.NDArray[np.int32]  # (n, any)


def describe_partners(
    graph: TemporalGraph, fading: Fading, queries: Queries, candidates: Ints, gone: Ints,
    most: int = NEAREST,
) -> Floats:  # fmt: skip
    """The seven numbers of each candidate, as if the facts in `gone` (n, any) were not there."""
    features = np.zeros((*candidates.shape, len(NAMES)), np.float32)
    count_triangles(
        graph.incidence, graph.columns(), graph.directions("both") & VIEW, most,
        graph.predicate_count, fading, queries.for_kernels(graph.axis), gone, candidates, features,
    )  # fmt: skip
    return features


@kernel
def count_triangles(
    index: Incidence, facts: FactColumns, view: int, most: int, predicate_count: int,
    fading: Fading, queries: QueryColumns, gone: Table, candidates: Table, features: Floats,
) -> None:  # fmt: skip
    """Fills in the features of every candidate."""
    subjects, objects, whens, hidden = queries
    room = 2 * (most + gone.shape[1])
    of_subject, of_object = np.empty((room, 3), np.int64), np.empty((room, 3), np.int64)
    streams = np.empty((STREAMS, FIELDS), np.int64)
    candidate_of = np.full(predicate_count, -1, np.int32)
    for row in range(candidates.shape[0]):
        s, o = subjects[row], objects[row]
        if s < 0 or o < 0:
            continue
        own = _list_partners(
            index, facts, view, most, (s, o, whens[row], hidden[row]), gone[row], streams,
            of_subject,
        )  # fmt: skip
        other = _list_partners(
            index, facts, view, most, (o, s, whens[row], hidden[row]), gone[row], streams,
            of_object,
        )  # fmt: skip
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
    query: tuple[int, int, int, int], gone: Ints, streams: Longs2, listed: Longs2,
) -> int:  # fmt: skip
    """Lists the nearest facts of the query's first entity as rows (distance, partner, predicate).

    In each direction the `most` nearest that are not gone, without those with itself or with the
    query's other entity. Returns how many.
    """
    entity, other, when, hidden = query
    kept = 0
    for direction in range(2):
        slot = entity + direction * (
            (index.offsets.size - 1) // 6
        )  # two slots, three stretches each
        partners = facts.subjects if direction else facts.objects
        room = listed[kept:]
        count = nearest_in_slot(
            index, slot, when, most + gone.size, hidden, view, UNDATED, streams, room
        )
        seen = 0
        first = kept
        for i in range(count):
            fact = listed[first + i, 2]
            if seen == most or is_among(fact, gone):
                continue
            seen += 1
            partner = partners[fact]
            if partner != entity and partner != other:
                listed[kept, 0] = listed[first + i, 0]
                listed[kept, 1] = partner
                listed[kept, 2] = facts.predicates[fact]
                kept += 1
    return kept


@leaf
def _add_triangle(
    one: Longs2, other: Longs2, fading: Fading, candidate_of: Ints, features: Floats
) -> None:
    """Adds one triangle, of two facts (distance, partner, predicate), to the candidates."""
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
