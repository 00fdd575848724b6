"""Events and pairs: when something happened between two entities, and when one asks about them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.arrays import Ints, Longs
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
