"""Predictions and explanations of the served model."""

from dataclasses import replace
from typing import Any, Literal

from apptek.arrays import Longs
from apptek.compiling import in_threads
from apptek.evaluation.predicate_classes import shares_json
from apptek.explain.drawing.answer_layout import WIDTH, draw_answer
from apptek.explain.drawing.svg import drawing_json
from apptek.explain.explainer import explain as explain_query
from apptek.explain.explanation import CitedFact, Explanation, Reason
from apptek.explain.text import notes
from apptek.explain.without_facts import without_facts
from apptek.features.topologies.connection import time_distance
from apptek.graph.temporal_graph import TemporalGraph
from apptek.predictor import Answer, Query
from apptek.present.wording import apart_text, listed
from apptek.service.schemas.explanations import ExplanationOut
from apptek.service.schemas.requests import ExplainBody, PredictBatch, PredictQuery
from apptek.service.schemas.responses import Answers, NearFact
from apptek.service.served_model import ServedModel
from apptek.service.timelines import describe_fact

CHUNK = 250  # queries of a batch that one thread answers
Ends = Literal["subject", "object"]

NEAREST = 12  # facts of the periphery on each side


def predict(served: ServedModel, body: PredictQuery | PredictBatch) -> Answers:
    """The answers to one query or to a batch."""
    if isinstance(body, PredictBatch):
        queries = [
            (
                Query(each.subject, each.object, each.time),
                served.time(each.time, f"queries.{row}.time"),
            )
            for row, each in enumerate(body.queries)
        ]
    else:
        query = served.query(body, allow_unknown=body.allow_unknown)
        queries = [(query, served.time(query.time, "time"))]
    answerer = served.answerer(body.view)

    def answer_chunk(start: int) -> list[dict[str, Any]]:
        chunk = queries[start : start + CHUNK]
        asked = [query for query, _ in chunk]
        answers = answerer.answers(asked, answerer.ranked(answerer.queries_of(asked)), top=body.top)
        codes = (code for _, code in chunk)
        return [_answer(served, *pair) for pair in zip(answers, codes, strict=True)]

    chunks = in_threads(answer_chunk, range(0, len(queries), CHUNK))
    names = (name for query, _ in queries for name in (query.subject, query.object))
    answers = [answer for chunk in chunks for answer in chunk]
    meant = ((answer["meant_subject"], answer["meant_object"]) for answer in answers)
    return Answers.model_validate(
        {
            "answers": answers,
            "unknown": sum(None in pair for pair in meant),
            "far_times": sum(answer["far_time"] for answer in answers),
            "similar": served.similar(names),
        }
    )


def _answer(served: ServedModel, answer: Answer, code: int) -> dict[str, Any]:
    """The fields of AnswerOut, not validated yet: `predict` validates all answers at once."""
    ranked = zip(answer.predicates, answer.labels, answer.probabilities, strict=True)
    return {
        "subject": answer.query.subject,
        "object": answer.query.object,
        "time": answer.query.time,
        "predicates": [
            {
                "predicate": name,
                "label": label,
                "probability": probability,
                "known": name in answer.known,
            }
            for name, label, probability in ranked
        ],
        "by_class": shares_json(answer.by_class),
        "by_group": shares_json(answer.by_group),
        "meant_subject": answer.meant_subject,
        "meant_object": answer.meant_object,
        "unseen_subject": answer.unseen_subject,
        "unseen_object": answer.unseen_object,
        "unseen_time": answer.unseen_time,
        "view": answer.view,
        "outside_span": served.is_outside_span(code),
        "far_time": answer.far_time,
        "calibrated": answer.calibrated,
        "age_note": answer.age_note,
    }


def explain(served: ServedModel, body: ExplainBody) -> ExplanationOut:
    """An explanation with its drawing and the periphery."""
    query = served.query(body, allow_unknown=body.allow_unknown)
    code = served.time(query.time, "time")
    if body.predicate is not None:
        served.predicate(body.predicate, "predicate")
    if body.against is not None:
        served.predicate(body.against, "against")
    whole = answerer = served.answerer(body.view)
    kept, known = None, len(answerer.model.graph.facts)
    without = [fact for fact in dict.fromkeys(body.without) if fact < known]
    if without:
        part = without_facts(answerer, answerer.queries_of([query]), without)
        answerer, kept = part.answerer, part.kept
    explanation = explain_query(
        answerer, query, body.predicate, against=body.against, most=body.top
    )
    if kept is not None:
        explanation = _renamed(explanation, kept)
    cited = {fact.fact for reason in explanation.all_reasons() for fact in reason.facts}
    graph = whole.view_of(whole.queries_of([query])).space.graph
    shown = cited | set(without)
    periphery = _periphery(served, query, code, graph, shown)
    expanded = {
        name: [_as_cited(f) for f in _nearest(served, entity, code, graph, shown, "subject")]
        for name in body.expand
        if (entity := whole.entities.find(name)) is not None
    }
    answer = draw_answer(
        explanation,
        width=body.width or WIDTH,
        nearby=[_as_cited(fact) for fact in periphery] if body.nearby else (),
        expanded=expanded,
    )
    return ExplanationOut.model_validate(
        explanation.as_json()
        | {
            "notes": [*notes(explanation), *_missing(body.without, known)],
            "similar": served.similar([query.subject, query.object]),
            "drawing": drawing_json(answer),
            "periphery": periphery,
            "without": [
                describe_fact(served.predictor.model.dataset, whole.model.graph, fact)
                for fact in without
            ],
        }
    )


def _missing(facts: list[int], known: int) -> list[str]:
    """A note on the facts to leave out that the model does not hold."""
    numbers = [str(fact) for fact in dict.fromkeys(facts) if fact >= known]
    return [f"The model has no fact with the number {listed(numbers)}."] if numbers else []


def _renamed(explanation: Explanation, kept: Longs) -> Explanation:
    """The explanation with the facts of a part of the graph by their numbers in the whole."""

    def renamed(reason: Reason) -> Reason:
        facts = tuple(replace(fact, fact=int(kept[fact.fact])) for fact in reason.facts)
        return replace(reason, facts=facts)

    return replace(
        explanation,
        reasons=tuple(map(renamed, explanation.reasons)),
        against=tuple(map(renamed, explanation.against)),
    )


def _as_cited(fact: NearFact) -> CitedFact:
    return CitedFact(
        fact=fact.fact, subject=fact.subject, predicate=fact.predicate, object=fact.object,
        since=fact.since, until=fact.until, date=fact.date, distance=fact.distance,
        apart=fact.apart, side=fact.side, step=0, expanded_by="", on_path=False,
    )  # fmt: skip


def _periphery(
    served: ServedModel, query: Query, code: int, graph: TemporalGraph, cited: set[int]
) -> list[NearFact]:
    """The N_tknn facts of both entities that no reason cites, the first of each side.

    graph  as the answer saw it: looking ahead, facts of that day or later must not show
    """
    resolver = served.predictor.answerer.entities
    first, second = resolver.find(query.subject), resolver.find(query.object)
    facts = [] if first is None else _nearest(served, first, code, graph, cited, "subject")
    shown = cited | {fact.fact for fact in facts}  # a fact between the two is listed once
    return facts + (
        [] if second is None else _nearest(served, second, code, graph, shown, "object")
    )


def _nearest(
    served: ServedModel, entity: int, code: int, graph: TemporalGraph, shown: set[int], side: Ends
) -> list[NearFact]:
    """The facts of an entity nearest in time that are not shown yet."""
    model, data = served.predictor.model, served.predictor.model.dataset
    nearest = graph.nearest([entity], [code], model.config.agent.tknn)[0].tolist()
    facts = []
    for fact in [f for f in nearest if f >= 0 and f not in shown][:NEAREST]:
        distance = time_distance(graph, fact, served.position(code))
        described = describe_fact(data, graph, fact)
        lasting = described.start != described.end
        apart = apart_text(data.axis, distance, lasting=lasting)
        facts.append(NearFact(**described.model_dump(), side=side, distance=distance, apart=apart))
    return facts
