"""Mining: which topologies connected the training queries, counted by predicate."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from apptek.agent.environment import Episodes
from apptek.data.times import Ints

EXAMPLES = 3  # queries kept with each topology, for people to look at
LEAST = 5  # connections of an informative topology: fewer prove nothing
Keep = Literal["frequent", "informative"]
Sequence = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MinedTopology:
    """A topology that connected queries of one predicate.

    queries   how many of them it connected
    examples  the first few of these
    """

    predicate: int
    sequence: tuple[int, ...]
    queries: int
    examples: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mined:
    """The top topologies of every predicate, the first the best, and how often any connected."""

    topologies: tuple[MinedTopology, ...]
    tried: dict[int, int]  # queries of each predicate
    connected: dict[int, int]  # of these, how many were connected by any topology

    def sequences(self) -> set[tuple[int, ...]]:
        """The union over the predicates."""
        return {mined.sequence for mined in self.topologies}


def mine(
    rollouts: Iterable[Episodes], predicates: Ints, top: int, keep: Keep = "frequent"
) -> Mined:
    """The `top` topologies of each predicate, over all roll-outs of the same queries.

    frequent     those that connected most of its queries
    informative  those with the largest n ln P(r | topology) / P(r), n the queries of r connected

    An episode without a step (subject = object) is no topology. Equally good: the shorter one
    first, then the lexicographically smaller.
    """
    counts: dict[int, Counter[Sequence]] = {}
    examples: dict[tuple[int, Sequence], list[int]] = {}
    tried: Counter[int] = Counter()
    for episodes in rollouts:
        tried.update(predicates.tolist())
        for predicate, sequence, rows in _connected(episodes, predicates):
            counts.setdefault(predicate, Counter())[sequence] += len(rows)
            kept = examples.setdefault((predicate, sequence), [])
            kept.extend(rows[: EXAMPLES - len(kept)].tolist())
    overall = sum(counts.values(), Counter[Sequence]())

    def chosen_of(predicate: int) -> list[tuple[Sequence, int]]:
        found = counts[predicate]
        if keep == "frequent":
            return _best({sequence: float(n) for sequence, n in found.items()}, found, top)
        return _best(_information(found, overall), found, top)

    chosen = [
        MinedTopology(predicate, sequence, count, tuple(examples[predicate, sequence]))
        for predicate in sorted(counts)
        for sequence, count in chosen_of(predicate)
    ]
    connected = {predicate: counter.total() for predicate, counter in counts.items()}
    return Mined(tuple(chosen), dict(tried), connected)


def _best(
    values: dict[Sequence, float], counter: Counter[Sequence], top: int
) -> list[tuple[Sequence, int]]:
    order = sorted(values, key=lambda sequence: (-values[sequence], len(sequence), sequence))
    return [(sequence, counter[sequence]) for sequence in order[:top]]


def _information(found: Counter[Sequence], overall: Counter[Sequence]) -> dict[Sequence, float]:
    """How much each topology says of a predicate whose connections are counted in `found`."""
    share = found.total() / overall.total()
    gains = {s: n * math.log(n / overall[s] / share) for s, n in found.items() if n >= LEAST}
    return {sequence: gain for sequence, gain in gains.items() if gain > 0}


def _connected(
    episodes: Episodes, predicates: Ints
) -> Iterable[tuple[int, Sequence, np.ndarray[tuple[int], np.dtype[np.intp]]]]:
    """Each (predicate, topology) that connected, with the rows of its queries."""
    rows = np.flatnonzero(episodes.met & (episodes.trail[:, 0] >= 0))
    table = np.column_stack([predicates[rows], episodes.trail[rows]])
    distinct, places = np.unique(table, axis=0, return_inverse=True)
    order = np.argsort(places.reshape(-1), kind="stable")
    groups = np.split(rows[order], np.cumsum(np.bincount(places.reshape(-1)))[:-1])
    for key, group in zip(distinct.tolist(), groups, strict=True):
        yield key[0], tuple(action for action in key[1:] if action >= 0), group
