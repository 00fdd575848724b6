"""Conversion of a graph and its pair index to named arrays and back, with all ids checked.

Kernels do not check indices. An id or offset that is out of range would read unrelated memory or
crash the process. Arrays from disk therefore become a graph only in this module.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from pydantic import NonNegativeInt

from apptek.arrays import AnyInts, Arrays, Ints
from apptek.errors import GraphError
from apptek.facts.facts import Facts, OpenEnd
from apptek.facts.times import TimeAxis
from apptek.graph.incidence import FAN_OUT, Incidence
from apptek.graph.lookups import PairIndex
from apptek.graph.temporal_graph import TemporalGraph
from apptek.setting_rules import config_from_json


def graph_arrays(graph: TemporalGraph) -> Arrays:
    """Return all arrays of a graph and its pairs by name."""
    pairs = PairIndex.of(graph)
    return {
        **facts_arrays("facts", graph.facts),
        **{f"incidence.{n}": a for n, a in graph.incidence._asdict().items()},
        "pairs.firsts": pairs.firsts,
        "pairs.objects": pairs.objects,
        **{f"pairs.incidence.{n}": a for n, a in pairs.incidence._asdict().items()},
    }


@dataclass(frozen=True, slots=True)
class GraphAbout:
    """A graph's other properties."""

    axis: TimeAxis
    open_end: OpenEnd
    entity_count: NonNegativeInt
    predicate_count: NonNegativeInt


def graph_about(graph: TemporalGraph) -> dict[str, Any]:
    """Return the graph's other properties, ready for JSON."""
    sizes = (graph.entity_count, graph.predicate_count)
    return asdict(GraphAbout(graph.axis, graph.open_end, *sizes))


def graph_from(
    about: Mapping[str, Any], arrays: Arrays, *, every_value: bool = True
) -> TemporalGraph:
    """Build the graph from these arrays. Raise GraphError if a kernel would leave their bounds.

    Raise ConfigError if a property is not valid.

    Without `every_value`, only offsets are checked (a few per entity). With it, all ids of all
    facts are checked too.
    """
    checked = config_from_json(GraphAbout, about)
    graph = TemporalGraph(
        facts=facts_from("facts", arrays),
        axis=checked.axis,
        entity_count=checked.entity_count,
        predicate_count=checked.predicate_count,
        incidence=_incidence("incidence", arrays),
        open_end=checked.open_end,
    )
    pairs = PairIndex(
        _column("pairs.firsts", arrays),
        _column("pairs.objects", arrays),
        _incidence("pairs.incidence", arrays),
    )
    check_graph(graph, pairs, every_value=every_value)
    graph.derived.once("pairs", lambda: pairs)
    return graph


def facts_arrays(name: str, facts: Facts) -> Arrays:
    """Return the columns of the given facts by name."""
    return {f"{name}.{column.name}": getattr(facts, column.name) for column in fields(Facts)}


def facts_from(name: str, arrays: Arrays) -> Facts:
    """Return the facts in these columns. Their ids are not yet checked."""
    return Facts(**{c.name: _column(f"{name}.{c.name}", arrays) for c in fields(Facts)})


def _incidence(name: str, arrays: Arrays) -> Incidence:
    return Incidence(*(_column(f"{name}.{field}", arrays) for field in Incidence._fields))


def _column(name: str, arrays: Arrays) -> Ints:
    if name not in arrays:
        raise GraphError(f"{name} is missing")
    if arrays[name].dtype != np.int32 or arrays[name].ndim != 1:
        found = arrays[name]
        raise GraphError(f"{name} is {found.dtype}{found.shape}, expected a column of int32")
    return arrays[name]


def check_graph(graph: TemporalGraph, pairs: PairIndex, *, every_value: bool = True) -> None:
    """Raise GraphError if a kernel would leave an array's bounds; see `graph_from`."""
    fact_count, entity_count = len(graph.facts), graph.entity_count
    _check_size("pairs.firsts", pairs.firsts, entity_count + 1)
    _check_ascent("pairs.firsts", pairs.firsts, len(pairs.objects))
    for name, incidence, slot_count, entry_count in (
        ("incidence", graph.incidence, 2 * entity_count, 2 * fact_count),
        ("pairs.incidence", pairs.incidence, len(pairs.objects), fact_count),
    ):
        _check_sizes(name, incidence, slot_count, entry_count, fact_count)
        _check_offsets(name, incidence)
        if every_value:
            for part in ("facts", "by_end", "twins"):
                _check_ids(f"{name}.{part}", getattr(incidence, part), fact_count)
    if every_value:
        check_facts("facts", graph.facts, entity_count, graph.predicate_count)
        _check_ids("pairs.objects", pairs.objects, entity_count)


def check_facts(name: str, facts: Facts, entity_count: int, predicate_count: int) -> None:
    """Raise GraphError if a fact has an entity or predicate that does not exist."""
    _check_ids(f"{name}.subjects", facts.subjects, entity_count)
    _check_ids(f"{name}.predicates", facts.predicates, predicate_count)
    _check_ids(f"{name}.objects", facts.objects, entity_count)


def _check_ids(name: str, ids: AnyInts, count: int) -> None:
    if len(ids) and (ids.min() < 0 or ids.max() >= count):
        wrong = ids[(ids < 0) | (ids >= count)]
        raise GraphError(f"{name} has the id {wrong[0]}, but there are {count}")


def _check_sizes(
    name: str, incidence: Incidence, slot_count: int, entry_count: int, fact_count: int
) -> None:
    """Raise GraphError if an array's size differs from what kernels rely on."""
    sizes = {
        "offsets": 3 * slot_count + 1,
        "facts": entry_count,
        "starts": entry_count,
        "interval_offsets": (slot_count if len(incidence.by_end) else 0) + 1,
        "since": fact_count,
        "until": fact_count,
        "twins": fact_count if len(incidence.twins) else 0,
    }
    for part, size in sizes.items():
        _check_size(f"{name}.{part}", getattr(incidence, part), size)


def _check_size(name: str, array: AnyInts, size: int) -> None:
    if len(array) != size:
        raise GraphError(f"{name} has {len(array)} values, expected {size}")


def _check_offsets(name: str, incidence: Incidence) -> None:
    offsets, intervals = incidence.offsets, len(incidence.by_end)
    _check_ascent(f"{name}.offsets", offsets, len(incidence.facts))
    _check_ascent(f"{name}.interval_offsets", incidence.interval_offsets, intervals)
    sizes = offsets[2::3] - offsets[1::3]
    # Without any intervals, interval_offsets is a single 0.
    expected = np.diff(incidence.interval_offsets) if intervals else np.zeros_like(sizes)
    if not np.array_equal(sizes, expected):
        raise GraphError(f"{name}.interval_offsets do not match {name}.offsets")
    if incidence.level_offsets.tolist() != list(_level_offsets(intervals)):
        raise GraphError(f"{name}.level_offsets do not match the intervals")
    _check_size(f"{name}.tops", incidence.tops, int(incidence.level_offsets[-1]))


def _check_ascent(name: str, offsets: Ints, stop: int) -> None:
    """Raise GraphError unless offsets start at 0, never descend, and end at `stop`."""
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != stop:
        raise GraphError(f"{name} do not go from 0 to {stop}")
    if np.any(offsets[1:] < offsets[:-1]):
        raise GraphError(f"{name} descend")


def _level_offsets(interval_count: int) -> Iterator[int]:
    """Yield where each level of the tree of maxima starts, and where the last one ends."""
    size, offset = interval_count, 0
    yield offset
    while size > 1:
        size = -(-size // FAN_OUT)
        offset += size
        yield offset
