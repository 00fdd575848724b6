"""The forecaster: a model with its facts in time order, ready to forecast many pairs at once.

An event filter selects the events that a forecast counts: all events, or only one predicate, class
or group.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from apptek.arrays import Bools, Doubles, Longs
from apptek.errors import ApptekError, ArgumentError, UnknownPredicateError
from apptek.evaluation.predicate_classes import LEVELS, Level
from apptek.explain.explainer import find_predicate
from apptek.facts.name_matching import folded
from apptek.facts.times import UNKNOWN
from apptek.forecast.learning import past_shares, with_history
from apptek.forecast.window import Length, Window, read_window, time_of, unit_word
from apptek.graph.lookups import facts_of
from apptek.models.answerer import Answerer
from apptek.models.entity_ranker import EntityIndex
from apptek.models.model import Model
from apptek.models.occurrence.model import Occurrence, OccurrenceModel
from apptek.models.occurrence.pair_counts import (
    OLDEST,
    Events,
    Meetings,
    PairCounts,
    Pairs,
    by_evidence,
    count_and_age,
)
from apptek.present import forecast_words as words
from apptek.present.wording import listed
from apptek.results import Note

FEW = 8  # for at most this many pairs, only the facts of their entities are read


@dataclass(frozen=True)
class PairForecasts:
    """Forecasts for n ordered pairs, as arrays."""

    forecaster: "Forecaster"
    pairs: Pairs
    window: Window
    chances: Occurrence
    met: Bools
    features: Doubles

    @property
    def probabilities(self) -> Doubles:
        """The chances of any event: (n,)."""
        return self.chances.probabilities

    @property
    def expected(self) -> Doubles:
        """The expected numbers of facts: (n,)."""
        return self.chances.expected

    @cached_property
    def shares(self) -> Doubles:
        """P(predicate | a fact at the pair's time) for each pair: (n, R)."""
        view = self.forecaster.answerer.view_in_use("past_only")
        return past_shares(self.forecaster.model, self.pairs, view)

    @cached_property
    def of_predicates(self) -> Doubles:
        """P(at least one fact with the predicate) for each pair: (n, R)."""
        return self.forecaster.occurrence.predicate_probabilities(self.chances, self.shares)

    def reasons(self) -> Doubles:
        """Return the log-odds that each evidence type, LENGTH and the base contribute: (n, 8)."""
        model, window = self.forecaster.occurrence, self.window
        added = model.contributions(self.features, self.met, window.length, window.lead)
        return np.column_stack([by_evidence(added), added[:, -1], added[:, -2]])

    def evidence(self, row: int, family: str, ends: tuple[str, str]) -> str:
        """Return a sentence about the facts behind one type of evidence for a pair."""
        axis, window = self.forecaster.model.dataset.axis, self.window
        oldest, unit = OLDEST * self.forecaster.occurrence.clock.long, unit_word(axis.unit)
        count, age = count_and_age(self.features[row], family)
        last = words.ago(age, unit, oldest)
        if window.lead:  # "the day before" would refer to the window
            date = time_of(axis, window.moment - round(min(age, oldest)))
            last = words.dated(date, unit, is_latest=age >= oldest * (1 - 1e-9))
        return words.evidence_sentence(family, ends, count, last, unit)

    def take(self, rows: Longs) -> "PairForecasts":
        """Return the selected rows, with their shares if these are known."""
        chances, met = self.chances.take(rows), self.met[rows]
        pairs, features = self.pairs.take(rows), self.features[rows]
        part = PairForecasts(self.forecaster, pairs, self.window, chances, met, features)
        if "shares" in vars(self):
            vars(part)["shares"] = self.shares[rows]
        return part


class Forecaster:
    """A model that forecasts from the facts before a window.

    Raises ApptekError if the model cannot forecast.
    """

    def __init__(self, model: Model, answerer: Answerer | None = None) -> None:
        self.occurrence = occurrence_of(model)
        self.model = with_history(model)
        counts = (len(each.graph.facts) for each in (self.model, model))
        self._joined = () if self.model is model else (words.all_facts_note(*counts),)
        if answerer is None or answerer.model is not self.model:
            answerer = Answerer(self.model, past_only=True)
        self.answerer = answerer.past_view()
        times = self.model.dataset.axis.positions(self.model.graph.facts.times)
        dated = times[times != UNKNOWN]
        self.span = (int(dated.min()), int(dated.max()))
        last = self.model.last_observed
        self.observed = self.span[1] if last is None else last

    def on(self, answerer: Answerer) -> "Forecaster":
        """Return the same forecaster, using the facts of another of this model's answerers."""
        changed = copy(self)
        changed.model, changed.answerer = answerer.model, answerer
        changed.__dict__.pop("events", None)
        return changed

    @cached_property
    def events(self) -> Events:
        """All facts in time order."""
        data = self.model.dataset
        return Events.of(self.model.graph.facts, data.axis, len(data.entities))

    @cached_property
    def _isolated(self) -> list[str]:
        return self.model.isolated_times

    @cached_property
    def entity_index(self) -> EntityIndex:
        """The facts by actor and predicate, for ranking missing entities."""
        data = self.model.dataset
        sizes = (len(data.entities), len(data.predicates))
        return EntityIndex(self.model.graph.facts, data.axis, sizes, self.occurrence.clock)

    def window(self, start: str | None, length: Length) -> Window:
        """Return the requested window."""
        span, typical = (self.span[0], self.observed), self.occurrence.clock.short
        return read_window(self.model.dataset.axis, span, start, length, typical)

    def ids(self, names: Sequence[str]) -> Longs:
        """Return the ids of entities, below 0 for unknown names."""
        return np.asarray([self.answerer.entity_id(name) for name in names], np.int64)

    def pair_forecasts(self, subjects: Longs, objects: Longs, window: Window) -> PairForecasts:
        """Forecast whether each subject acts on its object in a window, from the facts before it.

        Unobserved time between the last observed facts and the window counts as lead. It does not
        count as time without events.
        """
        times = np.full(len(subjects), window.moment, np.int32)
        # One id for unknown names, whose shares nevertheless depend on the name.
        pairs = Pairs(np.maximum(subjects, -1), np.maximum(objects, -1), times)
        events = self._events_of(pairs).before(window.moment)
        features = PairCounts(events, self.occurrence.clock).features(pairs)
        met = Meetings(events).had_met(pairs.keys(events.width), window.moment)
        chances = self.occurrence.occurrence(features, met, window.length, window.lead)
        return PairForecasts(self, Pairs(subjects, objects, times), window, chances, met, features)

    def both_ways(self, ids: Longs, window: Window) -> PairForecasts:
        """Forecast n pairs, given as (n, 2), in both directions.

        The result has 2 n rows: first all pairs as given, then all pairs reversed.
        """
        both = np.concatenate([ids, ids[:, ::-1]])
        return self.pair_forecasts(both[:, 0], both[:, 1], window)

    def either_way(self, chances: Doubles) -> Doubles:
        """Return P(an event in either direction), (n,), from each direction's chances, (2 n,)."""
        return self.occurrence.either_way(*chances.reshape(2, -1))

    def last_between(self, pair: Pairs) -> int:
        """Return the time of a seen pair's last fact before its query time, in either direction.

        Unlike the ages among the features, this time has no lower bound.
        """
        subject, object_ = int(pair.subjects[0]), int(pair.objects[0])
        events = self._events_of(pair).before(int(pair.times[0]))
        forward = (events.subjects == subject) & (events.objects == object_)
        backward = (events.subjects == object_) & (events.objects == subject)
        return int(events.times[forward | backward].max())

    def _events_of(self, pairs: Pairs) -> Events:
        """Return the events that involve these pairs' entities, or all events for many pairs."""
        if len(pairs) > FEW:
            return self.events
        data, graph = self.model.dataset, self.model.graph
        entities = np.unique(np.concatenate([pairs.subjects, pairs.objects]))
        facts = graph.facts.take(facts_of(graph, entities.tolist()))
        return Events.of(facts, data.axis, len(data.entities))

    def window_fields(self, window: Window) -> dict[str, Any]:
        """Return the result fields that describe a window."""
        axis = self.model.dataset.axis
        first, last = window.texts(axis)
        return {
            "first": first,
            "last": last,
            "length": window.length,
            "unit": unit_word(axis.unit),
            "lead": window.lead,
            "observed_until": window.observed_until(axis),
        }

    def notes(self, window: Window) -> tuple[Note, ...]:
        """Return the notes about a window that apply to every pair."""
        axis, model = self.model.dataset.axis, self.occurrence
        unit, notes = unit_word(axis.unit), list[Note]()
        if window.lead:
            observed = window.observed_until(axis)
            notes += words.lead_notes(window.lead, model.leads[-1], unit, observed)
        if window.first <= self.observed:
            learned = window.first <= model.fitted_until
            notes.append(words.past_window_note(time_of(axis, window.first), learned=learned))
        if window.length > model.longest:
            notes.append(words.long_window_note(model.longest, unit))
        if self._isolated:
            notes.append(words.isolated_facts_note(self._isolated, time_of(axis, self.observed)))
        return (*notes, *self._joined)


def occurrence_of(model: Model) -> OccurrenceModel:
    """Return a model's occurrence model. If it has none, raise ApptekError with the reason."""
    if model.occurrence is not None:
        return model.occurrence
    why = model.no_forecasts or "its fit had too little data; fit it again"
    raise ApptekError(f"this model of {model.dataset.name} cannot forecast: {why}")


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

    def chances(self, made: PairForecasts, chances: Occurrence | None = None) -> Doubles:
        """Return P(at least one fact that counts) for each row: (n,).

        chances  of any event in a window of another length
        """
        chances, model = chances or made.chances, made.forecaster.occurrence
        if not self.name:
            return chances.probabilities
        if self.level is None:
            return model.predicate_probabilities(chances, made.shares)[:, self.place]
        classes = made.forecaster.answerer.predicates.levels[self.level]
        return model.class_probabilities(chances, made.shares, classes)[:, self.place]

    def expected(self, made: PairForecasts) -> Doubles:
        """Return the expected number of facts that count: (n,)."""
        if not self.name:
            return made.expected
        share: Doubles = (made.shares * self.predicates).sum(axis=1)
        return made.expected * np.minimum(share, 1.0)


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
        place = find_predicate(predicate, answerer.predicate_names)
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
