"""All features of a model side by side: history, traits and the agent's topologies."""

from dataclasses import dataclass

import numpy as np

from apptek.agent.environment import DecisionProcess
from apptek.config import FEATURE_PARTS, FeaturePart
from apptek.data.queries import Queries
from apptek.features.copies import Copies
from apptek.features.history import History
from apptek.features.sparse import SparseRows, side_by_side
from apptek.features.topologies.application import BinaryRows, apply_topologies
from apptek.features.topologies.topology import TopologySet
from apptek.features.traits import Traits


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """The features of questions on a graph: those of each part, one part after the other.

    A part that a model does not have is None.
    """

    history: History | None
    traits: Traits | None
    topologies: TopologySet | None
    process: DecisionProcess
    topology_weight: float = 1.0

    def __len__(self) -> int:
        return sum(size for _, size in self.sizes())

    def sizes(self) -> list[tuple[FeaturePart, int]]:
        """How many features each part has."""
        parts = zip(FEATURE_PARTS, (self.history, self.traits, self.topologies), strict=True)
        return [(name, len(part)) for name, part in parts if part is not None]

    def first(self, part: FeaturePart) -> int:
        """The column where a part begins."""
        sizes = self.sizes()
        return sum(size for name, size in sizes[: [name for name, _ in sizes].index(part)])

    def rows(self, queries: Queries, fired: SparseRows | None = None) -> SparseRows:
        """The features of many questions. `fired`: their topologies, where these are known."""
        return self.counted_rows(queries, fired)[0]

    def counted_rows(
        self, queries: Queries, fired: SparseRows | None = None
    ) -> tuple[SparseRows, int]:
        """The same, and how many profiles a dominant partner cut short."""
        parts, cuts = [], 0
        if self.history is not None:
            history, cuts = self.history.rows(queries)
            parts.append(history)
        if self.traits is not None:
            parts.append(self.traits.rows(queries))
        if self.topologies is not None:
            parts.append(self.fired(queries) if fired is None else fired)
        return side_by_side(parts), cuts

    def fired(self, queries: Queries) -> SparseRows:
        """Which topologies connect each question."""
        assert self.topologies is not None
        return self.weighed(apply_topologies(self.process, queries, self.topologies))

    def weighed(self, found: BinaryRows) -> SparseRows:
        """Which topologies connect, as features."""
        assert self.topologies is not None
        weight, values = np.float32(self.topology_weight), None
        if weight != 1:
            values = np.full(len(found.columns), weight)
        return SparseRows(found.offsets, found.columns, len(self.topologies), values)

    def copies(self) -> Copies:
        """The features of history speak of a predicate; the others of none."""
        if self.history is None:
            return Copies.nothing(len(self))
        others = len(self) - len(self.history)
        return Copies(*self.history.copied()).joined(Copies.nothing(others))
