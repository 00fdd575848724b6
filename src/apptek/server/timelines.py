"""The facts of an entity or a pair in time order, and the answers about a pair over time."""

import numpy as np
from pydantic import BaseModel, Field

from apptek.arrays import Doubles, Ints, Longs, Matrix
from apptek.config import View
from apptek.evaluation.predicate_classes import LEVELS, PredicateClasses
from apptek.facts.queries import Queries
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.forecast.learning import codes_at
from apptek.forecast.partners import members_of
from apptek.forecast.window import Window, time_of
from apptek.graph.lookups import between, by_time, dated_in, ends_of, facts_between, facts_of
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.model import Model
from apptek.present.wording import when_text
from apptek.results import VIEW
from apptek.server.problem_json import ServiceError, quoted
from apptek.server.requests import HistoryQuery, Name, RangeQuery, RibbonQuery, TimelineQuery
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
    """Return an entity's facts in order of time, and counts of what it does and receives."""
    data, graph = served.model.dataset, served.model.graph
    window, group = read_window(served, asked), members_of(served.predictor.answerer, name)
    if not (asked.members and group):
        group = [*served.ids({"name": name}), *group[1:]]
    ids = group if asked.members else group[:1]
    facts = by_time(graph, facts_of(graph, ids))
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
        facts=[describe_fact(served.model, fact) for fact in listed[: asked.limit].tolist()],
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
    page = facts[asked.offset : end].tolist()
    return HistoryPage(
        subject=data.entities[pair[0]],
        object=data.entities[pair[1]],
        total=len(facts),
        facts=tuple(describe_fact(served.model, fact) for fact in page),
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
    # Facts that began before the window are counted in the first part. int64: starts * parts is
    # large.
    starts = np.clip(ends_of(graph, facts)[0], window.first, window.last).astype(np.int64)
    parts = min(PARTS, window.length)
    places = (starts - window.first) * parts // window.length
    counts: list[int] = np.bincount(places, minlength=parts).tolist()
    return counts


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


STEPS = 400  # maximum number of times to answer; longer ranges are sampled evenly
LISTED = 8  # number of predicates listed for each time
MARKS = 3000  # maximum number of facts to return per direction


class Layer(BaseModel):
    """A class of predicates whose probabilities are summed."""

    name: str


class ListedPredicate(BaseModel):
    """A predicate that occurs in the response, and its layer."""

    name: str
    label: str
    layer: int


class Mark(BaseModel):
    """A fact about the pair, with its time and its predicate as positions."""

    fact: int
    start: int
    end: int
    predicate: int


class RibbonDirection(BaseModel):
    """One direction: for each time, the sum of each layer and the most probable predicates."""

    subject: str
    object: str
    shares: list[list[float]] = Field(description="For each time, the probability of each layer.")
    first: list[list[tuple[int, float]]] = Field(
        description="For each time, the most probable predicates and their probabilities."
    )
    marks: list[Mark]


class Ribbon(BaseModel):
    """The answers about a pair over a range of times."""

    layers: list[Layer]
    predicates: list[ListedPredicate]
    positions: list[int]
    times: list[str]
    views: list[View] = Field(description=VIEW)
    forward: RibbonDirection
    backward: RibbonDirection


def ribbon(served: ServedModel, asked: RibbonQuery) -> Ribbon:
    """Return the ribbon of a pair. Without `until`, it extends beyond the last fact."""
    window, pair = read_window(served, asked), served.pair(asked.subject, asked.object)
    if asked.until is None:
        window = Window(window.first, max(window.last, served.span.last) + served.beyond)
    model, answerer = served.model, served.answerer(asked.view)
    positions = _positions(window)
    codes = codes_at(model.dataset.axis, positions)
    one, other, none = (np.full(len(codes), value, np.int32) for value in (*pair, -1))
    ranked = [answerer.ranked(Queries(*ends, codes, none)) for ends in ((one, other), (other, one))]
    chances = [each.probabilities for each in ranked]
    means = np.mean([each.mean(axis=0) for each in chances], axis=0)
    classes = layers_of(served, means)
    (forward, backward), used = _directions(model, pair, chances, classes, window)
    labels, listed = answerer.labels, [model.dataset.predicates[predicate] for predicate in used]
    return Ribbon(
        layers=[Layer(name=name) for name in classes.names],
        predicates=[
            ListedPredicate(name=name, label=labels.label(name), layer=layer)
            for name, layer in zip(listed, classes.of_predicate[used].tolist(), strict=True)
        ],
        positions=positions.tolist(),
        times=[time_of(model.dataset.axis, position) for position in positions.tolist()],
        views=ranked[0].views,
        forward=forward,
        backward=backward,
    )


def _positions(window: Window) -> Longs:
    """Every position in a window, or evenly spaced ones that include both ends."""
    count = min(window.last - window.first + 1, STEPS)
    return np.unique(np.linspace(window.first, window.last, count).round().astype(np.int64))


def _directions(
    model: Model, pair: tuple[int, int], chances: list[Matrix], classes: PredicateClasses,
    window: Window,
) -> tuple[list[RibbonDirection], list[int]]:  # fmt: skip
    """Return both directions, and the predicate ids that they refer to by index."""
    data, graph = model.dataset, model.graph
    ways = (pair, pair[::-1])
    orders = [np.argsort(-each, axis=1, kind="stable")[:, :LISTED] for each in chances]
    rows = [
        dated_in(graph, by_time(graph, between(graph, *way)), window.first, window.last)[:MARKS]
        for way in ways
    ]
    listed = [order.ravel() for order in orders]
    used = np.unique(np.concatenate([*listed, *(graph.facts.predicates[facts] for facts in rows)]))
    place = np.full(len(classes.of_predicate), -1, np.int64)
    place[used] = np.arange(len(used))
    directions = []
    for way, each, order, facts in zip(ways, chances, orders, rows, strict=True):
        best = _rounded(np.take_along_axis(each, order, 1))
        first, last = (ends.tolist() for ends in ends_of(graph, facts))
        places = place[graph.facts.predicates[facts]].tolist()
        columns = zip(facts.tolist(), first, last, places, strict=True)
        directions.append(
            RibbonDirection(
                subject=data.entities[way[0]],
                object=data.entities[way[1]],
                shares=_rounded(classes.sums(each)),
                first=[
                    list(zip(*both, strict=True))
                    for both in zip(place[order].tolist(), best, strict=True)
                ],
                marks=[Mark(fact=f, start=a, end=b, predicate=p) for f, a, b, p in columns],
            )
        )
    return directions, used.tolist()


def _rounded(values: Matrix | Doubles) -> list[list[float]]:
    return np.round(values.astype(np.float64), 4).tolist()  # type: ignore[no-any-return]
