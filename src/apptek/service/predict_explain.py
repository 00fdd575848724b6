"""Predictions and explanations of the served model."""

from typing import Any, Literal

from apptek.compiling import in_threads
from apptek.evaluation.predicate_classes import shares_json
from apptek.explain.explanation import Explanation
from apptek.explain.layout import draw_reason
from apptek.explain.text import notes
from apptek.explain.wording import apart_text
from apptek.features.topologies.connection import time_distance
from apptek.predictor import Answer, Query
from apptek.service.schemas.explanations import ExplanationOut
from apptek.service.schemas.requests import ExplainBody, PredictBatch, PredictQuery, QueryFields
from apptek.service.schemas.responses import Answers, NearFact
from apptek.service.served_model import ServedModel
from apptek.service.timelines import describe_fact

CHUNK = 250  # queries of a batch that one thread answers
NEAREST = 12  # facts of the periphery on each side


def predict(served: ServedModel, body: PredictQuery | PredictBatch) -> Answers:
    """The answers to one query or to a batch."""
    if isinstance(body, PredictBatch):
        fields = [(query, f"queries.{row}.") for row, query in enumerate(body.queries)]
    else:
        fields = [(body, "")]
    queries = [_check(served, query, where, body.allow_unknown) for query, where in fields]

    def answer_chunk(start: int) -> list[dict[str, Any]]:
        chunk = queries[start : start + CHUNK]
        answers = served.predictor.predict([query for query, _ in chunk], top=body.top)
        codes = (code for _, code in chunk)
        return [_answer(served, *pair) for pair in zip(answers, codes, strict=True)]

    chunks = in_threads(answer_chunk, range(0, len(queries), CHUNK))
    names = (name for query, _ in queries for name in (query.subject, query.object))
    return Answers.model_validate(
        {
            "answers": [answer for chunk in chunks for answer in chunk],
            "similar": served.similar(names),
        }
    )


def _check(
    served: ServedModel, fields: QueryFields, where: str, allow_unknown: bool
) -> tuple[Query, int]:
    """The query and the code of its time. Raises a ServiceError if it cannot be answered."""
    query = served.query(fields, where, allow_unknown=allow_unknown)
    return query, served.time(fields.time, f"{where}time")


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
    }


def explain(served: ServedModel, body: ExplainBody) -> ExplanationOut:
    """An explanation with its drawings and the periphery."""
    query, code = _check(served, body, "", body.allow_unknown)
    if body.predicate is not None:
        served.predicate(body.predicate, "predicate")
    if body.against is not None:
        served.predicate(body.against, "against")
    explanation = served.predictor.explain(
        query, body.predicate, against=body.against, most=body.top
    )
    # A reason that connects in the same way as an earlier one shares its drawing.
    drawn = [r for r in explanation.all_reasons() if r.facts and not r.same_as]
    return ExplanationOut.model_validate(
        explanation.as_json()
        | {
            "notes": notes(explanation),
            "similar": served.similar([query.subject, query.object]),
            "drawings": [draw_reason(explanation, reason).as_json() for reason in drawn],
            "periphery": _periphery(served, query, code, explanation),
        }
    )


def _periphery(
    served: ServedModel, query: Query, code: int, explanation: Explanation
) -> list[NearFact]:
    """The N_tknn facts of both entities that no reason cites, the first of each side."""
    predictor = served.predictor
    model, data = predictor.model, predictor.model.dataset
    # As the answer saw it: looking ahead, facts of that day or later must not show.
    graph = predictor.answerer.view_of(predictor.queries_of([query])).space.process.graph
    cited = {fact.fact for reason in explanation.all_reasons() for fact in reason.facts}
    periphery: dict[int, NearFact] = {}
    sides: dict[Literal["subject", "object"], str] = {
        "subject": query.subject,
        "object": query.object,
    }
    for side, name in sides.items():
        entity = predictor.answerer.entities.find(name)
        if entity is None:
            continue
        nearest = graph.nearest([entity], [code], model.config.agent.tknn)[0].tolist()
        shown = cited | periphery.keys()  # a fact between the two is listed once
        for fact in [f for f in nearest if f >= 0 and f not in shown][:NEAREST]:
            distance = time_distance(graph, fact, served.position(code))
            described = describe_fact(data, graph, fact)
            lasting = described.start != described.end
            periphery[fact] = NearFact(
                **described.model_dump(),
                side=side,
                distance=distance,
                apart=apart_text(data.axis, distance, lasting=lasting),
            )
    return list(periphery.values())
