"""Whether the arrays of a graph stay within each other's bounds.

Kernels index without looking: an id or offset out of range reads foreign memory, or crashes. Sizes
are checked when a graph is opened; here are the values.
"""

from collections.abc import Iterator

import numpy as np

from apptek.arrays import Ints
from apptek.errors import GraphError
from apptek.facts.facts import Facts
from apptek.graph.incidence import FAN_OUT, Incidence
from apptek.graph.temporal_graph import TemporalGraph


def check_graph(graph: TemporalGraph, *, every_value: bool = True) -> None:
    """GraphError where a kernel would leave an array.

    Without `every_value` only offsets are read, of which there are few for each entity; with it,
    every id of every fact as well.
    """
    _check_offsets(graph.incidence)
    if every_value:
        fact_count = len(graph.facts)
        check_facts("facts", graph.facts, graph.entity_count, graph.predicate_count)
        _check_ids("incidence.facts", graph.incidence.facts, fact_count)
        _check_ids("incidence.by_end", graph.incidence.by_end, fact_count)
        _check_ids("twins", graph.incidence.twins, fact_count)


def check_facts(name: str, facts: Facts, entity_count: int, predicate_count: int) -> None:
    """GraphError where a fact has an entity or a predicate that does not exist."""
    _check_ids(f"{name}.subjects", facts.subjects, entity_count)
    _check_ids(f"{name}.predicates", facts.predicates, predicate_count)
    _check_ids(f"{name}.objects", facts.objects, entity_count)


def _check_ids(name: str, ids: Ints, count: int) -> None:
    if len(ids) and (ids.min() < 0 or ids.max() >= count):
        wrong = ids[(ids < 0) | (ids >= count)]
        raise GraphError(f"{name} has the id {wrong[0]}, but there are {count}")


def _check_offsets(incidence: Incidence) -> None:
    offsets, intervals = incidence.offsets, len(incidence.by_end)
    _check_ascent("incidence.offsets", offsets, len(incidence.facts))
    _check_ascent("incidence.interval_offsets", incidence.interval_offsets, intervals)
    sizes = offsets[2::3] - offsets[1::3]
    # Where there are no intervals at all, interval_offsets is a single 0.
    expected = np.diff(incidence.interval_offsets) if intervals else np.zeros_like(sizes)
    if not np.array_equal(sizes, expected):
        raise GraphError("incidence.interval_offsets do not fit incidence.offsets")
    if incidence.level_offsets.tolist() != list(_level_offsets(intervals)):
        raise GraphError("incidence.level_offsets do not fit the intervals")


def _check_ascent(name: str, offsets: Ints, stop: int) -> None:
    """Offsets begin with 0, never descend, and end where the values do."""
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != stop:
        raise GraphError(f"{name} do not go from 0 to {stop}")
    if np.any(offsets[1:] < offsets[:-1]):
        raise GraphError(f"{name} descend")


def _level_offsets(interval_count: int) -> Iterator[int]:
    """Where each level of the tree of maxima starts, and where the last one stops."""
    size, offset = interval_count, 0
    yield offset
    while size > 1:
        size = -(-size // FAN_OUT)
        offset += size
        yield offset
