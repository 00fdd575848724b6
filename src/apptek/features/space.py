"""The feature space of a model: history, traits and topologies side by side."""

from dataclasses import dataclass

import numpy as np

from apptek.agent.environment import DecisionProcess
from apptek.config import FEATURE_PARTS, FeaturePart
from apptek.data.queries import Queries
from apptek.features.copies import Copies
from apptek.features.history import History
from apptek.features.sparse import SparseRows, one_below_the_other, side_by_side
from apptek.features.topologies.application import BinaryRows, apply_topologies
from apptek.features.topologies.topology import TopologySet
from apptek.features.traits import Traits

CHUNK = 16_384  # queries whose parts are put together at a time


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """The features of queries on a graph: those of each part, one part after the other.

    A part that a model does not have is None. `process` is where topologies are replayed.
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
        """The features of many queries. `fired`: their topologies, if they are known already."""
        return self.counted_rows(queries, fired)[0]

    def counted_rows(
        self, queries: Queries, fired: SparseRows | None = None
    ) -> tuple[SparseRows, int]:
        """The same, and how many profiles a dominant partner cut short (see history)."""
        stack, cuts = [], 0
        for start in range(0, max(1, len(queries)), CHUNK):
            rows = slice(start, min(start + CHUNK, len(queries)))
            known = None if fired is None else fired.part(rows.start, rows.stop)
            chunk, cut = self._chunk(queries.part(rows), known)
            stack.append(chunk)
            cuts += cut
        return one_below_the_other(stack), cuts

    def _chunk(self, queries: Queries, fired: SparseRows | None) -> tuple[SparseRows, int]:
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
        """The topologies that connect each query, as features."""
        assert self.topologies is not None
        return self.weighed(apply_topologies(self.process, queries, self.topologies))

    def weighed(self, connecting: BinaryRows) -> SparseRows:
        """The topologies that connect, as features with the weight as their value."""
        assert self.topologies is not None
        weight, values = np.float32(self.topology_weight), None
        if weight != 1:
            values = np.full(len(connecting.columns), weight)
        return SparseRows(connecting.offsets, connecting.columns, len(self.topologies), values)

    def copies(self) -> Copies:
        """Which features speak of a predicate: those of history."""
        if self.history is None:
            return Copies.nothing(len(self))
        others = len(self) - len(self.history)
        return Copies(*self.history.copied()).joined(Copies.nothing(others))
