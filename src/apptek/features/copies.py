"""Copy weights: which features speak of a predicate, and which of these share one weight.

The shared weight is added to the feature's own weight for the predicate that it speaks of: what
happened happens again.
"""

from dataclasses import dataclass

import numpy as np

from apptek.arrays import Ints, close_columns


@dataclass(frozen=True, slots=True)
class Copies:
    """Which predicate each feature speaks of, and which copy weight it shares; -1: none."""

    predicates: Ints  # (F,)
    groups: Ints  # (F,)

    def __post_init__(self) -> None:
        for column in (self.predicates, self.groups):
            if column.dtype != np.int32 or column.shape != self.predicates.shape:
                raise ValueError("the columns of Copies are int32 and equally long")
        close_columns(self, "predicates", "groups")
        if np.any((self.predicates < 0) != (self.groups < 0)):
            raise ValueError("a feature has a group if and only if it speaks of a predicate")

    @classmethod
    def nothing(cls, feature_count: int) -> "Copies":
        """No feature speaks of a predicate."""
        none = np.full(feature_count, -1, np.int32)
        return cls(none, none)

    def joined(self, other: "Copies") -> "Copies":
        """These features, then the others, with groups of their own."""
        first = 1 + int(self.groups.max(initial=-1))
        shifted = np.where(other.groups < 0, other.groups, other.groups + np.int32(first))
        return Copies(
            np.concatenate([self.predicates, other.predicates]),
            np.concatenate([self.groups, shifted.astype(np.int32)]),
        )
