"""The counting baselines by definition, slow and obvious."""

import math

from oracles import as_known_before, is_known_before, ongoing
from reference import PlainFact, are_twins, distance

from apptek.models.counting_kernels import Weights


def seen_facts(facts: list[PlainFact], hidden: int) -> list[PlainFact]:
    """The facts without the hidden one and its twins."""
    return [
        fact
        for row, fact in enumerate(facts)
        if hidden < 0 or (row != hidden and not are_twins(fact, facts[hidden]))
    ]


def is_dated(fact: PlainFact) -> bool:
    return fact.since is not None or fact.until is not None


def weight(fact: PlainFact, when: int | None, decay: float, floor: float) -> float:
    """The weight of a fact for a query at that time."""
    if not is_dated(fact) or when is None:
        return 1.0 if is_dated(fact) == (when is not None) else floor
    return floor + (1 - floor) / (1 + distance(fact, when) / decay)


def counts(
    facts: list[PlainFact], when: int | None, decay: float, floor: float, predicates: int
) -> list[float]:
    """The sum of the weights of each predicate's facts."""
    return [
        sum(weight(fact, when, decay, floor) for fact in facts if fact.predicate == r)
        for r in range(predicates)
    ]


def recency_scores(
    facts: list[PlainFact],
    query: tuple[int, int, int | None, int],
    weights: Weights,
    predicates: int,
    *,
    ahead: bool = False,
    lasting: bool = False,
) -> list[float]:
    """The scores of all predicates for (subject, object, time, hidden)."""
    subject, object_, when, hidden = query
    seen = seen_facts(facts, hidden)
    total = len(seen)
    prior = [
        (sum(f.predicate == r for f in seen) + 0.5) / (total + 0.5 * predicates)
        for r in range(predicates)
    ]
    alike = [fact for fact in seen if is_dated(fact) == (when is not None)]
    share = len(alike) / total if total else 0.0

    def dated(r: int) -> float:
        if not share:
            return 1.0
        own = sum(fact.predicate == r for fact in seen)
        return (sum(fact.predicate == r for fact in alike) + share) / (own + 1) / share

    def near(chosen: list[PlainFact]) -> list[float]:
        weighed = counts(chosen, when, weights.entity_decay, weights.floor, predicates)
        return [
            (weighed[r] + weights.smoothing * prior[r]) / (sum(weighed) + weights.smoothing)
            for r in range(predicates)
        ]

    # The prior is fitted like the weights: it comes from all facts.
    counted = seen
    if ahead:
        counted = [as_known_before(fact, when) for fact in seen if is_known_before(fact, when)]
    if lasting:
        counted = [ongoing(fact) for fact in counted]
    of_subject = near([fact for fact in counted if fact.subject == subject])
    of_object = near([fact for fact in counted if fact.object == object_])
    entities = [of_subject[r] * of_object[r] / prior[r] * dated(r) for r in range(predicates)]

    def of_pair(first: int, second: int) -> list[float]:
        chosen = [fact for fact in counted if (fact.subject, fact.object) == (first, second)]
        return counts(chosen, when, weights.pair_decay, weights.floor, predicates)

    pair, mirror = of_pair(subject, object_), of_pair(object_, subject)
    return [
        math.log(
            weights.pair * pair[r]
            + weights.reversed * mirror[r]
            + weights.backoff * entities[r] / sum(entities)
        )
        for r in range(predicates)
    ]


def frequency_scores(facts: list[PlainFact], hidden: int, predicates: int) -> list[float]:
    """The scores of all predicates when the given fact is hidden."""
    seen = seen_facts(facts, hidden)
    return [math.log(sum(f.predicate == r for f in seen) + 0.5) for r in range(predicates)]
