"""Predicates by class: which belong together, and what their probabilities add up to."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from apptek.arrays import Doubles, Ints, Longs, Matrix
from apptek.facts.facts import Dataset, Names
from apptek.facts.predicate_table import PredicateTable
from apptek.ragged import Ragged

Level = Literal["class", "group"]
LEVELS: tuple[Level, ...] = ("class", "group")
Shares = tuple[tuple[str, float], ...]  # names with their probabilities, the largest first


@dataclass(frozen=True)
class PredicateClasses:
    """The classes of one level, in byte order; a predicate belongs to one of them or to none."""

    names: tuple[str, ...]
    of_predicate: Ints  # (R,): the class of each predicate, -1 where it has none

    @classmethod
    def of(cls, predicates: Names, labels: PredicateTable, level: Level) -> "PredicateClasses":
        """The classes of a level; none at all where the table knows none."""
        look_up = labels.class_of if level == "class" else labels.group_of
        found = [look_up(predicate) for predicate in predicates]
        names = sorted({name for name in found if name is not None}, key=str.encode)
        ids = {name: number for number, name in enumerate(names)}
        return cls(tuple(names), np.asarray([ids.get(name or "", -1) for name in found], np.int32))

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _columns(self) -> Longs:
        """The predicates that have a class, ordered by it."""
        by_class = np.argsort(self.of_predicate, kind="stable")
        return by_class[self.of_predicate[by_class] >= 0]

    @cached_property
    def _starts(self) -> Longs:
        """Where the predicates of each class start in `_columns`."""
        return np.searchsorted(self.of_predicate[self._columns], np.arange(len(self)))

    def sums(self, probabilities: Matrix) -> Doubles:
        """The probability of each class: (B, R) -> (B, C).

        Not by a matrix product, whose last digits depend on B.
        """
        ordered = probabilities[:, self._columns].astype(np.float64)
        sums = np.add.reduceat(ordered, self._starts, axis=1)
        return np.minimum(sums, 1.0)  # rounding must not make more than certainty

    def largest(self, probabilities: Matrix) -> Doubles:
        """The largest probability in each class: (B, R) -> (B, C)."""
        ordered = probabilities[:, self._columns].astype(np.float64)
        return np.maximum.reduceat(ordered, self._starts, axis=1)

    def known(self, known: Ragged, truths: Ints) -> Ragged:
        """The classes of the known predicates of some queries, each once, without the truth's.

        truths  the class of each query's own predicate
        """
        rows, classes = known.row_of_each, self.of_predicate[known.flat_columns]
        kept = (classes >= 0) & (classes != truths[rows])
        distinct = np.unique(rows[kept] * np.int64(max(len(self), 1)) + classes[kept])
        of_row = distinct // max(len(self), 1)
        offsets = np.searchsorted(of_row, np.arange(len(known) + 1))
        return Ragged(offsets.astype(np.int64), (distinct % max(len(self), 1)).astype(np.int32))


@dataclass(frozen=True, slots=True)
class PredicateWords:
    """The names of all predicates, their labels, their classes and groups; empty for none."""

    names: list[str]
    labels: list[str]
    kinds: list[tuple[str, str]]


@dataclass(frozen=True)
class LabelledPredicates:
    """The predicates of a data set: their names, their labels, and their classes by level."""

    names: Names
    labels: PredicateTable
    levels: dict[Level, PredicateClasses]  # only those that have classes

    @classmethod
    def of(cls, data: Dataset) -> "LabelledPredicates":
        """Those of a data set, by its own table; without one there are no classes."""
        labels = data.labels or PredicateTable()
        found = {level: PredicateClasses.of(data.predicates, labels, level) for level in LEVELS}
        return cls(data.predicates, labels, {level: each for level, each in found.items() if each})

    @cached_property
    def words(self) -> PredicateWords:
        """All of them as lists: a name from the Arrow array takes much longer."""
        names, table = list(self.names), self.labels
        kinds = [(table.class_of(name) or "", table.group_of(name) or "") for name in names]
        return PredicateWords(names, [table.label(name) for name in names], kinds)

    def shares(self, probabilities: Matrix, level: Level) -> list[Shares]:
        """The classes of a level with their probabilities, for each row of (B, R)."""
        classes = self.levels.get(level)
        if classes is None:
            return [()] * len(probabilities)
        sums = classes.sums(probabilities)
        order = np.argsort(-sums, axis=1, kind="stable")
        rows = zip(order.tolist(), np.take_along_axis(sums, order, 1).tolist(), strict=True)
        return [
            tuple((classes.names[number], value) for number, value in zip(*row, strict=True))
            for row in rows
        ]
