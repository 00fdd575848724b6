"""The reasons in an explanation: contributions of evidence keys, their facts and support."""

from collections.abc import Sequence
from dataclasses import asdict, fields, replace

from apptek.config import View
from apptek.explain.evidence import DIRECT, Evidence, Key
from apptek.facts.facts import Dataset
from apptek.facts.times import UNKNOWN
from apptek.features.space import CoreFact, Side
from apptek.features.support import near_distance
from apptek.graph.lookups import is_lasting, knows_end, time_distance
from apptek.graph.temporal_graph import TemporalGraph
from apptek.present.explanation_words import contradicts_alone, support_words
from apptek.present.sentences import RECORDED, TITLES, Ends, group_title
from apptek.present.wording import apart_text, level_text, when_text
from apptek.results import CitedFact, Contribution, Group, Meeting, Reason, Support

Keyed = tuple[Key, Contribution]

LEAST = 0.005  # log-odds; a smaller contribution would be shown as 0.00 and is not a reason


def contributions_of(
    evidence: Evidence, chosen: int, runner_up: int, temperature: float
) -> list[Keyed]:
    """Return each active key's contribution, largest first. On ties, shorter topologies win."""
    added: list[Keyed] = [
        (
            key,
            Contribution(
                kind=key[0],
                family=key[1],
                group=RECORDED
                if evidence.is_own(key, chosen) and score < other
                else evidence.group(key),
                topology=evidence.names(key),
                sentence=evidence.sentence(key, chosen),
                log_odds=(score - other) / temperature,
            ),
        )
        for key, (score, other) in evidence.added(chosen, runner_up).items()
    ]

    def place(keyed: Keyed) -> tuple[float, int, int]:
        (_, _, number), part = keyed
        return -part.log_odds, len(part.topology), number if part.topology else 0

    return sorted(added, key=place)


def split_parts(
    contributions: Sequence[Keyed], most: int
) -> tuple[list[Keyed], list[Keyed], tuple[Contribution, ...]]:
    """Split contributions: the strongest for and against the predicate with facts, and the rest.

    A contribution below `LEAST` is never among the strongest.
    """
    cited = [
        pair
        for pair in contributions
        if pair[0][0] in ("history", "topology") and pair[1].group != RECORDED
    ]
    for_it = [pair for pair in cited if pair[1].log_odds >= LEAST][:most]
    against = [pair for pair in reversed(cited) if pair[1].log_odds <= -LEAST][:most]
    detailed = {id(part) for _, part in (*for_it, *against)}
    return for_it, against, tuple(p for _, p in contributions if id(p) not in detailed)


def reasons_of(
    evidence: Evidence, detailed: Sequence[Keyed], compared: tuple[int, int]
) -> tuple[Reason, ...]:
    """Return the reasons with facts and support. `compared` is the predicate and runner-up."""
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
                support=support_of(evidence, key, contribution.log_odds, compared),
                same_as=next(earlier, 0),
            )
        )
    return tuple(reasons)


def support_of(
    evidence: Evidence, key: Key, log_odds: float, compared: tuple[int, int]
) -> Support | None:
    """Return the training counts for this evidence. `compared` is the predicate and runner-up."""
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
    """Return the facts of a history as the core of a one-step topology."""
    if key[0] != "history":
        return ()
    direct = key[1] in DIRECT
    side: Side = "both" if direct else "subject" if key[1].startswith("subject") else "object"
    return tuple(CoreFact(fact, side, 1, key[2], direct) for fact in evidence.facts(key))


def cited_fact(data: Dataset, graph: TemporalGraph, moment: int, core: CoreFact) -> CitedFact:
    """Return a fact with names and dates, as seen by a query at a given time."""
    facts, axis = graph.facts, graph.axis
    since, until = int(facts.since[core.fact]), int(facts.until[core.fact])
    if until != since and not knows_end(graph, core.fact, moment):
        until = UNKNOWN  # its end was not known at that time
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
    """Return the groups of contributions, largest effect first."""
    members: dict[str, list[int]] = {name: [] for name in TITLES}
    for index, part in enumerate(further):
        members[part.group].append(index)
    groups = [
        Group(
            name=name,
            title=group_title(name, {further[i].family for i in indices}, ends, view),
            log_odds=sum(further[i].log_odds for i in indices),
            members=tuple(sorted(indices, key=lambda i: -abs(further[i].log_odds))),
        )
        for name, indices in members.items()
        if indices
    ]
    return tuple(sorted(groups, key=lambda group: -abs(group.log_odds)))
