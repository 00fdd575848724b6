"""Forecasts of a pair, and the outlook of the page: how reliable similar forecasts were."""

from dataclasses import dataclass, replace

import numpy as np
from pydantic import BaseModel, Field

from apptek.errors import ApptekError
from apptek.explain.what_if import read_supposed
from apptek.forecast.event_filter import EventFilter, read_filter
from apptek.forecast.missing_entity import rank_entities
from apptek.forecast.next_event import next_event
from apptek.forecast.partners import actor_forecast
from apptek.forecast.reliability import Reliability, facts_in, past_forecasts
from apptek.forecast.what_if import forecast_what_if, start_after
from apptek.forecast.window import Length, Window, time_of
from apptek.models.model import observed_text
from apptek.present.forecast_words import begins_note
from apptek.results import ActorForecast, EntityRanking, Forecast
from apptek.server.problem_json import ServiceError, refused
from apptek.server.requests import EntitiesBody, ForecastBody, PartnersBody
from apptek.server.served_model import ServedModel
from apptek.server.workers import within

NO_FORECASTS = "This model makes no forecasts"
NOT_EVENTS = "Not events of this data"
ONE_FILTER = "Give one of `predicate`, `class` and `group`, by a name of GET /api/predicates."
NOT_A_WINDOW = "Not a window of this data"
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


@dataclass(frozen=True, slots=True)
class MadeForecast:
    """A forecast, the ids of the pair and its window."""

    forecast: Forecast
    ids: tuple[int, int]
    window: Window


def make_forecast(served: ServedModel, body: ForecastBody) -> MadeForecast:
    """Return the forecast of a pair, with names similar to unknown ones.

    Raises a ServiceError if the model, the names or the window allow no forecast.
    """
    require_forecasts(served)
    names = (body.subject, body.object)
    pair = served.pair(*names, allow_unknown=body.allow_unknown)
    for text, where in ((body.start, "from"), (body.until, "until")):
        if text is not None:
            served.time(text, where)
    forecaster, ids, start = served.predictor.forecaster, np.asarray(pair, np.int64), body.start
    with served.supposing():
        rows = [each.row() for each in body.suppose]
        supposed = read_supposed(forecaster.answerer, rows) if rows else None
    if supposed is not None and start is None:
        start = start_after(forecaster, supposed)
    window = window_of(served, start, body.length)
    event = filter_of(served, body)
    (made,) = forecaster.forecast([names], window, top=body.top, why=True, ids=ids[None])
    made = replace(made, next_event=next_event(forecaster, ids, window, event))
    if supposed is not None:
        changes = forecast_what_if(forecaster, made, ids, window, supposed)
        made = replace(made, what_if=changes)
    return MadeForecast(replace(made, similar=served.similar(names, pair)), pair, window)


def filter_of(served: ServedModel, body: ForecastBody | PartnersBody) -> EventFilter:
    """Return the events that count. Raises a ServiceError for an unknown name, or two of them."""
    served.check_predicates(predicate=body.predicate)
    try:
        return read_filter(served.predictor.forecaster, body.predicate, body.class_, body.group)
    except ApptekError as error:
        where = "class" if body.class_ is not None else "group"
        raise refused(error, advice=ONE_FILTER, where=where, title=NOT_EVENTS) from None


def make_partners(served: ServedModel, body: PartnersBody) -> ActorForecast:
    """Return the forecast of an actor's partners. Raises a ServiceError if there is none."""
    require_forecasts(served)
    if not body.members:
        served.entity(body.actor, "actor")
    for text, where in ((body.start, "from"), (body.until, "until")):
        if text is not None:
            served.time(text, where)
    window, event = window_of(served, body.start, body.length), filter_of(served, body)
    try:
        return actor_forecast(
            served.predictor.forecaster, body.actor, window, event,
            top=body.top, members=body.members,
        )  # fmt: skip
    except ApptekError as error:
        advice = "Name an actor with facts before the window."
        raise refused(error, advice=advice, where="actor", title="No partners") from None


def make_ranking(served: ServedModel, body: EntitiesBody) -> EntityRanking:
    """Return the ranking of the missing entity. Raises a ServiceError if there is none."""
    require_forecasts(served)
    given = {"subject": body.subject, "object": body.object}
    for where, name in given.items():
        if name is not None:
            served.entity(name, where)
    served.check_predicates(predicate=body.predicate)
    served.time(body.time, "time")
    try:
        return rank_entities(
            served.predictor.forecaster, body.subject, body.object, body.predicate, body.time,
            top=body.top,
        )  # fmt: skip
    except ApptekError as error:
        advice = "Give a subject or an object, a predicate and a time near the facts."
        raise refused(error, advice=advice, where="time", title="No ranking") from None


def require_forecasts(served: ServedModel) -> None:
    """Raise a ServiceError if the model makes no forecasts."""
    if served.model.occurrence is None:
        raise ServiceError(
            422,
            f"Why: {served.model.no_forecasts or 'the fit learned too little'}.",
            advice="Serve a model that was fitted with the preset default or max on dated facts.",
            title=NO_FORECASTS,
        )


def window_of(served: ServedModel, start: str | None, length: Length) -> Window:
    """Return the window from a time on, by default after the last observed time.

    Raises a ServiceError that says what is wrong with it.
    """
    try:
        return served.predictor.forecaster.window(start, length)
    except ApptekError as error:
        advice = "Give the first time in `from`, and the last one in `until` or a length."
        where = (length.given() or ["from"])[0]
        raise refused(error, advice=advice, where=where, title=NOT_A_WINDOW) from None


def outlook(served: ServedModel, body: ForecastBody) -> Outlook:
    """Return the outlook of a pair. A ServiceError if the model or the window allows none."""
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
    happened = int(facts_in(forecaster.events, one, other, window.first, last)[0])
    return Outlook(
        forecast=forecast,
        counting=not past.done(),
        reliability=None if counted is None else counted.near(forecast.probability),
        happened=happened if has_begun else None,
        happened_until=time_of(forecaster.model.dataset.axis, last) if has_begun else None,
    )
