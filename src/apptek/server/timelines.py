"""The facts of an entity or between two entities, in time order."""

import numpy as np

from apptek.arrays import Doubles, Ints, Longs
from apptek.evaluation.predicate_classes import LEVELS, PredicateClasses
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.forecast.partners import members_of
from apptek.forecast.window import Window
from apptek.graph.lookups import by_time, dated_in, ends_of, facts_between, facts_of
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.model import Model
from apptek.present.wording import when_text
from apptek.server.problem_json import ServiceError, quoted
from apptek.server.requests import HistoryQuery, Name, RangeQuery, TimelineQuery
from apptek.server.responses import EntityTimeline, Fact, HistoryPage
from apptek.server.served_model import ServedModel

PARTS = 120  # maximum number of counts over a window
SEVERAL = 6  # predicates with their own layer, if there are no classes
OTHERS = "other"


def read_window(served: ServedModel, asked: RangeQuery) -> Window:
    """Return the window between two written times; by default the whole time span of the data.

    Raises a ServiceError if a time is unknown, or if the window ends before it begins.
    """
    axis = served.model.dataset.axis
    first, last = served.span.first, served.span.last
    if asked.start is not None:
        first = served.position(_known_time(served, asked.start, "from"))
    if asked.until is not None:
        # "until=2014" includes all of 2014: use the last moment that the text can mean.
        code = np.asarray([_known_time(served, asked.until, "until")], np.int32)
        last = served.position(int(axis.last_moments(code)[0]))
    if first > last and asked.start is not None and asked.until is not None:
        raise ServiceError(
            422,
            f"The window ends at {quoted(asked.until)}, before it begins at {quoted(asked.start)}.",
            advice="Swap the two times.",
            where="until",
        )
    # If only one end is given, a time outside the span gives an empty window, not an error.
    return (
        Window(min(first, last), last) if asked.start is None else Window(first, max(first, last))
    )


def _known_time(served: ServedModel, text: str, where: str) -> int:
    code = served.time(text, where)
    if code == UNKNOWN:
        raise ServiceError(
            422,
            "A window needs a known start and end.",
            advice=f"Give a time, or leave out {where!r} for the whole span.",
            where=where,
            title="Not a valid time for this data",
        )
    return code


def timeline(served: ServedModel, name: Name, asked: TimelineQuery) -> EntityTimeline:
    """Return the facts of an entity, in order of time, and what it does and receives as counts."""
    data, graph = served.model.dataset, served.model.graph
    window, group = read_window(served, asked), members_of(served.predictor.answerer, name)
    if not (asked.members and group):
        group = [*served.ids({"name": name}), *group[1:]]
    ids = group if asked.members else group[:1]
    facts = by_time(graph, np.unique(np.concatenate([facts_of(graph, one) for one in ids])))
    inside = dated_in(graph, facts, window.first, window.last)
    listed = _in_range(served, facts, asked)
    of_all = graph.facts.predicates[inside]
    layers = layers_of(served, np.bincount(of_all, minlength=len(data.predicates)))
    sides = []
    for ends in (graph.facts.subjects, graph.facts.objects):
        own = inside[np.isin(ends[inside], ids)]
        kinds = layers.of_predicate[graph.facts.predicates[own]]
        sides.append([_counts(graph, own[kinds == row], window) for row in range(len(layers))])
    return EntityTimeline(
        entity=name if asked.members else data.entities[group[0]],
        members=[data.entities[one] for one in group],
        total=len(listed),
        facts=described_facts(served, listed[: asked.limit]),
        first=window.first,
        last=window.last,
        layers=list(layers.names),
        does=sides[0],
        receives=sides[1],
    )


def history(served: ServedModel, asked: HistoryQuery) -> HistoryPage:
    """Return the recorded facts between two entities, in both directions, page by page.

    With `from` or `until`, return only dated facts in that window.
    """
    data, graph = served.model.dataset, served.model.graph
    pair = served.pair(asked.subject, asked.object)
    facts = facts_between(graph, *pair)
    starts = ends_of(graph, facts)[0]
    dated = starts[starts != UNKNOWN]
    facts, end = _in_range(served, facts, asked), asked.offset + asked.limit
    return HistoryPage(
        subject=data.entities[pair[0]],
        object=data.entities[pair[1]],
        total=len(facts),
        facts=tuple(described_facts(served, facts[asked.offset : end])),
        latest=TimeAxis(data.axis.unit).format(int(dated.max())) if len(dated) else None,
        next_offset=end if end < len(facts) else None,
    )


def _in_range(served: ServedModel, facts: Ints, asked: RangeQuery) -> Ints:
    """Return the dated facts in the requested range, or all facts if no range was requested."""
    if asked.start is None and asked.until is None:
        return facts
    window = read_window(served, asked)
    return dated_in(served.model.graph, facts, window.first, window.last)


def layers_of(served: ServedModel, weights: Doubles | Longs) -> PredicateClasses:
    """Return groups of predicates if the model has them, else classes, else single predicates.

    A predicate belongs to `other` if it has no class, or is not among the predicates with the
    largest weights.
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
    # Facts that began before the window count in the first part. int64: starts * parts is large.
    starts = np.clip(ends_of(graph, facts)[0], window.first, window.last).astype(np.int64)
    parts = min(PARTS, window.length)
    places = (starts - window.first) * parts // window.length
    counts: list[int] = np.bincount(places, minlength=parts).tolist()
    return counts


def described_facts(served: ServedModel, facts: Ints) -> list[Fact]:
    """Return facts in the graph with their names and dates."""
    return [describe_fact(served.model, fact) for fact in facts.tolist()]


def describe_fact(model: Model, fact: int) -> Fact:
    """Return a fact in the graph with its names and dates."""
    data, facts = model.dataset, model.graph.facts
    since, until = (data.axis.format(int(codes[fact])) for codes in (facts.since, facts.until))
    return Fact(
        fact=fact,
        subject=data.entities[int(facts.subjects[fact])],
        predicate=data.predicates[int(facts.predicates[fact])],
        object=data.entities[int(facts.objects[fact])],
        since=since,
        until=until,
        date=when_text(since, until),
    )
