"""Predictions and explanations of the served model."""

from collections.abc import Sequence
from typing import Any, Literal

from apptek.compiling import in_threads
from apptek.explain.explanation import Explanation
from apptek.explain.layout import draw_reason
from apptek.explain.text import notes
from apptek.explain.wording import apart_text
from apptek.features.topologies.connection import time_distance
from apptek.predictor import Answer, Query
from apptek.service.histories import in_words
from apptek.service.loaded_model import Served
from apptek.service.schemas import (
    Answers,
    ExplainBody,
    ExplanationOut,
    ManyQuestions,
    NearFact,
    OneQuestion,
    Question,
)

PIECE = 250  # queries of a batch that one thread takes
NEAREST = 12  # facts of the periphery on each side


def predict(served: Served, body: OneQuestion | ManyQuestions) -> Answers:
    """The answers to one query or to many."""
    many = isinstance(body, ManyQuestions)
    asked: Sequence[Question] = body.queries if isinstance(body, ManyQuestions) else [body]
    queries = [
        checked(served, question, f"queries.{place}." if many else "", body.allow_unknown)
        for place, question in enumerate(asked)
    ]

    def answer_piece(start: int) -> list[dict[str, Any]]:
        some = queries[start : start + PIECE]
        answers = served.predictor.predict([query for query, _ in some], top=body.top)
        codes = (code for _, code in some)
        return [_answer(served, *pair) for pair in zip(answers, codes, strict=True)]

    pieces = in_threads(answer_piece, range(0, len(queries), PIECE))
    return Answers.model_validate({"answers": [answer for piece in pieces for answer in piece]})


def checked(
    served: Served, question: Question, where: str, allow_unknown: bool
) -> tuple[Query, int]:
    """The query and the code of its time; a ServiceError where it cannot be asked."""
    code = served.time(question.time, f"{where}time")
    if not allow_unknown:
        served.entity(question.subject, f"{where}subject")
        served.entity(question.object, f"{where}object")
    return Query(question.subject, question.object, question.time), code


def _answer(served: Served, answer: Answer, code: int) -> dict[str, Any]:
    """The fields of AnswerOut."""
    pairs = zip(answer.predicates, answer.probabilities, strict=True)
    return {
        "subject": answer.query.subject,
        "object": answer.query.object,
        "time": answer.query.time,
        "predicates": [
            {"predicate": name, "probability": share, "known": name in answer.known}
            for name, share in pairs
        ],
        "unseen_subject": answer.unseen_subject,
        "unseen_object": answer.unseen_object,
        "unseen_time": answer.unseen_time,
        "outside_span": served.is_outside(code),
    }


def explained(served: Served, body: ExplainBody) -> ExplanationOut:
    """The explanation, its drawings, and what else is near."""
    query, code = checked(served, body, "", body.allow_unknown)
    if body.predicate is not None:
        served.predicate(body.predicate, "predicate")
    found = served.predictor.explain(query, body.predicate, most=body.top)
    drawn = [draw_reason(found, r) for r in found.reasons if r.facts and not r.same_as]
    return ExplanationOut.model_validate(
        found.as_json()
        | {
            "notes": notes(found),
            "drawings": [drawing.as_json() for drawing in drawn],
            "periphery": _periphery(served, query, code, found),
        }
    )


def _periphery(served: Served, query: Query, code: int, found: Explanation) -> list[NearFact]:
    """N_tknn of both entities without the facts that a reason cites."""
    model = served.predictor.model
    data, graph = model.dataset, model.graph
    cited = {fact.fact for reason in found.reasons for fact in reason.facts}
    near: dict[int, NearFact] = {}
    sides: dict[Literal["subject", "object"], str] = {
        "subject": query.subject,
        "object": query.object,
    }
    for side, name in sides.items():
        entity = data.entities.find(name)
        if entity is None:
            continue
        nearest = graph.nearest([entity], [code], model.config.agent.tknn)[0].tolist()
        new = [fact for fact in nearest if fact >= 0 and fact not in cited | near.keys()]
        for fact in new[:NEAREST]:
            apart = time_distance(graph, fact, served.position(code))
            words = in_words(data, graph, fact)
            near[fact] = NearFact(
                **words.model_dump(),
                side=side,
                distance=apart,
                apart=apart_text(data.axis, apart, lasting=words.start != words.end),
            )
    return list(near.values())
