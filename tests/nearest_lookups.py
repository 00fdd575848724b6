"""N_tknn for many entities at once, for tests and benchmarks of the lookup kernel."""

import numpy as np
import numpy.typing as npt

from apptek.arrays import Ints, read_only
from apptek.compiling import in_threads, kernel, leaf
from apptek.config import Traversal
from apptek.graph.incidence import Incidence
from apptek.graph.temporal_graph import TemporalGraph
from apptek.graph.tknn import Space, nearest_facts, work_space

CHUNK = 50_000  # number of lookups that a thread takes at a time


def nearest_of(
    graph: TemporalGraph,
    entities: npt.ArrayLike,
    times: npt.ArrayLike,
    k: int,
    *,
    hidden: npt.ArrayLike | None = None,
    traversal: Traversal = "both",
) -> Ints:
    """N_tknn of n entities, each at a time code: (n, k) facts, nearest first, padded with -1.

    hidden  for each lookup, the fact that must not be seen (nor its twins), or -1. An entity of -1
            is unknown to the graph and has no facts.
    """
    entities, codes = np.asarray(entities, np.int32), np.asarray(times, np.int32)
    moments = graph.axis.positions(codes)
    masked = np.asarray(np.full(len(entities), -1) if hidden is None else hidden, np.int32)
    nearest, directions = np.empty((len(entities), k), np.int32), graph.directions(traversal)

    def look_up(start: int) -> None:
        rows = slice(start, start + CHUNK)
        # Always read-only: numba would compile another version for writable arrays.
        chunk = [read_only(column[rows]) for column in (entities, moments, masked)]
        nearest_of_all(graph.incidence, directions, chunk[0], chunk[1], chunk[2], nearest[rows])

    in_threads(look_up, range(0, len(entities), CHUNK))
    return nearest


@kernel
def nearest_of_all(
    index: Incidence, directions: int, entities: Ints, times: Ints, hidden: Ints, nearest: Ints
) -> None:
    """Fill `nearest` (n, k) with the nearest facts of n entities, -1 where there are fewer."""
    # The loop is a leaf: otherwise each call would count references to every array in the index.
    _fill_nearest(index, directions, entities, times, hidden, work_space(nearest.shape[1]), nearest)


@leaf
def _fill_nearest(
    index: Incidence, directions: int, entities: Ints, times: Ints, hidden: Ints, space: Space,
    nearest: Ints,
) -> None:  # fmt: skip
    for row in range(len(entities)):
        count = 0
        if entities[row] >= 0:
            count = nearest_facts(
                index, directions, entities[row], times[row], hidden[row], space, nearest[row]
            )
        nearest[row, count:] = -1
