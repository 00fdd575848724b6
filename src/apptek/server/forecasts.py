"""Forecasts: of a pair, of an actor, of a missing entity; and how reliable similar ones were."""

from typing import Any

from pydantic import BaseModel, Field

from apptek.forecast.event_filter import read_filter
from apptek.forecast.forecaster import Forecaster, occurrence_of
from apptek.forecast.reliability import Reliability, facts_in, past_forecasts
from apptek.forecast.window import Length, Window, time_of
from apptek.results import ActorForecast, EntityRanking, Forecast
from apptek.server.problem_json import refusing
from apptek.server.requests import EntitiesBody, ForecastBody, PartnersBody, WindowBody
from apptek.server.served_model import ServedModel, supposing
from apptek.server.workers import within

NO_FORECASTS = "This model makes no forecasts"
NOT_EVENTS = "Not events of this data"
ONE_FILTER = "Give one of `predicate`, `class` and `group`, by a name of GET /api/predicates."
NOT_A_WINDOW = "Not a window of this data"
WINDOW = "Give the first time in `from`, and the last one in `until` or a length."
PATIENCE = 4.0  # seconds that a forecast waits for its reliability


class Outlook(BaseModel):
    """A forecast, and similar forecasts of the past."""

    forecast: Forecast
    counting: bool = Field(
        description="Whether similar forecasts are still being counted: ask again."
    )
    reliability: Reliability | None = Field(
        description="How often similar forecasts came true; null if there were too few."
    )
    happened: int | None = Field(
        description="The facts of the pair in the window; null if it begins after all facts."
    )
    happened_until: str | None = Field(
        description="The last time in the window with observed facts."
    )


def window_keywords(served: ServedModel, body: WindowBody) -> dict[str, Any]:
    """Return window and events of a request as keywords of the predictor's methods.

    Raises a ServiceError if the model makes no forecasts, or for what is wrong with them.
    """
    forecaster, length = forecaster_of(served), body.length
    with refusing((length.given() or ["from"])[0], title=NOT_A_WINDOW, advice=WINDOW):
        forecaster.window(body.start, length)
    events = {"predicate": body.predicate, "class_": body.class_, "group": body.group}
    named = [name for name, text in events.items() if text is not None]
    with refusing((named or [""])[-1].rstrip("_"), title=NOT_EVENTS, advice=ONE_FILTER):
        read_filter(forecaster, **events)
    return {"start": body.start, **events, **{n: getattr(length, n) for n in length.given()}}


def forecast(served: ServedModel, body: ForecastBody) -> Forecast:
    """Forecast whether an event happens between two entities in a window, and what kind."""
    keywords = window_keywords(served, body)
    served.pair(body.subject, body.object, allow_unknown=body.allow_unknown)
    with supposing():
        return served.predictor.forecast(
            body.subject, body.object, top=body.top, allow_unknown=body.allow_unknown,
            suppose=[each.row() for each in body.suppose] or None, **keywords,
        )  # fmt: skip


def partners(served: ServedModel, body: PartnersBody) -> ActorForecast:
    """Whom an actor will act on in a window, and who will act on it, most probable first."""
    keywords = window_keywords(served, body)
    if not body.members:
        served.ids({"actor": body.actor})
    advice = "Name an actor with facts before the window."
    with refusing("actor", title="No partners", advice=advice):
        return served.predictor.forecast(
            body.actor, None, top=body.top, members=body.members, **keywords
        )


def rank_entities(served: ServedModel, body: EntitiesBody) -> EntityRanking:
    """Rank the entities for the missing subject or object of a fact."""
    forecaster_of(served)
    given = {"subject": body.subject, "object": body.object}
    served.ids({where: name for where, name in given.items() if name is not None})
    served.check_predicates(predicate=body.predicate)
    served.time(body.time, "time")
    advice = "Give a subject or an object, a predicate and a time near the facts."
    slot = "subject" if body.subject is None else "object"
    with refusing(slot, title="No ranking", advice=advice):
        return served.predictor.rank_entities(
            body.subject, body.object, predicate=body.predicate, time=body.time, top=body.top
        )


def forecaster_of(served: ServedModel) -> Forecaster:
    """Return the forecaster. Raises a ServiceError if the model makes no forecasts."""
    advice = "Serve a model that was fitted with the preset default or max on dated facts."
    with refusing("", title=NO_FORECASTS, advice=advice):
        occurrence_of(served.model)
    return served.predictor.forecaster


def outlook(served: ServedModel, body: ForecastBody) -> Outlook:
    """Return a forecast, and how often similar forecasts came true."""
    made, forecaster = forecast(served, body), served.predictor.forecaster
    window = forecaster.window(made.first, Length(steps=made.length))
    leads = forecaster.occurrence.leads  # few: such forecasts are counted for each of them
    lead = min(leads, key=lambda learned: abs(learned - window.lead))
    past = served.background.start(
        f"reliability {window.length} {lead}",
        lambda: past_forecasts(forecaster, window.length, lead),
    )
    counted = within(PATIENCE, past)
    happened = _happened(served, body, window)
    return Outlook(
        forecast=made,
        counting=not past.done(),
        reliability=None if counted is None else counted.near(made.probability),
        happened=happened[0],
        happened_until=happened[1],
    )


def _happened(
    served: ServedModel, body: ForecastBody, window: Window
) -> tuple[int | None, str | None]:
    """Return the facts of the pair in the observed part of the window, and its end."""
    forecaster = served.predictor.forecaster
    last = min(window.last, forecaster.observed)
    if window.first > last:
        return None, None
    one, other = forecaster.ids((body.subject, body.object))[:, None]
    count = int(facts_in(forecaster.events, one, other, window.first, last)[0])
    return count, time_of(forecaster.model.dataset.axis, last)
