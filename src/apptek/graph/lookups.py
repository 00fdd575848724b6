"""Look-ups by entity: its facts in each direction, and the facts and predicates between two."""

import numpy as np
import numpy.typing as npt

from apptek.arrays import Ints
from apptek.facts.times import UNKNOWN
from apptek.graph.temporal_graph import FOR_EVER, TemporalGraph

SOME = 65_536  # facts that are looked at together


def outgoing(graph: TemporalGraph, entity: int) -> Ints:
    """The facts of which the entity is the subject."""
    return _slot(graph, entity)


def incoming(graph: TemporalGraph, entity: int) -> Ints:
    """The facts of which the entity is the object."""
    return _slot(graph, graph.entity_count + entity)


def _slot(graph: TemporalGraph, slot: int) -> Ints:
    offsets = graph.incidence.offsets
    return graph.incidence.facts[offsets[3 * slot] : offsets[3 * slot + 3]]


def between(graph: TemporalGraph, subject: int, object_: int) -> Ints:
    """The facts from one entity to another. Costs as much as the entity with fewer facts has."""
    of_subject, of_object = outgoing(graph, subject), incoming(graph, object_)
    facts: Ints
    if len(of_subject) <= len(of_object):
        facts = of_subject[graph.facts.objects[of_subject] == object_]
    else:
        facts = of_object[graph.facts.subjects[of_object] == subject]
    return facts


def facts_of(graph: TemporalGraph, entity: int) -> Ints:
    """All facts of an entity in order of time, undated ones last."""
    received = incoming(graph, entity)
    from_others = received[graph.facts.subjects[received] != entity]  # count a self-loop once
    return by_time(graph, np.concatenate([outgoing(graph, entity), from_others]))


def facts_between(graph: TemporalGraph, one: int, other: int) -> Ints:
    """The facts between two entities in both directions, by time; undated ones last."""
    directions = {(one, other), (other, one)}  # a single one where they are the same
    return by_time(graph, np.concatenate([between(graph, *each) for each in directions]))


def by_time(graph: TemporalGraph, facts: Ints) -> Ints:
    """The facts in order of time, undated ones last."""
    first, last = ends_of(graph, facts)
    return facts[np.lexsort((facts, last, first, first == UNKNOWN))]


def dated_in(graph: TemporalGraph, facts: Ints, first: int, last: int) -> Ints:
    """The dated facts that touch a span of time, in the order that they have."""
    starts, ends = ends_of(graph, facts)
    inside: Ints = facts[(starts != UNKNOWN) & (starts <= last) & (ends >= first)]
    return inside


def is_timeless(graph: TemporalGraph) -> bool:
    """Whether no fact has a date. Looks no further than up to the first that has one."""
    ends = graph.since, graph.until
    starts = range(0, len(graph.facts), SOME)
    return all(bool((end[at : at + SOME] == UNKNOWN).all()) for at in starts for end in ends)


def ends_of(graph: TemporalGraph, facts: npt.NDArray[np.integer]) -> tuple[Ints, Ints]:
    """The first and last position of each fact; an unknown end is taken to be the known one."""
    since, until = graph.since[facts], graph.until[facts]
    return np.where(since == UNKNOWN, until, since), np.where(until == UNKNOWN, since, until)


def knows_end(graph: TemporalGraph, fact: int, moment: int) -> bool:
    """Whether a query at a moment knows when a fact ends: looking ahead, no end that is to come."""
    if not graph.past_only or moment == UNKNOWN or graph.since[fact] == UNKNOWN:
        return True
    return bool(graph.until[fact] < moment)


def time_distance(graph: TemporalGraph, fact: int, moment: int) -> int | None:
    """Signed distance of a fact to a moment on the axis; below 0: before. None: undated."""
    since, until = int(graph.since[fact]), int(graph.until[fact])
    if not knows_end(graph, fact, moment):
        until = int(FOR_EVER) if graph.open_end == "ongoing" else UNKNOWN
    if moment == UNKNOWN or since == until == UNKNOWN:
        return None
    first, last = (until if since == UNKNOWN else since), (since if until == UNKNOWN else until)
    return max(first - moment, 0) or min(last - moment, 0)


def is_lasting(graph: TemporalGraph, fact: int) -> bool:
    """Whether a fact is an interval, also one that lasts because its end is open."""
    since, until = int(graph.since[fact]), int(graph.until[fact])
    return since != until and UNKNOWN not in (since, until)
