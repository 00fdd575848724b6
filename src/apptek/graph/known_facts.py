"""Whether the facts already have an answer: many queries at once, several predicates each."""

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools
from apptek.compiling import leaf
from apptek.facts.queries import Queries, QueryColumns
from apptek.facts.times import UNKNOWN
from apptek.graph.incidence import FactColumns
from apptek.graph.pairs import PairIndex, find_pair
from apptek.graph.temporal_graph import TemporalGraph


def known_among(
    graph: TemporalGraph, queries: Queries, ahead: Bools, predicates: npt.NDArray[np.int64]
) -> Bools:
    """Which of the predicates that each query lists hold there: (B, k) -> (B, k).

    At an unknown time, those of undated facts; ahead, those of facts that started before.
    """
    flags = np.zeros(predicates.shape, np.bool_)
    asked = queries.for_kernels(graph.axis)
    _flag_known(PairIndex.of(graph), graph.columns(), asked, ahead, predicates, flags)
    return flags


@leaf
def _flag_known(
    pairs: PairIndex, columns: FactColumns, queries: QueryColumns, ahead: Bools,
    predicates: npt.NDArray[np.int64], flags: Bools,
) -> None:  # fmt: skip
    """Sets the flag of every listed predicate that a fact of its pair has. O(facts of the pairs)"""
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
            if is_new or first > moment or moment > last:
                continue
            for column in range(predicates.shape[1]):
                if predicates[row, column] == columns.predicates[fact]:
                    flags[row, column] = True
