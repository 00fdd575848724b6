"""The forecaster: a model with its facts in time order, ready to forecast many pairs at once."""

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from apptek.arrays import Bools, Doubles, Longs
from apptek.errors import ApptekError, check_count
from apptek.evaluation.predicate_classes import Level
from apptek.explain.explainer import strongest_reason
from apptek.facts.queries import Queries
from apptek.facts.times import UNKNOWN
from apptek.forecast.learning import codes_at, past_shares, with_history
from apptek.forecast.window import (
    Length,
    Window,
    looks_like_seconds,
    read_window,
    time_of,
    unit_word,
)
from apptek.graph.lookups import incoming, outgoing
from apptek.models.answerer import Answerer
from apptek.models.entity_ranking.candidates import EntityIndex
from apptek.models.model import Model
from apptek.models.occurrence.counts import (
    EVIDENCE,
    OLDEST,
    PairCounts,
    age_of_last,
    by_evidence,
    count_and_age,
)
from apptek.models.occurrence.events import Events, Meetings, Pairs
from apptek.models.occurrence.model import Occurrence, OccurrenceModel, is_busy
from apptek.present import forecast_words as words
from apptek.present.wording import read_as_notes
from apptek.results import (
    ChanceUntil,
    ClassForecast,
    DirectionForecast,
    Forecast,
    Note,
    OccurrenceReason,
    PredicateForecast,
    Query,
)

CURVE = 31  # most points on the curve of the chance that something happens
FEW = 8  # pairs up to which only the facts of their entities are looked at


@dataclass(frozen=True, slots=True)
class PairForecasts:
    """Forecasts of n ordered pairs as arrays."""

    pairs: Pairs
    window: Window
    chances: Occurrence
    met: Bools
    features: Doubles

    @property
    def probabilities(self) -> Doubles:
        """Of anything."""
        return self.chances.probabilities

    @property
    def expected(self) -> Doubles:
        """The number of facts."""
        return self.chances.expected


class Forecaster:
    """What a model makes of the facts before a window; ApptekError where it cannot forecast."""

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
        """Return the same on the facts of another answerer of this model."""
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
        """The facts by actor and predicate, for the missing entity of a fact."""
        data = self.model.dataset
        sizes = (len(data.entities), len(data.predicates))
        return EntityIndex(self.model.graph.facts, data.axis, sizes, self.occurrence.clock)

    @cached_property
    def _predicate_names(self) -> list[str]:
        return list(self.model.dataset.predicates)

    def window(self, start: str | None, length: Length) -> Window:
        """The window that a user asks for."""
        span, typical = (self.span[0], self.observed), self.occurrence.clock.short
        return read_window(self.model.dataset.axis, span, start, length, typical)

    def ids(self, names: Sequence[str]) -> Longs:
        """The ids of entities, below 0 for a name that is not known."""
        return np.asarray([self.answerer.entity_id(name) for name in names], np.int64)

    def pair_forecasts(self, subjects: Longs, objects: Longs, window: Window) -> PairForecasts:
        """Whether each subject does anything to its object in a window, from the facts before.

        Unobserved time between these facts and the window counts as lead, not as quiet time.
        """
        known = (np.maximum(subjects, -1), np.maximum(objects, -1))  # to counts, all unknown is one
        pairs = Pairs(*known, np.full(len(subjects), window.moment, np.int32))
        events = self._events_of(pairs).before(window.moment)
        features = PairCounts(events, self.occurrence.clock).features(pairs)
        met = Meetings(events).had_met(pairs.keys(events.width), window.moment)
        chances = self.occurrence.occurrence(features, met, window.length, window.lead)
        return PairForecasts(pairs, window, chances, met, features)

    def _events_of(self, pairs: Pairs) -> Events:
        """The events of these pairs' entities; of many pairs, all events."""
        if len(pairs) > FEW:
            return self.events
        data, graph = self.model.dataset, self.model.graph
        entities = np.unique(np.concatenate([pairs.subjects, pairs.objects]))
        known = [entity for entity in entities.tolist() if entity >= 0]
        rows = [look(graph, entity) for entity in known for look in (outgoing, incoming)]
        facts = graph.facts.take(
            np.unique(np.concatenate([*rows, np.zeros(0, np.int64)])).astype(np.int64)
        )
        return Events.of(facts, data.axis, len(data.entities))

    def shares(self, pairs: Pairs) -> Doubles:
        """P(predicate | a fact at that time) of each pair: (n, R)."""
        return past_shares(self.model, pairs, self.answerer.views["past_only"])

    def reasons(self, forecasts: PairForecasts) -> tuple[Doubles, Doubles]:
        """What each kind of evidence adds to the log-odds: (n, EVIDENCE); and the rest: (n,)."""
        added = self.occurrence.contributions(
            forecasts.features,
            forecasts.met,
            forecasts.window.length,
            forecasts.window.lead,
            of_trees=len(forecasts.pairs) <= FEW,
        )
        return by_evidence(added), added[:, -1]

    def forecast(
        self,
        pairs: Sequence[tuple[str, str]],
        window: Window,
        *,
        top: int | None = 10,
        why: bool = False,
        ids: Longs | None = None,
    ) -> list[Forecast]:
        """The forecast of each pair, both directions.

        top  predicates that are kept; None: all
        why  whether the most probable predicate is explained, which takes longer
        ids  of the names, (n, 2), where they were looked up already
        """
        if top is not None:
            check_count("top", top)
        if ids is None:
            ids = self.ids([name for pair in pairs for name in pair]).reshape(-1, 2)
        for (subject, object_), (one, other) in zip(pairs, ids.tolist(), strict=True):
            if subject == object_ or one == other >= 0:
                raise ApptekError(f"{subject!r} and itself: a forecast is of two entities")
        # Row 2 i is a pair as it was asked for, row 2 i + 1 the same reversed.
        subjects, objects = ids.ravel(), ids[:, ::-1].ravel()
        directed = self.pair_forecasts(subjects, objects, window)
        shares = self.shares(Pairs(subjects, objects, directed.pairs.times))
        added, rest = self.reasons(directed)
        of_window, fields = self.notes(window), self.window_fields(window)
        occurs = self.answerer.seen.entities(subjects).reshape(-1, 2)
        forecasts = []
        for place, asked in enumerate(pairs):
            ends = self._names(asked, ids[place])
            rows = slice(2 * place, 2 * place + 2)
            directions = [
                self._direction(directed, row, names, added[row], float(rest[row]))
                for row, names in zip((2 * place, 2 * place + 1), (ends, ends[::-1]), strict=True)
            ]
            seen = occurs[place]
            unseen = tuple(name for name, is_seen in zip(ends, seen, strict=True) if not is_seen)
            notes = [
                *read_as_notes(*zip(asked, ends, strict=True)),
                *words.unknown_name_notes(unseen),
                *self._old_pair(directed, 2 * place),
            ]
            predicates = self._predicates(ends, directed.chances.take(rows), shares[rows], top)
            forecast = Forecast(
                subject=ends[0],
                object=ends[1],
                **fields,
                probability=self._either(directed.probabilities[rows]),
                expected=float(directed.expected[rows].sum()),
                directions=(directions[0], directions[1]),
                predicates=predicates,
                unseen=unseen,
                notes=(*notes, *of_window),
            )
            if why:
                forecast = self._with_why(forecast, directed, shares, place, ids[place])
            forecasts.append(forecast)
        return forecasts

    def _names(self, asked: tuple[str, str], ids: Longs) -> tuple[str, str]:
        """The names of the data for the two, as far as it has them."""
        subject, object_ = map(self.answerer.seen.name, ids.tolist())
        return subject or asked[0], object_ or asked[1]

    def _either(self, chances: Doubles) -> float:
        """P(anything in either direction) of one pair: (2,)."""
        return float(self.occurrence.either_way(chances[:1], chances[1:])[0])

    def _with_why(
        self, forecast: Forecast, directed: PairForecasts, shares: Doubles, place: int, ids: Longs
    ) -> Forecast:
        """The forecast with its classes, its curve, and why the most probable predicate."""
        rows, best = slice(2 * place, 2 * place + 2), forecast.predicates[0]
        is_reversed = best.subject != forecast.subject
        return replace(
            forecast,
            by_class=self._classes(directed, shares, rows, "class"),
            by_group=self._classes(directed, shares, rows, "group"),
            why=self._why(best, directed.window, ids[::-1] if is_reversed else ids),
            curve=self._curve(directed, rows),
        )

    def window_fields(self, window: Window) -> dict[str, Any]:
        """The fields of a result that say which window it is about."""
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

    def _old_pair(self, forecasts: PairForecasts, row: int) -> list[Note]:
        """A note if the last fact between the two is longer ago than the long time scale."""
        long, window, axis = self.occurrence.clock.long, forecasts.window, self.model.dataset.axis
        age = age_of_last(forecasts.features[row])
        if not forecasts.met[row] or age + window.lead <= long:
            return []
        since = time_of(axis, window.moment) if window.lead else "the window"
        oldest = math.floor(OLDEST * long)
        return [words.old_pair_note(age, oldest, unit_word(axis.unit), since)]

    def evidence(self, family: str, ends: tuple[str, str], features: Doubles) -> str:
        """What the facts of a kind of evidence are, in words."""
        unit, oldest = unit_word(self.model.dataset.axis.unit), OLDEST * self.occurrence.clock.long
        count, age = count_and_age(features, family)
        return words.evidence_sentence(family, ends, count, age, unit, oldest)

    def _direction(
        self,
        forecasts: PairForecasts,
        row: int,
        ends: tuple[str, str],
        added: Doubles,
        base: float,
    ) -> DirectionForecast:
        features = forecasts.features[row]
        reasons = [
            OccurrenceReason(
                family=family,
                sentence=self.evidence(family, ends, features),
                log_odds=float(value),
            )
            for family, value in zip(EVIDENCE, added, strict=True)
        ]
        return DirectionForecast(
            subject=ends[0],
            object=ends[1],
            probability=float(forecasts.probabilities[row]),
            expected=float(forecasts.expected[row]),
            base=base,
            reasons=tuple(sorted(reasons, key=lambda reason: -abs(reason.log_odds))),
            have_met=bool(forecasts.met[row]),
            base_sentence=words.base_sentence(
                met=bool(forecasts.met[row]),
                busy=self.occurrence.knows_busy and bool(is_busy(features[None])[0]),
                beyond=forecasts.window.length > self.occurrence.longest,
            ),
        )

    def _predicates(
        self, ends: tuple[str, str], both: Occurrence, shares: Doubles, top: int | None
    ) -> tuple[PredicateForecast, ...]:
        """Of both directions, the most probable first; shares: (2, R)."""
        names, size = self._predicate_names, shares.shape[1]
        chances = self.occurrence.predicate_probabilities(both, shares)
        # Where both are as probable as anything at all, the larger share comes first.
        order = np.lexsort((-shares.ravel(), -chances.ravel()))[: 2 * size if top is None else top]
        return tuple(
            PredicateForecast(
                subject=ends[place // size],
                predicate=names[place % size],
                label=self.answerer.labels.label(names[place % size]),
                object=ends[1 - place // size],
                probability=float(chances.flat[place]),
                expected=float(both.expected[place // size] * shares.flat[place]),
                share=float(shares.flat[place]),
            )
            for place in order.tolist()
        )

    def _curve(self, forecasts: PairForecasts, rows: slice) -> tuple[ChanceUntil, ...]:
        """P(anything) from the start of the window until some times in it, the last one last."""
        window, axis = forecasts.window, self.model.dataset.axis
        lengths = np.unique(np.linspace(1, window.length, CURVE).round().astype(np.int64))
        features, met = forecasts.features[rows], forecasts.met[rows]
        points, highest = [], 0.0
        found = self.occurrence.occurrences(features, met, lengths.tolist(), window.lead)
        for length, made in zip(lengths.tolist(), found, strict=True):
            highest = max(highest, self._either(made.probabilities))  # more time, no less happens
            until = time_of(axis, window.first + length - 1)
            points.append(ChanceUntil(until=until, probability=highest))
        return tuple(points)

    def _why(self, best: PredicateForecast, window: Window, ids: Longs) -> str:
        """Why the most probable predicate: the strongest evidence for it."""
        axis = self.model.dataset.axis
        query = Query(best.subject, best.object, time_of(axis, window.moment))
        code = codes_at(axis, np.asarray([window.moment]))
        columns = [np.asarray([value], np.int32) for value in (*ids.tolist(), -1)]
        asked = Queries(columns[0], columns[1], code, columns[2])
        reason = strongest_reason(self.answerer, query, best.predicate, asked)
        return words.why_sentence(best, reason)

    def _classes(
        self, forecasts: PairForecasts, shares: Doubles, rows: slice, level: Level
    ) -> tuple[ClassForecast, ...]:
        """The chance of at least one fact of each class, in either direction."""
        classes = self.answerer.predicates.levels.get(level)
        if classes is None:
            return ()
        both = forecasts.chances.take(rows)
        chances = self.occurrence.class_probabilities(both, shares[rows], classes)
        either = self.occurrence.either_way(chances[0], chances[1])
        numbers = both.expected @ classes.sums(shares[rows])
        return tuple(
            ClassForecast(
                name=classes.names[place],
                probability=float(either[place]),
                expected=float(numbers[place]),
            )
            for place in np.argsort(-either, kind="stable").tolist()
        )

    def notes(self, window: Window) -> tuple[Note, ...]:
        """What is worth knowing about a window, whatever the pair."""
        axis, model = self.model.dataset.axis, self.occurrence
        unit, notes = unit_word(axis.unit), list[Note]()
        if window.lead:
            observed, since = window.observed_until(axis), time_of(axis, window.moment)
            notes += words.lead_notes(
                window.lead, model.leads[-1], unit, observed=observed, since=since
            )
        known = self.events.before(window.moment)
        last = int(known.times[-1]) if len(known) else window.moment
        if window.first - last > model.clock.long:
            gap = window.first - last
            notes.append(words.old_facts_note(time_of(axis, last), gap, unit, window.lead))
        if window.first <= self.observed:
            learned = window.first <= model.fitted_until
            notes.append(words.past_window_note(time_of(axis, window.first), learned=learned))
        if window.length > model.longest:
            notes.append(words.long_window_note(model.longest, unit))
        if self._isolated:
            notes.append(words.isolated_facts_note(self._isolated, time_of(axis, self.observed)))
        if window.chosen and axis.unit == "integer":
            seconds = looks_like_seconds(axis, self.span[0])
            notes.append(words.chosen_length_note(window.length, seconds=seconds))
        return (*notes, *self._joined)


def occurrence_of(model: Model) -> OccurrenceModel:
    """The occurrence model of a model; ApptekError says why it has none."""
    if model.occurrence is not None:
        return model.occurrence
    why = model.no_forecasts or "too little was learned when it was fitted; fit it again"
    raise ApptekError(f"this model of {model.dataset.name} makes no forecasts: {why}")
