"""The questions that an assistant may ask of a model, each a tool; its docstring is the manual."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from apptek.arrays import Ints
from apptek.data.times import UNKNOWN
from apptek.evaluation.predicate_classes import Shares
from apptek.explain.explainer import explain
from apptek.explain.explanation import Reason
from apptek.explain.shown_answers import answer_notes, recorded
from apptek.explain.text import notes
from apptek.graph.lookups import between, ends_of
from apptek.mcp_server.results import (
    FactOut,
    HistoryPage,
    PairForecast,
    Prediction,
    ReasonFound,
    WhyPredicate,
)
from apptek.models.answerer import Answerer
from apptek.present.wording import presumed
from apptek.service.forecasts import forecast
from apptek.service.model_info import find_entities
from apptek.service.schemas.requests import ForecastBody, Name, QueryFields, Steps, Time
from apptek.service.schemas.responses import ClassShare, Entities, RankedPredicate
from apptek.service.served_model import ServedModel
from apptek.service.timelines import by_time, describe_fact, read_window

FACTS = 8  # cited with a reason
LATEST = 5  # facts cited with a forecast
AsOf = Annotated[
    bool,
    Field(description="Use only what was known before the time, also where later facts are known."),
]
Top = Annotated[int, Field(ge=1, le=100, description="How many predicates to return.")]
WindowTime = Annotated[str | None, Field(max_length=100)]
WindowLength = Annotated[Steps | None, Field(description="As days, for data dated by such units.")]


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked of a served model. An unknown name or time is a ServiceError."""

    served: ServedModel

    def search_entities(
        self,
        text: Annotated[str, Field(max_length=1000, description="A name, or words of it.")],
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
    ) -> Entities:
        """Find entities by name: those whose name, or a word in it, begins with the text.

        The other tools take these names. `facts` is the number of facts of an entity; where
        nothing matches, `near` has similar names.
        """
        return find_entities(self.served, text, limit)

    def predict(
        self,
        subject: Name,
        object: Name,  # noqa: A002 - the name of the argument in the protocol
        time: Time = "?",
        as_of: AsOf = False,
        top: Top = 5,
    ) -> Prediction:
        """Which predicate (kind of event or relation) holds between subject and object at a time?

        Returns ranked predicates. Their probabilities presume that there is a fact between the
        two at that time: use `forecast` for the chance that anything happens at all. `known`
        means that the data has this very fact.
        """
        query = self.served.query(
            QueryFields(subject=subject, object=object, time=time), allow_unknown=False
        )
        answerer = self._answerer(as_of)
        ranked = answerer.ranked(answerer.queries_of([query]))
        (answer,) = answerer.answers([query], ranked, top=top)
        rows = zip(answer.predicates, answer.labels, answer.probabilities, strict=True)
        return Prediction(
            subject=answer.meant_subject or subject,
            object=answer.meant_object or object,
            time=query.time,
            predicates=[
                RankedPredicate(predicate=p, label=label, probability=x, known=p in answer.known)
                for p, label, x in rows
            ],
            by_class=_first(answer.by_class, top),
            by_group=_first(answer.by_group, top),
            view=answer.view,
            condition=presumed(query.time),
            notes=[
                note
                for note in (recorded(answer), *answer_notes(answer))
                if note not in ("", presumed(query.time))
            ],
        )

    def explain(
        self,
        subject: Name,
        object: Name,  # noqa: A002
        time: Time = "?",
        predicate: Name | None = None,
        against: Name | None = None,
        as_of: AsOf = False,
    ) -> WhyPredicate:
        """Why this predicate between subject and object at a time, and not another?

        Explains the most probable predicate, or `predicate`, compared with the runner-up, or
        with `against`. Each reason cites facts of the data: quote them with their dates.
        """
        served = self.served
        for name, where in ((predicate, "predicate"), (against, "against")):
            if name is not None:
                served.predicate(name, where)
        query = served.query(
            QueryFields(subject=subject, object=object, time=time), allow_unknown=False
        )
        why = explain(self._answerer(as_of), query, predicate, against=against)
        return WhyPredicate(
            subject=why.subject,
            object=why.object,
            time=why.time,
            predicate=why.predicate,
            probability=why.probability,
            runner_up=why.runner_up,
            runner_up_probability=why.runner_up_probability,
            condition=presumed(why.time),
            paragraph=why.paragraph,
            reasons=[_reason(reason) for reason in why.reasons],
            against=[_reason(reason) for reason in why.against],
            further=len(why.further),
            view=why.view,
            notes=notes(why),
        )

    def forecast(
        self,
        subject: Name,
        object: Name,  # noqa: A002
        start: Annotated[WindowTime, Field(description="Default: after the last fact.")] = None,
        until: Annotated[WindowTime, Field(description="The last time of the window.")] = None,
        days: Annotated[Steps | None, Field(description="Its length, instead of until.")] = None,
        hours: WindowLength = None,
        minutes: WindowLength = None,
        months: WindowLength = None,
        years: WindowLength = None,
        steps: WindowLength = None,
        top: Top = 5,
    ) -> PairForecast:
        """What will happen between two entities in a window of time, and whether anything will?

        Only facts before the window are used. `probability` is the chance of at least one fact,
        in either direction; `predicates` has the chance of each kind, `why` and the directions
        the reasons, `latest` the last facts of the two before the window.
        """
        body = ForecastBody(
            subject=subject, object=object, start=start, until=until, days=days, hours=hours,
            minutes=minutes, months=months, years=years, steps=steps, top=top,
        )  # fmt: skip
        made = forecast(self.served, body)
        first = self.served.position(self.served.time(made.first, "start"))
        facts = self._between(subject, object)
        starts, _ = ends_of(self.served.predictor.model.graph, facts)
        before = facts[(starts != UNKNOWN) & (starts < first)]
        return PairForecast(**dict(made), latest=self._described(before[-LATEST:]))

    def history(
        self,
        subject: Name,
        object: Name,  # noqa: A002
        since: Annotated[WindowTime, Field(description="The first time.")] = None,
        until: Annotated[WindowTime, Field(description="The last time.")] = None,
        offset: Annotated[int, Field(ge=0, description="`next_offset` of the page before.")] = 0,
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
    ) -> HistoryPage:
        """The recorded facts between two entities, in both directions, a page at a time.

        With `since` or `until`, only dated facts in that window.
        """
        graph, names = self.served.predictor.model.graph, self.served.predictor.model.dataset
        facts = self._between(subject, object)
        if since is not None or until is not None:
            window = read_window(self.served, since, until, ("since", "until"))
            first, last = ends_of(graph, facts)
            facts = facts[(first != UNKNOWN) & (first <= window.last) & (last >= window.first)]
        end = offset + limit
        return HistoryPage(
            subject=names.entities[self.served.entity(subject, "subject")],
            object=names.entities[self.served.entity(object, "object")],
            total=len(facts),
            facts=self._described(facts[offset:end]),
            next_offset=end if end < len(facts) else None,
        )

    def _answerer(self, as_of: bool) -> Answerer:
        answerer = self.served.predictor.answerer
        return answerer.ahead() if as_of else answerer

    def _between(self, subject: str, object_: str) -> Ints:
        """The facts between two entities in both directions, by time; undated ones last."""
        graph = self.served.predictor.model.graph
        one, other = self.served.entity(subject, "subject"), self.served.entity(object_, "object")
        directions = {(one, other), (other, one)}  # a single one where they are the same
        facts = np.concatenate([between(graph, *direction) for direction in directions])
        return by_time(graph, facts)

    def _described(self, facts: Ints) -> list[FactOut]:
        model = self.served.predictor.model
        described = (describe_fact(model.dataset, model.graph, int(fact)) for fact in facts)
        return [
            FactOut(subject=f.subject, predicate=f.predicate, object=f.object, date=f.date)
            for f in described
        ]


def _first(shares: Shares, count: int) -> list[ClassShare]:
    return [ClassShare(name=name, probability=share) for name, share in shares[:count]]


def _reason(reason: Reason) -> ReasonFound:
    cited, _ = reason.cited
    return ReasonFound(
        sentence=reason.contribution.sentence,
        log_odds=reason.contribution.log_odds,
        facts=[
            FactOut(
                subject=fact.subject,
                predicate=fact.predicate,
                object=fact.object,
                date=fact.date,
                apart=fact.apart,
            )
            for fact in cited[:FACTS]
        ],
        more_facts=max(0, len(cited) - FACTS),
    )
