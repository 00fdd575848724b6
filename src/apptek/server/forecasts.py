"""Forecasts of the served model."""

from dataclasses import dataclass
from typing import Any

from apptek.errors import ApptekError
from apptek.forecast.window import Length, Window
from apptek.results import to_dict
from apptek.server.problem_json import ServiceError
from apptek.server.schemas.requests import ForecastBody
from apptek.server.served_model import ServedModel

NO_FORECASTS = "This model makes no forecasts"
NOT_A_WINDOW = "Not a window of this data"


@dataclass(frozen=True, slots=True)
class ForecastQuestion:
    """A question about a window whose names and times were looked up; see `Question`."""

    names: tuple[str, str]
    ids: tuple[int, int]
    window: Window

    @classmethod
    def of(cls, served: ServedModel, body: ForecastBody) -> "ForecastQuestion":
        """Raises a ServiceError if the model, the names or the window allow no forecast."""
        require_forecasts(served)
        names = (body.subject, body.object)
        ids = served.pair(*names, allow_unknown=body.allow_unknown)
        return cls(names, ids, window_of_body(served, body))


def forecast(served: ServedModel, question: ForecastQuestion, top: int) -> dict[str, Any]:
    """The forecast of a pair, as `Forecast` describes it."""
    forecaster, window = served.predictor.forecaster, question.window
    (made,) = forecaster.forecast([question.names], window, top=top, why=True)
    similar = served.similar(zip(question.ids, question.names, strict=True))
    return {**to_dict(made), "similar": similar}


def require_forecasts(served: ServedModel) -> None:
    """Raises a ServiceError if the model makes no forecasts."""
    if served.predictor.model.occurrence is None:
        raise ServiceError(
            422,
            NO_FORECASTS,
            f"Why: {served.predictor.model.no_forecasts or 'too little was learned'}.",
            advice="Serve a model that was fitted with the preset default or max on dated facts.",
        )


def window_of_body(served: ServedModel, body: ForecastBody) -> Window:
    """The window of a request. Raises a ServiceError that says what is wrong with it."""
    for text, where in ((body.start, "from"), (body.until, "until")):
        if text is not None:
            served.time(text, where)
    length = Length(
        body.until, body.days, body.months, body.years, body.hours, body.minutes, body.steps
    )
    return window_of(served, body.start, length)


def window_of(served: ServedModel, start: str | None, length: Length) -> Window:
    """The window from a time on, by default after the last observed time."""
    try:
        return served.predictor.forecaster.window(start, length)
    except ApptekError as error:
        message = str(error)
        raise ServiceError(
            422,
            NOT_A_WINDOW,
            f"{message[:1].upper()}{message[1:]}.",
            advice="Give the first time in `from`, and the last one in `until` or a length.",
            where=(length.given() or ["from"])[0],
        ) from None
