"""The routes of what the explorer asks for beyond single answers."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI, Query, Response

from apptek.config import View
from apptek.forecast.window import Length, Window
from apptek.server.page_data.lists import (
    MOST_WATCHED,
    SuspectFacts,
    WatchedPairs,
    suspect_facts,
    watched_pairs,
)
from apptek.server.page_data.outlook import Outlook, outlook
from apptek.server.page_data.questions import Questions, find_questions, striking_questions
from apptek.server.page_data.ribbon import Ribbon, ribbon
from apptek.server.page_data.steps import Steps, StepsBody, explore
from apptek.server.requests import ForecastBody
from apptek.server.served_model import ServedModel
from apptek.server.timelines import read_window
from apptek.server.workers import within

Answer = Callable[[Callable[[], Any]], Awaitable[Response]]
Name = Annotated[str, Query(min_length=1, max_length=10_000)]
PATIENCE = 2.0  # seconds that a request waits for what is computed once


def add_page_data(app: FastAPI, served: ServedModel, answer: Answer) -> None:
    """Adds the routes; `answer` computes a response in a thread."""
    _add_lists(app, served, answer)

    @app.get("/api/ribbon", response_model=Ribbon, tags=["histories"])
    async def pair_ribbon(
        subject: Name,
        object_: Annotated[str, Query(alias="object", min_length=1, max_length=10_000)],
        since: Annotated[str | None, Query(alias="from", max_length=100)] = None,
        to: Annotated[str | None, Query(max_length=100)] = None,
        view: Annotated[
            View, Query(description="past_only: from facts before each time.")
        ] = "all_facts",
    ) -> Response:
        """The answers about a pair over a range of times, in both directions."""

        def work() -> Ribbon:  # in the pool: an unknown name waits for the index of names
            pair = served.pair(subject, object_)
            window = read_window(served, since, to)
            if to is None:
                window = Window(window.first, max(window.last, served.span.last) + served.beyond)
            return ribbon(served, pair, window, view)

        return await answer(work)

    @app.get("/api/questions", response_model=Questions, tags=["names"])
    async def questions(
        q: Annotated[str, Query(max_length=10_000, description="Names and events.")] = "",
        limit: Annotated[int, Query(ge=1, le=50)] = 8,
    ) -> Response:
        """Pairs whose facts some words describe; without words, a few that are well answered.

        While the latter are looked for, `ready` is false: ask again.
        """
        if q.strip():
            return await answer(partial(find_questions, served, q, limit))
        work = served.background.start("questions", partial(striking_questions, served))
        nothing = Questions(ready=False, questions=[])
        return await answer(lambda: within(PATIENCE, work) or nothing)

    @app.post("/api/outlook", response_model=Outlook, tags=["answers"])
    async def pair_outlook(body: ForecastBody) -> Response:
        """A forecast, and how often such forecasts came true."""
        return await answer(partial(outlook, served, body))

    @app.post("/api/steps", response_model=Steps, tags=["histories"])
    async def exploration(body: StepsBody) -> Response:
        """The paper's exploration: what both sides reach by some predicates, and what is next."""
        return await answer(partial(explore, served, body))


def _add_lists(app: FastAPI, served: ServedModel, answer: Answer) -> None:
    @app.get("/api/watch", response_model=WatchedPairs, tags=["lists"])
    async def watch_list(
        days: Annotated[int | None, Query(ge=1, le=366)] = None,
        steps: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
        limit: Annotated[int, Query(ge=1, le=MOST_WATCHED)] = 40,
    ) -> Response:
        """The pairs whose chance of anything changes most in a window after the last fact.

        It has so many days, or steps in the unit of the data; by default 7 days, or one step of a
        longer unit. While the pairs are compared, `ready` is false: ask again.
        """
        length = Length(days=days, steps=steps)
        return await answer(partial(watched_pairs, served, length, limit, PATIENCE))

    @app.get("/api/audit", response_model=SuspectFacts, tags=["lists"])
    async def audit_list() -> Response:
        """The facts that look wrong. While they are looked for, `ready` is false: ask again."""
        return await answer(partial(suspect_facts, served, PATIENCE))
