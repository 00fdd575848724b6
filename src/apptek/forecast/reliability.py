"""How often similar forecasts came true: forecasts of past windows, and what happened."""

from dataclasses import dataclass

import numpy as np

from apptek.arrays import Bools, Doubles, Longs
from apptek.forecast.forecaster import Forecaster
from apptek.forecast.pair_chances import seen_pairs
from apptek.forecast.window import Window
from apptek.models.occurrence.pair_counts import Events, pair_keys
from apptek.models.occurrence.snapshots import counts_in
from apptek.results import described, record

WINDOWS = 6  # past windows, the last ones
LIKE = 0.05  # largest difference of the chance of a similar forecast
MOST_PAIRS = 20_000  # limit of pairs per window; of more, every n-th is used
FEWEST = 30  # similar forecasts that are needed; the range is widened until there are enough


@record
class Reliability:
    """Past forecasts with a chance near to this one, and how many of them came true."""

    forecasts: int
    came_true: int
    low: float = described("The chances that were taken to be near: from here")
    high: float = described("to here.")
    first: str = described("The time of these forecasts: from here")
    last: str = described("to here.")
    learned_from: bool = described(
        "Whether the model has learned or been calibrated from facts of that time."
    )


@dataclass(frozen=True)
class PastForecasts:
    """The chances of anything between all seen pairs, in past windows, and the outcomes."""

    chances: Doubles
    happened: Bools
    first: str
    last: str
    learned_from: bool

    def near(self, chance: float) -> Reliability | None:
        """Return the past forecasts with a similar chance; None if there are too few."""
        for width in (LIKE, 2 * LIKE, 4 * LIKE):
            low, high = max(chance - width, 0.0), min(chance + width, 1.0)
            alike = (self.chances >= low) & (self.chances <= high)
            if alike.sum() >= FEWEST:
                counts = int(alike.sum()), int(self.happened[alike].sum())
                return Reliability(*counts, low, high, self.first, self.last, self.learned_from)
        return None


def past_forecasts(forecaster: Forecaster, length: int, lead: int = 0) -> PastForecasts | None:
    """Forecast the last consecutive windows of a length and lead before the end of the facts.

    Return None if the facts do not reach far enough back. Each forecast sees only the facts before
    its window; the model itself may have been fitted and calibrated on facts of that time.
    """
    first, last = forecaster.span[0], forecaster.observed
    middle, starts = (first + last) // 2, [last - length * n + 1 for n in range(1, WINDOWS + 1)]
    windows = [Window(start, start + length - 1, lead) for start in starts if start - lead > middle]
    if not windows:
        return None
    chances, happened = [], []
    for window in windows:
        ids = seen_pairs(forecaster, window.moment)
        if len(ids) > MOST_PAIRS:
            ids = ids[np.linspace(0, len(ids) - 1, MOST_PAIRS).astype(np.int64)]
        made = forecaster.both_ways(ids, window)
        chances.append(forecaster.either_way(made.probabilities))
        counts = facts_in(forecaster.events, ids[:, 0], ids[:, 1], window.first, window.last)
        happened.append(counts > 0)
    axis = forecaster.model.dataset.axis
    return PastForecasts(
        np.concatenate(chances),
        np.concatenate(happened),
        windows[-1].texts(axis)[0],
        windows[0].texts(axis)[1],
        windows[-1].first <= forecaster.occurrence.fitted_until,
    )


def facts_in(events: Events, ones: Longs, others: Longs, first: int, last: int) -> Longs:
    """Return how many facts of each pair, in either direction, lie between two times."""
    counts = [
        counts_in(events, pair_keys(*ends, events.width), first, last)
        for ends in ((ones, others), (others, ones))
    ]
    known = (ones >= 0) & (others >= 0)
    return np.where(known, sum(counts), 0)
