"""The chances of many pairs in a window and in the previous one, and the largest changes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apptek.arrays import Bools, Doubles, Longs
from apptek.errors import DataError
from apptek.forecast.event_filter import EventFilter
from apptek.forecast.forecaster import Forecaster, PairForecasts
from apptek.forecast.partners import members_of
from apptek.forecast.window import Window
from apptek.models.occurrence.pair_counts import Meetings, Pairs

LEAST = 0.01  # the smallest change to list, unless the user names the pairs
CHUNK = 2000  # number of pairs whose predicates are scored at once


@dataclass(frozen=True, slots=True)
class PairChances:
    """Forecasts for n pairs, (n, 2), in both directions, in a window and in the previous one."""

    forecaster: Forecaster
    ids: Longs
    now: PairForecasts
    before: PairForecasts

    @classmethod
    def of(cls, forecaster: Forecaster, ids: Longs, window: Window) -> "PairChances":
        """Forecast each pair."""
        now, before = (forecaster.both_ways(ids, each) for each in (window, window.before()))
        return cls(forecaster, ids, now, before)

    def of_any(self) -> tuple[Doubles, Doubles]:
        """Return P(an event in either direction) in the window and in the previous one.

        Both are arrays of shape (n,).
        """
        either_way = self.forecaster.either_way
        return either_way(self.now.probabilities), either_way(self.before.probabilities)

    def of_event(self, event: EventFilter, rows: Longs) -> tuple[Doubles, Doubles]:
        """Return P(an event that counts) for some rows, in the window and in the previous one."""
        if not event.name:
            now, before = self.of_any()
            return now[rows], before[rows]
        return self._of_event(event, self.now, rows), self._of_event(event, self.before, rows)

    def _of_event(self, event: EventFilter, made: PairForecasts, rows: Longs) -> Doubles:
        parts, both = [np.zeros(0)], np.concatenate([self.ids, self.ids[:, ::-1]])
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK]
            part = np.concatenate([part, part + len(self.ids)])
            pairs = Pairs(both[part, 0], both[part, 1], made.pairs.times[part])
            shares, chances = self.forecaster.shares(pairs), made.chances.take(part)
            of_event = event.chances(self.forecaster, chances, shares)
            parts.append(self.forecaster.either_way(of_event))
        return np.concatenate(parts)

    def most_changed(self, event: EventFilter, count: int) -> Longs:
        """Return the pairs whose chance of an event that counts changes most, if by at least LEAST.

        A particular event is never more probable than any event. Therefore, rows that are too
        improbable to exceed the changes found so far are skipped.
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


def seen_pairs(forecaster: Forecaster, moment: int) -> Longs:
    """Return the distinct pairs that have a fact before a given time: (n, 2)."""
    keys, width = Meetings(forecaster.events).before(moment), forecaster.events.width
    ids = np.stack([keys // width - 1, keys % width - 1], axis=1)
    return ids[ids[:, 0] < ids[:, 1]]  # the keys contain each pair in both directions


def watched_entities(
    forecaster: Forecaster, entities: Sequence[str], countries: Sequence[str]
) -> Bools | None:
    """Return which entities the user watches, by name or by country. None means all.

    Raises UnknownName or DataError if a name does not match any entity.
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
                f"no entity is from the country {country!r}; expected a name in brackets, "
                "as in 'Police (India)'"
            )
        chosen[members] = True
    return chosen
