"""Predictions and explanations from the served model."""

from collections.abc import Sequence
from dataclasses import replace

from apptek.arrays import Longs
from apptek.explain.counterfactual import counterfactual
from apptek.explain.explainer import explain as explain_query
from apptek.explain.explainer import without_facts
from apptek.present.drawing import WIDTH, draw_answer
from apptek.results import Counterfactual, Explanation, Query, Reason, extended
from apptek.server.problem_json import ServiceError
from apptek.server.requests import (
    CounterfactualBody,
    ExplainBody,
    PredictBatch,
    PredictBody,
    PredictQuery,
)
from apptek.server.responses import Answers, ServedExplanation
from apptek.server.served_model import ServedModel
from apptek.server.timelines import describe_fact

MAX_PAIRS = 100_000  # maximum number of (query, predicate) combinations in a batch response


def predict(served: ServedModel, body: PredictBody) -> Answers:
    """Return the most probable predicates for one query, or for a batch."""
    answerer = served.answerer(body.view)
    if isinstance(body, PredictBatch):
        asked = [Query(each.subject, each.object, each.time) for each in body.queries]
        ids = served.batch(asked)
    else:
        question = served.question(body, body.view, allow_unknown=body.allow_unknown)
        asked, ids = [question.query], question.ids
    # A prediction set can contain all predicates.
    top = body.top if body.coverage is None else len(answerer.model.dataset.predicates)
    if len(ids) * top > MAX_PAIRS:
        raise ServiceError(
            422,
            f"A batch may return at most {MAX_PAIRS:,} predicates, not {len(ids):,} x {top:,}.",
            advice="Split it into several requests.",
            where="queries",
            title="The batch is too large",
        )
    table = answerer.table(answerer.ranked(ids), top=body.top, coverage=body.coverage)
    answers = table.answers(asked)
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
    """Explain a predicate: contributions, the facts behind them, and a drawing of the graph."""
    question = served.question(body, body.view, allow_unknown=body.allow_unknown)
    served.check_predicates(predicate=body.predicate, against=body.against)
    without, kept = list(dict.fromkeys(body.without)), None
    if without:
        _check_facts(without, len(served.model.graph.facts))
        part = without_facts(question.answerer, question.ids, without)
        question, kept = replace(question, answerer=part.answerer), part.kept
    explanation = explain_query(
        question.answerer, question.query, body.predicate,
        against=body.against, most=body.top, queries=question.ids,
    )  # fmt: skip
    if kept is not None:
        explanation = _renamed(explanation, kept)
    what_if = served.what_if(question, body.suppose, body.predicate, against=body.against)
    return extended(
        ServedExplanation,
        replace(explanation, similar=question.similar, what_if=what_if),
        drawing=draw_answer(explanation, width=body.width or WIDTH),
        without=[describe_fact(served.model, fact) for fact in without],
    )


def counterfactuals(served: ServedModel, body: CounterfactualBody) -> Counterfactual:
    """Return a small set of facts whose removal changes the answer."""
    question = served.question(body, body.view, allow_unknown=body.allow_unknown)
    served.check_predicates(to=body.target)
    found = counterfactual(
        question.answerer, question.query, body.target, add=body.add, queries=question.ids
    )
    return replace(found, similar=question.similar)


def _check_facts(facts: Sequence[int], count: int) -> None:
    if max(facts) >= count:
        raise ServiceError(
            422,
            f"The model has no fact number {max(facts)}.",
            advice="Use fact numbers from the `facts` of reasons.",
            where="without",
        )


def _renamed(explanation: Explanation, kept: Longs) -> Explanation:
    """Replace fact numbers in a subgraph with the numbers in the whole graph."""

    def renamed(reason: Reason) -> Reason:
        facts = tuple(replace(fact, fact=int(kept[fact.fact])) for fact in reason.facts)
        return replace(reason, facts=facts)

    return replace(
        explanation,
        reasons=tuple(map(renamed, explanation.reasons)),
        against=tuple(map(renamed, explanation.against)),
    )
