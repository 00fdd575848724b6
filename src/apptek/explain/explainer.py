"""Explaining an answer: evidence for and against a predicate, and what changes with time."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from apptek.arrays import Matrix
from apptek.config import View
from apptek.errors import ApptekError, UnknownPredicateError
from apptek.evaluation.prediction_sets import USUAL_COVERAGE
from apptek.explain.evidence import DIRECT, Evidence, Key
from apptek.facts.facts import Dataset, Names
from apptek.facts.name_matching import NameResolver
from apptek.facts.queries import Queries
from apptek.facts.times import UNKNOWN
from apptek.features.space import CoreFact, Side
from apptek.features.support import near_distance
from apptek.graph.lookups import is_lasting, knows_end, time_distance
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answer_tables import RankedPredicates
from apptek.models.answerer import Answerer
from apptek.models.manifest import FORMAT
from apptek.present.explanation_text import OF_NAMES, contrast_words
from apptek.present.explanation_words import (
    contradicts_alone,
    explanation_notes,
    paragraph,
    sentence,
    support_words,
)
from apptek.present.sentences import RECORDED, TITLES, Ends, group_title
from apptek.present.wording import apart_text, level_text, when_text
from apptek.results import (
    Change,
    CitedFact,
    Contrast,
    Contribution,
    Explanation,
    Group,
    Meeting,
    Note,
    Query,
    Reason,
    Support,
)

RANKED = 10  # predicates that an explanation lists
OF_ANSWER = (  # fields that an explanation copies from the answer
    "ranked", "unseen_subject", "unseen_object", "unseen_time", "known", "view", "later",
    "age_note", "by_class", "by_group",
)  # fmt: skip
Keyed = tuple[Key, Contribution]


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

    against  by default the runner-up: the most probable other predicate
    most     reasons for it, and as many against it, whose facts are looked up
    hidden   the training fact that the query must not see; -1: none
    queries  the same query as ids, where it was looked up already
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
    contributions = _contributions(evidence, chosen, runner_up, temperature)
    for_it, opposed, further = _parts(contributions, max(most, 0))
    reasons = _reasons(evidence, [*for_it, *opposed], compared)
    sets, bias = view.fitted.sets, classifier.bias.astype(np.float64)
    score_bias = float(bias[chosen]) + evidence.constant
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
        score=score_bias + sum(each.score for _, each in contributions),
        score_bias=score_bias,
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
    """Return the predicate to explain, and the one to compare it with; probabilities: (R,)."""
    order = np.argsort(-probabilities, kind="stable").tolist()
    names, resolver = answerer.model.dataset.predicates, answerer.predicate_names
    chosen = order[0] if predicate is None else find_predicate(predicate, resolver, names)
    if against is None:
        return chosen, next((other for other in order if other != chosen), chosen)
    other = find_predicate(against, resolver, names)
    if other == chosen:
        raise ApptekError(f"{against!r} cannot be compared with itself: name another predicate")
    return chosen, other


def _named_predicates(
    answerer: Answerer, probabilities: Matrix, compared: tuple[int, int]
) -> dict[str, Any]:
    """Return the names, labels and probabilities of the predicate and the runner-up."""
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
    """Yield the predicates that an explanation names."""
    yield from (one.predicate for one in explanation.ranked)
    yield from (explanation.predicate, explanation.runner_up, *explanation.known)
    for reason in explanation.all_reasons():
        yield from reason.topology
        for fact in reason.facts:
            yield from (fact.predicate, fact.expanded_by)


def with_labels_of(
    answerer: Answerer, explanation: Explanation, facts: Iterable[CitedFact]
) -> Explanation:
    """Return the explanation with the labels and groups of the predicates of further facts."""
    labels, groups = labels_of(answerer, (fact.predicate for fact in facts))
    return replace(
        explanation,
        predicate_labels=explanation.predicate_labels | labels,
        predicate_groups=explanation.predicate_groups | groups,
    )


def labels_of(
    answerer: Answerer, predicates: Iterable[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the labels of predicates that are not their names, and the groups of predicates."""
    table, names = answerer.labels, list(dict.fromkeys(predicates))
    labels = {name: table.label(name) for name in names if table.label(name) != name}
    groups = {name: group for name in names if (group := table.group_of(name))}
    return labels, groups


def strongest_reason(
    answerer: Answerer, query: Query, predicate: str, queries: Queries | None = None
) -> str:
    """Return the strongest evidence for a predicate against the best other one.

    Scores the query once and puts one reason into words; empty where no fact supports it. A
    reason whose counts alone do not support it is skipped.
    `queries` is the same query as ids, where it was looked up already.
    """
    names = answerer.model.dataset.predicates
    chosen = find_predicate(predicate, answerer.predicate_names, names)
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
        support = _support(evidence, key, odds, (chosen, other))
        if support is None or not support.contradicts:
            return evidence.sentence(key, chosen)
    return ""


def find_predicate(predicate: str, resolver: NameResolver, names: Names) -> int:
    """Return the id of a predicate; the error for an unknown one suggests similar names."""
    known = resolver.find(predicate)
    if known is not None:
        return known
    folded = {name.casefold(): name for name in names}
    near = [folded[key] for key in get_close_matches(predicate.casefold(), folded, n=3)]
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise UnknownPredicateError(f"the model knows no predicate {predicate!r}{hint}")


def _contributions(
    evidence: Evidence, chosen: int, runner_up: int, temperature: float
) -> list[Keyed]:
    """Return what each active key adds, largest first; ties: the shorter topology first."""
    added: list[Keyed] = [
        (
            key,
            Contribution(
                kind=key[0],
                family=key[1],
                group=RECORDED
                if evidence.is_own(key, chosen) and score < other
                else evidence.group(key),
                mirror=evidence.is_mirror(key),
                guess=evidence.is_guess(key),
                topology=evidence.names(key),
                sentence=evidence.sentence(key, chosen),
                log_odds=(score - other) / temperature,
                score=score,
            ),
        )
        for key, (score, other) in evidence.added(chosen, runner_up).items()
    ]

    def place(keyed: Keyed) -> tuple[float, int, int]:
        (_, _, number), part = keyed
        return -part.log_odds, len(part.topology), number if part.topology else 0

    return sorted(added, key=place)


def _parts(
    contributions: Sequence[Keyed], most: int
) -> tuple[list[Keyed], list[Keyed], tuple[Contribution, ...]]:
    """Split contributions: the strongest with facts for the predicate, against it, and others."""
    cited = [
        pair
        for pair in contributions
        if pair[0][0] in ("history", "topology") and pair[1].group != RECORDED
    ]
    for_it = [pair for pair in cited if pair[1].log_odds >= 0][:most]
    against = [pair for pair in reversed(cited) if pair[1].log_odds < 0][:most]
    detailed = {id(part) for _, part in (*for_it, *against)}
    return for_it, against, tuple(p for _, p in contributions if id(p) not in detailed)


def _reasons(
    evidence: Evidence, detailed: Sequence[Keyed], compared: tuple[int, int]
) -> tuple[Reason, ...]:
    """Return the reasons with facts and support; `compared`: the predicate and the runner-up."""
    reasons: list[Reason] = []
    names = evidence.model.dataset.entities
    for key, contribution in detailed:
        met = evidence.connection(key) if key[0] == "topology" else None
        core = met.core if met is not None else _core(evidence, key)
        meeting = () if met is None else zip(met.meeting, met.hops, strict=True)
        facts = tuple(
            cited_fact(evidence.model.dataset, evidence.graph, evidence.moment, fact)
            for fact in core
        )
        path = {fact.fact for fact in facts if fact.on_path}
        earlier = (r.number for r in reasons if path and {f.fact for f in r.path} == path)
        reasons.append(
            Reason(
                **{each.name: getattr(contribution, each.name) for each in fields(contribution)},
                number=len(reasons) + 1,
                steps=met.steps if met is not None else 0,
                meeting=tuple(Meeting(names[entity], *hops) for entity, hops in meeting),
                facts=facts,
                partners=evidence.partners(key),
                support=_support(evidence, key, contribution.log_odds, compared),
                same_as=next(earlier, 0),
            )
        )
    return tuple(reasons)


def _support(
    evidence: Evidence, key: Key, log_odds: float, compared: tuple[int, int]
) -> Support | None:
    """Return the training counts for such evidence; compared: the predicate and the runner-up."""
    seen, other = (evidence.support(key, predicate, compared) for predicate in compared)
    if seen is None or other is None:
        return None
    level = None if evidence.timeless else seen.level
    support = Support(
        when=level_text(evidence.graph.axis, level, near_distance(evidence.clock)),
        runner_up=other.seen.followed,
        runner_up_lift=other.seen.lift,
        is_itself=seen.is_itself,
        **asdict(seen.seen),
    )
    support = replace(support, contradicts=contradicts_alone(support, log_odds))
    words = support_words(support, log_odds, of_answer=key[2] == compared[0])
    return replace(support, words=words)


def _core(evidence: Evidence, key: Key) -> tuple[CoreFact, ...]:
    """Return the facts of a history as the core of a topology of one step."""
    if key[0] != "history":
        return ()
    direct = key[1] in DIRECT
    side: Side = "both" if direct else "subject" if key[1].startswith("subject") else "object"
    return tuple(CoreFact(fact, side, 1, key[2], direct) for fact in evidence.facts(key))


def cited_fact(data: Dataset, graph: TemporalGraph, moment: int, core: CoreFact) -> CitedFact:
    """Return a fact with names and dates, as seen from a query at a moment."""
    facts, axis = graph.facts, graph.axis
    since, until = int(facts.since[core.fact]), int(facts.until[core.fact])
    if until != since and not knows_end(graph, core.fact, moment):
        until = UNKNOWN  # its end was not known at that moment
    first = axis.format(since)
    last = first if until == since else axis.format(until)
    apart = time_distance(graph, core.fact, moment)
    return CitedFact(
        fact=core.fact,
        subject=data.entities[int(facts.subjects[core.fact])],
        predicate=data.predicates[int(facts.predicates[core.fact])],
        object=data.entities[int(facts.objects[core.fact])],
        since=first,
        until=last,
        date=when_text(first, last),
        distance=apart,
        apart=apart_text(axis, apart, lasting=is_lasting(graph, core.fact)),
        side=core.side,
        step=core.step,
        expanded_by=data.predicates[core.action],
        on_path=core.on_path,
    )


def group_all(further: Sequence[Contribution], ends: Ends, view: View) -> tuple[Group, ...]:
    """Return the groups of contributions, the one with the largest effect first."""
    members: dict[str, list[int]] = {name: [] for name in TITLES}
    for index, part in enumerate(further):
        members[part.group].append(index)
    groups = [
        Group(
            name=name,
            title=group_title(name, {further[i].family for i in indices}, ends, view),
            log_odds=sum(further[i].log_odds for i in indices),
            score=sum(further[i].score for i in indices),
            members=tuple(sorted(indices, key=lambda i: -abs(further[i].log_odds))),
        )
        for name, indices in members.items()
        if indices
    ]
    return tuple(sorted(groups, key=lambda group: -abs(group.log_odds)))


def contrast(
    answerer: Answerer,
    query: Query,
    other: str,
    predicate: str | None = None,
    against: str | None = None,
) -> Contrast:
    """Return what changes between the time of a query and another time.

    The answer at the first time is compared with the answer at the second. If both are the same, or
    a predicate is named, it is compared with its runner-up, unless `against` names another one.
    """
    asked = (query, replace(query, time=other))
    ids = answerer.queries_of(asked)
    chances = answerer.ranked(ids).probabilities
    chosen, compared = contrasted(answerer, chances, predicate, against)
    names = answerer.model.dataset.predicates
    first, later = (
        explain(
            answerer, each, names[chosen], against=names[compared],
            queries=ids.take(np.asarray([row])),
        )
        for row, each in enumerate(asked)
    )  # fmt: skip
    changes = reason_changes(first, later)
    sentence, paragraph = contrast_words((first, later), changes)
    return Contrast(
        sentence=sentence,
        paragraph=paragraph,
        first=first,
        second=later,
        changes=changes,
        bias_change=later.bias - first.bias,
        change=later.log_odds - first.log_odds,
        notes=_notes(first, later),
    )


def contrasted(
    answerer: Answerer, chances: Matrix, predicate: str | None, against: str | None
) -> tuple[int, int]:
    """Return the predicate to explain in two answers, (2, R), and what it is compared with."""
    chosen, compared = compared_predicates(answerer, chances[0], predicate, against)
    winner = int(chances[1].argmax())
    return chosen, winner if against is None and winner != chosen else compared


def _notes(first: Explanation, second: Explanation) -> tuple[Note, ...]:
    """Return the notes about the names and about both times, without repeats."""
    names = [note for note in first.notes if note.kind in ("unknown_name", *OF_NAMES)]
    kinds = ("undated", "view", "far")
    times = [note for each in (first, second) for note in each.notes if note.kind in kinds]
    return tuple({note.text: note for note in (*names, *times)}.values())


def reason_changes(first: Explanation, second: Explanation) -> tuple[Change, ...]:
    """Return what each reason adds in two answers, the largest change first."""
    parts = [{_identity(part): part for part in each.contributions()} for each in (first, second)]
    changes = []
    for key in dict.fromkeys((*parts[0], *parts[1])):
        one, two = (side.get(key, Contribution()) for side in parts)
        sentences, difference = (one.sentence, two.sentence), two.log_odds - one.log_odds
        changes.append(Change(key[0], key[1], *sentences, one.log_odds, two.log_odds, difference))
    return tuple(sorted(changes, key=lambda change: -abs(change.change)))


def _identity(part: Contribution) -> tuple[str, str, tuple[str, ...]]:
    """Return the key by which contributions at two times are matched; a trait's is its sentence."""
    return part.kind, part.family, part.topology or (part.sentence,)
