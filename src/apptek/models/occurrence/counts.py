"""The features of a pair at a moment: what happened before it, all of it named.

For each of four families, log(1 + decayed count) by the time scales of the data (brief, short,
middle, long, and ever), then log(time since the last):

| family   | counts                                                  |
|----------|---------------------------------------------------------|
| pair     | times at which the subject did something to the object  |
| reversed | times at which the object did something to the subject  |
| subject  | facts that go out from the subject                      |
| object   | facts that come in to the object                        |

Then the time since the last fact of the two in either direction, and the common partners. Nothing
at or after the moment counts.
"""

import math
from functools import cached_property

import numpy as np

from apptek.arrays import Doubles, Ints, Longs
from apptek.features.clock import Clock
from apptek.graph.decayed_counts import decayed_counts
from apptek.models.occurrence.events import Events, Meetings, Pairs

FAMILIES = ("pair", "reversed", "subject", "object")
SCALES = ("brief", "short", "middle", "long", "ever")
LAST = "last"  # the name of the column with the time since the last
EITHER, COMMON = "either last", "common partners"
NAMES = (
    *(f"{family} {column}" for family in FAMILIES for column in (*SCALES, LAST)), EITHER, COMMON,
)  # fmt: skip
# Of a name without facts, all counts are 0 and all ages the highest.
SIGNS = np.asarray([-1.0 if name.endswith(f" {LAST}") else 1.0 for name in NAMES])
EVIDENCE = (*FAMILIES, "either", "common")  # the columns by what people call evidence
_COLUMNS = {f: [i for i, name in enumerate(NAMES) if name.split()[0] == f] for f in EVIDENCE}
_PLACES = {name: place for place, name in enumerate(NAMES)}
OLDEST = 4.0  # in long scales: what is older counts as no more recent, and so does what never was


class PairCounts:
    """Computes the features of pairs from events and the time scales of the data.

    members  the entities whose events are all there, where not those of all are
    """

    def __init__(self, events: Events, clock: Clock, members: Longs | None = None) -> None:
        self.events, self.clock, self.members = events, clock, members

    @cached_property
    def candidates(self) -> Events:
        """The events whose pairs can be asked about: those between members."""
        return self.events if self.members is None else self.events.among(self.members)

    @cached_property
    def _distinct(self) -> tuple[Longs, Ints]:
        return distinct_times(self.events)

    @cached_property
    def _meetings(self) -> Meetings:
        return Meetings(self.events)

    def features(self, pairs: Pairs) -> Doubles:
        """One row for each pair, a column for each name in NAMES: (n, 26)."""
        events, width = self.events, self.events.width
        own, back = pairs.keys(width), pairs.reversed().keys(width)
        keys, times = self._distinct
        columns, ages = list[Doubles](), list[Doubles]()
        for groups, moments, asked in (
            (keys, times, own),
            (keys, times, back),
            (events.subjects, events.times, pairs.subjects),
            (events.objects, events.times, pairs.objects),
        ):
            counts, age = decayed_counts(groups, moments, asked, pairs.times, self._scales)
            ages.append(np.log(np.minimum(age, OLDEST * self.clock.long))[:, None])
            columns += [np.log1p(counts), ages[-1]]
        columns.append(np.minimum(ages[0], ages[1]))
        columns.append(np.log1p(self._meetings.common_partners(pairs))[:, None])
        return np.concatenate(columns, axis=1)

    @property
    def _scales(self) -> Doubles:
        clock = self.clock
        return np.asarray([clock.brief, clock.short, clock.middle, clock.long, np.inf])


def by_evidence(contributions: Doubles) -> Doubles:
    """Sum what the features of each kind of evidence add: (n, 27) -> (n, 6)."""
    return np.stack([contributions[:, _COLUMNS[each]].sum(axis=1) for each in EVIDENCE], axis=1)


def count_and_age(features: Doubles, evidence: str) -> tuple[int, float]:
    """Return how many facts, times or partners a row of features counts, and the age of the last.

    Of "either", the count is 0 if there was no fact between the two.
    """

    def count(name: str) -> int:
        return round(math.expm1(features[_PLACES[name]]))

    if evidence == "common":
        return count(COMMON), 0.0
    if evidence == "either":
        return count("pair ever") or count("reversed ever"), age_of_last(features)
    return count(f"{evidence} ever"), math.exp(features[_PLACES[f"{evidence} {LAST}"]])


def age_of_last(features: Doubles) -> float:
    """Return how long before the moment the last fact between the two was."""
    return math.exp(features[_PLACES[EITHER]])


def distinct_times(events: Events) -> tuple[Longs, Ints]:
    """Each ordered pair with each time at which it had an event, once."""
    keys = events.keys()
    order = np.lexsort((events.times, keys))
    keys, times = keys[order], events.times[order]
    is_new = (np.diff(keys, prepend=-1) != 0) | (np.diff(times, prepend=times[:1]) != 0)
    return keys[is_new], times[is_new]
