"""Counterfactuals: which facts would have to be missing, or to be there, for another answer."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from apptek.arrays import Doubles, Ints
from apptek.data.facts import Facts, join_facts
from apptek.data.queries import Queries
from apptek.data.times import UNKNOWN
from apptek.errors import ApptekError
from apptek.explain.evidence import Evidence
from apptek.explain.explainer import cited_fact, find_predicate
from apptek.explain.explanation import CitedFact, as_plain
from apptek.explain.sentences import Ends, clause
from apptek.explain.what_if.rescoring import Rescorer
from apptek.explain.what_if.smallest_sets import (
    MOST_PROVEN,
    Goal,
    greedy_set,
    pruned,
    smallest_set,
)
from apptek.explain.wording import at_time, general_notes, later_notes, meant_notes
from apptek.features.topologies.connection import CoreFact
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answerer import Answerer, WorkingView
from apptek.models.answers import Query, RankedPredicates

MOST = 40  # facts that may be taken away
LISTED = 10  # single facts that would change the answer, told at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The most probable predicate after a change, and how probable the two are then.

    answer_probability  of the predicate that was the answer before
    """

    predicate: str
    probability: float
    answer_probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """A fact between the two that would change the answer, in words and as a fact."""

    sentence: str
    subject: str
    predicate: str
    object: str
    date: str
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterfactual:
    """What would change an answer.

    target     the predicate that was to become the answer; None: any other
    removed    the facts without which it changes; none where no set of up to MOST was found
    sentences  the same in words
    outcome    the answer without them, scored again on a graph without them; None as `removed`
    tried      up to this number of facts every set was tried, and none does it but `removed`
    proven     whether no smaller set does it
    additions  single facts between the two that would change it; None: they were not asked for
    notes      which names are not in the facts, and which were read as others
    """

    subject: str
    object: str
    time: str
    view: str
    answer: str
    probability: float
    target: str | None
    removed: tuple[CitedFact, ...]
    sentences: tuple[str, ...]
    outcome: Outcome | None
    tried: int
    proven: bool
    additions: tuple[Addition, ...] | None
    unseen_subject: bool
    unseen_object: bool
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The fields of this class by their names, all the way down; tuples are lists."""
        plain: dict[str, Any] = as_plain(self)
        return plain


def counterfactual(
    answerer: Answerer, query: Query, target: str | None = None, *, add: bool = False
) -> Counterfactual:
    """The smallest set of facts without which the answer changes, to `target` if one is named.

    add  whether to look for single facts, too, that would change it if they were there: between the
         two, in either direction, at the query's time, or ahead on the last day that is known
    """
    model = answerer.model
    queries = answerer.queries_of([query])
    view = answerer.view_of(queries)
    if view.space.history is None or view.space.topologies is not None:
        raise ApptekError("counterfactuals need a model of the preset default or max")
    scored, names = view.scored(queries), model.dataset.predicates
    if len(names) < 2:
        raise ApptekError("the data has a single predicate: there is no other answer")
    probabilities = view.probabilities(scored.scores)[0]
    answer = int(probabilities.argmax())
    wanted = None if target is None else find_predicate(target, answerer.predicate_names, names)
    if wanted == answer:
        raise ApptekError(f"{answerer.labels.shown(names[answer])!r} is the answer already")
    goal = Goal(answer, wanted)
    rescorer = Rescorer.of(view, scored, MOST)
    facts, tried = _removed(rescorer, goal)
    change = _Change(answerer, view, queries, answer)
    outcome = change.outcome(facts) if facts else None
    ranked = RankedPredicates(queries, probabilities[None], [view.name])
    (about,) = answerer.answers([query], ranked, top=1)
    subject, object_ = about.meant_subject or query.subject, about.meant_object or query.object
    evidence = Evidence(answerer, view, scored, Ends(subject, object_))
    cited = [cited_fact(evidence, CoreFact(fact, "both", 1, 0, True)) for fact in facts]
    unseen = ((subject, about.unseen_subject), (object_, about.unseen_object))
    unknown = dict.fromkeys(name for name, is_so in unseen if is_so and name not in about.later)
    return Counterfactual(
        subject=subject,
        object=object_,
        time=model.dataset.axis.format(int(queries.times[0])),
        view=view.name,
        answer=names[answer],
        probability=float(probabilities[answer]),
        target=None if wanted is None else names[wanted],
        removed=tuple(replace(fact, expanded_by=fact.predicate) for fact in cited),
        sentences=tuple(_sentence(answerer, fact) for fact in cited),
        outcome=outcome,
        tried=tried,
        proven=bool(facts) and len(facts) <= tried + 1,
        additions=_additions(rescorer, goal, change, evidence) if add else None,
        unseen_subject=about.unseen_subject,
        unseen_object=about.unseen_object,
        notes=(
            *general_notes(*unknown),
            *later_notes(about.later, query.time),
            *meant_notes((query.subject, subject), (query.object, object_)),
        ),
    )


def _sentence(answerer: Answerer, fact: CitedFact) -> str:
    labels = answerer.labels
    words = clause(
        labels.label(fact.predicate), labels.phrase(fact.predicate), fact.subject, fact.object
    )
    return f"{words} {at_time(fact.date)}{f' ({fact.apart})' if fact.apart else ''}"


def _removed(rescorer: Rescorer, goal: Goal) -> tuple[list[int], int]:
    """The facts to take away, and up to which number all sets were tried; nothing: none was found.

    Only where the scores are sums over families can all sets be tried, else single facts.
    """
    found = greedy_set(rescorer, goal, MOST)
    if found is not None:
        found = pruned(found, rescorer, goal)
    if not rescorer.is_additive:
        return found or [], 1
    largest = MOST_PROVEN if found is None else min(len(found) - 1, MOST_PROVEN)
    scores = rescorer.scores()
    smaller = smallest_set(rescorer.families, scores, goal, range(1, largest + 1))
    if smaller is None:
        return found or [], max(largest, 1)
    if goal.is_reached(rescorer.without(set(smaller)).scores()):
        return smaller, len(smaller)
    # The answer falls behind the target, and yet another is first: only smaller sets are ruled out.
    return found or [], max(len(smaller) - 1, 1)


@dataclass(frozen=True, slots=True)
class _Change:
    """Scores a query again on a graph of the facts that it depends on, some of them changed."""

    answerer: Answerer
    view: WorkingView
    queries: Queries
    answer: int

    def outcome(self, removed: list[int], added: Facts | None = None) -> Outcome:
        """What the answer becomes."""
        model, graph = self.answerer.model, self.answerer.model.graph
        ends = [int(self.queries.subjects[0]), int(self.queries.objects[0])]
        stays = np.isin(graph.facts.subjects, ends) | np.isin(graph.facts.objects, ends)
        stays |= self.view.reaches_others
        stays[removed] = False
        # One undated fact, if there are any, so that features for undated facts stay in place.
        undated = np.flatnonzero((graph.since == UNKNOWN) & (graph.until == UNKNOWN))
        stays[[fact for fact in undated.tolist() if fact not in removed][:1]] = True
        facts = graph.facts.take(stays)
        changed = TemporalGraph.build(
            facts if added is None else join_facts(facts, added),
            graph.axis,
            graph.entity_count,
            graph.predicate_count,
            open_end=graph.open_end,
        )
        sources = replace(model.sources, graph=changed)
        space = sources.space(self.view.name, self.view.fitted.kinds)
        view = WorkingView(self.view.name, space, self.view.fitted)
        return self.of_scores(view.scores(self.queries).astype(np.float64))

    def of_scores(self, scores: Doubles) -> Outcome:
        """The outcome of some scores, (1, R)."""
        chances = self.view.probabilities(scores)[0]
        first = int(chances.argmax())
        return Outcome(
            predicate=self.answerer.model.dataset.predicates[first],
            probability=float(chances[first]),
            answer_probability=float(chances[self.answer]),
        )


def _additions(
    rescorer: Rescorer, goal: Goal, change: _Change, evidence: Evidence
) -> tuple[Addition, ...]:
    """The single facts that would change the answer, the most telling first, each scored again.

    A fact of conflict is not proposed for an answer of cooperation, nor the other way round.
    """
    labels, names = change.answerer.labels, change.answerer.model.dataset.predicates
    history, queries = rescorer.view.space.history, change.queries
    assert history is not None
    if evidence.moment == UNKNOWN:
        raise ApptekError("a fact can be added only where the question has a time")
    ends = (int(queries.subjects[0]), int(queries.objects[0]))
    if min(ends) < 0:
        raise ApptekError("a fact can be added only between two entities that the model knows")
    code, distance = _last_day(evidence, int(queries.times[0]))
    clock = history.clock.lone_values(np.asarray([float(distance)]))
    kernels = np.asarray([clock[k][0] if k in clock else 0.0 for k in history.kernels])
    found = []
    for family, (source, target) in {"pair": ends, "reversed": ends[::-1]}.items():
        if family not in history.families:
            continue
        known = _known(evidence, source, target, code)
        for predicate in range(history.graph.predicate_count):
            if predicate in known:
                continue
            scores = rescorer.with_fact(family, predicate, kernels).scores()
            gap = float(goal.gaps(scores[None])[0])
            new = int(scores.argmax())
            if goal.is_reached(scores) and not labels.opposes(names[predicate], names[new]):
                found.append((gap, source, predicate, target))
    found.sort()
    return tuple(_addition(change, fact, code) for _, *fact in found[:LISTED])


def _last_day(evidence: Evidence, own: int) -> tuple[int, int]:
    """The time of a fact to add, and its distance: the query's, or the last that is known."""
    graph = evidence.graph
    if not graph.looks_ahead:
        return own, 0
    starts = np.where(graph.since == UNKNOWN, graph.until, graph.since)
    before = np.flatnonzero((starts != UNKNOWN) & (starts < evidence.moment))
    if not len(before):
        raise ApptekError("there is no earlier day on which a fact could be added")
    last = int(before[starts[before].argmax()])
    return int(graph.facts.times[last]), int(starts[last]) - evidence.moment


def _known(evidence: Evidence, source: int, target: int, code: int) -> set[int]:
    """The predicates that the facts have from one entity to another at a time."""
    facts = evidence.graph.facts
    here = (facts.subjects == source) & (facts.objects == target) & (facts.times == code)
    return set(facts.predicates[here].tolist())


def _addition(change: _Change, fact: list[int], code: int) -> Addition:
    data = change.answerer.model.dataset
    columns: list[Ints] = [np.asarray([part], np.int32) for part in (*fact, code)]
    since = columns[3]
    added = Facts(columns[0], columns[1], columns[2], since, since)
    labels, predicate = change.answerer.labels, data.predicates[fact[1]]
    names = data.entities[fact[0]], data.entities[fact[2]]
    date, did = (
        data.axis.format(code),
        clause(labels.label(predicate), labels.phrase(predicate), *names),
    )
    return Addition(
        sentence=f"{did} {at_time(date)}",
        subject=names[0],
        predicate=predicate,
        object=names[1],
        date=date,
        outcome=change.outcome([], added),
    )
