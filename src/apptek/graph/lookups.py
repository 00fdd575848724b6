"""The facts of an entity by direction, those between two, and what holds between two at a time."""

import numpy as np
import numpy.typing as npt

from apptek.arrays import Ints
from apptek.data.times import UNKNOWN
from apptek.graph.temporal_graph import TemporalGraph


def outgoing(graph: TemporalGraph, entity: int) -> Ints:
    """The facts whose subject it is."""
    return _slot(graph, entity)


def incoming(graph: TemporalGraph, entity: int) -> Ints:
    """The facts whose object it is."""
    return _slot(graph, graph.entity_count + entity)


def _slot(graph: TemporalGraph, slot: int) -> Ints:
    offsets = graph.incidence.offsets
    return graph.incidence.facts[offsets[3 * slot] : offsets[3 * slot + 3]]


def between(graph: TemporalGraph, subject: int, object_: int) -> Ints:
    """The facts from one entity to another."""
    mine, theirs = outgoing(graph, subject), incoming(graph, object_)
    if len(mine) <= len(theirs):
        found: Ints = mine[graph.facts.objects[mine] == object_]
    else:
        found = theirs[graph.facts.subjects[theirs] == subject]
    return found


def ends_of(graph: TemporalGraph, facts: npt.NDArray[np.integer]) -> tuple[Ints, Ints]:
    """First and last position of each fact; an unknown end is where the known one is."""
    since, until = graph.since[facts], graph.until[facts]
    return np.where(since == UNKNOWN, until, since), np.where(until == UNKNOWN, since, until)


def predicates_at(graph: TemporalGraph, subject: int, object_: int, moment: int) -> list[int]:
    """What holds from one entity to another at a position; at an unknown one, what is undated.

    An entity of -1 is unknown to the graph.
    """
    if min(subject, object_) < 0:
        return []
    facts = between(graph, subject, object_)
    if not len(facts):
        return []
    first, last = ends_of(graph, facts)
    held = facts[(first <= moment) & (moment <= last)]
    return sorted(set(graph.facts.predicates[held].tolist()))
