"""The tools of an assistant: each is a question to a model, and its docstring is the manual.

Results are small. Where an assistant will quote them, they are sentences.
"""

from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field, create_model

from apptek.arrays import Ints
from apptek.audit.audit import MOST_JUDGED
from apptek.audit.report import suspects_of, table_of_facts
from apptek.config import View
from apptek.explain.explainer import explain
from apptek.facts.times import UNKNOWN
from apptek.graph.lookups import dated_in, ends_of, facts_between, facts_of
from apptek.present.explanation_words import answer_notes, recorded_answer
from apptek.present.wording import CONDITION, share_lines
from apptek.results import (
    VIEW,
    ActorForecast,
    EntityRanking,
    Forecast,
    Reason,
    Share,
    SuspectFact,
    WhatIf,
    to_dict,
)
from apptek.server.answers import served_answer
from apptek.server.forecasts import make_forecast, make_partners, make_ranking
from apptek.server.lists import audited
from apptek.server.model_info import find_entities
from apptek.server.requests import (
    Coverage,
    EntitiesBody,
    ForecastBody,
    Name,
    PartnersBody,
    QueryFields,
    Steps,
    Suppose,
    Time,
)
from apptek.server.responses import Entities, KnownPredicate
from apptek.server.served_model import Question, ServedModel
from apptek.server.timelines import describe_fact, read_window

FACTS = 8  # cited with a reason
WHAT_IF = "What supposed facts would change; null where none were supposed."
LATEST = 5  # facts cited with a forecast
PastOnly = Annotated[
    bool,
    Field(description="Use only facts before the time, even if later ones are known."),
]
Top = Annotated[int, Field(ge=1, le=100, description="The number of predicates to return.")]
WindowTime = Annotated[str | None, Field(max_length=100)]
WindowLength = Annotated[Steps | None, Field(description="Like days, for data in these units.")]
FORECAST_CONDITION = (
    "`probability` is the chance of at least one such fact in the window. "
    "A `share` is conditional on an event between the pair at that time."
)


class FactOut(BaseModel):
    """A fact of the model's data."""

    subject: str
    predicate: str
    object: str
    date: str
    apart: str = Field(
        default="", description="The distance from the query's time, if there is one."
    )


class Prediction(BaseModel):
    """The most probable predicates between two entities at a time."""

    subject: str
    object: str
    time: str
    condition: str = Field(default=CONDITION, description="What the probabilities assume.")
    predicates: list[KnownPredicate]
    by_class: list[Share]
    by_group: list[Share]
    view: View = Field(description=VIEW)
    notes: list[str]
    what_if: WhatIf | None = Field(default=None, description=WHAT_IF)


class ReasonFound(BaseModel):
    """A reason, its contribution to the log-odds against the runner-up, and its facts."""

    sentence: str
    log_odds: float
    facts: list[FactOut]
    more_facts: int = Field(description="The number of cited facts that are not listed.")


class WhyPredicate(BaseModel):
    """An explanation: a text, and the reasons for and against a predicate with their facts."""

    subject: str
    object: str
    time: str
    predicate: str
    probability: float
    runner_up: str = Field(description="The predicate that it is compared with.")
    runner_up_probability: float
    condition: str = Field(default=CONDITION, description="What the probabilities assume.")
    paragraph: str
    reasons: list[ReasonFound]
    against: list[ReasonFound]
    further: int = Field(description="The number of small reasons that are not listed.")
    view: View = Field(description=VIEW)
    notes: list[str]
    what_if: WhatIf | None = Field(default=None, description=WHAT_IF)


def _fields(kind: Any) -> dict[str, Any]:
    """Return the fields of a result, for a class that a tool can return."""
    return {
        each.name: (each.type, Field(description=each.metadata["description"]))
        for each in fields(kind)
    }


class PairForecast(create_model("ForecastFields", **_fields(Forecast))):  # type: ignore[misc]
    """A forecast: whether an event happens between two entities in a window, and what kind."""

    condition: str = Field(default=FORECAST_CONDITION, description="What the numbers mean.")
    latest: list[FactOut] = Field(description="The last facts of the pair before the window.")


class Partners(create_model("PartnersFields", **_fields(ActorForecast))):  # type: ignore[misc]
    """Whom an actor will act on in a window, and who will act on it."""


class MissingEntity(create_model("RankingFields", **_fields(EntityRanking))):  # type: ignore[misc]
    """The entities that may be missing in a fact, the most probable first."""


class HistoryPage(BaseModel):
    """Facts between two entities in both directions, in order of time; undated ones last."""

    subject: str
    object: str
    total: int
    facts: list[FactOut]
    next_offset: int | None = Field(
        description="The start of the next page; null if this is the last."
    )


class AuditResult(BaseModel):
    """The least plausible facts, most suspicious first. Unusual is not the same as wrong."""

    facts: int = Field(description="The number of facts that the model uses.")
    judged: int = Field(description="The number of facts that were judged.")
    condition: str = Field(default=CONDITION, description="What the probabilities assume.")
    suspects: list[SuspectFact]


@dataclass(frozen=True, slots=True)
class Questions:
    """The tools of a served model. An unknown name or time is a ServiceError."""

    served: ServedModel
    max_judged: int = MOST_JUDGED  # facts that the audit judges

    def search_entities(
        self,
        text: Annotated[str, Field(max_length=1000, description="A name, or words of it.")],
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
    ) -> Entities:
        """Find entities by name: those whose name, or a word in it, begins with the text.

        The other tools take these names. `facts` is the number of facts of an entity. If
        nothing matches, `near` has similar names.
        """
        return find_entities(self.served, text, limit)

    def predict(
        self,
        subject: Name,
        object: Name,  # noqa: A002 - the name of the argument in the protocol
        time: Time = "?",
        past_only: PastOnly = False,
        top: Top = 5,
        coverage: Coverage = None,
        suppose: Suppose = [],  # noqa: B006 - nobody changes it
    ) -> Prediction:
        """Which predicate (kind of event or relation) holds between subject and object at a time?

        Returns ranked predicates. Their probabilities are conditional on an event between the
        pair at that time: use `forecast` for the chance that something happens. `known`
        means that the data has this fact. With `coverage`, such as 0.9, they are the fewest
        that contain the true predicate in this share of cases: the notes say so. With `suppose`,
        `what_if` compares the answer with that of a world in which these facts happen.
        """
        asked = self._question(subject, object, time, past_only)
        ranked = asked.answerer.ranked(asked.ids)
        table = asked.answerer.table(ranked, top=top, coverage=coverage)
        (answer,) = table.answers([asked.query])
        notes = [
            *filter(None, [recorded_answer(answer)]),
            *share_lines(answer.by_class, answer.by_group),
            *(note.text for note in answer_notes(answer) if note.kind != "conditional"),
        ]
        return Prediction(
            subject=answer.meant_subject or subject,
            object=answer.meant_object or object,
            time=answer.query.time,
            predicates=served_answer(self.served, answer, asked.time).predicates,
            by_class=list(answer.by_class[:top]),
            by_group=list(answer.by_group[:top]),
            view=answer.view,
            notes=notes,
            what_if=self.served.what_if(asked, suppose) if suppose else None,
        )

    def explain(
        self,
        subject: Name,
        object: Name,  # noqa: A002
        time: Time = "?",
        predicate: Name | None = None,
        against: Name | None = None,
        past_only: PastOnly = False,
        suppose: Suppose = [],  # noqa: B006
    ) -> WhyPredicate:
        """Why this predicate between subject and object at a time, and not another?

        Explains the most probable predicate, or `predicate`, compared with the runner-up, or
        with `against`. Each reason cites facts of the data: quote them with their dates. With
        `suppose`, `what_if` has the reasons that these facts would change.
        """
        self.served.check_predicates(predicate=predicate, against=against)
        asked = self._question(subject, object, time, past_only)
        why = explain(asked.answerer, asked.query, predicate, against=against, queries=asked.ids)
        return WhyPredicate.model_validate(
            to_dict(why)
            | {
                "reasons": [_reason(reason) for reason in why.reasons],
                "against": [_reason(reason) for reason in why.against],
                "further": len(why.further),
                "notes": [note.text for note in why.notes],
                "what_if": to_dict(
                    self.served.what_if(asked, suppose, predicate, against=against)
                    if suppose
                    else None
                ),
            }
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
        suppose: Suppose = [],  # noqa: B006
    ) -> PairForecast:
        """Forecast whether an event will happen between two entities in a window, and what kind.

        Only facts before the window are used. `probability` is the chance of at least one fact,
        in either direction; `predicates` has the chance of each kind, `why` and the directions
        the reasons, `latest` the last facts of the pair before the window. With `suppose`,
        `what_if` compares the chances without and with facts that are supposed to happen before.
        """
        body = ForecastBody(
            subject=subject, object=object, start=start, until=until, days=days, hours=hours,
            minutes=minutes, months=months, years=years, steps=steps, top=top, suppose=suppose,
        )  # fmt: skip
        made, graph = make_forecast(self.served, body), self.served.model.graph
        facts = facts_between(graph, *made.ids)
        starts, _ = ends_of(graph, facts)
        before = facts[(starts != UNKNOWN) & (starts < made.window.first)]
        return PairForecast(**to_dict(made.forecast), latest=self._facts(before[-LATEST:]))

    def partners(
        self,
        actor: Name,
        group: Annotated[Name | None, Field(description="Only events of this group.")] = None,
        predicate: Annotated[Name | None, Field(description="Only this predicate.")] = None,
        members: Annotated[
            bool, Field(description="Count Police (Egypt), Citizen (Egypt), ... as Egypt.")
        ] = False,
        start: Annotated[WindowTime, Field(description="Default: after the last fact.")] = None,
        days: Annotated[Steps | None, Field(description="The length of the window.")] = None,
        steps: WindowLength = None,
        top: Top = 5,
    ) -> Partners:
        """Whom will an actor act on in a window of time, and who will act on it?

        Each partner has the chance of at least one such fact, the change against the window
        before, the most probable predicates, the median time to the next fact, and a reason.
        """
        body = PartnersBody(
            actor=actor, group=group, predicate=predicate, members=members, start=start,
            days=days, steps=steps, top=top,
        )  # fmt: skip
        return Partners(**to_dict(make_partners(self.served, body)))

    def rank_entities(
        self,
        predicate: Name,
        time: Time,
        subject: Name | None = None,
        object: Name | None = None,  # noqa: A002
        top: Top = 5,
    ) -> MissingEntity:
        """Which entity is the missing object, or the missing subject, of a fact at a time?

        Give the subject or the object. Probabilities presume that there is such a fact. Only facts
        before the time are used. Entities without evidence share `others_probability`.
        """
        body = EntitiesBody(subject=subject, object=object, predicate=predicate, time=time, top=top)
        return MissingEntity(**to_dict(make_ranking(self.served, body)))

    def history(
        self,
        subject: Name,
        object: Name,  # noqa: A002
        since: Annotated[WindowTime, Field(description="The first time.")] = None,
        until: Annotated[WindowTime, Field(description="The last time.")] = None,
        offset: Annotated[int, Field(ge=0, description="`next_offset` of the page before.")] = 0,
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
    ) -> HistoryPage:
        """Return the recorded facts between two entities, in both directions, by page.

        With `since` or `until`, only dated facts in that window.
        """
        graph, names = self.served.model.graph, self.served.model.dataset
        pair = self.served.pair(subject, object)
        facts = facts_between(graph, *pair)
        if since is not None or until is not None:
            window = read_window(self.served, since, until, ("since", "until"))
            facts = dated_in(graph, facts, window.first, window.last)
        end = offset + limit
        return HistoryPage(
            subject=names.entities[pair[0]],
            object=names.entities[pair[1]],
            total=len(facts),
            facts=self._facts(facts[offset:end]),
            next_offset=end if end < len(facts) else None,
        )

    def audit(
        self,
        entity: Annotated[Name | None, Field(description="Only facts of this entity.")] = None,
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
    ) -> AuditResult:
        """Which recorded facts look wrong? The least plausible ones, each with a reason.

        Each fact is hidden in turn and predicted. The list has unlikely predicates, subject and
        object that seem swapped, and impossible dates. A fact on this list is unusual, which is
        not the same as wrong: a person has to check it.
        """
        graph = self.served.model.graph
        of_entity = None
        if entity is not None:
            of_entity = facts_of(graph, self.served.entity(entity, "entity"))
        if of_entity is None or len(graph.facts) <= self.max_judged:
            whole = partial(audited, self.served, self.max_judged)
            work = self.served.background.start(f"audit of {self.max_judged}", whole)
            audit, judged = work.result()
        else:
            audit, judged = audited(self.served, self.max_judged, of_entity)
        order = audit.order[: len(judged)]
        if of_entity is not None:
            judged = np.intersect1d(judged, of_entity)
            order = order[np.isin(order, of_entity)]
        table = table_of_facts(audit, order[:limit], limit)
        return AuditResult(
            facts=len(graph.facts),
            judged=len(judged),
            suspects=list(suspects_of(table, limit)),
        )

    def _question(self, subject: str, object_: str, time: str, past_only: bool) -> Question:
        fields = QueryFields(subject=subject, object=object_, time=time)
        return self.served.question(fields, "past_only" if past_only else None, allow_unknown=False)

    def _facts(self, facts: Ints) -> list[FactOut]:
        model = self.served.model
        described = (describe_fact(model.dataset, model.graph, fact) for fact in facts.tolist())
        return [FactOut.model_validate(asdict(fact)) for fact in described]


def _reason(reason: Reason) -> ReasonFound:
    cited, _ = reason.cited
    return ReasonFound(
        sentence=reason.sentence,
        log_odds=reason.log_odds,
        facts=[FactOut.model_validate(asdict(fact)) for fact in cited[:FACTS]],
        more_facts=max(0, len(cited) - FACTS),
    )
