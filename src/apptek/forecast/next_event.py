"""When the next event comes: the chance until each time of a window, and the median.

The median is the first length of a window with a chance of at least one half. Beyond the longest
window that was learned there is none.
"""

import numpy as np

from apptek.arrays import Doubles, Longs
from apptek.forecast.event_filter import EventFilter
from apptek.forecast.forecaster import CURVE, Forecaster, PairForecasts
from apptek.forecast.window import Window, time_of
from apptek.models.occurrence.events import Pairs
from apptek.results import ChanceUntil, NextEvent

LENGTHS = 128  # of windows among which a median is looked for
HALF = 0.5


def median_steps(
    forecaster: Forecaster, made: PairForecasts, shares: Doubles | None, event: EventFilter
) -> Longs:
    """Of each ordered pair, the median time to the next event in steps; 0: beyond the longest."""
    return _first_half(median_lengths(forecaster), chance_grid(forecaster, made, shares, event))


def next_event(forecaster: Forecaster, ids: Longs, window: Window, event: EventFilter) -> NextEvent:
    """When the next event of two entities comes, in either direction; ids: (2,)."""
    made = forecaster.pair_forecasts(ids, ids[::-1], window)
    shares = forecaster.shares(Pairs(ids, ids[::-1], made.pairs.times)) if event.name else None
    axis, either = forecaster.model.dataset.axis, forecaster.occurrence.either_way
    lengths = np.unique(np.linspace(1, window.length, CURVE).round().astype(np.int64))
    curve = np.maximum.accumulate(
        [
            either(one, other)
            for one, other in chance_grid(forecaster, made, shares, event, lengths)[..., None]
        ]
    )[:, 0]
    both = chance_grid(forecaster, made, shares, event)
    (median,) = _first_half(median_lengths(forecaster), either(both[:, :1], both[:, 1:])).tolist()
    return NextEvent(
        event=event.name,
        probability=float(curve[-1]),
        expected=float(event.expected(made.chances, shares).sum()),
        curve=tuple(
            ChanceUntil(until=time_of(axis, window.first + length - 1), probability=float(chance))
            for length, chance in zip(lengths.tolist(), curve, strict=True)
        ),
        median=median or None,
        median_time=time_of(axis, window.first + median - 1) if median else None,
        longest=forecaster.occurrence.longest,
    )


def median_lengths(forecaster: Forecaster) -> Longs:
    """The lengths of windows among which a median is looked for, ascending."""
    stride, longest = forecaster.occurrence.stride, forecaster.occurrence.longest
    steps = np.arange(1, longest // stride + 1)
    if len(steps) > LENGTHS:
        steps = np.unique(np.geomspace(1, len(steps), LENGTHS).round().astype(np.int64))
    return steps * stride


def chance_grid(
    forecaster: Forecaster, made: PairForecasts, shares: Doubles | None, event: EventFilter,
    lengths: Longs | None = None,
) -> Doubles:  # fmt: skip
    """The chance of each pair in windows of each length: (lengths, pairs)."""
    windows = (median_lengths(forecaster) if lengths is None else lengths).tolist()
    found = forecaster.occurrence.occurrences(made.features, made.met, windows, made.window.lead)
    return np.stack([event.chances(forecaster, chances, shares) for chances in found])


def _first_half(lengths: Longs, chances: Doubles) -> Longs:
    reached = chances >= HALF
    return np.where(reached.any(axis=0), lengths[np.argmax(reached, axis=0)], 0)
