"""Events, pairs of entities, and the features of a pair: counts of what happened before a time.

An event has the time when something happened between two entities. A pair has the time of a
forecast. *Meetings* are the first events of two entities, in either direction.

For each of four families, the features are log(1 + decayed count) for each of the data's time
scales (brief, short, middle, long and ever), then log(time since the last):

| family   | counts                                                  |
|----------|---------------------------------------------------------|
| pair     | times at which the subject did something to the object  |
| reversed | times at which the object did something to the subject  |
| subject  | facts that go out from the subject                      |
| object   | facts that come in to the object                        |

The other features are the time since the pair's last fact in either direction, the number of common
partners, and the pair's rhythm. The rhythm has two columns: the log of the mean gap between two
times, and the number of gaps missed since the last time: age / gap - 1, from 0 to 20. The mean
includes one additional gap as long as the long time scale. Facts at or after the forecast's time do
not count.
"""

import math
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools, Doubles, Ints, Longs, find_sorted, for_kernel
from apptek.compiling import leaf
from apptek.facts.facts import Facts
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.features.clock import Clock
from apptek.graph.decayed_counts import decayed_counts
from apptek.graph.slot_search import lower_bound

FAMILIES = ("pair", "reversed", "subject", "object")
SCALES = ("brief", "short", "middle", "long", "ever")
LAST = "last"  # the name of the column with the time since the last
EITHER, COMMON, GAP, MISSED = "either last", "common partners", "pair gap", "pair missed"
NAMES = (
    *(f"{family} {column}" for family in FAMILIES for column in (*SCALES, LAST)),
    EITHER, COMMON, GAP, MISSED,
)  # fmt: skip
# For a name without facts, all counts are 0 and all ages are the highest.
_FALLING = (f" {LAST}", GAP, MISSED)
SIGNS = np.asarray([-1.0 if name.endswith(_FALLING) else 1.0 for name in NAMES])
EVIDENCE = (*FAMILIES, "either", "common")  # the kinds of evidence that the columns belong to
LENGTH = "length"  # an additional reason: the chances of other window lengths
_COLUMNS = {f: [i for i, name in enumerate(NAMES) if name.split()[0] == f] for f in EVIDENCE}
_PLACES = {name: place for place, name in enumerate(NAMES)}
MOST_MISSED = 20.0  # maximum number of gaps since the last time
OLDEST = 4.0  # the largest age, in long scales; also used if nothing ever happened


@dataclass(frozen=True, slots=True)
class Events:
    """The dated facts as (subject, object, time), ascending in time, without predicates.

    A fact counts once, at its start. Without a known start, it counts at its end. `width` is
    greater than every id, so that two ids can be combined into one key.
    """

    subjects: Longs
    objects: Longs
    times: Ints  # positions on the axis
    width: int

    @classmethod
    def of(cls, facts: Facts, axis: TimeAxis, entity_count: int) -> "Events":
        """Return the events of the dated facts."""
        times = axis.positions(facts.times)
        rows = np.flatnonzero(times != UNKNOWN)
        rows = rows[np.argsort(times[rows], kind="stable")]
        subjects, objects = (ids[rows].astype(np.int64) for ids in (facts.subjects, facts.objects))
        return cls(subjects, objects, times[rows], entity_count + 1)

    def __len__(self) -> int:
        return len(self.times)

    def before(self, moment: int) -> "Events":
        """Return the events strictly before a given time."""
        return self._take(slice(np.searchsorted(self.times, moment)))

    def within(self, first: int, last: int) -> "Events":
        """Return the events between two times, inclusive."""
        start, stop = np.searchsorted(self.times, [first, last + 1]).tolist()
        return self._take(slice(start, stop))

    def among(self, members: Longs) -> "Events":
        """Return the events whose subject and object are both among some entities."""
        is_member = np.zeros(self.width, np.bool_)
        is_member[members] = True
        return self._take(is_member[self.subjects] & is_member[self.objects])

    def _take(self, rows: Bools | slice) -> "Events":
        return Events(self.subjects[rows], self.objects[rows], self.times[rows], self.width)

    def keys(self) -> Longs:
        """Return one number for each ordered pair of subject and object."""
        return pair_keys(self.subjects, self.objects, self.width)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Ordered pairs of entities, each with the time of its forecast.

    An entity of -1 is unknown to the data.
    """

    subjects: Longs
    objects: Longs
    times: Ints

    def __len__(self) -> int:
        return len(self.times)

    @classmethod
    def at(cls, keys: Longs, moment: int, width: int) -> "Pairs":
        """Return the pairs with these keys, all at the same time."""
        return cls(keys // width - 1, keys % width - 1, np.full(len(keys), moment, np.int32))

    @classmethod
    def join(cls, parts: list["Pairs"]) -> "Pairs":
        """Concatenate the pairs of all parts."""
        columns = ("subjects", "objects", "times")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))

    def take(self, rows: npt.NDArray[Any]) -> "Pairs":
        """Return the pairs of these rows."""
        return Pairs(self.subjects[rows], self.objects[rows], self.times[rows])

    def later(self, steps: int) -> "Pairs":
        """Return the pairs with their times moved `steps` later."""
        return Pairs(self.subjects, self.objects, self.times + np.int32(steps))

    def reversed(self) -> "Pairs":
        """Return the pairs with subject and object swapped."""
        return Pairs(self.objects, self.subjects, self.times)

    def keys(self, width: int) -> Longs:
        """Return one number for each ordered pair, as `Events.keys` does."""
        return pair_keys(self.subjects, self.objects, width)


def pair_keys(subjects: Longs, objects: Longs, width: int) -> Longs:
    """Return one number for each ordered pair; ids from -1 to width - 2 are distinct."""
    return (subjects + 1) * width + objects + 1


class Meetings:
    """The ordered pairs with an event in either direction, and the first event's time."""

    def __init__(self, events: Events) -> None:
        own, back = events.keys(), pair_keys(events.objects, events.subjects, events.width)
        both = np.stack([own, back], axis=1).ravel()  # ascends in time, as the events do
        self.keys, firsts = np.unique(both, return_index=True)
        self.since, self.width = events.times[firsts // 2], events.width

    def before(self, moment: int) -> Longs:
        """Return the keys of all pairs that had met before a given time, ascending."""
        return self.keys[self.since < moment]

    def had_met(self, keys: Longs, moment: int) -> Bools:
        """Return which pairs had met before a given time."""
        places = find_sorted(self.keys, keys)
        met: Bools = places >= 0
        met[met] = self.since[places[met]] < moment
        return met

    def common_partners(self, pairs: Pairs) -> Longs:
        """Count the other entities that both entities in a pair had met before its time."""
        counts, entities = np.zeros(len(pairs), np.int64), self.keys // self.width - 1
        columns: Any = (
            *(np.searchsorted(entities, ends, side)
              for ends in (pairs.subjects, pairs.objects) for side in ("left", "right")),
            pairs.subjects, pairs.objects, pairs.times, self.keys % self.width - 1, self.since,
        )  # fmt: skip
        arguments: Any = [*(for_kernel(column, np.int64) for column in columns), counts]
        _count_common(*arguments)
        return counts


class PairCounts:
    """The features of pairs, computed from events and the time scales of the data.

    members  the entities whose events are complete, or None for all entities
    """

    def __init__(self, events: Events, clock: Clock, members: Longs | None = None) -> None:
        self.events, self.clock, self.members = events, clock, members

    @cached_property
    def candidates(self) -> Events:
        """The events whose pairs can be drawn: those between members."""
        return self.events if self.members is None else self.events.among(self.members)

    @cached_property
    def _distinct(self) -> tuple[Longs, Ints]:
        return distinct_times(self.events)

    @cached_property
    def _meetings(self) -> Meetings:
        return Meetings(self.events)

    def features(self, pairs: Pairs) -> Doubles:
        """Return a row for each pair and a column for each name in NAMES: (n, 28)."""
        events, width = self.events, self.events.width
        own, back = pairs.keys(width), pairs.reversed().keys(width)
        keys, times = self._distinct
        columns, ages, rhythm = list[Doubles](), list[Doubles](), self._rhythm(pairs)
        scales = np.asarray([*astuple(self.clock), np.inf])
        for groups, moments, asked in (
            (keys, times, own),
            (keys, times, back),
            (events.subjects, events.times, pairs.subjects),
            (events.objects, events.times, pairs.objects),
        ):
            counts, age = decayed_counts(groups, moments, asked, pairs.times, scales)
            ages.append(np.log(np.minimum(age, OLDEST * self.clock.long))[:, None])
            columns += [np.log1p(counts), ages[-1]]
        columns.append(np.minimum(ages[0], ages[1]))
        columns.append(np.log1p(self._meetings.common_partners(pairs))[:, None])
        return np.concatenate([*columns, rhythm], axis=1)

    def _rhythm(self, pairs: Pairs) -> Doubles:
        """Return the last two columns: each pair's mean gap, and the number of missed gaps."""
        keys, times = self._distinct
        asked = pairs.keys(self.events.width)
        known, starts = np.unique(keys, return_index=True)
        places = find_sorted(known, asked)
        counts, ages = decayed_counts(keys, times, asked, pairs.times, np.asarray([np.inf]))
        seen, long = counts[:, 0] > 0, self.clock.long
        rhythm = np.zeros((len(pairs), 2))
        rhythm[:, 0] = math.log(OLDEST * long)
        firsts = times[starts[places[seen]]].astype(np.float64)
        spans = pairs.times[seen] - ages[seen] - firsts
        gaps = (spans + long) / counts[seen, 0]
        rhythm[seen, 0] = np.log(gaps)
        rhythm[seen, 1] = np.clip(ages[seen] / gaps - 1.0, 0.0, MOST_MISSED)
        return rhythm


def by_evidence(contributions: Doubles) -> Doubles:
    """Sum what the features of each kind of evidence add: (n, 30) -> (n, 6)."""
    return np.stack([contributions[:, _COLUMNS[each]].sum(axis=1) for each in EVIDENCE], axis=1)


def count_and_age(features: Doubles, evidence: str) -> tuple[int, float]:
    """Return how many facts, times or partners a row of features counts, and the age of the last.

    For "either", the count is 0 if there was no fact between the two entities.
    """

    def count(name: str) -> int:
        return round(math.expm1(features[_PLACES[name]]))

    if evidence == "common":
        return count(COMMON), 0.0
    if evidence == "either":
        return count("pair ever") or count("reversed ever"), age_of_last(features)
    return count(f"{evidence} ever"), math.exp(features[_PLACES[f"{evidence} {LAST}"]])


def age_of_last(features: Doubles) -> float:
    """Return the time since the pair's last fact in either direction."""
    return math.exp(features[_PLACES[EITHER]])


def distinct_times(events: Events) -> tuple[Longs, Ints]:
    """Return each ordered pair with each distinct time of its events."""
    keys = events.keys()
    order = np.lexsort((events.times, keys))
    keys, times = keys[order], events.times[order]
    is_new = (np.diff(keys, prepend=-1) != 0) | (np.diff(times, prepend=times[:1]) != 0)
    return keys[is_new], times[is_new]


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
            place = lower_bound(partners, lo, hi, partner)
            if place < hi and partners[place] == partner and since[place] < times[row]:
                counts[row] += 1
