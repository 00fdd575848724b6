"""The feature space of a model: a list of parts side by side.

A *part* computes some features of queries. History and traits are in every space whose settings
name them. Packages add *families*: a family finds a part in the training facts, and reads it from
the model folder. It is registered like a baseline: by `register_features`, or by an entry point.
`apptek.paper` adds the topologies in this way; the core imports it only when settings or a model
folder name them. `apptek.research` has `check_feature_part`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, Self

from apptek.config import FEATURE_GROUP, FEATURE_PARTS, Config, Progress, no_progress
from apptek.engine import map_queries
from apptek.errors import ConfigError
from apptek.facts.facts import Dataset, Facts, Names
from apptek.facts.queries import Queries
from apptek.features.clock import Clock
from apptek.features.history import Copies, History
from apptek.features.traits import Kind, Traits
from apptek.graph.temporal_graph import TemporalGraph
from apptek.ragged import Ragged, hstack, vstack

Side = Literal["subject", "object", "both"]


class Part(Protocol):
    """A family of features of queries on a graph."""

    @property
    def name(self) -> str:
        """The name in the settings."""

    def __len__(self) -> int:
        """Return the number of columns."""

    def rows(self, queries: Queries) -> Ragged:
        """Return the features of many queries."""

    def on(self, graph: TemporalGraph) -> Self:
        """Return the same part on another graph of the same entities and predicates."""


@dataclass(frozen=True, slots=True)
class CoreFact:
    """A fact in the core of a side when the sides met.

    step     the action that added it, 1 for the first; a fact in both cores has one step
    on_path  whether it is on a shortest path from its side's entity to a meeting entity
    """

    fact: int
    side: Side
    step: int
    action: int
    on_path: bool


@dataclass(frozen=True, slots=True)
class Connection:
    """A topology replayed on a query until its sides met.

    steps    actions taken until then; 0 if subject = object
    meeting  the entities of both sides: the fewest hops first, then the nearest facts in time
    hops     for each of them, the hops from the subject and from the object
    core     facts on a path first, in the order of `meeting` and from subject to object; then the
             facts off the path, nearest in time first
    """

    steps: int
    meeting: tuple[int, ...]
    hops: tuple[tuple[int, int], ...]
    core: tuple[CoreFact, ...]


class AddedPart(Part, Protocol):
    """A part that a family makes from the training facts, on a graph."""

    def names(self, column: int) -> tuple[str, ...]:
        """Return the predicates, or other words, that a feature is made of."""

    def connection(self, queries: Queries, column: int) -> Connection | None:
        """Return how a feature connects the first query; None where it shows no facts."""

    def report(self) -> dict[str, Any]:
        """Return what the model's report says of it."""

    def files(self) -> dict[str, bytes]:
        """Return what `load` reads, by the name of the file in the model folder."""


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """The features of queries on a graph: the columns of each part, one part after the other."""

    graph: TemporalGraph
    parts: tuple[Part, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def history(self) -> History | None:
        """The part `history`; None if the space has none."""
        return next((part for part in self.parts if isinstance(part, History)), None)

    @property
    def traits(self) -> Traits | None:
        """The part `traits`; None if the space has none."""
        return next((part for part in self.parts if isinstance(part, Traits)), None)

    @property
    def added(self) -> tuple[Any, ...]:
        """The parts that families add: the last ones."""
        return tuple(part for part in self.parts if not isinstance(part, History | Traits))

    @property
    def first_added(self) -> int:
        """The first column of the parts that families add."""
        return len(self) - sum(map(len, self.added))

    def added_at(self, column: int) -> tuple[Any, int]:
        """Return the added part that a column belongs to, and its column there."""
        part = next(part for part in reversed(self.added) if self.first(part.name) <= column)
        return part, column - self.first(part.name)

    def sizes(self) -> dict[str, int]:
        """Return the number of features of each part."""
        return {part.name: len(part) for part in self.parts}

    def first(self, name: str) -> int:
        """Return the first column of a part."""
        names = [part.name for part in self.parts]
        return sum(map(len, self.parts[: names.index(name)]))

    def on(self, graph: TemporalGraph) -> "FeatureSpace":
        """Return the same features on another graph."""
        return FeatureSpace(graph, tuple(part.on(graph) for part in self.parts))

    def rows(self, queries: Queries) -> Ragged:
        """Return the features of many queries."""
        return vstack(map_queries(self, queries, FeatureSpace._rows))

    def _rows(self, queries: Queries) -> Ragged:
        return hstack([part.rows(queries) for part in self.parts])

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


class Found(NamedTuple):
    """The context of a part: the graph of a view, the names of the predicates, all settings."""

    graph: TemporalGraph
    predicates: Names
    config: Config


class FamilyFit(NamedTuple):
    """The inputs of a family's fit.

    folder     keeps expensive intermediate results; an interrupted fit resumes from there
    stage      announces a stage of the fit and times it
    progress   receives the progress of the agent's training
    agent      the folder of a trained agent, if the user names one
    """

    found: Found
    train: Facts
    seed: int
    folder: Path
    stage: Callable[[str], AbstractContextManager[None]]
    progress: Progress = no_progress
    agent: Path | None = None


class FeatureFamily(NamedTuple):
    """A family: `fit` finds a part in the training facts, `load` reads it from a model's files."""

    fit: Callable[[FamilyFit], AddedPart]
    load: Callable[[Mapping[str, bytes], Found], AddedPart]


_REGISTERED: dict[str, FeatureFamily] = {}
_MODULES = {"topologies": "apptek.paper.features"}  # has a FAMILY; imported when it is named


def register_features(name: str, family: FeatureFamily) -> None:
    """Let `features.parts` name your own family; it lasts as long as the process.

    A package does the same for good by an entry point that names a FeatureFamily:

        [project.entry-points."apptek.features"]
        mine = "my_package.my_module:FAMILY"
    """
    if name in ("history", "traits", *_MODULES):
        raise ConfigError(f"there are features {name!r} already: choose another name")
    _REGISTERED[name] = family
    if name not in FEATURE_PARTS:
        FEATURE_PARTS.append(name)


def find_family(name: str) -> FeatureFamily:
    """Return a family by its name; ConfigError where no package adds it."""
    if name in _MODULES:
        family: FeatureFamily = import_module(_MODULES[name]).FAMILY
        return family
    if name not in _REGISTERED:
        points = {point.name: point for point in entry_points(group=FEATURE_GROUP)}
        if name not in points:
            raise ConfigError(f"no installed package adds the features {name!r}")
        register_features(name, points[name].load())
    return _REGISTERED[name]
