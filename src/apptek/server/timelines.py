"""The facts of an entity, or between two entities, in order of time."""

import numpy as np

from apptek.arrays import Doubles, Ints, Longs
from apptek.evaluation.predicate_classes import LEVELS, PredicateClasses
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.forecast.partners import members_of
from apptek.forecast.window import Window
from apptek.graph.lookups import between, by_time, dated_in, ends_of, facts_between, facts_of
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.model import Model
from apptek.present.wording import when_text
from apptek.server.problem_json import ServiceError, quoted
from apptek.server.responses import EntityTimeline, Fact, PairHistory, Timeline
from apptek.server.served_model import ServedModel

PARTS = 120  # the most counts over a window
SEVERAL = 6  # predicates with their own layer, if there are no classes
OTHERS = "other"


def read_window(
    served: ServedModel,
    since: str | None,
    until: str | None,
    named: tuple[str, str] = ("from", "to"),
) -> Window:
    """Return the window between two written times; by default the whole span of the data.

    Raises a ServiceError if a time is unknown, or if the window ends before it begins; `named` are
    the names of both in the message.
    """
    axis = served.model.dataset.axis
    first, last = served.span.first, served.span.last
    if since is not None:
        first = served.position(_known_time(served, since, named[0]))
    if until is not None:
        # "to=2014" includes the whole of 2014: take the last moment that the text can mean.
        code = np.asarray([_known_time(served, until, named[1])], np.int32)
        last = served.position(int(axis.last_moments(code)[0]))
    if first > last and since is not None and until is not None:
        raise ServiceError(
            422,
            f"The window ends at {quoted(until)}, before it begins at {quoted(since)}.",
            advice="Swap the two times.",
            where=named[1],
        )
    # With one end given, a time outside the span makes an empty window, not an error.
    return Window(min(first, last), last) if since is None else Window(first, max(first, last))


def _known_time(served: ServedModel, text: str, where: str) -> int:
    code = served.time(text, where)
    if code == UNKNOWN:
        raise ServiceError(
            422,
            "A window begins and ends at known times.",
            advice=f"Write a time, or leave out {where!r} for the whole span.",
            where=where,
            title="Not a time of this data",
        )
    return code


def entity_timeline(
    served: ServedModel, name: str, window: Window, limit: int, *, members: bool = False
) -> EntityTimeline:
    """Return the timeline of an entity, or of all its members."""
    data, graph = served.model.dataset, served.model.graph
    group = members_of(served.predictor.answerer, name)
    if not (members and group):
        group = [*served.ids({"name": name}), *group[1:]]
    ids = group if members else group[:1]
    facts = by_time(graph, np.unique(np.concatenate([facts_of(graph, one) for one in ids])))
    timeline = timeline_of(served.model, facts, window, limit)
    inside = dated_in(graph, facts, window.first, window.last)
    of_all = graph.facts.predicates[inside]
    layers = layers_of(served, np.bincount(of_all, minlength=len(data.predicates)))
    sides = []
    for ends in (graph.facts.subjects, graph.facts.objects):
        own = inside[np.isin(ends[inside], ids)]
        kinds = layers.of_predicate[graph.facts.predicates[own]]
        sides.append([_counts(graph, own[kinds == row], window) for row in range(len(layers))])
    return EntityTimeline(
        entity=name if members else data.entities[group[0]],
        members=[data.entities[one] for one in group],
        layers=list(layers.names),
        does=sides[0],
        receives=sides[1],
        **dict(timeline),
    )


def layers_of(served: ServedModel, weights: Doubles | Longs) -> PredicateClasses:
    """Return groups of predicates if the model has them, else classes, else single predicates.

    A predicate without a class, or that is none of those with the largest weights, is `other`.
    """
    words = served.predictor.answerer.predicates
    for level in reversed(LEVELS):
        found = words.levels.get(level)
        if found is not None and (level == "group" or len(found) <= 2 * SEVERAL):
            return _with_others(found.names, found.of_predicate)
    largest = np.argsort(-weights, kind="stable")[:SEVERAL]
    of_predicate = np.full(len(weights), -1, np.int32)
    of_predicate[largest] = np.arange(len(largest), dtype=np.int32)
    names = tuple(words.labels[predicate] for predicate in largest.tolist())
    return _with_others(names, of_predicate)


def _with_others(names: tuple[str, ...], of_predicate: Ints) -> PredicateClasses:
    if (of_predicate >= 0).all():
        return PredicateClasses(names, of_predicate)
    return PredicateClasses(
        (*names, OTHERS), np.where(of_predicate < 0, len(names), of_predicate).astype(np.int32)
    )


def _counts(graph: TemporalGraph, facts: Ints, window: Window) -> list[int]:
    """Return how many facts begin in each part of a window."""
    # A fact that began before the window counts in the first part. int64: starts * parts is large.
    starts = np.clip(ends_of(graph, facts)[0], window.first, window.last).astype(np.int64)
    parts = min(PARTS, window.length)
    places = (starts - window.first) * parts // window.length
    counts: list[int] = np.bincount(places, minlength=parts).tolist()
    return counts


def pair_history(
    served: ServedModel, subject: str, object_: str, window: Window, limit: int
) -> PairHistory:
    """Return the timelines between two entities, one for each direction."""
    data, graph = served.model.dataset, served.model.graph
    source, target = served.pair(subject, object_)
    forward, backward = (
        timeline_of(served.model, by_time(graph, between(graph, *way)), window, limit)
        for way in ((source, target), (target, source))
    )
    starts = ends_of(graph, facts_between(graph, source, target))[0]
    dated = starts[starts != UNKNOWN]
    return PairHistory(
        subject=data.entities[source],
        object=data.entities[target],
        forward=forward,
        backward=backward,
        latest=TimeAxis(data.axis.unit).format(int(dated.max())) if len(dated) else None,
    )


def timeline_of(model: Model, facts: Ints, window: Window, limit: int) -> Timeline:
    """Return the facts inside a window: the first `limit` with names, and how many there are.

    Undated facts are counted and listed separately.
    """
    inside = dated_in(model.graph, facts, window.first, window.last)
    undated = facts[ends_of(model.graph, facts)[0] == UNKNOWN]
    return Timeline(
        total=len(inside),
        undated=len(undated),
        first=window.first,
        last=window.last,
        facts=[describe_fact(model, int(fact)) for fact in inside[:limit]],
        without_date=[describe_fact(model, int(fact)) for fact in undated[:limit]],
    )


def describe_fact(model: Model, fact: int) -> Fact:
    """Return a fact of the graph with its names and dates."""
    data, graph, facts = model.dataset, model.graph, model.graph.facts
    since, until = (data.axis.format(int(codes[fact])) for codes in (facts.since, facts.until))
    (start,), (end,) = ends_of(graph, np.asarray([fact]))
    is_dated = start != UNKNOWN
    return Fact(
        fact=fact,
        subject=data.entities[int(facts.subjects[fact])],
        predicate=data.predicates[int(facts.predicates[fact])],
        object=data.entities[int(facts.objects[fact])],
        since=since,
        until=until,
        date=when_text(since, until),
        start=int(start) if is_dated else None,
        end=int(end) if is_dated else None,
    )
