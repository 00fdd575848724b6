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
Shares = tuple[tuple[str, float], ...]  # names with their probabilities, the largest first


@dataclass(frozen=True)
class PredicateClasses:
    """The classes of one level, in byte order; a predicate belongs to one class or to none."""

    names: tuple[str, ...]
    of_predicate: Ints  # (R,): the class of each predicate, -1 where it has none

    @classmethod
    def of(cls, found: Sequence[str]) -> "PredicateClasses":
        """Return the distinct classes; found: the class of each predicate, empty if it has none."""
        names = sorted(set(found) - {""}, key=str.encode)
        ids = {name: number for number, name in enumerate(names)}
        return cls(tuple(names), np.asarray([ids.get(name, -1) for name in found], np.int32))

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
        """Return the probability of each class: (B, R) -> (B, C).

        A matrix product is not used: its last digits depend on B.
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
    """The predicates of a data set as lists, by id: names, labels, classes and groups.

    A missing class or group is empty. `levels` has the classes and groups as arrays, if there are
    any.
    """

    names: list[str]
    labels: list[str]
    classes: list[str]
    groups: list[str]
    levels: dict[Level, PredicateClasses]

    @classmethod
    def of(cls, data: Dataset) -> "PredicateWords":
        """Return the texts of a data set; without a predicate table there are no classes."""
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
        """Return the classes of a level with their probabilities, for each row of (B, R)."""
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
