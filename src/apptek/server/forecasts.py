"""Forecasts of a pair, and the outlook of the page: how reliable such forecasts were."""

from dataclasses import dataclass, replace

import numpy as np
from pydantic import BaseModel, Field

from apptek.arrays import Doubles, Longs
from apptek.errors import ApptekError
from apptek.forecast.forecaster import Forecaster
from apptek.forecast.watch import either_chances
from apptek.forecast.window import Length, Window, time_of
from apptek.models.model import observed_text
from apptek.models.occurrence.events import Events, pair_keys
from apptek.models.occurrence.snapshots import Meetings, counts_in
from apptek.present.forecast_words import begins_note
from apptek.results import Forecast
from apptek.server.problem_json import ServiceError, refused
from apptek.server.requests import ForecastBody
from apptek.server.served_model import ServedModel
from apptek.server.workers import within

NO_FORECASTS = "This model makes no forecasts"
NOT_A_WINDOW = "Not a window of this data"
PATIENCE = 4.0  # seconds that a forecast waits for its reliability
WINDOWS = 6  # of the past, the last ones
LIKE = 0.05  # how far the chance of a similar forecast may be
MOST_PAIRS = 20_000  # of a window; of more, evenly spread ones
FEWEST = 30  # similar forecasts; the range is widened until there are so many


class Reliability(BaseModel):
    """Past forecasts with a chance near to this one, and how many of them came true."""

    forecasts: int
    came_true: int
    low: float = Field(description="The chances that were taken to be near: from here")
    high: float = Field(description="to here.")
    first: str = Field(description="The time of these forecasts: from here")
    last: str = Field(description="to here.")
    learned_from: bool = Field(
        description="Whether the model has learned or been calibrated from facts of that time."
    )


class Outlook(BaseModel):
    """A forecast, and similar forecasts of the past."""

    forecast: Forecast
    counting: bool = Field(description="Whether such forecasts are still counted: ask again.")
    reliability: Reliability | None = Field(
        description="How often such forecasts came true; null if there were too few."
    )
    happened: int | None = Field(
        description="The facts between the two in the window; null if it begins after all facts."
    )
    happened_until: str | None = Field(description="Up to when the facts reach in the window.")


@dataclass(frozen=True, slots=True)
class MadeForecast:
    """A forecast, the ids of the pair and its window."""

    forecast: Forecast
    ids: tuple[int, int]
    window: Window


def make_forecast(served: ServedModel, body: ForecastBody) -> MadeForecast:
    """The forecast of a pair, with names like unknown ones.

    Raises a ServiceError if the model, the names or the window allow no forecast.
    """
    require_forecasts(served)
    names = (body.subject, body.object)
    pair = served.pair(*names, allow_unknown=body.allow_unknown)
    for text, where in ((body.start, "from"), (body.until, "until")):
        if text is not None:
            served.time(text, where)
    window = window_of(served, body.start, body.length)
    (made,) = served.predictor.forecaster.forecast(
        [names], window, top=body.top, why=True, ids=np.asarray([pair], np.int64)
    )
    return MadeForecast(replace(made, similar=served.similar(names, pair)), pair, window)


def require_forecasts(served: ServedModel) -> None:
    """Raise a ServiceError if the model makes no forecasts."""
    if served.predictor.model.occurrence is None:
        raise ServiceError(
            422,
            f"Why: {served.predictor.model.no_forecasts or 'too little was learned'}.",
            advice="Serve a model that was fitted with the preset default or max on dated facts.",
            title=NO_FORECASTS,
        )


def window_of(served: ServedModel, start: str | None, length: Length) -> Window:
    """The window from a time on, by default after the last observed time.

    Raises a ServiceError that says what is wrong with it.
    """
    try:
        return served.predictor.forecaster.window(start, length)
    except ApptekError as error:
        advice = "Give the first time in `from`, and the last one in `until` or a length."
        where = (length.given() or ["from"])[0]
        raise refused(error, advice=advice, where=where, title=NOT_A_WINDOW) from None


def outlook(served: ServedModel, body: ForecastBody) -> Outlook:
    """The outlook of a pair. Raises a ServiceError if the model or the window allows none."""
    made = make_forecast(served, body)
    forecast, window = made.forecast, made.window
    forecaster = served.predictor.forecaster
    if body.start is None:  # the page asks so for a time before all facts, and for none
        note = begins_note(observed_text(forecaster.model))
        forecast = replace(forecast, notes=(*forecast.notes, note))
    leads = forecaster.occurrence.leads  # few: such forecasts are counted for each of them
    lead = min(leads, key=lambda learned: abs(learned - window.lead))
    past = served.background.start(
        f"reliability {window.length} {lead}",
        lambda: past_forecasts(forecaster, window.length, lead),
    )
    counted = within(PATIENCE, past)
    last = min(window.last, forecaster.observed)
    has_begun = window.first <= last
    one, other = np.asarray(made.ids, np.int64)[:, None]
    happened = int(_happened(forecaster.events, one, other, window.first, last)[0])
    return Outlook(
        forecast=forecast,
        counting=not past.done(),
        reliability=None if counted is None else counted.near(forecast.probability),
        happened=happened if has_begun else None,
        happened_until=time_of(forecaster.model.dataset.axis, last) if has_begun else None,
    )


def _happened(events: Events, ones: Longs, others: Longs, first: int, last: int) -> Longs:
    """How many of the facts that forecasts count lie between two times, for each pair."""
    counts = [
        counts_in(events, pair_keys(*ends, events.width), first, last)
        for ends in ((ones, others), (others, ones))
    ]
    known = (ones >= 0) & (others >= 0)
    return np.where(known, sum(counts), 0)


@dataclass(frozen=True)
class PastForecasts:
    """The chance of anything between all pairs that had met, in past windows, and the outcomes."""

    chances: Doubles
    happened: Doubles
    first: str
    last: str
    learned_from: bool

    def near(self, chance: float) -> Reliability | None:
        """Those that were as probable as a forecast; None if there are too few."""
        for width in (LIKE, 2 * LIKE, 4 * LIKE):
            low, high = max(chance - width, 0.0), min(chance + width, 1.0)
            alike = (self.chances >= low) & (self.chances <= high)
            if alike.sum() >= FEWEST:
                return Reliability(
                    forecasts=int(alike.sum()),
                    came_true=int(self.happened[alike].sum()),
                    low=low,
                    high=high,
                    first=self.first,
                    last=self.last,
                    learned_from=self.learned_from,
                )
        return None


def past_forecasts(forecaster: Forecaster, length: int, lead: int = 0) -> PastForecasts | None:
    """The last windows of a length and lead before the end of the facts, one after the other.

    None if the facts do not reach far enough back. Each forecast sees only what was known before
    its window; the model itself may have been fitted and calibrated on facts of that time.
    """
    first, last = forecaster.span[0], forecaster.observed
    middle, starts = (first + last) // 2, [last - length * n + 1 for n in range(1, WINDOWS + 1)]
    windows = [Window(start, start + length - 1, lead) for start in starts if start - lead > middle]
    if not windows:
        return None
    parts = [_outcomes(forecaster, window) for window in windows]
    axis = forecaster.model.dataset.axis
    return PastForecasts(
        np.concatenate([chances for chances, _ in parts]),
        np.concatenate([happened for _, happened in parts]),
        windows[-1].texts(axis)[0],
        windows[0].texts(axis)[1],
        windows[-1].first <= forecaster.occurrence.fitted_until,
    )


def _outcomes(forecaster: Forecaster, window: Window) -> tuple[Doubles, Doubles]:
    """Of every pair that had met: the chance of anything in either direction, and the outcome."""
    events, width = forecaster.events, forecaster.events.width
    keys = Meetings(events).before(window.moment)
    subjects, objects = keys // width - 1, keys % width - 1
    once = subjects < objects  # the keys have both directions of a pair
    subjects, objects = subjects[once], objects[once]
    if len(subjects) > MOST_PAIRS:
        spread = np.linspace(0, len(subjects) - 1, MOST_PAIRS).astype(np.int64)
        subjects, objects = subjects[spread], objects[spread]
    chances = either_chances(forecaster, subjects, objects, window)
    counts = _happened(events, subjects, objects, window.first, window.last)
    return chances, (counts > 0).astype(np.float64)
