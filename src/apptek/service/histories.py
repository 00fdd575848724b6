"""What is known of an entity, or between two, over time: training facts in order."""

from dataclasses import dataclass

import numpy as np

from apptek.arrays import Ints
from apptek.data.facts import Dataset
from apptek.data.times import UNKNOWN
from apptek.explain.wording import when_text
from apptek.graph.lookups import between, ends_of, incoming, outgoing
from apptek.graph.temporal_graph import TemporalGraph
from apptek.service.schemas import Fact, Timeline

PARTS = 120  # of the span, for counting


@dataclass(frozen=True, slots=True)
class Window:
    """Positions from first to last, both included."""

    first: int
    last: int


def whole_span(graph: TemporalGraph) -> Window:
    """From the earliest to the latest training fact; 0 to 0 where all are undated."""
    first, last = ends_of(graph, np.arange(len(graph.facts)))
    dated = first != UNKNOWN
    return Window(int(first[dated].min()), int(last[dated].max())) if dated.any() else Window(0, 0)


def facts_of(graph: TemporalGraph, entity: int) -> Ints:
    """All facts of an entity in the order of time, undated ones last."""
    theirs = incoming(graph, entity)
    strangers = theirs[graph.facts.subjects[theirs] != entity]  # a self-loop counts once
    return _by_time(graph, np.concatenate([outgoing(graph, entity), strangers]))


def facts_between(graph: TemporalGraph, subject: int, object_: int) -> Ints:
    """The facts from one entity to another, in the order of time."""
    return _by_time(graph, between(graph, subject, object_))


def _by_time(graph: TemporalGraph, facts: Ints) -> Ints:
    first, last = ends_of(graph, facts)
    return facts[np.lexsort((facts, last, first, first == UNKNOWN))]


def timeline(
    data: Dataset, graph: TemporalGraph, facts: Ints, window: Window, limit: int
) -> Timeline:
    """The facts of a window: the first `limit` of them in words, and counts of all.

    Undated facts are counted apart.
    """
    first, last = ends_of(graph, facts)
    dated = first != UNKNOWN
    inside = dated & (first <= window.last) & (last >= window.first)
    starts = np.clip(first[inside], window.first, window.last).astype(np.int64) - window.first
    width = window.last - window.first + 1
    parts = min(PARTS, width)
    counts = np.bincount(starts * parts // width, minlength=parts)
    return Timeline(
        total=int(inside.sum()),
        undated=int((~dated).sum()),
        first=window.first,
        last=window.last,
        counts=counts.tolist(),
        facts=[in_words(data, graph, int(fact)) for fact in facts[inside][:limit]],
    )


def in_words(data: Dataset, graph: TemporalGraph, fact: int) -> Fact:
    """A fact with its names and dates."""
    facts, axis = graph.facts, graph.axis
    since, until = int(facts.since[fact]), int(facts.until[fact])
    begins = axis.format(since)
    ends = begins if since == until else axis.format(until)
    (first,), (last,) = ends_of(graph, np.asarray([fact]))
    dated = int(first) != UNKNOWN
    return Fact(
        fact=fact,
        subject=data.entities[int(facts.subjects[fact])],
        predicate=data.predicates[int(facts.predicates[fact])],
        object=data.entities[int(facts.objects[fact])],
        since=begins,
        until=ends,
        date=when_text(begins, ends),
        start=int(first) if dated else None,
        end=int(last) if dated else None,
    )
