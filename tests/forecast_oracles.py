"""Forecasts by definition, slow and obvious: decayed counts, direction, both directions."""

import math

from ranking_oracles import expected_rank
from reference import PlainFact

from apptek.evaluation.direction import SCALES


def start_of(fact: PlainFact) -> int | None:
    """Since, else until, else None."""
    return fact.until if fact.since is None else fact.since


def decayed_count(times: list[int | None], when: int | None, scale: float) -> float:
    """The sum of e^-(age / scale) over the times strictly before a moment."""
    if when is None:
        return 0.0
    earlier = (time for time in times if time is not None and time < when)
    return sum(math.exp(-(when - time) / scale) for time in earlier)


def plain_direction_features(query: PlainFact, facts: list[PlainFact]) -> list[float]:
    """By family and scale: log(1 + decayed count), minus the same for the reversed query."""
    subject, object_, when = query.subject, query.object, start_of(query)
    families = (
        (
            [fact for fact in facts if (fact.subject, fact.object) == (subject, object_)],
            [fact for fact in facts if (fact.subject, fact.object) == (object_, subject)],
        ),
        (
            [fact for fact in facts if fact.subject == subject],
            [fact for fact in facts if fact.subject == object_],
        ),
        (
            [fact for fact in facts if fact.object == subject],
            [fact for fact in facts if fact.object == object_],
        ),
    )
    return [
        math.log(1 + decayed_count([start_of(fact) for fact in own], when, scale))
        - math.log(1 + decayed_count([start_of(fact) for fact in reverse], when, scale))
        for own, reverse in families
        for scale in SCALES
    ]


def rank_of_both_directions(
    query: PlainFact,
    own: list[float],
    reverse: list[float],
    log_priors: tuple[float, float],
    facts: list[PlainFact] | None,
) -> float:
    """The rank of a fact among both directions of its pair, excluding known facts at its time.

    own, reverse  the probability of each predicate for the pair and for the reversed pair
    facts         the known facts; None: no facts
    """
    scores = [math.log(p) + log_priors[0] for p in own]
    scores += [math.log(p) + log_priors[1] for p in reverse]
    known = set()
    for fact in facts or []:
        if (fact.since, fact.until) == (query.since, query.until):
            if (fact.subject, fact.object) == (query.subject, query.object):
                known.add(fact.predicate)
            if (fact.object, fact.subject) == (query.subject, query.object):
                known.add(len(own) + fact.predicate)
    return expected_rank(scores, query.predicate, known)


def plain_pair_features(
    subject: int, object_: int, when: int, facts: list[PlainFact], clock: list[float]
) -> list[float]:
    """The features of a pair at a moment: counts by family and scale, ages, common partners."""
    dated = [
        (fact.subject, fact.object, start)
        for fact in facts
        if (start := start_of(fact)) is not None and start < when
    ]
    families = (
        sorted({start for s, o, start in dated if (s, o) == (subject, object_)}),
        sorted({start for s, o, start in dated if (s, o) == (object_, subject)}),
        [start for s, _, start in dated if s == subject],
        [start for _, o, start in dated if o == object_],
    )
    oldest = 4.0 * clock[3]
    ages = [min(oldest, when - max(times)) if times else oldest for times in families]
    row = []
    for times, age in zip(families, ages, strict=True):
        row += [math.log(1 + decayed_count([*times], when, s)) for s in (*clock, math.inf)]
        row.append(math.log(age))

    def partners(entity: int) -> set[int]:
        return {o for s, o, _ in dated if s == entity} | {s for s, o, _ in dated if o == entity}

    common = (partners(subject) & partners(object_)) - {subject, object_}
    row += [math.log(min(ages[0], ages[1])), math.log(1 + len(common))]
    own = families[0]
    if not own:
        return [*row, math.log(oldest), 0.0]
    gap = (own[-1] - own[0] + clock[3]) / len(own)
    return [*row, math.log(gap), min(20.0, max(0.0, (when - own[-1]) / gap - 1))]
