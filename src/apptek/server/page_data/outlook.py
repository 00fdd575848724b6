"""The outlook of a pair: its forecast, and how reliable such forecasts were."""

from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from apptek.forecast.forecaster import Forecaster
from apptek.forecast.window import Window, time_of
from apptek.models.model import observed_text
from apptek.models.occurrence.events import pair_keys
from apptek.models.occurrence.snapshots import counts_in
from apptek.present.forecast_words import begins_note
from apptek.results import Forecast
from apptek.server.forecasts import ForecastQuestion, forecast
from apptek.server.page_data.reliability import Reliability, past_forecasts
from apptek.server.schemas.requests import ForecastBody
from apptek.server.served_model import ServedModel
from apptek.server.workers import within

PATIENCE = 4.0  # seconds that a forecast waits for its reliability


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


def outlook(served: ServedModel, body: ForecastBody) -> dict[str, Any]:
    """The outlook of a pair. Raises a ServiceError if the model or the window allows none."""
    question = ForecastQuestion.of(served, body)
    made = forecast(served, question, body.top)
    forecaster, window = served.predictor.forecaster, question.window
    if body.start is None:  # the page asks so for a time before all facts, and for none
        made["notes"] = [*made["notes"], begins_note(observed_text(forecaster.model))]
    leads = forecaster.occurrence.leads  # few: such forecasts are counted for each of them
    lead = min(leads, key=lambda learned: abs(learned - window.lead))
    past = served.background.start(
        f"reliability {window.length} {lead}",
        lambda: past_forecasts(forecaster, window.length, lead),
    )
    counted = within(PATIENCE, past)
    happened, until = _happened(forecaster, question.ids, window)
    return {
        "forecast": made,
        "counting": not past.done(),
        "reliability": None if counted is None else counted.near(made["probability"]),
        "happened": happened,
        "happened_until": until,
    }


def _happened(
    forecaster: Forecaster, pair: tuple[int, int], window: Window
) -> tuple[int | None, str | None]:
    """How many of the facts that forecasts count lie in a window, and up to when they reach."""
    last = min(window.last, forecaster.observed)
    if window.first > last:
        return None, None
    subject, object_ = np.asarray(pair, np.int64)[:, None]
    events, count = forecaster.events, 0
    if subject[0] >= 0 and object_[0] >= 0:
        for ends in ((subject, object_), (object_, subject)):
            keys = pair_keys(*ends, events.width)
            count += int(counts_in(events, keys, window.first, last).sum())
    return count, time_of(forecaster.model.dataset.axis, last)
