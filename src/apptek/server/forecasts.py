"""Forecasts of a pair, of an actor and of a missing entity."""

from typing import Any

from apptek.forecast.forecaster import Forecaster, occurrence_of, read_filter
from apptek.results import ActorForecast, EntityRanking, Forecast
from apptek.server.problem_json import refusing
from apptek.server.requests import EntitiesBody, ForecastBody, PartnersBody, WindowBody
from apptek.server.served_model import ServedModel, supposing

NO_FORECASTS = "This model cannot forecast"
NOT_EVENTS = "Unknown kind of event"
ONE_FILTER = (
    "Give only one of `predicate`, `class` and `group`, with a name from GET /api/predicates."
)
NOT_A_WINDOW = "Not a valid window"
WINDOW = "Give the start in `from`, and either the end in `until` or a length."


def window_keywords(served: ServedModel, body: WindowBody) -> dict[str, Any]:
    """Return a request's window and events as keyword arguments for the predictor's methods.

    Raises a ServiceError if the model cannot forecast, or if a value is invalid.
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
    """Forecast whether an event will happen between two entities in a window, when, and what kind.

    Only facts before the window are used. `probability` is the chance of at least one fact, in
    either direction. `predicates` contains the chance of each predicate; `why` and `directions`
    contain the reasons. `next_event` contains the chance by each day and the median time, for the
    predicate, class or group if one is given. With `suppose`, `what_if` compares the chances
    without and with facts that are supposed to happen before the window.
    """
    keywords = window_keywords(served, body)
    served.pair(body.subject, body.object, allow_unknown=body.allow_unknown)
    with supposing():
        return served.predictor.forecast(
            body.subject, body.object, top=body.top, allow_unknown=body.allow_unknown,
            suppose=[each.row() for each in body.suppose] or None, **keywords,
        )  # fmt: skip


def partners(served: ServedModel, body: PartnersBody) -> ActorForecast:
    """Who is next: which entities will an actor act on in a window, and which will act on it?

    For each partner, returns the chance of at least one such fact, the change since the previous
    window, the most probable predicates, the median time to the next fact, and a reason.
    """
    keywords = window_keywords(served, body)
    if not body.members:
        served.ids({"actor": body.actor})
    advice = "Choose an actor with facts before the window."
    with refusing("actor", title="No partners", advice=advice):
        return served.predictor.forecast(
            body.actor, None, top=body.top, members=body.members, **keywords
        )


def rank_entities(served: ServedModel, body: EntitiesBody) -> EntityRanking:
    """Which entity is the missing subject or object of a fact at a given time?

    Give the subject or the object. Probabilities assume that there is such a fact. Only facts
    before that time are used. Entities without evidence share `others_probability`.
    """
    forecaster_of(served)
    given = {"subject": body.subject, "object": body.object}
    served.ids({where: name for where, name in given.items() if name is not None})
    served.check_predicates(predicate=body.predicate)
    served.time(body.time, "time")
    advice = "Give a subject or an object, a predicate and a time near the facts."
    slot = "subject" if body.subject is None else "object"
    is_slot_open = (body.subject is None) != (body.object is None)
    with refusing("time" if is_slot_open else slot, title="No ranking", advice=advice):
        return served.predictor.rank_entities(
            body.subject, body.object, predicate=body.predicate, time=body.time, top=body.top
        )


def forecaster_of(served: ServedModel) -> Forecaster:
    """Return the forecaster. Raises a ServiceError if the model cannot forecast."""
    advice = "Serve a model that was fitted on dated facts with the preset default or max."
    with refusing("", title=NO_FORECASTS, advice=advice):
        occurrence_of(served.model)
    return served.predictor.forecaster
