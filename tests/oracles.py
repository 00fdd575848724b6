"""Each definition in plain Python, slow and obvious. The fast kernels must agree with these."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from reference import PlainFact, are_twins, distance, nearness

FOR_EVER = 2**31 - 1


def is_known_before(fact: PlainFact, when: int | None) -> bool:
    """Whether a past_only query sees a fact: it started strictly earlier, or is undated."""
    start = fact.until if fact.since is None else fact.since
    return when is None or start is None or start < when


def as_known_before(fact: PlainFact, when: int | None) -> PlainFact:
    """A fact whose end is unknown if it is at the query's time or later."""
    is_over = fact.until is None or when is None or fact.until < when
    return fact if is_over or fact.since is None else replace(fact, until=None)


def ongoing(fact: PlainFact) -> PlainFact:
    """A fact that lasts forever if it has started and its end is unknown."""
    has_open_end = fact.since is not None and fact.until is None
    return replace(fact, until=FOR_EVER) if has_open_end else fact


def seen_facts(
    facts: list[PlainFact], when: int | None, *, ahead: bool, lasting: bool = False
) -> list[PlainFact | None]:
    """Each fact as seen by a query at a given time, or None if it is not visible.

    ahead    use only what was known before that time
    lasting  open ends are ongoing
    """
    seen: list[PlainFact | None] = []
    for fact in facts:
        if ahead and not is_known_before(fact, when):
            seen.append(None)
            continue
        known = as_known_before(fact, when) if ahead else fact
        seen.append(ongoing(known) if lasting else known)
    return seen


def nearest_seen(
    facts: list[PlainFact],
    seen: list[PlainFact | None],
    candidates: Iterable[int],
    when: int | None,
    k: int,
    hidden: int | None,
) -> list[int]:
    """The k nearest candidates as they are seen; hidden facts and twins refer to `facts`."""
    visible = [
        index
        for index in candidates
        if seen[index] is not None
        and (hidden is None or (index != hidden and not are_twins(facts[index], facts[hidden])))
    ]
    filled = [fact or facts[index] for index, fact in enumerate(seen)]
    return sorted(visible, key=lambda index: nearness(filled, index, when))[:k]


@dataclass(frozen=True)
class PlainHistory:
    """The settings of history features: K and the weight of pairs and profiles, and the clock."""

    families: tuple[str, ...]
    kernels: tuple[str, ...]
    pair_facts: int
    profile_facts: int
    pair_weight: float
    profile_weight: float
    scales: tuple[float, float, float, float]  # brief, short, middle, long
    ahead: bool = False
    lasting: bool = False


def plain_clock(
    fact: PlainFact, when: int | None, scales: tuple[float, float, float, float]
) -> dict[str, float]:
    """The kernels of a fact for a question; kernels that are not listed are 0."""
    undated = fact.since is None and fact.until is None
    if when is None:
        return {"undated ever": 1.0, "both undated": float(undated)}
    if undated:
        return {"ever": 1.0, "undated": 1.0}
    apart = distance(fact, when)
    brief, short, middle, long = scales
    values = {
        "ever": 1.0,
        "same": float(apart == 0),
        "short": math.exp(-apart / short),
        "middle": math.exp(-apart / middle),
        "long": math.exp(-apart / long),
    }
    if apart > 0:
        end = fact.since if fact.until is None else fact.until
        assert end is not None
        values["close"] = math.exp(-(apart - 1) / brief)
        values["before" if end < when else "after"] = values["close"]
    return values


def is_of_family(fact: PlainFact, family: str, subject: int | None, object_: int | None) -> bool:
    """Whether a fact belongs to a family around (subject, ?, object)."""
    return {
        "pair": fact.subject == subject and fact.object == object_,
        "reversed": fact.subject == object_ and fact.object == subject,
        "subject_out": fact.subject == subject and fact.object != object_,
        "subject_in": fact.object == subject and fact.subject != object_,
        "object_out": fact.subject == object_ and fact.object != subject,
        "object_in": fact.object == object_ and fact.subject != subject,
    }[family]


def family_facts(
    facts: list[PlainFact],
    query: tuple[int | None, int | None, int | None, int | None],
    family: str,
    config: PlainHistory,
) -> list[int]:
    """The K facts in a family that are nearest in time, without the hidden fact and its twins."""
    subject, object_, when, hidden = query
    of_family = [i for i, fact in enumerate(facts) if is_of_family(fact, family, subject, object_)]
    seen = seen_facts(facts, when, ahead=config.ahead, lasting=config.lasting)
    direct = family in ("pair", "reversed")
    k = config.pair_facts if direct else config.profile_facts
    return nearest_seen(facts, seen, of_family, when, k, hidden)


def plain_history(
    facts: list[PlainFact],
    query: tuple[int | None, int | None, int | None, int | None],
    config: PlainHistory,
) -> dict[tuple[str, int, str], float]:
    """The value of every history feature (family, predicate, kernel) for a question.

    If every fact is dated, the kernels of undated facts are not used, and an undated question uses
    `ever` instead of its own kernel.
    """
    dated = not any(fact.since is None and fact.until is None for fact in facts)
    as_seen = seen_facts(facts, query[2], ahead=config.ahead, lasting=config.lasting)
    values = {}
    for family in config.families:
        seen = family_facts(facts, query, family, config)
        weight = config.pair_weight if family in ("pair", "reversed") else config.profile_weight
        clocks = [
            (facts[i].predicate, plain_clock(as_seen[i] or facts[i], query[2], config.scales))
            for i in seen
        ]
        for kernel in config.kernels:
            if dated and kernel in ("undated", "undated ever", "both undated"):
                continue
            asked = "undated ever" if dated and kernel == "ever" and query[2] is None else kernel
            total = sum(clock.get(asked, 0.0) for _, clock in clocks)
            for predicate in {named for named, _ in clocks}:
                z = sum(clock.get(asked, 0.0) for named, clock in clocks if named == predicate)
                if z >= 0.01:
                    share = z / (1 + total)
                    values[family, predicate, kernel] = weight * math.log(1 + 6 * share)
    return values


def plain_traits(
    facts: list[PlainFact],
    query: tuple[int | None, int | None, int | None, int | None],
    types: dict[str, dict[int, str]],
    most_entities: int,
) -> set[tuple[str, str, str]]:
    """The traits of the two entities: (whose, kind, value).

    types  entity types, by kind
    """
    subject, object_, when, _ = query
    degrees: dict[int, int] = {}
    for fact in facts:
        for entity in (fact.subject, fact.object):
            degrees[entity] = degrees.get(entity, 0) + 1
    tokens = set(sorted(degrees, key=lambda entity: (-degrees[entity], entity))[:most_entities])
    ends = (("subject", subject), ("object", object_))
    found = {(whose, "entity", f"e{entity}") for whose, entity in ends if entity in tokens}
    if len({fact.since is None and fact.until is None for fact in facts}) == 2:
        found.add(("question", "dated", "undated" if when is None else "dated"))
    for kind, of in types.items():
        one, other = (of.get(entity) if entity is not None else None for _, entity in ends)
        found |= {("subject", kind, one)} if one is not None else set()
        found |= {("object", kind, other)} if other is not None else set()
        if one is None or other is None:
            continue
        found.add(("both", kind, "the same" if one == other else "not the same"))
        between = sum((of.get(f.subject), of.get(f.object)) == (one, other) for f in facts)
        if between >= 3:
            found.add(("both", kind, f"{one}, {other}"))
    return found


def plain_typed(
    facts: list[PlainFact],
    query: tuple[int | None, int | None, int | None, int | None],
    levels: list[dict[int, int]],
    most: int,
    config: PlainHistory,
) -> dict[tuple[int, int, int, str], float]:
    """What similar actors do: the counts of (level of s, level of o, predicate, kernel), if not 0.

    levels  each entity at each level: itself, both kinds separately, both kinds together
    """
    subject, object_, when, hidden = query
    seen = seen_facts(facts, when, ahead=config.ahead, lasting=config.lasting)
    pairs = [(s, o) for s in range(3) for o in range(3) if s or o] + [(3, 3)]
    values: dict[tuple[int, int, int, str], float] = {}
    for s, o in pairs:
        ends = (levels[s].get(subject or 0), levels[o].get(object_ or 0))
        if subject is None or object_ is None or None in ends:
            continue
        group = [
            index
            for index, fact in enumerate(facts)
            if (levels[s].get(fact.subject), levels[o].get(fact.object)) == ends
        ]
        near = nearest_seen(facts, seen, group, when, most, hidden)
        others = [i for i in near if {facts[i].subject, facts[i].object} != {subject, object_}]
        clocks = [
            (facts[i].predicate, plain_clock(seen[i] or facts[i], when, config.scales))
            for i in others
        ]
        for kernel in ("same", "short", "middle", "ever"):
            asked = "undated ever" if kernel == "ever" and when is None else kernel
            total = 0.0 if kernel == "same" else sum(clock.get(asked, 0.0) for _, clock in clocks)
            for predicate, clock in clocks:
                key = (s, o, predicate, kernel)
                own = clock.get(asked, 0.0) / (1 + total)
                values[key] = values.get(key, 0.0) + own
    return {key: value for key, value in values.items() if value}
