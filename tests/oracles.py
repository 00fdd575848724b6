"""Each definition in plain Python, slow and obvious. The fast kernels must agree with these."""

import math
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


def ended_before(facts: list[PlainFact], candidates: Iterable[int], when: int | None) -> list[int]:
    """As of a moment: the facts that ended (until, else since) strictly before; no undated ones."""
    found = []
    for index in candidates:
        end = facts[index].since if facts[index].until is None else facts[index].until
        if when is not None and end is not None and end < when:
            found.append(index)
    return found


class PlainSide:
    """One side of an episode, word by word: core, reached entities, periphery."""

    def __init__(self, episode: "PlainEpisode", start: int | None) -> None:
        self.episode = episode
        self.start = start
        self.core: set[int] = set()

    def entities(self) -> set[int]:
        """The query's own entity and every entity in the core."""
        reached = set() if self.start is None else {self.start}
        for index in self.core:
            reached |= {self.episode.facts[index].subject, self.episode.facts[index].object}
        return reached

    def periphery(self) -> set[tuple[int, bool]]:
        """The N_tknn facts of all these entities, minus the core; True: met against the arrow."""
        found = set()
        for entity in self.entities():
            for index in self.episode.nearest_of(entity):
                fact = self.episode.facts[index]
                if index in self.core:
                    continue
                if self.episode.traversal != "tagged":
                    found.add((index, False))
                    continue
                if fact.subject == entity:
                    found.add((index, False))
                if fact.object == entity:
                    found.add((index, True))
        return found


class PlainEpisode:
    """The Markov decision process for one query, as the definitions say it."""

    def __init__(
        self,
        facts: list[PlainFact],
        query: tuple[int | None, int | None, int | None],
        *,
        hidden: int | None,
        tknn: int,
        traversal: str,
        max_steps: int,
        predicate_count: int,
        facts_of: dict[int, list[int]] | None = None,
    ) -> None:
        self.facts, self.hidden, self.tknn, self.traversal = facts, hidden, tknn, traversal
        self.when, self.predicate_count = query[2], predicate_count
        self.steps_left = max_steps
        self.facts_of = facts_of  # each entity's facts, where they were collected beforehand
        self.sides = (PlainSide(self, query[0]), PlainSide(self, query[1]))

    def nearest_of(self, entity: int) -> list[int]:
        """N_tknn(entity, t), with the query's own fact hidden."""
        direction = "outgoing" if self.traversal == "outgoing" else "both"
        if self.facts_of is None:
            candidates = incident(self.facts, entity, direction)
        else:
            candidates = self.facts_of[entity]
        return nearest(self.facts, candidates, self.when, self.tknn, self.hidden)

    def action_of(self, edge: tuple[int, bool]) -> int:
        """The predicate, or its inverse as an action of its own."""
        return self.facts[edge[0]].predicate + self.predicate_count * edge[1]

    def met(self) -> bool:
        """Whether the entity sets have an entity in common: the reward."""
        return bool(self.sides[0].entities() & self.sides[1].entities())

    def legal(self) -> dict[int, int]:
        """The actions in either periphery, with their numbers of edges; none where it ended."""
        counts: dict[int, int] = {}
        if self.met() or not self.steps_left:
            return counts
        for side in self.sides:
            for edge in side.periphery():
                counts[self.action_of(edge)] = counts.get(self.action_of(edge), 0) + 1
        return counts

    def done(self) -> bool:
        """Met, or out of steps, or nothing to expand."""
        return not self.legal()

    def step(self, action: int) -> bool:
        """Expands both sides by an action at once; whether they meet."""
        for side in self.sides:
            side.core |= {e[0] for e in side.periphery() if self.action_of(e) == action}
        self.steps_left -= 1
        return self.met()


def splitmix64(state: int) -> tuple[int, int]:
    """The next state and number of the generator that random episodes draw from."""
    mask = 2**64 - 1
    state = (state + 0x9E3779B97F4A7C15) & mask
    word = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
    return state, word ^ (word >> 31)


def play_episode(episode: PlainEpisode, policy: str, seed: int) -> tuple[bool, list[int]]:
    """A whole episode by a control policy: whether the sides met, and the actions."""
    trail: list[int] = []
    while legal := episode.legal():
        if policy == "commonest":
            action = max(sorted(legal), key=lambda a: legal[a])
        else:
            seed, word = splitmix64(seed)
            action = sorted(legal)[((word >> 32) * len(legal)) >> 32]
        trail.append(action)
        episode.step(action)
    return episode.met(), trail


@dataclass(frozen=True)
class PlainHistory:
    """The settings of history features: K and weight of pairs and of profiles, and the clock."""

    families: tuple[str, ...]
    kernels: tuple[str, ...]
    pair_facts: int
    profile_facts: int
    pair_weight: float
    profile_weight: float
    scales: tuple[float, float, float, float]  # brief, short, middle, long
    past_only: bool = False


def plain_clock(
    fact: PlainFact, when: int | None, scales: tuple[float, float, float, float]
) -> dict[str, float]:
    """The kernels of a fact for a question; those that are not named are 0."""
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
    """The K facts of a family that are nearest in time, the hidden one and its twins aside."""
    subject, object_, when, hidden = query
    found = [i for i, fact in enumerate(facts) if is_of_family(fact, family, subject, object_)]
    if config.past_only:
        found = ended_before(facts, found, when)
    direct = family in ("pair", "reversed")
    k = config.pair_facts if direct else config.profile_facts
    return nearest(facts, found, when, k, hidden)


def plain_history(
    facts: list[PlainFact],
    query: tuple[int | None, int | None, int | None, int | None],
    config: PlainHistory,
) -> dict[tuple[str, int, str], float]:
    """The value of every history feature (family, predicate, kernel) that a question has.

    Where every fact is dated, the kernels of undated ones are idle, and an undated question sees
    `ever` instead of its own.
    """
    dated = not any(fact.since is None and fact.until is None for fact in facts)
    values = {}
    for family in config.families:
        seen = family_facts(facts, query, family, config)
        weight = config.pair_weight if family in ("pair", "reversed") else config.profile_weight
        clocks = [
            (facts[i].predicate, plain_clock(facts[i], query[2], config.scales)) for i in seen
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
    """What is said of the two entities: (whose, kind, value).

    types  of entities, by kind
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
