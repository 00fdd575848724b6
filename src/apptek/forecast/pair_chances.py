"""The chances of many pairs in a window and in the one before, and which of them change most."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apptek.arrays import Bools, Doubles, Longs
from apptek.errors import DataError
from apptek.forecast.event_filter import EventFilter
from apptek.forecast.forecaster import Forecaster, PairForecasts
from apptek.forecast.partners import members_of
from apptek.forecast.window import Window
from apptek.models.occurrence.events import Meetings, Pairs

LEAST = 0.01  # the smallest change that is listed, unless a user names the pairs
CHUNK = 2000  # pairs whose predicates are scored at once


@dataclass(frozen=True, slots=True)
class PairChances:
    """The forecasts of some pairs for a window and for the one before, each in both directions."""

    forecaster: Forecaster
    subjects: Longs
    objects: Longs
    window: Window
    now: tuple[PairForecasts, PairForecasts]
    before: tuple[PairForecasts, PairForecasts]

    @classmethod
    def of(
        cls, forecaster: Forecaster, subjects: Longs, objects: Longs, window: Window
    ) -> "PairChances":
        """Forecast each pair."""
        now, before = (
            (
                forecaster.pair_forecasts(subjects, objects, each),
                forecaster.pair_forecasts(objects, subjects, each),
            )
            for each in (window, window.before())
        )
        return cls(forecaster, subjects, objects, window, now, before)

    def __len__(self) -> int:
        return len(self.subjects)

    def of_any(self) -> tuple[Doubles, Doubles]:
        """P(an event in either direction) in the window and in the one before: (n,) each."""
        either_way = self.forecaster.occurrence.either_way
        now, before = (
            either_way(forward.probabilities, backward.probabilities)
            for forward, backward in (self.now, self.before)
        )
        return now, before

    def of_event(self, event: EventFilter, rows: Longs) -> tuple[Doubles, Doubles]:
        """P(an event that counts) of some rows, in the window and in the one before."""
        if not event.name:
            now, before = self.of_any()
            return now[rows], before[rows]
        parts = [
            [self._of_event(event, both, rows[start : start + CHUNK])
             for start in range(0, len(rows), CHUNK)]
            for both in (self.now, self.before)
        ]  # fmt: skip
        now, before = (np.concatenate([np.zeros(0), *part]) for part in parts)
        return now, before

    def _of_event(
        self, event: EventFilter, both: tuple[PairForecasts, PairForecasts], rows: Longs
    ) -> Doubles:
        forward, backward = (
            event.chances(
                self.forecaster,
                made.chances.take(rows),
                self.forecaster.shares(Pairs(*ends, made.pairs.times[rows])),
            )
            for made, ends in zip(
                both,
                (
                    (self.subjects[rows], self.objects[rows]),
                    (self.objects[rows], self.subjects[rows]),
                ),
                strict=True,
            )
        )
        return self.forecaster.occurrence.either_way(forward, backward)

    def most_changed(self, event: EventFilter, count: int) -> Longs:
        """Return the rows whose chance of an event that counts changes most, at least by LEAST.

        No event is more probable than an event of any kind: rows that are too improbable to
        change as much as those found so far are not looked at.
        """
        most = np.maximum(*self.of_any())
        order = np.argsort(-most, kind="stable")
        order = order[most[order] >= LEAST]
        rows, changes = np.zeros(0, np.int64), np.zeros(0)
        for start in range(0, len(order), CHUNK):
            part = order[start : start + CHUNK]
            if len(changes) >= count and changes[count - 1] >= most[part[0]]:
                break
            now, before = self.of_event(event, part)
            rows, changes = np.append(rows, part), np.append(changes, np.abs(now - before))
            best = np.lexsort((rows, -changes))
            rows, changes = rows[best], changes[best]
        return rows[changes >= LEAST][:count]

    def names(self, rows: Sequence[int]) -> list[tuple[str, str]]:
        """Return the names of some of the pairs."""
        names = self.forecaster.model.dataset.entities
        return [(names[int(self.subjects[row])], names[int(self.objects[row])]) for row in rows]


def either_chances(
    forecaster: Forecaster, subjects: Longs, objects: Longs, window: Window
) -> Doubles:
    """P(anything between the two of each pair), in either direction."""
    forward = forecaster.pair_forecasts(subjects, objects, window)
    backward = forecaster.pair_forecasts(objects, subjects, window)
    return forecaster.occurrence.either_way(forward.probabilities, backward.probabilities)


def seen_pairs(forecaster: Forecaster, window: Window, ends: Bools | None = None) -> PairChances:
    """Return the chances of all seen pairs; with `ends`, only pairs with one of these entities."""
    events = forecaster.events
    keys = Meetings(events).before(window.before().moment)
    subjects, objects = keys // events.width - 1, keys % events.width - 1
    if not len(subjects):
        raise DataError("no two entities had met before the window: there is nothing to watch")
    once = subjects < objects
    if ends is not None:
        once &= ends[subjects] | ends[objects]
    return PairChances.of(forecaster, subjects[once], objects[once], window)


def watched_entities(
    forecaster: Forecaster, entities: Sequence[str], countries: Sequence[str]
) -> Bools | None:
    """Return which entities a user watches: by name, or by their country; None: all.

    UnknownName or DataError for a name without an entity.
    """
    if not entities and not countries:
        return None
    answerer, names = forecaster.answerer, forecaster.model.dataset.entities
    answerer.entities.check(*entities)
    chosen = np.zeros(len(names), np.bool_)
    chosen[[answerer.entity_id(name) for name in entities]] = True
    for country in countries:
        members = members_of(answerer, country)
        if not members:
            raise DataError(
                f"no entity is of the country {country!r}; expected the name in the brackets of "
                "names such as 'Police (India)'"
            )
        chosen[members] = True
    return chosen
