"""Common partners: how many entities both have had to do with."""

from dataclasses import dataclass

import numpy as np

from apptek.arrays import Longs, read_only
from apptek.compiling import leaf
from apptek.models.occurrence.events import Events, Pairs, pair_keys


@dataclass(frozen=True, slots=True)
class Acquaintances:
    """Who has had to do with whom, in either direction, and since when; by entity and partner."""

    entities: Longs
    partners: Longs
    since: Longs

    @classmethod
    def of(cls, events: Events) -> "Acquaintances":
        """Each entity with each partner once, at the time of their first event."""
        keys = np.concatenate(
            [events.keys(), pair_keys(events.objects, events.subjects, events.width)]
        )
        times = np.tile(events.times, 2)
        order = np.lexsort((times, keys))
        keys = keys[order]
        firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        entities, partners = keys[firsts] // events.width - 1, keys[firsts] % events.width - 1
        since = times[order][firsts].astype(np.int64)
        return cls(read_only(entities), read_only(partners), read_only(since))

    def common(self, pairs: Pairs) -> Longs:
        """How many other entities both of a pair had met before its moment."""
        counts = np.zeros(len(pairs), np.int64)
        columns = (pairs.subjects, pairs.objects, pairs.times.astype(np.int64))
        subjects, objects, times = (
            read_only(np.ascontiguousarray(column).view()) for column in columns
        )
        _count_common(
            *self._bounds(subjects),
            *self._bounds(objects),
            subjects,
            objects,
            times,
            self.partners,
            self.since,
            counts,
        )
        return counts

    def _bounds(self, entities: Longs) -> tuple[Longs, Longs]:
        """Where the partners of each entity start and stop."""
        starts, stops = (np.searchsorted(self.entities, entities, s) for s in ("left", "right"))
        return read_only(starts), read_only(stops)


@leaf
def _count_common(
    subject_starts: Longs, subject_stops: Longs, object_starts: Longs, object_stops: Longs,
    subjects: Longs, objects: Longs, times: Longs, partners: Longs, since: Longs, counts: Longs,
) -> None:  # fmt: skip
    """Walks through the partners of the entity with fewer, and looks them up in the other's."""
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
