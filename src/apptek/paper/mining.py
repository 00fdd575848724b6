"""Mining: which topologies connected the training queries, counted by predicate."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from apptek.arrays import Ints
from apptek.paper.environment import Episodes

EXAMPLES = 3  # queries kept with each topology, for people to look at
Sequence = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MinedTopology:
    """A topology that connected queries of one predicate.

    queries   how many of them it connected, over all roll-outs
    examples  rows of the first few of these
    """

    predicate: int
    sequence: tuple[int, ...]
    queries: int
    examples: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mined:
    """The top topologies of every predicate, best first, and how many queries were connected."""

    topologies: tuple[MinedTopology, ...]
    tried: dict[int, int]  # queries of each predicate
    connected: dict[int, int]  # of these, how many were connected by any topology

    def sequences(self) -> set[tuple[int, ...]]:
        """The distinct topologies of all predicates."""
        return {mined.sequence for mined in self.topologies}


def mine(rollouts: Iterable[Episodes], predicates: Ints, top: int) -> Mined:
    """The `top` topologies that connected most queries of each predicate, over all roll-outs.

    An episode without a step (subject = object) is no topology. Equally frequent: the shorter one
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
    mined = [
        MinedTopology(predicate, sequence, counter[sequence], tuple(examples[predicate, sequence]))
        for predicate, counter in sorted(counts.items())
        for sequence in _most_frequent(counter)[:top]
    ]
    connected = {predicate: counter.total() for predicate, counter in counts.items()}
    return Mined(tuple(mined), dict(tried), connected)


def _most_frequent(counter: Counter[Sequence]) -> list[Sequence]:
    return sorted(counter, key=lambda sequence: (-counter[sequence], len(sequence), sequence))


def _connected(
    episodes: Episodes, predicates: Ints
) -> Iterable[tuple[int, Sequence, np.ndarray[tuple[int], np.dtype[np.intp]]]]:
    """Each (predicate, topology) that connected, with the rows of its queries."""
    rows = np.flatnonzero(episodes.met & (episodes.trail[:, 0] >= 0))
    table = np.column_stack([predicates[rows], episodes.trail[rows]])
    distinct, inverse = np.unique(table, axis=0, return_inverse=True)
    group_of_row = inverse.reshape(-1)  # some versions of numpy give it two dimensions
    order = np.argsort(group_of_row, kind="stable")
    groups = np.split(rows[order], np.cumsum(np.bincount(group_of_row))[:-1])
    for key, group in zip(distinct.tolist(), groups, strict=True):
        yield key[0], tuple(action for action in key[1:] if action >= 0), group
