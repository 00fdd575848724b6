"""Simple rates that a forecast must beat: how often something happened to the pair so far.

The share of the times (such as days) with a fact of the ordered pair, among all before the moment
or among the last 30, is the chance for each time of the window. One time more, with the average
share of all pairs, keeps the chance of a pair without any above 0.
"""

from collections.abc import Callable

import numpy as np

from apptek.arrays import Doubles
from apptek.occurrence.counts import distinct_times
from apptek.occurrence.events import Events, Pairs

RECENT = 30

Rate = Callable[[Events, Pairs, int], Doubles]


def own_rate(events: Events, pairs: Pairs, window: int) -> Doubles:
    """The chance of anything in the window, by the pair's rate since the first fact of all."""
    return _rate(events, pairs, window, int(np.iinfo(np.int32).max))


def recent_rate(events: Events, pairs: Pairs, window: int) -> Doubles:
    """The same by the last 30 times."""
    return _rate(events, pairs, window, RECENT)


BASELINES: dict[str, Rate] = {"own_rate": own_rate, "last_30": recent_rate}


def _rate(events: Events, pairs: Pairs, window: int, most: int) -> Doubles:
    keys, times = distinct_times(events)
    first = int(events.times[0])
    asked = pairs.keys(events.width)
    elapsed = np.minimum(pairs.times.astype(np.int64) - first, most)
    # One ascending number for (pair, time): how many lie between two of them.
    distinct, slots = np.unique(asked, return_inverse=True)
    places = np.minimum(np.searchsorted(distinct, keys), len(distinct) - 1)
    kept = distinct[places] == keys
    span = int(max(times.max(), pairs.times.max())) - first + 2
    numbers = np.sort(places[kept] * span + times[kept].astype(np.int64) - first)
    until = slots * span + pairs.times.astype(np.int64) - first
    counts = np.searchsorted(numbers, until) - np.searchsorted(numbers, until - elapsed)
    average = counts.sum() / max(1, elapsed.sum())
    chances: Doubles = 1 - (1 - (counts + average) / (elapsed + 1)) ** window
    return chances
