"""Each definition in plain Python, slow and obvious. The fast kernels must agree with these."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class PlainFact:
    """(subject, predicate, object, since, until); None is an unknown end."""

    subject: int
    predicate: int
    object: int
    since: int | None
    until: int | None


def distance(fact: PlainFact, when: int) -> int:
    """0 inside [since, until], else to the nearest end; one unknown end: the known one alone."""
    since, until = fact.since, fact.until
    if since is None and until is None:
        raise ValueError("an undated fact has no distance")
    if since is None or until is None:
        known = until if since is None else since
        assert known is not None
        return abs(when - known)
    if since <= when <= until:
        return 0
    return min(abs(when - since), abs(when - until))


def nearness(facts: list[PlainFact], index: int, when: int | None) -> tuple[int, int, int, int]:
    """The key by which facts are nearest: dated first, distance, earlier first, lower index.

    An undated query sees undated facts first, then dated ones from the earliest on.
    """
    fact = facts[index]
    start = fact.until if fact.since is None else fact.since
    if start is None:
        return (0 if when is None else 1), 0, 0, index
    if when is None:
        return 1, 0, start, index
    return 0, distance(fact, when), start, index


def incident(facts: list[PlainFact], entity: int, traversal: str) -> list[int]:
    """The indices of the facts that touch an entity in the directions of the traversal."""
    return [
        index
        for index, fact in enumerate(facts)
        if (fact.subject == entity and traversal in ("both", "outgoing"))
        or (fact.object == entity and traversal in ("both", "incoming"))
    ]


def is_half_open(fact: PlainFact) -> bool:
    """Whether exactly one end is known."""
    return (fact.since is None) != (fact.until is None)


def are_twins(one: PlainFact, other: PlainFact) -> bool:
    """Whether two facts are the since and until lines of one triple, hidden together."""
    same = (one.subject, one.predicate, one.object) == (
        other.subject,
        other.predicate,
        other.object,
    )
    return same and is_half_open(one) and is_half_open(other)


def nearest(
    facts: list[PlainFact],
    candidates: Iterable[int],
    when: int | None,
    k: int,
    hidden: int | None = None,
) -> list[int]:
    """N_tknn: exactly the k nearest of the candidates, after hiding one fact and its twins."""
    seen = [
        index
        for index in candidates
        if hidden is None or (index != hidden and not are_twins(facts[index], facts[hidden]))
    ]
    return sorted(seen, key=lambda index: nearness(facts, index, when))[:k]
