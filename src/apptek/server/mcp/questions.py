"""The questions that an assistant may ask of a model, each a tool; its docstring is the manual."""

from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated

import numpy as np
from pydantic import Field

from apptek.arrays import AnyInts, Ints, Longs
from apptek.audit.audit import MOST_JUDGED, Audit, audit_facts, spread_evenly
from apptek.audit.judge import Judge
from apptek.audit.report import suspects_of, table_of_facts
from apptek.explain.explainer import explain
from apptek.facts.times import UNKNOWN
from apptek.graph.lookups import between, ends_of
from apptek.present.explanation_words import answer_notes, recorded_answer
from apptek.present.wording import presumed, share_lines
from apptek.results import Reason, to_dict
from apptek.server.answers import ForecastQuestion, answer_fields, forecast
from apptek.server.mcp.results import (
    AuditResult,
    FactOut,
    HistoryPage,
    PairForecast,
    Prediction,
    ReasonFound,
    WhyPredicate,
)
from apptek.server.model_info import find_entities
from apptek.server.requests import ForecastBody, Name, QueryFields, Steps, Time
from apptek.server.responses import Entities
from apptek.server.served_model import Question, ServedModel
from apptek.server.timelines import by_time, fact_fields, facts_of, read_window

FACTS = 8  # cited with a reason
LATEST = 5  # facts cited with a forecast
PastOnly = Annotated[
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
    max_judged: int = MOST_JUDGED  # facts that the audit judges

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
        past_only: PastOnly = False,
        top: Top = 5,
    ) -> Prediction:
        """Which predicate (kind of event or relation) holds between subject and object at a time?

        Returns ranked predicates. Their probabilities presume that there is a fact between the
        two at that time: use `forecast` for the chance that anything happens at all. `known`
        means that the data has this very fact.
        """
        asked = self._question(subject, object, time, past_only)
        ranked = asked.answerer.ranked(asked.ids)
        (answer,) = asked.answerer.table(ranked, top=top).answers([asked.query])
        given, fields = presumed(time), answer_fields(self.served, answer, asked.time)
        notes = [
            *filter(None, [recorded_answer(answer)]),
            *share_lines(answer.by_class, answer.by_group),
            *(note.text for note in answer_notes(answer) if note.kind != "conditional"),
        ]
        return Prediction.model_validate(
            fields
            | {
                "subject": answer.meant_subject,
                "object": answer.meant_object,
                "by_class": fields["by_class"][:top],
                "by_group": fields["by_group"][:top],
                "condition": given,
                "notes": notes,
            }
        )

    def explain(
        self,
        subject: Name,
        object: Name,  # noqa: A002
        time: Time = "?",
        predicate: Name | None = None,
        against: Name | None = None,
        past_only: PastOnly = False,
    ) -> WhyPredicate:
        """Why this predicate between subject and object at a time, and not another?

        Explains the most probable predicate, or `predicate`, compared with the runner-up, or
        with `against`. Each reason cites facts of the data: quote them with their dates.
        """
        self.served.check_predicates(predicate=predicate, against=against)
        asked = self._question(subject, object, time, past_only)
        why = explain(asked.answerer, asked.query, predicate, against=against, queries=asked.ids)
        return WhyPredicate.model_validate(
            to_dict(why)
            | {
                "condition": presumed(why.time),
                "reasons": [_reason(reason) for reason in why.reasons],
                "against": [_reason(reason) for reason in why.against],
                "further": len(why.further),
                "notes": [note.text for note in why.notes],
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
        question = ForecastQuestion.of(self.served, body)
        facts = self._between(*question.ids)
        starts, _ = ends_of(self.served.predictor.model.graph, facts)
        before = facts[(starts != UNKNOWN) & (starts < question.window.first)]
        made = forecast(self.served, question, top)
        return PairForecast(**to_dict(made), latest=self._facts(before[-LATEST:]))

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
        pair = self.served.pair(subject, object)
        facts = self._between(*pair)
        if since is not None or until is not None:
            window = read_window(self.served, since, until, ("since", "until"))
            first, last = ends_of(graph, facts)
            facts = facts[(first != UNKNOWN) & (first <= window.last) & (last >= window.first)]
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

        Each fact is asked about with itself hidden: a predicate that hardly fits, subject and
        object that seem exchanged, dates that cannot be. A fact on this list is unusual, which is
        not the same as wrong: somebody has to look at it.
        """
        graph = self.served.predictor.model.graph
        of_entity = None
        if entity is not None:
            of_entity = facts_of(graph, self.served.entity(entity, "entity"))
        audit, judged = self._audited(of_entity)
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

    def _audited(self, of_entity: AnyInts | None) -> tuple[Audit, Longs]:
        """The audit, and the facts that it judges.

        Of more facts than `max_judged`, so many are judged, evenly spread over the data; where an
        entity is named, half as many, and of its own facts at most the other half.
        """
        model, most = self.served.predictor.model, self.max_judged
        every = np.arange(len(model.graph.facts))
        if of_entity is not None and len(every) > most:
            judged = np.union1d(
                spread_evenly(every, most // 2), spread_evenly(of_entity, most // 2)
            )
            return audit_facts(Judge.of_model(model), judged), judged
        judged = spread_evenly(every, most)
        work = partial(audit_facts, Judge.of_model(model), judged)
        return self.served.background.start(f"audit of {most}", work).result(), judged

    def _question(self, subject: str, object_: str, time: str, past_only: bool) -> Question:
        fields = QueryFields(subject=subject, object=object_, time=time)
        return self.served.question(fields, "past_only" if past_only else None, allow_unknown=False)

    def _between(self, one: int, other: int) -> Ints:
        """The facts between two entities in both directions, by time; undated ones last."""
        graph = self.served.predictor.model.graph
        directions = {(one, other), (other, one)}  # a single one where they are the same
        facts = np.concatenate([between(graph, *direction) for direction in directions])
        return by_time(graph, facts)

    def _facts(self, facts: Ints) -> list[FactOut]:
        model = self.served.predictor.model
        return [
            FactOut.model_validate(fact_fields(model.dataset, model.graph, int(fact)))
            for fact in facts
        ]


def _reason(reason: Reason) -> ReasonFound:
    cited, _ = reason.cited
    return ReasonFound(
        sentence=reason.sentence,
        log_odds=reason.log_odds,
        facts=[FactOut.model_validate(asdict(fact)) for fact in cited[:FACTS]],
        more_facts=max(0, len(cited) - FACTS),
    )
