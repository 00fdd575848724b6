"""The definitions in plain Python, slow and obvious; benchmarks compare the kernels with them.

The tests check the kernels against the same functions.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from apptek.facts.facts import Facts
from apptek.facts.times import UNKNOWN


@dataclass(frozen=True)
class PlainFact:
    """A fact as (subject, predicate, object, since, until); None is an unknown end."""

    subject: int
    predicate: int
    object: int
    since: int | None
    until: int | None


def distance(fact: PlainFact, when: int) -> int:
    """0 inside [since, until], else the distance to the nearer end that is known."""
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
    """The sort key for nearness: dated facts first, then by distance, start and index.

    An undated query sees undated facts first, then dated ones in ascending order.
    """
    fact = facts[index]
    start = fact.until if fact.since is None else fact.since
    if start is None:
        return (0 if when is None else 1), 0, 0, index
    if when is None:
        return 1, 0, start, index
    return 0, distance(fact, when), start, index


def incident(facts: list[PlainFact], entity: int, traversal: str) -> list[int]:
    """The indices of an entity's facts in the directions of the traversal."""
    return [
        index
        for index, fact in enumerate(facts)
        if (fact.subject == entity and traversal in ("both", "outgoing"))
        or (fact.object == entity and traversal == "both")
    ]


def is_half_open(fact: PlainFact) -> bool:
    """Whether exactly one end is known."""
    return (fact.since is None) != (fact.until is None)


def are_twins(one: PlainFact, other: PlainFact) -> bool:
    """Whether two facts are the `since` line and the `until` line of one triple.

    They are hidden together, because either would reveal the other.
    """
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
    """N_tknn: the k nearest candidates, without a hidden fact and its twins."""
    visible = [
        index
        for index in candidates
        if hidden is None or (index != hidden and not are_twins(facts[index], facts[hidden]))
    ]
    return sorted(visible, key=lambda index: nearness(facts, index, when))[:k]


class PlainSide:
    """One side of an episode: its core, the reached entities, and its periphery."""

    def __init__(self, episode: "PlainEpisode", start: int | None) -> None:
        self.episode = episode
        self.start = start
        self.core: set[int] = set()

    def entities(self) -> set[int]:
        """The query's own entity and all entities in the core."""
        reached = set() if self.start is None else {self.start}
        for index in self.core:
            reached |= {self.episode.facts[index].subject, self.episode.facts[index].object}
        return reached

    def periphery(self) -> set[int]:
        """The N_tknn facts of these entities without the core."""
        near = {fact for entity in self.entities() for fact in self.episode.nearest_of(entity)}
        return near - self.core


class PlainEpisode:
    """The Markov decision process for one query, directly from its definition."""

    def __init__(
        self,
        facts: list[PlainFact],
        query: tuple[int | None, int | None, int | None],
        *,
        hidden: int | None,
        tknn: int,
        traversal: str,
        max_steps: int,
        strict: bool = False,
        literal: bool = False,
        facts_of: dict[int, list[int]] | None = None,
    ) -> None:
        self.facts, self.hidden, self.tknn, self.traversal = facts, hidden, tknn, traversal
        self.when, self.strict, self.literal = query[2], strict, literal
        self.steps_left = max_steps
        self.facts_of = facts_of  # the facts of each entity; None: searched for each time
        self.sides = (PlainSide(self, query[0]), PlainSide(self, query[1]))

    def nearest_of(self, entity: int) -> list[int]:
        """N_tknn(entity, t) without the query's own fact."""
        if self.facts_of is None:
            candidates = incident(self.facts, entity, self.traversal)
        else:
            candidates = self.facts_of[entity]
        near = nearest(self.facts, candidates, self.when, self.tknn, self.hidden)
        if not self.strict or len(near) < self.tknn:
            return near
        farthest = nearness(self.facts, near[-1], self.when)[:2]  # the k-nearest-neighbour distance
        return [fact for fact in near if nearness(self.facts, fact, self.when)[:2] < farthest]

    def met(self) -> bool:
        """Whether the sides have an entity in common, which is the condition for the reward."""
        if self.literal and not all(side.core for side in self.sides):
            return False
        return bool(self.sides[0].entities() & self.sides[1].entities())

    def legal(self) -> dict[int, int]:
        """The actions in either periphery with their numbers of edges; none after the end."""
        counts: dict[int, int] = {}
        if self.met() or not self.steps_left:
            return counts
        for side in self.sides:
            for fact in side.periphery():
                action = self.facts[fact].predicate
                counts[action] = counts.get(action, 0) + 1
        return counts

    def done(self) -> bool:
        """Whether the sides have met, no steps are left, or nothing can be expanded."""
        return not self.legal()

    def step(self, action: int) -> bool:
        """Expand both sides by an action; return whether they meet."""
        for side in self.sides:
            side.core |= {f for f in side.periphery() if self.facts[f].predicate == action}
        self.steps_left -= 1
        return self.met()


def splitmix64(state: int) -> tuple[int, int]:
    """The next state and the next number from the generator of random episodes."""
    mask = 2**64 - 1
    state = (state + 0x9E3779B97F4A7C15) & mask
    word = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
    return state, word ^ (word >> 31)


def play_episode(episode: PlainEpisode, policy: str, seed: int) -> tuple[bool, list[int]]:
    """Play an episode with a fixed policy; return whether the sides met, and the actions."""
    actions: list[int] = []
    while legal := episode.legal():
        if policy == "commonest":
            action = max(sorted(legal), key=lambda a: legal[a])
        else:
            seed, word = splitmix64(seed)
            # Lemire's method for a number below n: the upper half of a product, without division.
            action = sorted(legal)[((word >> 32) * len(legal)) >> 32]
        actions.append(action)
        episode.step(action)
    return episode.met(), actions


def plain_facts(facts: Facts) -> tuple[list[PlainFact], dict[int, list[int]]]:
    """A fact table as plain facts, and the indices of each entity's facts."""
    rows = zip(*(column.tolist() for column in facts.columns()), strict=True)
    plain = [
        PlainFact(s, p, o, *(None if end == UNKNOWN else end for end in ends))
        for s, p, o, *ends in rows
    ]
    facts_of: dict[int, list[int]] = defaultdict(list)
    for index, fact in enumerate(plain):
        for entity in {fact.subject, fact.object}:
            facts_of[entity].append(index)
    return plain, facts_of
