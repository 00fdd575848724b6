"""Topologies as a part of the feature space: 1 where a topology connects a query."""

from dataclasses import dataclass, replace

import numpy as np

from apptek.facts.queries import Queries
from apptek.graph.temporal_graph import TemporalGraph
from apptek.paper.application import apply_topologies
from apptek.paper.environment import DecisionProcess
from apptek.paper.topology import TopologySet
from apptek.ragged import Ragged


@dataclass(frozen=True, slots=True)
class Topologies:
    """The features of the topologies that connect a query, each with the weight as its value."""

    process: DecisionProcess  # where they are replayed
    found: TopologySet
    weight: float = 1.0
    name: str = "topologies"

    def __len__(self) -> int:
        return len(self.found)

    def rows(self, queries: Queries) -> Ragged:
        """The topologies that connect each query."""
        return self.weighed(apply_topologies(self.process, queries, self.found))

    def weighed(self, connecting: Ragged) -> Ragged:
        """The topologies that connect, with the weight as their value."""
        if self.weight == 1:
            return connecting
        values = np.full(len(connecting.columns), np.float32(self.weight))
        return replace(connecting, values=values)

    def on(self, graph: TemporalGraph) -> "Topologies":
        """The same on another graph."""
        return replace(self, process=replace(self.process, graph=graph))
