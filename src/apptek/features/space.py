"""The feature space of a model: a list of parts side by side.

A *part* is a family of features: one file with one interface. History and traits are parts of every
space that asks for them; further parts are added by families, see families.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from apptek.config import Config
from apptek.engine import map_queries
from apptek.facts.facts import Dataset
from apptek.facts.queries import Queries
from apptek.features.clock import Clock
from apptek.features.history import Copies, History
from apptek.features.traits import Kind, Traits
from apptek.graph.temporal_graph import TemporalGraph
from apptek.ragged import Ragged, hstack, vstack


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
    def added(self) -> tuple[Any, ...]:
        """The parts that families add: the last ones; see families.py."""
        return tuple(part for part in self.parts if not isinstance(part, History | Traits))

    @property
    def first_added(self) -> int:
        """The column where the parts that families add begin."""
        return len(self) - sum(map(len, self.added))

    def added_at(self, column: int) -> tuple[Any, int]:
        """The added part that a column belongs to, and its column there."""
        part = next(part for part in reversed(self.added) if self.first(part.name) <= column)
        return part, column - self.first(part.name)

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

    def counted_rows(self, queries: Queries) -> tuple[Ragged, int]:
        """The same, and how many profiles a dominant partner cut short (see history)."""
        chunks = map_queries(self, queries, FeatureSpace._counted_rows)
        cuts = sum(cut for _, cut in chunks)
        return vstack([chunks.pop(0)[0] for _ in range(len(chunks))]), cuts

    def _counted_rows(self, queries: Queries) -> tuple[Ragged, int]:
        rows, cuts = [], 0
        for part in self.parts:
            if isinstance(part, History):
                history, cuts = part.counted_rows(queries)
                rows.append(history)
            else:
                rows.append(part.rows(queries))
        return hstack(rows), cuts

    def copies(self) -> Copies | None:
        """Return which features speak of a predicate: those of history, which come first."""
        return None if self.history is None else self.history.copies()


def make_space(
    graph: TemporalGraph,
    data: Dataset,
    config: Config,
    clock: Clock,
    kinds: tuple[Kind, ...] = (),
    added: Sequence[Part] = (),
) -> FeatureSpace:
    """Return the features that the settings ask for, on a graph as a view sees it.

    data   its training facts say which entities have a token, and whether all facts are dated
    added  the parts that families have found, in the order of features.parts
    """
    parts = list[Part]()
    if "history" in config.features.parts:
        parts.append(History(graph, clock, config.history, bool(data.train.dated.all())))
    if "traits" in config.features.parts:
        parts.append(Traits.of(data, config.traits, kinds))
    return FeatureSpace(graph, (*parts, *(part.on(graph) for part in added)))
