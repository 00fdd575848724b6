"""Events and pairs: when something happened between two entities, and when one asks about them.

*Meetings* are the first events of two entities, in either direction.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools, Ints, Longs, find_sorted, for_kernel
from apptek.compiling import leaf
from apptek.facts.facts import Facts
from apptek.facts.times import UNKNOWN, TimeAxis


@dataclass(frozen=True, slots=True)
class Events:
    """The dated facts as (subject, object, time), ascending in time; the predicate plays no part.

    A fact counts once, at its start; a fact without a known start, at its end. `width` is above
    every id, so that two ids become one key.
    """

    subjects: Longs
    objects: Longs
    times: Ints  # positions on the axis
    width: int

    @classmethod
    def of(cls, facts: Facts, axis: TimeAxis, entity_count: int) -> "Events":
        """The events of some facts, the undated ones left out."""
        times = axis.positions(facts.times)
        rows = np.flatnonzero(times != UNKNOWN)
        rows = rows[np.argsort(times[rows], kind="stable")]
        subjects, objects = (ids[rows].astype(np.int64) for ids in (facts.subjects, facts.objects))
        return cls(subjects, objects, times[rows], entity_count + 1)

    def __len__(self) -> int:
        return len(self.times)

    def before(self, moment: int) -> "Events":
        """The events strictly before a moment."""
        return self._part(0, int(np.searchsorted(self.times, moment)))

    def within(self, first: int, last: int) -> "Events":
        """The events from one moment to another, both included."""
        start, stop = np.searchsorted(self.times, [first, last + 1]).tolist()
        return self._part(start, stop)

    def among(self, members: Longs) -> "Events":
        """The events whose subject and object are both among some entities."""
        is_member = np.zeros(self.width, np.bool_)
        is_member[members] = True
        rows = np.flatnonzero(is_member[self.subjects] & is_member[self.objects])
        return Events(self.subjects[rows], self.objects[rows], self.times[rows], self.width)

    def _part(self, start: int, stop: int) -> "Events":
        part = slice(start, stop)
        return Events(self.subjects[part], self.objects[part], self.times[part], self.width)

    def keys(self) -> Longs:
        """One number for each ordered pair of subject and object."""
        return pair_keys(self.subjects, self.objects, self.width)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Ordered pairs of entities, each with a moment from which on one looks ahead.

    An entity of -1 is unknown to the data.
    """

    subjects: Longs
    objects: Longs
    times: Ints

    def __len__(self) -> int:
        return len(self.times)

    @classmethod
    def at(cls, keys: Longs, moment: int, width: int) -> "Pairs":
        """The pairs of some keys, all at one moment."""
        return cls(keys // width - 1, keys % width - 1, np.full(len(keys), moment, np.int32))

    @classmethod
    def join(cls, parts: list["Pairs"]) -> "Pairs":
        """All pairs, one part after the other."""
        columns = ("subjects", "objects", "times")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))

    def take(self, rows: npt.NDArray[Any]) -> "Pairs":
        """The pairs of these rows."""
        return Pairs(self.subjects[rows], self.objects[rows], self.times[rows])

    def later(self, steps: int) -> "Pairs":
        """The same so much later."""
        return Pairs(self.subjects, self.objects, self.times + np.int32(steps))

    def reversed(self) -> "Pairs":
        """The same with subject and object exchanged."""
        return Pairs(self.objects, self.subjects, self.times)

    def keys(self, width: int) -> Longs:
        """One number for each ordered pair, as those of the events."""
        return pair_keys(self.subjects, self.objects, width)


def pair_keys(subjects: Longs, objects: Longs, width: int) -> Longs:
    """One number for each ordered pair; ids from -1 to width - 2 stay apart."""
    return (subjects + 1) * width + objects + 1


class Meetings:
    """The ordered pairs with an event in either direction, and when the two first met."""

    def __init__(self, events: Events) -> None:
        own, back = events.keys(), pair_keys(events.objects, events.subjects, events.width)
        both = np.stack([own, back], axis=1).ravel()  # ascends in time, as the events do
        self.keys, firsts = np.unique(both, return_index=True)
        self.since, self.width = events.times[firsts // 2], events.width

    def before(self, moment: int) -> Longs:
        """Return the keys of the pairs that had met before a moment, ascending."""
        return self.keys[self.since < moment]

    def had_met(self, keys: Longs, moment: int) -> Bools:
        """Return which of some pairs had met before a moment."""
        places = find_sorted(self.keys, keys)
        met: Bools = places >= 0
        met[met] = self.since[places[met]] < moment
        return met

    def common_partners(self, pairs: Pairs) -> Longs:
        """Count the other entities that both of a pair had met before its moment."""
        counts, entities = np.zeros(len(pairs), np.int64), self.keys // self.width - 1
        columns: Any = (
            *(np.searchsorted(entities, ends, side)
              for ends in (pairs.subjects, pairs.objects) for side in ("left", "right")),
            pairs.subjects, pairs.objects, pairs.times, self.keys % self.width - 1, self.since,
        )  # fmt: skip
        arguments: Any = [*(for_kernel(column, np.int64) for column in columns), counts]
        _count_common(*arguments)
        return counts


@leaf
def _count_common(
    subject_starts: Longs, subject_stops: Longs, object_starts: Longs, object_stops: Longs,
    subjects: Longs, objects: Longs, times: Longs, partners: Longs, since: Longs, counts: Longs,
) -> None:  # fmt: skip
    """Look up each partner of the entity with fewer among the partners of the other entity."""
    for row in range(len(counts)):
        start, stop = subject_starts[row], subject_stops[row]
        lo, hi = object_starts[row], object_stops[row]
        if stop - start > hi - lo:
            start, stop, lo, hi = lo, hi, start, stop
        for index in range(start, stop):
            partner = partners[index]
            if since[index] >= times[row] or partner == subjects[row] or partner == objects[row]:
                continue
            low, high = lo, hi
            while low < high:
                middle = (low + high) // 2
                if partners[middle] < partner:
                    low = middle + 1
                else:
                    high = middle
            if low < hi and partners[low] == partner and since[low] < times[row]:
                counts[row] += 1
