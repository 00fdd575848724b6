"""Decayed counts: how many events a group had before a given time. Recent events count more.

The decayed count of a group at time t and scale c is the sum of exp(-(t - t_event) / c) over the
group's events strictly before t. If c is infinite, this is the number of these events. A group's
age at time t is the time since the last of these events, or infinite if there are none.
"""

import numpy as np

from apptek.arrays import AnyInts, Doubles, Longs, find_sorted, for_kernel
from apptek.compiling import leaf
from apptek.facts.times import UNKNOWN


def decayed_counts(
    event_groups: AnyInts, event_times: AnyInts, groups: AnyInts, times: AnyInts, scales: Doubles
) -> tuple[Doubles, Doubles]:
    """Return each query's decayed counts, (n, scales), and its group's age, (n,).

    Times are positions on an axis, and scales use the axis's unit. Events without a time are not
    counted, and queries without a time get no counts. The function sweeps through time once, in O(n
    log n). Apart from copies of its arguments, it stores only a few numbers per queried group.
    """
    asked, slots = np.unique(groups, return_inverse=True)
    counts, ages = np.zeros((len(times), len(scales)), np.float64), np.full(len(times), np.inf)
    event_slots = find_sorted(asked, event_groups)
    events = _by_time(event_times, np.flatnonzero((event_slots >= 0) & (event_times != UNKNOWN)))
    queries = _by_time(times, np.flatnonzero(times != UNKNOWN))
    if not len(events) or not len(queries):
        return counts, ages
    earliest = min(int(event_times[events[0]]), int(times[queries[0]]))
    _sweep(
        for_kernel(event_slots[events], np.int64),
        for_kernel(event_times[events], np.int64),
        for_kernel(slots[queries], np.int64),
        for_kernel(times[queries], np.int64),
        for_kernel(queries, np.int64),
        for_kernel(scales, np.float64),
        np.full(len(asked), earliest, np.int64),
        np.zeros((len(asked), len(scales)), np.float64),
        counts,
        ages,
    )
    return counts, ages


def _by_time(times: AnyInts, rows: Longs) -> Longs:
    return rows[np.argsort(times[rows], kind="stable")]


@leaf
def _sweep(
    event_slots: Longs, event_times: Longs, slots: Longs, times: Longs, rows: Longs,
    scales: Doubles, last: Longs, sums: Doubles, counts: Doubles, ages: Doubles,
) -> None:  # fmt: skip
    """Fill in counts[rows] and ages[rows]. Events and queries are in ascending order of time.

    `sums` contains each slot's decayed counts at the time `last` of its latest event. A later count
    is this sum times a single decay factor. `last` starts before all times, so that no factor
    exceeds 1.
    """
    event = 0
    for query in range(len(times)):
        when, slot = times[query], slots[query]
        while event < len(event_times) and event_times[event] < when:
            moment, seen = event_times[event], event_slots[event]
            for scale in range(len(scales)):
                kept = np.exp((last[seen] - moment) / scales[scale])
                sums[seen, scale] = sums[seen, scale] * kept + 1.0
            last[seen] = moment
            event += 1
        for scale in range(len(scales)):
            kept = np.exp((last[slot] - when) / scales[scale])
            counts[rows[query], scale] = sums[slot, scale] * kept
        if sums[slot, 0] > 0.0:  # at least 1 after the first event
            ages[rows[query]] = when - last[slot]
