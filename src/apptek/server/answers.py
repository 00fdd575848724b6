"""Predictions and explanations of the served model."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np

from apptek.arrays import Longs
from apptek.compiling import in_threads
from apptek.explain.explainer import cited_fact, with_labels_of
from apptek.explain.explainer import explain as explain_query
from apptek.explain.without_facts import without_facts
from apptek.features.space import CoreFact, Side
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answer_tables import AskedColumns
from apptek.present.drawing import WIDTH, draw_answer
from apptek.present.explanation_words import missing_facts_notes
from apptek.results import Answer, CitedFact, Explanation, Query, Reason, extended
from apptek.server.requests import ExplainBody, PredictBatch, PredictQuery, check_batch
from apptek.server.responses import Answers, ServedExplanation
from apptek.server.served_model import ServedModel

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

    def answer_chunk(start: int) -> Sequence[Answer]:
        part = ids.take(np.arange(start, min(start + CHUNK, len(ids))))
        table = answerer.table(answerer.ranked(part), top=body.top, coverage=body.coverage)
        return table.answers(asked[start : start + CHUNK])

    answers = [*chain(*in_threads(answer_chunk, range(0, len(asked), CHUNK)))]
    if isinstance(body, PredictQuery):
        answers = [replace(answers[0], what_if=served.what_if(question, body.suppose))]
    names = [*(query.subject for query in asked), *(query.object for query in asked)]
    return Answers(
        answers,
        unknown=int(((ids.subjects < 0) | (ids.objects < 0)).sum()),
        far_times=sum(answer.far_time for answer in answers),
        similar=served.similar(names, [*ids.subjects.tolist(), *ids.objects.tolist()]),
    )


def explain(served: ServedModel, body: ExplainBody) -> ServedExplanation:
    """Return an explanation with its drawing and the periphery."""
    question = served.question(body, body.view, allow_unknown=body.allow_unknown)
    served.check_predicates(predicate=body.predicate, against=body.against)
    whole = answerer = question.answerer
    known = len(whole.model.graph.facts)
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
    nearest = partial(_nearest, served, graph, question.time, shown)
    expanded = {
        name: nearest(entity)
        for name in body.expand
        if (entity := whole.entities.find(name)) is not None
    }
    periphery: list[CitedFact] = []
    for entity, side in zip(question.ends, SIDES, strict=True):
        if entity >= 0:
            periphery += nearest(entity, side)
            shown |= {fact.fact for fact in periphery}  # one between the two is listed once
    nearby = periphery if body.nearby else []
    drawing = draw_answer(
        with_labels_of(whole, explanation, [*nearby, *chain(*expanded.values())]),
        width=body.width or WIDTH, nearby=nearby, expanded=expanded,
    )  # fmt: skip
    missing = missing_facts_notes([fact for fact in body.without if fact >= known])
    return extended(
        ServedExplanation,
        replace(
            explanation,
            notes=(*explanation.notes, *missing),
            similar=question.similar,
            what_if=served.what_if(
                replace(question, answerer=answerer),
                body.suppose,
                body.predicate,
                against=body.against,
            ),
        ),
        drawing=drawing,
        periphery=periphery,
        without=[_as_seen(served, graph, fact, question.time) for fact in without],
    )


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


def _nearest(
    served: ServedModel, graph: TemporalGraph, code: int, shown: set[int], entity: int,
    side: Side = "subject",
) -> list[CitedFact]:  # fmt: skip
    """Return those of the N_tknn facts of an entity that are not shown yet, the nearest first."""
    nearest = graph.nearest([entity], [code], served.model.config.agent.tknn)[0].tolist()
    near = [number for number in nearest if number >= 0 and number not in shown][:NEAREST]
    return [_as_seen(served, graph, number, code, side) for number in near]


def _as_seen(
    served: ServedModel, graph: TemporalGraph, fact: int, code: int, side: Side = "subject"
) -> CitedFact:
    """Return a fact as an answer sees it: with past_only, without an end in the future."""
    core = CoreFact(fact, side, step=0, action=int(graph.facts.predicates[fact]), on_path=False)
    seen = cited_fact(served.model.dataset, graph, served.position(code), core)
    return replace(seen, expanded_by="")
