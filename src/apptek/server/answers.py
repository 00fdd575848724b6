"""Predictions and explanations of the served model."""

from dataclasses import fields, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from apptek.arrays import Longs
from apptek.compiling import in_threads
from apptek.explain.explainer import explain as explain_query
from apptek.explain.explainer import with_labels_of
from apptek.explain.without_facts import without_facts
from apptek.facts.facts import Dataset
from apptek.graph.lookups import knows_end, time_distance
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answer_tables import AskedColumns
from apptek.present.drawing import WIDTH, draw_answer
from apptek.present.explanation_words import missing_facts_notes
from apptek.present.wording import apart_text, when_text
from apptek.results import Answer, CitedFact, Explanation, Query, Reason, WhatIf, extended
from apptek.server.requests import ExplainBody, PredictBatch, PredictQuery, check_batch
from apptek.server.responses import (
    ANSWER_FIELDS,
    AnswerOut,
    Answers,
    Fact,
    KnownPredicate,
    NearFact,
    ServedExplanation,
    Side,
)
from apptek.server.served_model import Question, ServedModel
from apptek.server.timelines import describe_fact

CHUNK = 250  # queries of a batch that one thread answers
NEAREST = 12  # facts of the periphery on each side
SIDES: tuple[Side, Side] = ("subject", "object")


def predict(served: ServedModel, body: PredictQuery | PredictBatch) -> Answers:
    """Return the answers to one query or to a batch."""
    answerer = served.answerer(body.view)
    if isinstance(body, PredictBatch):
        asked = [Query(each.subject, each.object, each.time) for each in body.queries]
        columns = AskedColumns.of(asked)
        ids = served.batch(columns, lambda column, row: f"queries.{row}.{column}")
    else:
        question = served.question(body, body.view, allow_unknown=body.allow_unknown)
        asked, ids = [question.query], question.ids
    if body.coverage is not None:  # a set may have all predicates
        check_batch(len(ids), len(answerer.model.dataset.predicates))

    def answer_chunk(start: int) -> list[AnswerOut]:
        part = ids.take(np.arange(start, min(start + CHUNK, len(ids))))
        table = answerer.table(answerer.ranked(part), top=body.top, coverage=body.coverage)
        answers = table.answers(asked[start : start + CHUNK])
        return list(map(partial(served_answer, served), answers, part.times.tolist()))

    answers = [*chain(*in_threads(answer_chunk, range(0, len(asked), CHUNK)))]
    if isinstance(body, PredictQuery) and body.suppose:
        changes: Any = {"what_if": served.what_if(question, body.suppose)}
        answers = [replace(answers[0], **changes)]
    names = [*(query.subject for query in asked), *(query.object for query in asked)]
    return Answers(
        answers,
        unknown=int(((ids.subjects < 0) | (ids.objects < 0)).sum()),
        far_times=sum(answer.far_time for answer in answers),
        similar=served.similar(names, [*ids.subjects.tolist(), *ids.objects.tolist()]),
    )


def served_answer(served: ServedModel, answer: Answer, code: int) -> AnswerOut:
    """Return an answer as it is sent; `code` is that of its time."""
    query = answer.query
    return AnswerOut(
        **{each.name: getattr(answer, each.name) for each in ANSWER_FIELDS},
        subject=query.subject,
        object=query.object,
        time=query.time,
        predicates=[
            extended(KnownPredicate, each, known=each.predicate in answer.known)
            for each in answer.ranked
        ],
        outside_span=served.is_outside_span(code),
    )


def explain(served: ServedModel, body: ExplainBody) -> ServedExplanation:
    """Return an explanation with its drawing and the periphery."""
    question = served.question(body, body.view, allow_unknown=body.allow_unknown)
    served.check_predicates(predicate=body.predicate, against=body.against)
    whole = answerer = question.answerer
    data, known = whole.model.dataset, len(whole.model.graph.facts)
    kept = None
    without = [fact for fact in dict.fromkeys(body.without) if fact < known]
    if without:
        part = without_facts(whole, question.ids, without)
        answerer, kept = part.answerer, part.kept
    explanation = explain_query(
        answerer, question.query, body.predicate,
        against=body.against, most=body.top, queries=question.ids,
    )  # fmt: skip
    if kept is not None:
        explanation = _renamed(explanation, kept)
    # As the answer saw it: with past_only, facts of that day or later must not show.
    graph = whole.views[explanation.view].space.graph
    shown = {fact.fact for reason in explanation.all_reasons() for fact in reason.facts}
    shown |= set(without)
    expanded = {
        name: _nearest(served, graph, entity, question.time, shown)
        for name in body.expand
        if (entity := whole.entities.find(name)) is not None
    }
    periphery: list[NearFact] = []
    for entity, side in zip(question.ends, SIDES, strict=True):
        if entity >= 0:
            periphery += _nearest(served, graph, entity, question.time, shown, side)
            shown |= {fact.fact for fact in periphery}  # one between the two is listed once
    nearby = list(map(_as_cited, periphery if body.nearby else ()))
    cited = {name: list(map(_as_cited, facts)) for name, facts in expanded.items()}
    drawing = draw_answer(
        with_labels_of(whole, explanation, [*nearby, *chain(*cited.values())]),
        width=body.width or WIDTH, nearby=nearby, expanded=cited,
    )  # fmt: skip
    missing = missing_facts_notes([fact for fact in body.without if fact >= known])
    return extended(
        ServedExplanation,
        replace(
            explanation,
            notes=(*explanation.notes, *missing),
            similar=question.similar,
            what_if=_supposed(served, replace(question, answerer=answerer), body),
        ),
        drawing=drawing,
        periphery=periphery,
        without=[_as_seen(data, graph, fact, served.position(question.time)) for fact in without],
    )


def _supposed(served: ServedModel, question: Question, body: ExplainBody) -> WhatIf | None:
    if not body.suppose:
        return None
    return served.what_if(question, body.suppose, body.predicate, against=body.against)


def _renamed(explanation: Explanation, kept: Longs) -> Explanation:
    """Replace the numbers of facts in a part of the graph by their numbers in the whole."""

    def renamed(reason: Reason) -> Reason:
        facts = tuple(replace(fact, fact=int(kept[fact.fact])) for fact in reason.facts)
        return replace(reason, facts=facts)

    return replace(
        explanation,
        reasons=tuple(map(renamed, explanation.reasons)),
        against=tuple(map(renamed, explanation.against)),
    )


def _as_cited(fact: NearFact) -> CitedFact:
    own = {each.name: getattr(fact, each.name) for each in fields(Fact)}
    del own["start"], own["end"]
    return CitedFact(
        **own, side=fact.side, distance=fact.distance, apart=fact.apart,
        step=0, expanded_by="", on_path=False,
    )  # fmt: skip


def _nearest(
    served: ServedModel, graph: TemporalGraph, entity: int, code: int, shown: set[int],
    side: Side = "subject",
) -> list[NearFact]:  # fmt: skip
    """Return those of the N_tknn facts of an entity that are not shown yet, the nearest first."""
    model, moment = served.model, served.position(code)
    nearest = graph.nearest([entity], [code], model.config.agent.tknn)[0].tolist()
    facts = []
    for number in [n for n in nearest if n >= 0 and n not in shown][:NEAREST]:
        fact = _as_seen(model.dataset, graph, number, moment)
        distance = time_distance(graph, number, moment)
        apart = apart_text(model.dataset.axis, distance, lasting=fact.start != fact.end)
        facts.append(extended(NearFact, fact, side=side, distance=distance, apart=apart))
    return facts


def _as_seen(data: Dataset, graph: TemporalGraph, number: int, moment: int) -> Fact:
    """Describe a fact as an answer sees it: with past_only, without an end in the future."""
    fact = describe_fact(data, graph, number)
    if fact.since == fact.until or knows_end(graph, number, moment):
        return fact
    return replace(fact, until="?", date=when_text(fact.since, "?"), end=None)
