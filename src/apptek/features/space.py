"""The feature space of a model: a list of parts side by side.

A *part* is a family of features: one file with one interface. History, traits and topologies are
parts; another one needs the methods of `Part` and a place in `FeatureSources.space`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from apptek.facts.queries import Queries
from apptek.features.copies import Copies
from apptek.features.history import History
from apptek.features.traits import Traits
from apptek.graph.temporal_graph import TemporalGraph
from apptek.ragged import Ragged, hstack, vstack

CHUNK = 16_384  # queries whose parts are put together at a time


class Part(Protocol):
    """A family of features of queries on a graph."""

    @property
    def name(self) -> str:
        """The name under which settings list it."""

    def __len__(self) -> int:
        """How many columns it has."""

    def rows(self, queries: Queries) -> Ragged:
        """Return the features of many queries."""

    def on(self, graph: TemporalGraph) -> "Part":
        """Return the same part on another graph of the same entities and predicates."""


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """The features of queries on a graph: those of each part, one part after the other."""

    graph: TemporalGraph
    parts: tuple[Part, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def history(self) -> History | None:
        """The part `history`, where the space has it."""
        return next((part for part in self.parts if isinstance(part, History)), None)

    @property
    def traits(self) -> Traits | None:
        """The part `traits`, where the space has it."""
        return next((part for part in self.parts if isinstance(part, Traits)), None)

    @property
    def topologies(self) -> Part | None:
        """The part `topologies`, where the space has it."""
        return next((part for part in self.parts if part.name == "topologies"), None)

    def sizes(self) -> dict[str, int]:
        """How many features each part has."""
        return {part.name: len(part) for part in self.parts}

    def first(self, name: str) -> int:
        """The column where a part begins."""
        names = [part.name for part in self.parts]
        return sum(map(len, self.parts[: names.index(name)]))

    def on(self, graph: TemporalGraph) -> "FeatureSpace":
        """The same features on another graph."""
        return FeatureSpace(graph, tuple(part.on(graph) for part in self.parts))

    def rows(self, queries: Queries) -> Ragged:
        """The features of many queries."""
        return self.counted_rows(queries)[0]

    def counted_rows(
        self, queries: Queries, known: Mapping[str, Ragged] | None = None
    ) -> tuple[Ragged, int]:
        """The same, and how many profiles a dominant partner cut short (see history).

        known  the rows of some parts, by name, where they were made before
        """
        stack, cuts = [], 0
        for start in range(0, max(1, len(queries)), CHUNK):
            stop = min(start + CHUNK, len(queries))
            asked, rows = queries.part(slice(start, stop)), []
            for part in self.parts:
                if known and part.name in known:
                    rows.append(known[part.name].part(start, stop))
                elif isinstance(part, History):
                    history, cut = part.counted_rows(asked)
                    rows.append(history)
                    cuts += cut
                else:
                    rows.append(part.rows(asked))
            stack.append(hstack(rows))
        return vstack(stack), cuts

    def copies(self) -> Copies:
        """Which features speak of a predicate: those of history."""
        if self.history is None:
            return Copies.nothing(len(self))
        others = len(self) - len(self.history)
        return Copies(*self.history.copied()).joined(Copies.nothing(others))
