"""Mining: which topologies connected the training queries, counted by predicate."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from apptek.agent.environment import Episodes
from apptek.data.times import Ints

EXAMPLES = 3  # queries kept with each topology, for people to look at


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
    """The top topologies of every predicate, commonest first, and how often each one connected."""

    topologies: tuple[MinedTopology, ...]
    tried: dict[int, int]  # queries of each predicate
    connected: dict[int, int]  # of these, how many were connected by any topology

    def sequences(self) -> set[tuple[int, ...]]:
        """The union over the predicates."""
        return {mined.sequence for mined in self.topologies}


def mine(rollouts: Iterable[Episodes], predicates: Ints, top: int) -> Mined:
    """The `top` commonest topologies of each predicate, over all roll-outs of the same queries.

    An episode without a step (subject = object) is no topology. Equally common: the shorter one
    first, then the lexicographically smaller.
    """
    counts: dict[int, Counter[tuple[int, ...]]] = {}
    examples: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    tried: Counter[int] = Counter()
    for episodes in rollouts:
        tried.update(predicates.tolist())
        for predicate, sequence, rows in _connected(episodes, predicates):
            counts.setdefault(predicate, Counter())[sequence] += len(rows)
            kept = examples.setdefault((predicate, sequence), [])
            kept.extend(rows[: EXAMPLES - len(kept)].tolist())
    chosen = [
        MinedTopology(predicate, sequence, count, tuple(examples[predicate, sequence]))
        for predicate in sorted(counts)
        for sequence, count in _commonest(counts[predicate], top)
    ]
    connected = {predicate: counter.total() for predicate, counter in counts.items()}
    return Mined(tuple(chosen), dict(tried), connected)


def _commonest(counter: Counter[tuple[int, ...]], top: int) -> list[tuple[tuple[int, ...], int]]:
    return sorted(counter.items(), key=lambda item: (-item[1], len(item[0]), item[0]))[:top]


def _connected(
    episodes: Episodes, predicates: Ints
) -> Iterable[tuple[int, tuple[int, ...], np.ndarray[tuple[int], np.dtype[np.intp]]]]:
    """Each (predicate, topology) that connected, with the rows of its queries."""
    rows = np.flatnonzero(episodes.met & (episodes.trail[:, 0] >= 0))
    table = np.column_stack([predicates[rows], episodes.trail[rows]])
    distinct, places = np.unique(table, axis=0, return_inverse=True)
    order = np.argsort(places.reshape(-1), kind="stable")
    groups = np.split(rows[order], np.cumsum(np.bincount(places.reshape(-1)))[:-1])
    for key, group in zip(distinct.tolist(), groups, strict=True):
        yield key[0], tuple(action for action in key[1:] if action >= 0), group
