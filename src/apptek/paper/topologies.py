"""End of section 3.2: reasoning sequences (topologies), and mining the most frequent ones.

A topology is the ordered sequence of actions in an episode that connected its query's entities.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from apptek.arrays import Ints, read_only
from apptek.errors import ApptekError
from apptek.facts.facts import Names
from apptek.paper.environment import Episodes

EXAMPLES = 3  # number of queries stored with each topology, for display
Actions = tuple[int, ...]
Trie = tuple[Ints, Ints, Ints, Ints, Ints]  # actions, depths, first, last, skip


@dataclass(frozen=True, slots=True)
class TopologySet:
    """Distinct topologies in lexicographic order; the id of a topology is its index.

    The topologies form a trie in preorder. Node i has an action, a depth (1 for the first action),
    the topologies [first[i], last[i]) that begin with it, and skip[i], the node after its subtree.
    """

    sequences: tuple[tuple[int, ...], ...]
    trie: Trie

    def __len__(self) -> int:
        return len(self.sequences)


def topology_set(sequences: Iterable[Sequence[int]]) -> TopologySet:
    """Return the set of these action sequences. Raise ApptekError if any is empty."""
    ordered = tuple(sorted({tuple(int(a) for a in sequence) for sequence in sequences}))
    if ordered and not ordered[0]:
        raise ApptekError("a topology has at least one action")
    nodes: list[tuple[int, ...]] = []  # prefixes in preorder
    first: list[int] = []
    for index, sequence in enumerate(ordered):
        # Sequences are sorted: a prefix is new if the previous sequence does not share it.
        both = zip(ordered[index - 1] if index else (), sequence, strict=False)
        shared = takewhile(lambda pair: pair[0] == pair[1], both)
        for depth in range(len(list(shared)), len(sequence)):
            nodes.append(sequence[: depth + 1])
            first.append(index)
    depths = np.asarray([len(node) for node in nodes], np.int32)
    skip = _skips(depths)
    starts = np.asarray([*first, len(ordered)], np.int32)
    actions = read_only(np.asarray([node[-1] for node in nodes], np.int32))
    spans = read_only(starts[:-1]), read_only(starts[skip])
    return TopologySet(ordered, (actions, read_only(depths), *spans, read_only(skip)))


def _skips(depths: Ints) -> Ints:
    """For each node in preorder, return the next one that is not deeper: the end of its subtree."""
    skip = np.full(len(depths), len(depths), np.int32)
    open_nodes: list[int] = []
    for node, depth in enumerate(depths.tolist()):
        while open_nodes and depths[open_nodes[-1]] >= depth:
            skip[open_nodes.pop()] = node
        open_nodes.append(node)
    return skip


def to_names(sequence: Sequence[int], predicates: Names) -> list[str]:
    """Return the names of a topology's actions, for JSON."""
    return [predicates[action] for action in sequence]


def from_names(names: Sequence[str], predicates: Names) -> tuple[int, ...]:
    """Return the topology with these names. Raise ApptekError if a predicate is unknown."""
    for name in names:
        if predicates.find(name) is None:
            raise ApptekError(f"a topology names the predicate {name!r}, unknown to the data")
    return tuple(int(predicates.find(name) or 0) for name in names)


@dataclass(frozen=True, slots=True)
class MinedTopology:
    """A topology that connected queries with one predicate.

    queries   the number of queries it connected, over all roll-outs
    examples  the rows of the first connected queries
    """

    predicate: int
    sequence: tuple[int, ...]
    queries: int
    examples: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mined:
    """The top topologies for every predicate, best first, and how many queries were connected."""

    topologies: tuple[MinedTopology, ...]
    tried: dict[int, int]  # number of queries for each predicate
    connected: dict[int, int]  # number of these that any topology connected

    def of_predicate(self, predicate: int) -> list[MinedTopology]:
        """Return the topologies for a predicate, best first."""
        return [mined for mined in self.topologies if mined.predicate == predicate]

    def sequences(self) -> set[tuple[int, ...]]:
        """Return the distinct topologies of all predicates."""
        return {mined.sequence for mined in self.topologies}


def mine(rollouts: Iterable[Episodes], predicates: Ints, top: int) -> Mined:
    """Return the `top` topologies that connected the most queries for each predicate.

    All roll-outs count. An episode without steps (subject = object) is not a topology. On ties,
    shorter sequences come first, then lexicographic order decides.
    """
    counts: dict[int, Counter[Actions]] = {}
    examples: dict[tuple[int, Actions], list[int]] = {}
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


def _most_frequent(counter: Counter[Actions]) -> list[Actions]:
    return sorted(counter, key=lambda sequence: (-counter[sequence], len(sequence), sequence))


def _connected(
    episodes: Episodes, predicates: Ints
) -> Iterable[tuple[int, Actions, np.ndarray[tuple[int], np.dtype[np.intp]]]]:
    """Yield each (predicate, topology) that connected, with its query rows."""
    rows = np.flatnonzero(episodes.met & (episodes.trail[:, 0] >= 0))
    table = np.column_stack([predicates[rows], episodes.trail[rows]])
    distinct, inverse = np.unique(table, axis=0, return_inverse=True)
    group_of_row = inverse.reshape(-1)  # some numpy versions return two dimensions
    order = np.argsort(group_of_row, kind="stable")
    groups = np.split(rows[order], np.cumsum(np.bincount(group_of_row))[:-1])
    for key, group in zip(distinct.tolist(), groups, strict=True):
        yield key[0], tuple(action for action in key[1:] if action >= 0), group
