"""A topology: the ordered actions of an episode that connected its query's entities."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from apptek.arrays import Ints, read_only
from apptek.errors import ApptekError
from apptek.facts.facts import Names
from apptek.facts.predicate_table import INVERSE, PredicateTable


@dataclass(frozen=True, slots=True)
class TopologySet:
    """Distinct topologies in lexicographic order; the id of a topology is its index.

    They form a trie, given in preorder: node i has an action, a depth (1 for the first action), the
    topologies [first[i], last[i]) that begin with it, and skip[i], the node after its subtree.
    """

    sequences: tuple[tuple[int, ...], ...]
    actions: Ints
    depths: Ints
    first: Ints
    last: Ints
    skip: Ints

    def __len__(self) -> int:
        return len(self.sequences)


def topology_set(sequences: Iterable[Sequence[int]]) -> TopologySet:
    """The set of these action sequences, none of them empty."""
    ordered = tuple(sorted({tuple(int(a) for a in sequence) for sequence in sequences}))
    if ordered and not ordered[0]:
        raise ApptekError("a topology has at least one action")
    nodes: list[tuple[int, ...]] = []  # prefixes in preorder
    first: list[int] = []
    for index, sequence in enumerate(ordered):
        # In lexicographic order a prefix that is not shared with the sequence before is new.
        shared = _shared_length(ordered[index - 1] if index else (), sequence)
        for depth in range(shared, len(sequence)):
            nodes.append(sequence[: depth + 1])
            first.append(index)
    depths = np.asarray([len(node) for node in nodes], np.int32)
    skip = _skips(depths)
    starts = np.asarray([*first, len(ordered)], np.int32)
    return TopologySet(
        ordered,
        read_only(np.asarray([node[-1] for node in nodes], np.int32)),
        read_only(depths),
        read_only(starts[:-1]),
        read_only(starts[skip]),
        read_only(skip),
    )


def _shared_length(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return length


def _skips(depths: Ints) -> Ints:
    """For each node in preorder, the next one that is not deeper: the one after its subtree."""
    skip = np.full(len(depths), len(depths), np.int32)
    open_nodes: list[int] = []
    for node, depth in enumerate(depths.tolist()):
        while open_nodes and depths[open_nodes[-1]] >= depth:
            skip[open_nodes.pop()] = node
        open_nodes.append(node)
    return skip


def action_name(action: int, predicates: Names) -> str:
    """The name of an action: its predicate, or the inverse of one where the traversal is tagged."""
    if action < len(predicates):
        return predicates[action]
    return INVERSE + predicates[action - len(predicates)]


def describe(sequence: Sequence[int], predicates: Names, labels: PredicateTable) -> str:
    """A topology in words: expand both sides by 'Make statement', then 'Consult'."""
    names = [f"'{labels.label(name)}'" for name in to_names(sequence, predicates)]
    return "expand both sides by " + ", then ".join(names)


def to_names(sequence: Sequence[int], predicates: Names) -> list[str]:
    """A topology for JSON: the names of its actions."""
    return [action_name(action, predicates) for action in sequence]


def from_names(names: Sequence[str], predicates: Names) -> tuple[int, ...]:
    """The topology with these names; ApptekError for an unknown predicate."""
    return tuple(_action(name, predicates) for name in names)


def _action(name: str, predicates: Names) -> int:
    predicate = predicates.find(name)
    if predicate is not None:  # a predicate whose own name begins with INVERSE comes first
        return predicate
    inverse = predicates.find(name.removeprefix(INVERSE)) if name.startswith(INVERSE) else None
    if inverse is None:
        raise ApptekError(f"a topology names the predicate {name!r}, which the data does not have")
    return inverse + len(predicates)
