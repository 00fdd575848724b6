"""The answers about a pair at each time in a range, in both directions, as one response."""

import numpy as np
from pydantic import BaseModel, Field

from apptek.arrays import Doubles, Longs, Matrix
from apptek.config import View
from apptek.evaluation.predicate_classes import PredicateClasses
from apptek.facts.queries import Queries
from apptek.forecast.learning import codes_at
from apptek.forecast.window import Window, time_of
from apptek.graph.lookups import between, by_time, dated_in, ends_of
from apptek.models.model import Model
from apptek.results import VIEW
from apptek.server.requests import RibbonQuery
from apptek.server.served_model import ServedModel
from apptek.server.timelines import layers_of, read_window

STEPS = 400  # maximum number of times to answer; longer ranges are sampled evenly
LISTED = 8  # number of predicates listed for each time
MARKS = 3000  # maximum number of facts to return per direction


class Layer(BaseModel):
    """A class of predicates whose probabilities are added up."""

    name: str


class ListedPredicate(BaseModel):
    """A predicate that occurs in the response, and its layer."""

    name: str
    label: str
    layer: int


class Mark(BaseModel):
    """A fact of the pair: its time and its predicate, both as positions."""

    fact: int
    start: int
    end: int
    predicate: int


class RibbonDirection(BaseModel):
    """One direction: for each time the sums of all layers, and the most probable predicates."""

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
    """Return the ribbon of a pair; without `until` it goes on after the last fact."""
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
