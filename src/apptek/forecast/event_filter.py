"""The events that a forecast counts: all events, or only one predicate, class or group."""

from dataclasses import dataclass

import numpy as np

from apptek.arrays import Bools, Doubles
from apptek.errors import ArgumentError, UnknownPredicateError
from apptek.evaluation.predicate_classes import LEVELS, Level
from apptek.explain.explainer import find_predicate
from apptek.facts.name_matching import folded
from apptek.forecast.forecaster import Forecaster
from apptek.models.occurrence.model import Occurrence
from apptek.present.wording import listed


@dataclass(frozen=True, slots=True)
class EventFilter:
    """The predicates that count, by id.

    level  None if a single predicate counts, or if all of them do
    name   the name of the predicate, class or group; empty if all events count
    """

    name: str
    level: Level | None
    place: int  # the id of the predicate or of the class
    predicates: Bools  # (R,)

    def shares(self, shares: Doubles) -> Doubles:
        """Return the proportion of facts that count, (n,), from predicate shares, (n, R)."""
        sums: Doubles = np.minimum((shares * self.predicates).sum(axis=1), 1.0)
        return sums

    def chances(self, forecaster: Forecaster, made: Occurrence, shares: Doubles | None) -> Doubles:
        """Return P(at least one fact that counts) for each row: (n,).

        `shares` are required if the filter has a name.
        """
        if not self.name or shares is None:
            return made.probabilities
        if self.level is None:
            return forecaster.occurrence.predicate_probabilities(made, shares)[:, self.place]
        classes = forecaster.answerer.predicates.levels[self.level]
        return forecaster.occurrence.class_probabilities(made, shares, classes)[:, self.place]

    def expected(self, made: Occurrence, shares: Doubles | None) -> Doubles:
        """Return the expected number of facts that count: (n,)."""
        if not self.name or shares is None:
            return made.expected
        return made.expected * self.shares(shares)


def read_filter(
    forecaster: Forecaster,
    predicate: str | None = None,
    class_: str | None = None,
    group: str | None = None,
) -> EventFilter:
    """Return the requested filter. If the name is unknown, the error lists the known names."""
    given = {"predicate": predicate, "class": class_, "group": group}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise ArgumentError(
            f"found {' and '.join(names)}: give only one of predicate, class and group"
        )
    answerer, count = forecaster.answerer, len(forecaster.model.dataset.predicates)
    if not names:
        return EventFilter("", None, -1, np.ones(count, np.bool_))
    if predicate is not None:
        place = find_predicate(
            predicate, answerer.predicate_names, forecaster.model.dataset.predicates
        )
        name = forecaster.model.dataset.predicates[place]
        return EventFilter(name, None, place, np.arange(count) == place)
    level = next(level for level in LEVELS if given[level] is not None)
    classes, asked = answerer.predicates.levels.get(level), str(given[level])
    if classes is None:
        raise UnknownPredicateError(
            f"the predicates of this data have no {level}: give a predicate, or fit with a table "
            "of classes (--predicates FILE)"
        )
    places = [i for i, name in enumerate(classes.names) if folded(name) == folded(asked)]
    if not places:
        raise UnknownPredicateError(
            f"there is no {level} {asked!r}; choose from {listed(classes.names, 20)}"
        )
    members = classes.of_predicate == places[0]
    return EventFilter(classes.names[places[0]], level, places[0], members)
