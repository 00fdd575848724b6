"""Raw histories: how near the facts of each family are, and how many.

The features of history are shares: they do not tell one fact from forty, nor how far away the
nearest is. For a candidate r each family gives four numbers, from the same nearest facts:

| number | of the facts with r                                          |
|--------|--------------------------------------------------------------|
| before | the distance of the nearest that started by the query's time |
| after  | the distance of the nearest that started later               |
| short  | the sum of e^(-a/short)                                      |
| count  | how many there are                                           |

A distance is not a number where there is no such fact. Undated facts, and all facts of an undated
query, are counted and nothing else.
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
from apptek.graph.slot_search import FIELDS, STREAMS, Longs2
from apptek.models.reranking.typed_histories import is_among

NUMBERS = ("before", "after", "short", "count")
BEFORE, AFTER, SHORT, COUNT = range(4)
Table = npt.NDArray[np.int32]  # (n, any)


def near_names(history: History) -> list[str]:
    """The names of the features of a candidate."""
    return [f"near {family} {number}" for family in history.families for number in NUMBERS]


def describe_histories(history: History, queries: Queries, candidates: Ints, gone: Ints) -> Floats:
    """The numbers of each candidate, as if the facts in `gone` (n, any) were not there."""
    families = np.asarray([FAMILIES.index(family) for family in history.families], np.int32)
    features = np.zeros((*candidates.shape, len(families) * len(NUMBERS)), np.float32)
    describe_families(
        history.sources(), history.sources(gone.shape[1]), families, history.graph.predicate_count,
        history.fading, queries.for_kernels(history.graph.axis), gone, candidates, features,
    )  # fmt: skip
    return features


@kernel
def describe_families(
    sources: Sources, larger: Sources, families: Ints, predicate_count: int, fading: Fading,
    queries: QueryColumns, gone: Table, candidates: Table, features: Floats,
) -> None:  # fmt: skip
    """Fills in the numbers of every family for each candidate.

    larger  the sources with room for as many facts more as may be gone
    """
    subjects, objects, whens, hidden = queries
    nearest = np.empty((MOST_HISTORY_FACTS, 3), np.int64)
    streams, cuts = np.empty((STREAMS, FIELDS), np.int64), np.zeros(1, np.int64)
    candidate_of = np.full(predicate_count, -1, np.int32)
    for row in range(candidates.shape[0]):
        for c in range(candidates.shape[1]):
            candidate_of[candidates[row, c]] = c
        for place, family in enumerate(families):
            count = family_facts(
                larger, family, subjects[row], objects[row], whens[row], hidden[row], streams,
                nearest, cuts,
            )  # fmt: skip
            most = sources.pair_facts if family < 2 else sources.profile_facts
            count = _keep_others(nearest, count, most, gone[row])
            numbers = features[row, :, place * len(NUMBERS) : (place + 1) * len(NUMBERS)]
            _write(
                nearest, count, sources.facts.predicates, whens[row], fading, candidate_of, numbers
            )
        for c in range(candidates.shape[1]):
            candidate_of[candidates[row, c]] = -1


@leaf
def _keep_others(nearest: Longs2, count: int, most: int, gone: Ints) -> int:
    """Keeps the first `most` facts that are not gone; how many there are."""
    kept = 0
    for i in range(count):
        if kept < most and not is_among(nearest[i, 2], gone):
            for column in range(3):
                nearest[kept, column] = nearest[i, column]
            kept += 1
    return kept


@leaf
def _write(
    nearest: Longs2, count: int, predicates: Ints, when: int, fading: Fading, candidate_of: Ints,
    numbers: Floats,
) -> None:  # fmt: skip
    """Writes the numbers of one family, (candidates, 4), from its facts (distance, start, fact)."""
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
        if not numbers[c, side] <= distance:  # the first is not a number
            numbers[c, side] = distance
