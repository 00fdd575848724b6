"""Counterfactuals: facts whose removal, or addition, changes the answer.

The search is greedy. Each step removes the fact whose removal weakens the answer most. Afterwards,
each removed fact is restored if the answer still changes without removing it.
"""

from dataclasses import dataclass, replace

import numpy as np

from apptek.arrays import Doubles, Ints
from apptek.errors import ApptekError
from apptek.explain.evidence import Evidence
from apptek.explain.explainer import find_predicate, labels_of, without_facts
from apptek.explain.reasons import cited_fact
from apptek.facts.facts import Facts
from apptek.facts.queries import Queries
from apptek.facts.times import UNKNOWN
from apptek.features.space import CoreFact
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answer_tables import RankedPredicates
from apptek.models.answerer import Answerer, WorkingView
from apptek.present.explanation_words import name_notes
from apptek.present.sentences import Ends, fact_sentence
from apptek.results import Addition, CitedFact, Counterfactual, Outcome, Query, unknown_names

MOST = 40  # maximum number of facts to remove
LISTED = 10  # maximum number of listed facts whose addition changes the answer
TRIED = 30  # maximum number of candidate additions to score: those with the best estimates
LEAST_LEAD = 1e-4  # smallest difference of scores that cannot be a rounding error


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of a search: the answer falls behind any other predicate, or behind `target`."""

    answer: int
    target: int | None = None

    def is_reached(self, scores: Doubles) -> bool:
        """Return whether scores (R,) reach the goal."""
        return bool(self.gaps(scores[None])[0] < -LEAST_LEAD)

    def gaps(self, scores: Doubles) -> Doubles:
        """Return by how much scores (n, R) miss the goal; negative if they reach it."""
        if self.target is not None:
            others = np.delete(scores, self.target, axis=1)
            return np.asarray(others.max(axis=1) - scores[:, self.target])
        others = np.delete(scores, self.answer, axis=1)
        return np.asarray(scores[:, self.answer] - others.max(axis=1))


def counterfactual(
    answerer: Answerer,
    query: Query,
    target: str | None = None,
    *,
    add: bool = False,
    queries: Queries | None = None,
) -> Counterfactual:
    """Return a small set of facts whose removal changes the answer, to `target` if given.

    add      also search for single facts between the pair that would change it: see `_additions`
    queries  the same query as ids, if it was looked up already
    """
    queries = answerer.queries_of([query]) if queries is None else queries
    view = answerer.view_of(queries)
    if view.space.history is None or view.space.added:
        raise ApptekError("counterfactuals need a model fitted with the preset default or max")
    scored, names = view.scored(queries), answerer.model.dataset.predicates
    if len(names) < 2:
        raise ApptekError("the data has only one predicate, so there is no other answer")
    probabilities = view.probabilities(scored.scores)[0]
    answer = int(probabilities.argmax())
    wanted = None if target is None else find_predicate(target, answerer.predicate_names)
    if wanted == answer:
        raise ApptekError(f"{answerer.labels.shown(names[answer])!r} is already the answer")
    trial = _Trial(answerer, queries, Goal(answer, wanted))
    facts = trial.needed(trial.removed())
    past_only = np.asarray([view.name == "past_only"])
    ranked = RankedPredicates(queries, probabilities[None], past_only)
    (about,) = answerer.table(ranked, top=1).answers([query])
    subject, object_ = about.meant_subject or query.subject, about.meant_object or query.object
    evidence = Evidence(answerer, view, scored, Ends(subject, object_))
    cited = [_cited(evidence, fact) for fact in facts]
    outcome = trial.outcome(trial.scores(facts)) if facts else None
    additions = _additions(trial, evidence) if add else None
    outcomes = [outcome, *(each.outcome for each in additions or ())]
    target = None if wanted is None else names[wanted]
    named = [names[answer], target, *(each.predicate for each in outcomes if each)]
    labels, groups = labels_of(answerer, filter(None, named))
    found = Counterfactual(
        subject=subject,
        object=object_,
        time=answerer.model.dataset.axis.format(int(queries.times[0])),
        view=view.name,
        answer=names[answer],
        probability=float(probabilities[answer]),
        target=target,
        removed=tuple(cited),
        sentences=tuple(_sentence(answerer, fact) for fact in cited),
        outcome=outcome,
        additions=additions,
        unseen_subject=about.unseen_subject,
        unseen_object=about.unseen_object,
        max_removed=MOST,
        predicate_labels=labels,
        predicate_groups=groups,
    )
    asked, later = ((query.subject, subject), (query.object, object_)), about.later
    notes = name_notes(unknown_names(found, later), asked, later, query.time)
    return replace(found, notes=tuple(notes))


def _cited(evidence: Evidence, fact: int) -> CitedFact:
    core, data = CoreFact(fact, "both", 1, 0, True), evidence.model.dataset
    cited = cited_fact(data, evidence.graph, evidence.moment, core)
    return replace(cited, expanded_by=cited.predicate)


def _sentence(answerer: Answerer, fact: CitedFact) -> str:
    names = (fact.subject, fact.predicate, fact.object)
    apart = f" ({fact.apart})" if fact.apart else ""
    return fact_sentence(answerer.labels, *names, fact.date) + apart


@dataclass(frozen=True, slots=True)
class _Trial:
    """One query that can be scored again on graphs with different facts."""

    answerer: Answerer
    queries: Queries  # a single query
    goal: Goal

    def scores(self, removed: list[int], added: Facts | None = None) -> Doubles:
        """Return the scores of all predicates, (R,), without some facts or with one more."""
        part = without_facts(self.answerer, self.queries, removed, added)
        view = part.answerer.view_of(self.queries)
        scores: Doubles = view.scores(self.queries)[0].astype(np.float64)
        return scores

    def removed(self) -> list[int]:
        """Return the facts that a greedy search removes, or none if removing MOST is not enough."""
        removed: list[int] = []
        while len(removed) <= MOST:
            part = without_facts(self.answerer, self.queries, removed)
            view = part.answerer.view_of(self.queries)
            facts = _facts_of(view, self.queries)
            scores = _scores_without_each(view, self.queries, facts)
            if self.goal.is_reached(scores[0]):
                return removed
            if not len(facts):
                break
            weakest = int(self.goal.gaps(scores[1:]).argmin())
            removed.append(int(part.kept[facts[weakest]]))
        return []

    def needed(self, removed: list[int]) -> list[int]:
        """Return the removed facts that are necessary, testing them in order of removal."""
        for fact in list(removed):
            fewer = [other for other in removed if other != fact]
            if fewer and self.goal.is_reached(self.scores(fewer)):
                removed = fewer
        return removed

    def outcome(self, scores: Doubles) -> Outcome:
        """Return the outcome for these scores, (R,): the new answer."""
        view = self.answerer.view_of(self.queries)
        chances = view.probabilities(scores[None])[0]
        first = int(chances.argmax())
        return Outcome(
            predicate=self.answerer.model.dataset.predicates[first],
            probability=float(chances[first]),
            answer_probability=float(chances[self.goal.answer]),
        )


def _facts_of(view: WorkingView, queries: Queries) -> Ints:
    """Return the facts behind the features of a query."""
    assert view.space.history is not None
    listed = view.space.history.facts(queries, 0).values()
    return np.unique(np.concatenate([np.zeros(0, np.int32), *listed]))


def _scores_without_each(view: WorkingView, queries: Queries, facts: Ints) -> Doubles:
    """Return the current scores, then the scores without each of the given facts: (1 + n, R)."""
    hidden = np.concatenate([queries.hidden, facts]).astype(np.int32)
    copies = queries.take(np.zeros(len(hidden), np.int64))
    return view.scores(replace(copies, hidden=hidden)).astype(np.float64)


def _additions(trial: _Trial, evidence: Evidence) -> tuple[Addition, ...]:
    """Return the single facts whose addition changes the answer, most effective first.

    Each candidate is scored again. Candidates may go in either direction, at the query's time or on
    the last known day before it. If the answer is cooperation, conflict facts are not proposed, and
    vice versa.
    """
    answerer, goal, queries = trial.answerer, trial.goal, trial.queries
    labels, names = answerer.labels, answerer.model.dataset.predicates
    if evidence.moment == UNKNOWN:
        raise ApptekError("adding a fact needs a question with a time")
    ends = (int(queries.subjects[0]), int(queries.objects[0]))
    if min(ends) < 0:
        raise ApptekError("a fact can be added only between two entities that are in the data")
    code = _last_day(evidence, int(queries.times[0]))
    found = []
    for source, predicate, target in _promising(evidence, goal, ends, code):
        one: list[Ints] = [np.asarray([n], np.int32) for n in (source, predicate, target, code)]
        scores = trial.scores([], Facts(one[0], one[1], one[2], one[3], one[3]))
        new = names[int(scores.argmax())]
        if goal.is_reached(scores) and not labels.opposes(names[predicate], new):
            gap = float(goal.gaps(scores[None])[0])
            found.append((gap, source, predicate, target, trial.outcome(scores)))
    found.sort(key=lambda entry: entry[:4])
    return tuple(_addition(answerer, fact, code, outcome) for _, *fact, outcome in found[:LISTED])


def _promising(
    evidence: Evidence, goal: Goal, ends: tuple[int, int], code: int
) -> list[tuple[int, int, int]]:
    """Return the most promising facts, by the effect that each has alone in its family."""
    history, weights = evidence.space.history, evidence.fitted.classifier.weights
    assert history is not None
    scores, width = evidence.scored.scores[0].astype(np.float64), len(history.kernels)
    queries = replace(evidence.queries, hidden=np.full(1, -1, np.int32))
    found = []
    for source, target in (ends, ends[::-1]):
        alone = history.on(_graph_of_one(evidence.graph, source, target, code))
        columns, values = alone.rows(queries).row(0)  # with the first predicate
        if not len(columns):
            continue
        known = _known(evidence, source, target, code)
        for predicate in set(range(history.graph.predicate_count)) - known:
            added = values.astype(np.float64) @ weights[columns + predicate * width]
            found.append((float(goal.gaps((scores + added)[None])[0]), source, predicate, target))
    return [(source, predicate, target) for _, source, predicate, target in sorted(found)[:TRIED]]


def _graph_of_one(graph: TemporalGraph, source: int, target: int, code: int) -> TemporalGraph:
    """Return a graph with a single fact of the first predicate, as the same view sees it."""
    subject, predicate, object_, when = (
        np.asarray([number], np.int32) for number in (source, 0, target, code)
    )
    alone = graph.with_facts(Facts(subject, predicate, object_, when, when))
    return alone.past_view() if graph.past_only else alone


def _last_day(evidence: Evidence, query_time: int) -> int:
    """Return the time for an added fact: the query's time, or the last known day before it."""
    graph = evidence.graph
    if not graph.past_only:
        return query_time
    starts = np.where(graph.since == UNKNOWN, graph.until, graph.since)
    before = np.flatnonzero((starts != UNKNOWN) & (starts < evidence.moment))
    if not len(before):
        raise ApptekError("there is no earlier time at which a fact could be added")
    last = int(before[starts[before].argmax()])
    return int(graph.facts.times[last])


def _known(evidence: Evidence, source: int, target: int, code: int) -> set[int]:
    """Return the predicates from one entity to another at a given time."""
    facts = evidence.graph.facts
    here = (facts.subjects == source) & (facts.objects == target) & (facts.times == code)
    return set(facts.predicates[here].tolist())


def _addition(answerer: Answerer, fact: list[int], code: int, outcome: Outcome) -> Addition:
    data, date = answerer.model.dataset, answerer.model.dataset.axis.format(code)
    names = (data.entities[fact[0]], data.predicates[fact[1]], data.entities[fact[2]])
    return Addition(fact_sentence(answerer.labels, *names, date), *names, date, outcome)
