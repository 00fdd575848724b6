"""The answers about a pair over a range of times, in both directions and in one response."""

from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, Field

from apptek.arrays import Doubles, Ints, Longs, Matrix
from apptek.config import View
from apptek.evaluation.predicate_classes import LEVELS, PredicateClasses
from apptek.facts.facts import Facts
from apptek.facts.queries import Queries
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.forecast.learning import codes_at
from apptek.forecast.window import Window
from apptek.graph.lookups import between, ends_of
from apptek.results import VIEW
from apptek.server.served_model import ServedModel
from apptek.server.timelines import describe_fact, describe_held_out, held_out_facts

STEPS = 400  # times that are answered at most; of a longer range, so many evenly spread ones
MARKS = 3000  # facts of a direction that are returned
SEVERAL = 6  # predicates that make a layer of their own where there are no classes
OTHERS = "other"


class Layer(BaseModel):
    """A class of predicates whose probabilities are added up."""

    name: str
    predicates: list[int] = Field(description="Which of the listed predicates belong to it.")


class ListedPredicate(BaseModel):
    """A predicate that occurs in the response, and its layer."""

    name: str
    label: str
    layer: int


class Mark(BaseModel):
    """A fact between the two: its time, its predicate, both as positions.

    fact: its number; -1 for a fact of valid or test that answers do not use.
    """

    fact: int
    start: int
    end: int
    predicate: int
    date: str


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

    level: str = Field(description="What a layer is: group, class or predicate.")
    layers: list[Layer]
    predicates: list[ListedPredicate]
    positions: list[int]
    times: list[str]
    views: list[View] = Field(description=VIEW)
    forward: RibbonDirection
    backward: RibbonDirection


@dataclass(frozen=True, slots=True)
class _Answers:
    """The probabilities of one direction, (n, R), and the ids of its two entities."""

    probabilities: Matrix
    subject: int
    object: int


def ribbon(
    served: ServedModel, pair: tuple[int, int], window: Window, view: View, top: int = 8
) -> Ribbon:
    """The ribbon of a pair over a window; `past_only`: from facts before each time alone."""
    answerer = served.answerer(view)
    axis = served.predictor.model.dataset.axis
    positions = _positions(window)
    codes = codes_at(axis, positions)

    def answers(subject: int, object_: int) -> _Answers:
        columns = [np.full(len(codes), value, np.int32) for value in (subject, object_, -1)]
        ranked = answerer.ranked(Queries(columns[0], columns[1], codes, columns[2]))
        return _Answers(ranked.probabilities, subject, object_)

    both = [answers(*pair), answers(*pair[::-1])]
    views = answerer.from_past_only(Queries(codes, codes, codes, codes))
    level, classes = _layers(served, [each.probabilities for each in both])
    directions, used = _directions(served, both, classes, window, top)
    data, labels = served.predictor.model.dataset, answerer.labels
    listed = [data.predicates[predicate] for predicate in used]
    return Ribbon(
        level=level,
        layers=[
            Layer(
                name=name,
                predicates=[
                    place for place, p in enumerate(used) if classes.of_predicate[p] == row
                ],
            )
            for row, name in enumerate(classes.names)
        ],
        predicates=[
            ListedPredicate(name=name, label=labels.label(name), layer=layer)
            for name, layer in zip(listed, classes.of_predicate[used].tolist(), strict=True)
        ],
        positions=positions.tolist(),
        times=_texts(axis, positions),
        views=["past_only" if from_past else "all_facts" for from_past in views.tolist()],
        forward=directions[0],
        backward=directions[1],
    )


def _positions(window: Window) -> Longs:
    """Every position of a window, or evenly spread ones, its ends among them."""
    count = min(window.last - window.first + 1, STEPS)
    return np.unique(np.linspace(window.first, window.last, count).round().astype(np.int64))


def _texts(axis: TimeAxis, positions: Longs) -> list[str]:
    plain = TimeAxis(axis.unit)
    return [plain.format(int(position)) for position in positions]


def _layers(served: ServedModel, both: list[Matrix]) -> tuple[str, PredicateClasses]:
    """Groups of predicates where the model has them, else classes, else single predicates.

    A predicate without a class, or that is none of the likely ones, belongs to `other`.
    """
    words = served.predictor.answerer.predicates
    for level in reversed(LEVELS):
        found = words.levels.get(level)
        if found is not None and (level == "group" or len(found) <= 2 * SEVERAL):
            return level, _with_others(found.names, found.of_predicate)
    means = np.mean([each.mean(axis=0) for each in both], axis=0)
    likely = np.argsort(-means, kind="stable")[:SEVERAL]
    of_predicate = np.full(len(means), -1, np.int32)
    of_predicate[likely] = np.arange(len(likely), dtype=np.int32)
    names = tuple(words.labels[predicate] for predicate in likely.tolist())
    return "predicate", _with_others(names, of_predicate)


def _with_others(names: tuple[str, ...], of_predicate: Ints) -> PredicateClasses:
    if (of_predicate >= 0).all():
        return PredicateClasses(names, of_predicate)
    return PredicateClasses(
        (*names, OTHERS), np.where(of_predicate < 0, len(names), of_predicate).astype(np.int32)
    )


def _directions(
    served: ServedModel,
    both: list[_Answers],
    classes: PredicateClasses,
    window: Window,
    top: int,
) -> tuple[list[RibbonDirection], list[int]]:
    """Both directions, and the ids of the predicates that they list by their places."""
    names = served.predictor.model.dataset.entities
    graph = served.predictor.model.graph
    rows = [_facts_in(served, each, window) for each in both]
    orders = [np.argsort(-each.probabilities, axis=1, kind="stable")[:, :top] for each in both]
    model = served.predictor.model
    unused = [held_out_facts(model, each.subject, each.object, window) for each in both]
    happened = [graph.facts.predicates[facts] for facts in rows]
    happened += [facts.predicates for facts in unused]
    used = np.unique(np.concatenate([*(order.ravel() for order in orders), *happened]))
    place = np.full(len(classes.of_predicate), -1, np.int64)
    place[used] = np.arange(len(used))
    directions = [
        RibbonDirection(
            subject=names[each.subject],
            object=names[each.object],
            shares=_rounded(classes.sums(each.probabilities)),
            first=[
                list(zip(places, values, strict=True))
                for places, values in zip(
                    place[order].tolist(),
                    _rounded(np.take_along_axis(each.probabilities, order, 1)),
                    strict=True,
                )
            ],
            marks=[
                *(_mark(served, int(fact), place) for fact in facts),
                *_unused_marks(served, held_out, place),
            ],
        )
        for each, order, facts, held_out in zip(both, orders, rows, unused, strict=True)
    ]
    return directions, used.tolist()


def _facts_in(served: ServedModel, ends: _Answers, window: Window) -> Ints:
    """The dated facts of a direction inside the window, in order of time."""
    graph = served.predictor.model.graph
    facts = between(graph, ends.subject, ends.object)
    first, last = ends_of(graph, facts)
    inside = (first != UNKNOWN) & (first <= window.last) & (last >= window.first)
    order = np.lexsort((facts[inside], first[inside]))[:MARKS]
    found: Ints = facts[inside][order]
    return found


def _mark(served: ServedModel, fact: int, place: Longs) -> Mark:
    model = served.predictor.model
    described = describe_fact(model.dataset, model.graph, fact)
    return Mark(
        fact=fact,
        start=described.start or 0,
        end=described.end or 0,
        predicate=int(place[int(model.graph.facts.predicates[fact])]),
        date=described.date,
    )


def _unused_marks(served: ServedModel, facts: Facts, place: Longs) -> list[Mark]:
    """The dated facts of a direction that answers do not use."""
    described = describe_held_out(served.predictor.model, facts)
    predicates = place[facts.predicates].tolist()
    return [
        Mark(fact=fact.fact, start=fact.start, end=fact.end, predicate=number, date=fact.date)
        for fact, number in zip(described, predicates, strict=True)
        if fact.start is not None and fact.end is not None
    ][:MARKS]


def _rounded(values: Matrix | Doubles) -> list[list[float]]:
    return np.round(values.astype(np.float64), 4).tolist()  # type: ignore[no-any-return]
