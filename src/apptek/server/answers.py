"""Predictions and explanations of the served model."""

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from apptek.arrays import Longs
from apptek.compiling import in_threads
from apptek.errors import ApptekError
from apptek.explain.counterfactual import counterfactual as find_counterfactual
from apptek.explain.explainer import contrast as find_contrast
from apptek.explain.explainer import explain as explain_query
from apptek.explain.explainer import with_labels_of
from apptek.explain.without_facts import without_facts
from apptek.facts.queries import Queries
from apptek.forecast.window import Length, Window
from apptek.graph.lookups import time_distance
from apptek.graph.temporal_graph import TemporalGraph
from apptek.predictor import Answer, Query
from apptek.present.drawing import WIDTH, draw_answer
from apptek.present.explanation_words import missing_facts_notes
from apptek.present.wording import apart_text
from apptek.results import (
    CitedFact,
    Contrast,
    Counterfactual,
    Explanation,
    Forecast,
    Reason,
    to_dict,
)
from apptek.server.problem_json import ServiceError
from apptek.server.requests import (
    ContrastBody,
    CounterfactualBody,
    ExplainBody,
    ForecastBody,
    PredictBatch,
    PredictQuery,
)
from apptek.server.responses import LISTED, ServedExplanation
from apptek.server.served_model import Question, ServedModel
from apptek.server.timelines import fact_fields

CHUNK = 250  # queries of a batch that one thread answers
Side = Literal["subject", "object"]
NEAREST = 12  # facts of the periphery on each side
NO_FORECASTS = "This model makes no forecasts"
NOT_A_WINDOW = "Not a window of this data"


def predict(served: ServedModel, body: PredictQuery | PredictBatch) -> dict[str, Any]:
    """The answers to one query or to a batch, as `Answers` describes them."""
    answerer = served.answerer(body.view)
    if isinstance(body, PredictBatch):
        asked = [Query(each.subject, each.object, each.time) for each in body.queries]
        times = [served.time(q.time, f"queries.{row}.time") for row, q in enumerate(asked)]
        ends = [
            [
                served.entity(getattr(query, side), f"queries.{row}.{side}", allow_unknown=True)
                for side in ("subject", "object")
            ]
            for row, query in enumerate(asked)
        ]
        subjects, objects = np.asarray(ends, np.int32).T.copy()
        ids = Queries(
            subjects, objects, np.asarray(times, np.int32), np.full(len(asked), -1, np.int32)
        )
    else:
        question = served.question(body, body.view, allow_unknown=body.allow_unknown)
        asked, ids = [question.query], question.ids

    def answer_chunk(start: int) -> list[dict[str, Any]]:
        part = ids.take(np.arange(start, min(start + CHUNK, len(ids))))
        table = answerer.table(answerer.ranked(part), top=body.top)
        answers = table.answers(asked[start : start + CHUNK])
        codes = part.times.tolist()
        return [answer_fields(served, *pair) for pair in zip(answers, codes, strict=True)]

    chunks = in_threads(answer_chunk, range(0, len(asked), CHUNK))
    names = ((query.subject, query.object) for query in asked)
    pairs = zip(ids.subjects.tolist(), ids.objects.tolist(), names, strict=True)
    named = (
        (entity, name) for *two, texts in pairs for entity, name in zip(two, texts, strict=True)
    )
    answers = [answer for chunk in chunks for answer in chunk]
    return {
        "answers": answers,
        "unknown": int(((ids.subjects < 0) | (ids.objects < 0)).sum()),
        "far_times": sum(answer["far_time"] for answer in answers),
        "similar": served.similar(named),
    }


def answer_fields(served: ServedModel, answer: Answer, code: int) -> dict[str, Any]:
    """The fields of AnswerOut."""
    fields = {name: value for name, value in to_dict(answer).items() if name not in LISTED}
    ranked = [{**to_dict(each), "known": each.predicate in answer.known} for each in answer.ranked]
    outside = served.is_outside_span(code)
    return {**to_dict(answer.query), **fields, "predicates": ranked, "outside_span": outside}


def explain(served: ServedModel, body: ExplainBody) -> ServedExplanation:
    """An explanation with its drawing and the periphery."""
    question = served.question(body, body.view, allow_unknown=body.allow_unknown)
    served.check_predicates(predicate=body.predicate, against=body.against)
    whole = answerer = question.answerer
    kept, known = None, len(whole.model.graph.facts)
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
    cited = {fact.fact for reason in explanation.all_reasons() for fact in reason.facts}
    # As the answer saw it: looking ahead, facts of that day or later must not show.
    graph = whole.views[explanation.view].space.graph
    shown = cited | set(without)
    periphery = _periphery(served, question, graph, shown)
    expanded = {
        name: [_as_cited(f) for f in _nearest(served, entity, question.time, graph, shown)]
        for name in body.expand
        if (entity := whole.entities.find(name)) is not None
    }
    nearby = [_as_cited(fact) for fact in periphery] if body.nearby else []
    drawn = [*nearby, *(fact for facts in expanded.values() for fact in facts)]
    drawing = draw_answer(
        with_labels_of(whole, explanation, drawn),
        width=body.width or WIDTH, nearby=nearby, expanded=expanded,
    )  # fmt: skip
    dataset = served.predictor.model.dataset
    more: dict[str, Any] = {
        "notes": (
            *explanation.notes,
            *missing_facts_notes([fact for fact in body.without if fact >= known]),
        ),
        "similar": question.similar,
        "drawing": drawing,
        "periphery": periphery,
        "without": [fact_fields(dataset, whole.model.graph, fact) for fact in without],
    }
    own = {each.name: getattr(explanation, each.name) for each in fields(explanation)}
    return ServedExplanation(**own | more)


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


def _as_cited(fact: dict[str, Any]) -> CitedFact:
    ends = {name: value for name, value in fact.items() if name not in ("start", "end")}
    return CitedFact(**ends, step=0, expanded_by="", on_path=False)


def _periphery(
    served: ServedModel, question: Question, graph: TemporalGraph, cited: set[int]
) -> list[dict[str, Any]]:
    """The N_tknn facts of both entities that no reason cites, the first of each side."""
    facts: list[dict[str, Any]] = []
    sides: tuple[Side, Side] = ("subject", "object")
    for entity, side in zip(question.ends, sides, strict=True):
        if entity >= 0:
            shown = cited | {fact["fact"] for fact in facts}  # one between the two is listed once
            facts += _nearest(served, entity, question.time, graph, shown, side)
    return facts


def _nearest(
    served: ServedModel, entity: int, code: int, graph: TemporalGraph, shown: set[int],
    side: Side = "subject",
) -> list[dict[str, Any]]:  # fmt: skip
    """The facts of an entity nearest in time that are not shown yet, as NearFact describes them."""
    model, data = served.predictor.model, served.predictor.model.dataset
    nearest = graph.nearest([entity], [code], model.config.agent.tknn)[0].tolist()
    facts = []
    for fact in [f for f in nearest if f >= 0 and f not in shown][:NEAREST]:
        distance = time_distance(graph, fact, served.position(code))
        fields = fact_fields(data, graph, fact)
        apart = apart_text(data.axis, distance, lasting=fields["start"] != fields["end"])
        facts.append(fields | {"side": side, "distance": distance, "apart": apart})
    return facts


def counterfactual(served: ServedModel, body: CounterfactualBody) -> Counterfactual:
    """A small set of facts whose removal changes the answer."""
    question = served.question(body, body.view, allow_unknown=body.allow_unknown)
    served.check_predicates(to=body.target)
    found = find_counterfactual(
        question.answerer, question.query, body.target, add=body.add, queries=question.ids
    )
    return replace(found, similar=question.similar)


def contrast(served: ServedModel, body: ContrastBody) -> Contrast:
    """What changes between the time of a query and another time."""
    question = served.question(body, body.view, allow_unknown=body.allow_unknown)
    versus = served.time(body.versus, "versus")
    served.check_near(versus, "versus")
    both = question.ids.take(np.zeros(2, np.int64))
    both = replace(both, times=np.asarray([question.time, versus], np.int32))
    served.check_predicates(predicate=body.predicate, against=body.against)
    found = find_contrast(
        question.answerer, question.query, body.versus, body.predicate, body.against, both
    )
    return replace(found, similar=question.similar)


@dataclass(frozen=True, slots=True)
class ForecastQuestion:
    """A question about a window whose names and times were looked up; see `Question`."""

    names: tuple[str, str]
    ids: tuple[int, int]
    window: Window

    @classmethod
    def of(cls, served: ServedModel, body: ForecastBody) -> "ForecastQuestion":
        """Raises a ServiceError if the model, the names or the window allow no forecast."""
        require_forecasts(served)
        names = (body.subject, body.object)
        ids = served.pair(*names, allow_unknown=body.allow_unknown)
        return cls(names, ids, window_of_body(served, body))


def forecast(served: ServedModel, question: ForecastQuestion, top: int) -> Forecast:
    """The forecast of a pair, with names like unknown ones."""
    forecaster, window = served.predictor.forecaster, question.window
    ids = np.asarray([question.ids], np.int64)
    (made,) = forecaster.forecast([question.names], window, top=top, why=True, ids=ids)
    similar = served.similar(zip(question.ids, question.names, strict=True))
    return replace(made, similar=similar)


def require_forecasts(served: ServedModel) -> None:
    """Raises a ServiceError if the model makes no forecasts."""
    if served.predictor.model.occurrence is None:
        raise ServiceError(
            422,
            f"Why: {served.predictor.model.no_forecasts or 'too little was learned'}.",
            advice="Serve a model that was fitted with the preset default or max on dated facts.",
            title=NO_FORECASTS,
        )


def window_of_body(served: ServedModel, body: ForecastBody) -> Window:
    """The window of a request. Raises a ServiceError that says what is wrong with it."""
    for text, where in ((body.start, "from"), (body.until, "until")):
        if text is not None:
            served.time(text, where)
    length = Length(
        body.until, body.days, body.months, body.years, body.hours, body.minutes, body.steps
    )
    return window_of(served, body.start, length)


def window_of(served: ServedModel, start: str | None, length: Length) -> Window:
    """The window from a time on, by default after the last observed time."""
    try:
        return served.predictor.forecaster.window(start, length)
    except ApptekError as error:
        message = str(error)
        raise ServiceError(
            422,
            f"{message[:1].upper()}{message[1:]}.",
            advice="Give the first time in `from`, and the last one in `until` or a length.",
            where=(length.given() or ["from"])[0],
            title=NOT_A_WINDOW,
        ) from None
