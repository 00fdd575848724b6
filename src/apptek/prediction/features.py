"""All features of a model side by side: history, traits and the agent's topologies."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from apptek.agent.environment import Queries, World
from apptek.errors import ConfigError
from apptek.prediction.fitting import Copies
from apptek.topologies.application import BinaryRows, apply_topologies
from apptek.topologies.history import History
from apptek.topologies.sparse import SparseRows, side_by_side
from apptek.topologies.topology import TopologySet
from apptek.topologies.traits import Traits

Part = Literal["history", "traits", "topologies"]
PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturesConfig:
    """Which features there are, and which facts they see."""

    parts: tuple[str, ...] = PARTS
    topology_weight: float = 1.0  # the value of a topology that connects
    past_only: bool = False  # forecasting: only facts that ended before the question's time

    def __post_init__(self) -> None:
        if not 0 < self.topology_weight < 100:
            raise ConfigError(
                "features.topology_weight must be above 0 and below 100, "
                f"not {self.topology_weight}"
            )
        if not self.parts or sorted(set(self.parts), key=PARTS.index) != list(self.parts):
            raise ConfigError(
                f"features.parts must be some of {', '.join(PARTS)}, in this order, "
                f"not {', '.join(self.parts) or 'none'}"
            )


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """The features of questions on a graph: those of each part, one part after the other.

    A part that a model does not have is None.
    """

    history: History | None
    traits: Traits | None
    topologies: TopologySet | None
    world: World
    topology_weight: float = 1.0

    def __len__(self) -> int:
        return sum(size for _, size in self.sizes())

    def sizes(self) -> list[tuple[Part, int]]:
        """How many features each part has."""
        parts = zip(PARTS, (self.history, self.traits, self.topologies), strict=True)
        return [(name, len(part)) for name, part in parts if part is not None]

    def first(self, part: Part) -> int:
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
        return self.weighed(apply_topologies(self.world, queries, self.topologies))

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
