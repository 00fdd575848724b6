"""Explain an answer: the evidence for and against a predicate, in numbers and words.

`without_facts` returns the answerer of a model without some of its facts, or with additional ones,
for one query.
"""

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.arrays import Longs, Matrix
from apptek.errors import ApptekError, UnknownPredicateError
from apptek.evaluation.prediction_sets import USUAL_COVERAGE
from apptek.explain.evidence import Evidence
from apptek.explain.reasons import contributions_of, group_all, reasons_of, split_parts, support_of
from apptek.facts.facts import Facts, join_facts
from apptek.facts.name_matching import NameResolver
from apptek.facts.queries import Queries
from apptek.graph.lookups import facts_of
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answer_tables import RankedPredicates
from apptek.models.answerer import Answerer, WorkingView
from apptek.models.manifest import FORMAT
from apptek.present.explanation_words import explanation_notes, paragraph, sentence
from apptek.present.sentences import Ends
from apptek.results import Explanation, Query

RANKED = 10  # number of predicates that an explanation lists
OF_ANSWER = (  # fields that an explanation copies from the answer
    "ranked", "unseen_subject", "unseen_object", "unseen_time", "known", "view", "later",
    "age_note", "by_class", "by_group",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PartOfFacts:
    """An answerer that uses only part of the facts.

    kept  the index of each fact in the whole graph; added facts are numbered after the last one
    """

    answerer: Answerer
    kept: Longs


def without_facts(
    answerer: Answerer,
    queries: Queries,
    removed: npt.ArrayLike,
    added: Facts | None = None,
) -> PartOfFacts:
    """Return an answerer for one query, with some facts removed from its graph and others added.

    The graph contains only the facts that the answer depends on: the facts of the two entities, or
    all facts if the scores depend on them.
    """
    graph = answerer.model.graph
    if answerer.view_of(queries).reaches_others:
        relevant = np.arange(len(graph.facts), dtype=np.int32)
    else:
        relevant = facts_of(graph, (int(queries.subjects[0]), int(queries.objects[0])))
    kept = np.setdiff1d(relevant, np.asarray(removed, np.int64)).astype(np.int64)
    numbers = len(graph.facts) + np.arange(0 if added is None else len(added))
    return PartOfFacts(with_only(answerer, kept, added), np.concatenate([kept, numbers]))


def with_only(answerer: Answerer, kept: Longs, added: Facts | None = None) -> Answerer:
    """Return an answerer that sees only these facts and the added ones.

    The learned properties of entities, which come from all facts, do not change.
    """
    model, graph = answerer.model, answerer.model.graph
    facts = graph.facts.take(kept)
    part = graph.with_facts(facts if added is None else join_facts(facts, added))
    changed = copy(answerer)
    changed.model = replace(model, graph=part)
    changed.view_in_use = cache(lambda name: _on(answerer.view_in_use(name), part))
    return changed


def _on(view: WorkingView, graph: TemporalGraph) -> WorkingView:
    """Return the same view on another graph."""
    return replace(view, space=view.space.on(graph.seen_in(view.name)))


def explain(
    answerer: Answerer,
    query: Query,
    predicate: str | None = None,
    *,
    against: str | None = None,
    most: int = 5,
    hidden: int = -1,
    queries: Queries | None = None,
) -> Explanation:
    """Explain `predicate` (the most probable one if None), compared with another one.

    against  the predicate to compare it with; by default the runner-up
    most     the number of reasons for it, and of reasons against it, that are shown with their
             facts
    hidden   the training fact that the query must not see; -1: none
    queries  the same query as ids, if it was looked up already
    """
    queries = answerer.queries_of([query]) if queries is None else queries
    queries = replace(queries, hidden=np.asarray([hidden], np.int32))
    view, model = answerer.view_of(queries), answerer.model
    scored, classifier = view.scored(queries), view.fitted.classifier
    probabilities = view.probabilities(scored.scores)
    ranked = RankedPredicates(queries, probabilities, np.asarray([view.name == "past_only"]))
    (answer,) = answerer.table(ranked, top=RANKED).answers([query])
    compared = compared_predicates(answerer, probabilities[0], predicate, against)
    chosen, runner_up = compared
    temperature = float(classifier.calibration.temperatures(scored.scores)[0])
    about: dict[str, Any] = {"dataset": model.dataset.name, "preset": model.preset}
    about |= {"protocol": model.protocol, "format": FORMAT}
    ends = Ends(answer.meant_subject or query.subject, answer.meant_object or query.object)
    evidence = Evidence(answerer, view, scored, ends)
    contributions = contributions_of(evidence, chosen, runner_up, temperature)
    for_it, opposed, further = split_parts(contributions, max(most, 0))
    reasons = reasons_of(evidence, [*for_it, *opposed], compared)
    sets, bias = view.fitted.sets, classifier.bias.astype(np.float64)
    odds_bias = float(bias[chosen] - bias[runner_up]) / temperature
    explanation = Explanation(
        sentence="",
        paragraph="",
        subject=ends.subject,
        object=ends.object,
        time=model.dataset.axis.format(int(queries.times[0])),
        **_named_predicates(answerer, probabilities[0], compared),
        log_odds=odds_bias + sum(each.log_odds for _, each in contributions),
        bias=odds_bias,
        temperature=temperature,
        reasons=reasons[: len(for_it)],
        against=reasons[len(for_it) :],
        further=further,
        groups=group_all(further, ends, view.name),
        set_size=None if sets is None else int(answerer.set_sizes(ranked, USUAL_COVERAGE)[0]),
        model=about,
        asked_subject=query.subject,
        asked_object=query.object,
        **{name: getattr(answer, name) for name in OF_ANSWER},
    )
    return _in_words(answerer, explanation, evidence)


def compared_predicates(
    answerer: Answerer, probabilities: Matrix, predicate: str | None, against: str | None
) -> tuple[int, int]:
    """Return the predicate to explain and the predicate to compare it with; probabilities: (R,)."""
    order = np.argsort(-probabilities, kind="stable").tolist()
    resolver = answerer.predicate_names
    chosen = order[0] if predicate is None else find_predicate(predicate, resolver)
    if against is None:
        return chosen, next((other for other in order if other != chosen), chosen)
    other = find_predicate(against, resolver)
    if other == chosen:
        raise ApptekError(f"{against!r} cannot be compared with itself: name another predicate")
    return chosen, other


def _named_predicates(
    answerer: Answerer, probabilities: Matrix, compared: tuple[int, int]
) -> dict[str, Any]:
    """Return names, labels and probabilities of the predicate and the runner-up."""
    names = [answerer.model.dataset.predicates[each] for each in compared]
    labels = [answerer.labels.label(name) for name in names]
    chances = [float(probabilities[each]) for each in compared]
    return {
        "predicate": names[0], "label": labels[0], "probability": chances[0],
        "runner_up": names[1], "runner_up_label": labels[1], "runner_up_probability": chances[1],
    }  # fmt: skip


def _in_words(answerer: Answerer, explanation: Explanation, evidence: Evidence) -> Explanation:
    """Return the explanation with its labels, sentences and notes."""
    labels, groups = labels_of(answerer, _named(explanation))
    explanation = replace(explanation, predicate_labels=labels, predicate_groups=groups)
    return replace(
        explanation,
        sentence=sentence(explanation),
        paragraph=paragraph(explanation),
        notes=explanation_notes(explanation, evidence.read_from_name()),
    )


def _named(explanation: Explanation) -> Iterable[str]:
    """Yield the predicates that an explanation mentions."""
    yield from (one.predicate for one in explanation.ranked)
    yield from (explanation.predicate, explanation.runner_up, *explanation.known)
    for reason in explanation.all_reasons():
        yield from reason.topology
        for fact in reason.facts:
            yield from (fact.predicate, fact.expanded_by)


def labels_of(
    answerer: Answerer, predicates: Iterable[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the labels of predicates that differ from their names, and the predicates' groups."""
    table, names = answerer.labels, list(dict.fromkeys(predicates))
    labels = {name: table.label(name) for name in names if table.label(name) != name}
    groups = {name: group for name in names if (group := table.group_of(name))}
    return labels, groups


def strongest_reason(
    answerer: Answerer, query: Query, predicate: str, queries: Queries | None = None
) -> str:
    """Return the strongest evidence for a predicate compared with the best other one.

    The query is scored once, and one reason is put into words. The text is empty if no fact
    supports the predicate. Reasons that are not supported by their counts alone are skipped.
    `queries` is the same query as ids, if it was looked up already.
    """
    chosen = find_predicate(predicate, answerer.predicate_names)
    queries = answerer.queries_of([query]) if queries is None else queries
    view = answerer.view_of(queries)
    scored = view.scored(queries)
    scores = scored.scores[0].copy()
    scores[chosen] = -np.inf
    other = int(scores.argmax())
    subject = answerer.seen.name(int(queries.subjects[0])) or query.subject
    object_ = answerer.seen.name(int(queries.objects[0])) or query.object
    evidence = Evidence(answerer, view, scored, Ends(subject, object_))
    added = [
        (own - others, key)
        for key, (own, others) in evidence.added(chosen, other).items()
        if key[0] in ("history", "topology") and own > others
    ]
    for odds, key in sorted(added, key=lambda pair: -pair[0]):
        support = support_of(evidence, key, odds, (chosen, other))
        if support is None or not support.contradicts:
            return evidence.sentence(key, chosen)
    return ""


def find_predicate(predicate: str, resolver: NameResolver) -> int:
    """Return the id of a predicate, or raise an error that suggests similar names."""
    known = resolver.find(predicate)
    if known is not None:
        return known
    folded = {name.casefold(): name for name in resolver.names}
    near = [folded[key] for key in get_close_matches(predicate.casefold(), folded, n=3)]
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise UnknownPredicateError(f"the model has no predicate called {predicate!r}{hint}")
