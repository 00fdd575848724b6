"""Classes of predicates, and the sums of their probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from apptek.arrays import Doubles, Ints, Longs, Matrix
from apptek.facts.facts import Dataset
from apptek.facts.predicate_table import PredicateTable

Level = Literal["class", "group"]
LEVELS: tuple[Level, ...] = ("class", "group")
Shares = tuple[tuple[str, float], ...]  # names with their probabilities, largest first


@dataclass(frozen=True)
class PredicateClasses:
    """The classes in one level, in byte order. A predicate belongs to at most one class."""

    names: tuple[str, ...]
    of_predicate: Ints  # (R,): the class of each predicate, or -1 if it has none

    @classmethod
    def of(cls, found: Sequence[str]) -> "PredicateClasses":
        """Return the distinct classes. `found` is each predicate's class, empty without one."""
        names = sorted(set(found) - {""}, key=str.encode)
        ids = {name: number for number, name in enumerate(names)}
        return cls(tuple(names), np.asarray([ids.get(name, -1) for name in found], np.int32))

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _columns(self) -> Longs:
        """The predicates that have a class, ordered by class."""
        by_class = np.argsort(self.of_predicate, kind="stable")
        return by_class[self.of_predicate[by_class] >= 0]

    @cached_property
    def _starts(self) -> Longs:
        """Where each class's predicates start in `_columns`."""
        return np.searchsorted(self.of_predicate[self._columns], np.arange(len(self)))

    def sums(self, probabilities: Matrix) -> Doubles:
        """Return the probability of each class: (B, R) -> (B, C).

        This avoids a matrix product, whose last digits depend on B.
        """
        ordered = probabilities[:, self._columns].astype(np.float64)
        sums = np.add.reduceat(ordered, self._starts, axis=1)
        return np.minimum(sums, 1.0)  # rounding must not exceed 1

    def largest(self, probabilities: Matrix) -> Doubles:
        """Return the largest probability in each class: (B, R) -> (B, C)."""
        ordered = probabilities[:, self._columns].astype(np.float64)
        return np.maximum.reduceat(ordered, self._starts, axis=1)


@dataclass(frozen=True)
class PredicateWords:
    """A data set's predicates as lists, by id: names, labels, classes and groups.

    A missing class or group is empty. `levels` contains the classes and groups as arrays, if there
    are any.
    """

    names: list[str]
    labels: list[str]
    classes: list[str]
    groups: list[str]
    levels: dict[Level, PredicateClasses]

    @classmethod
    def of(cls, data: Dataset) -> "PredicateWords":
        """Return a data set's texts. Without a predicate table, there are no classes."""
        names, table = list(data.predicates), data.labels or PredicateTable()
        labels = [table.label(name) for name in names]
        by_level = {
            level: [look_up(name) or "" for name in names]
            for level, look_up in zip(LEVELS, (table.class_of, table.group_of), strict=True)
        }
        levels = {level: PredicateClasses.of(found) for level, found in by_level.items()}
        known = {level: classes for level, classes in levels.items() if classes}
        return cls(names, labels, by_level["class"], by_level["group"], known)

    def shares(self, probabilities: Matrix, level: Level) -> list[Shares]:
        """Return the classes in a level with their probabilities, for each row of (B, R)."""
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
