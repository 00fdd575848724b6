"""A model's feature space: a list of parts, whose columns are placed next to each other.

A *part* computes some of a query's features. The built-in parts `history` and `traits` are included
if the settings name them. Other packages add *families*. A family creates a part from the training
facts when fitting, and loads it from the model folder later. Families are registered like
baselines, with `register_features` or an entry point. `apptek.paper` adds the topologies in this
way. The core imports `apptek.paper` only if the settings or a model folder name topologies. To
check your own part, use `check_feature_part` in `apptek.research`.
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
    """A group of query features, computed from a graph."""

    @property
    def name(self) -> str:
        """The name in the settings."""

    def __len__(self) -> int:
        """Return the number of columns."""

    def rows(self, queries: Queries) -> Ragged:
        """Return the features of many queries."""

    def on(self, graph: TemporalGraph) -> Self:
        """Return the same part on another graph with the same entities and predicates."""


@dataclass(frozen=True, slots=True)
class CoreFact:
    """A fact in the core around the subject or object, when the two cores met.

    step     the action that added it, counted from 1; a fact in both cores has a single step
    on_path  whether it is on a shortest path from the subject or object to a meeting entity
    """

    fact: int
    side: Side
    step: int
    action: int
    on_path: bool


@dataclass(frozen=True, slots=True)
class Connection:
    """A topology replayed on a query until the cores around its subject and object met.

    steps    the number of actions until they met; 0 if subject = object
    meeting  the entities in both cores: fewest hops first, then nearest facts in time
    hops     for each meeting entity, the number of hops from the subject and from the object
    core     facts on a path first, in the order of `meeting` and from subject to object; then the
             facts off the path, nearest in time first
    """

    steps: int
    meeting: tuple[int, ...]
    hops: tuple[tuple[int, int], ...]
    core: tuple[CoreFact, ...]


class AddedPart(Part, Protocol):
    """A part that a family creates from the training facts, applied to a graph."""

    def names(self, column: int) -> tuple[str, ...]:
        """Return the predicates, or other words, that describe a feature."""

    def connection(self, queries: Queries, column: int) -> Connection | None:
        """Return how a feature connects the first query, or None if no facts show it."""

    def report(self) -> dict[str, Any]:
        """Return this part's entry in the model's report."""

    def files(self) -> dict[str, bytes]:
        """Return the files that `load` reads, by their names in the model folder."""


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """All of a model's query features on a graph: the columns of one part after another."""

    graph: TemporalGraph
    parts: tuple[Part, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def history(self) -> History | None:
        """The `history` part, or None if the space has none."""
        return next((part for part in self.parts if isinstance(part, History)), None)

    @property
    def traits(self) -> Traits | None:
        """The `traits` part, or None if the space has none."""
        return next((part for part in self.parts if isinstance(part, Traits)), None)

    @property
    def added(self) -> tuple[Any, ...]:
        """The parts added by families, which come last."""
        return tuple(part for part in self.parts if not isinstance(part, History | Traits))

    @property
    def first_added(self) -> int:
        """The first column of the parts added by families."""
        return len(self) - sum(map(len, self.added))

    def added_at(self, column: int) -> tuple[Any, int]:
        """Return the added part that contains a column, and the column's index within the part."""
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
        """Return which features refer to a predicate. History features do, and they come first."""
        return None if self.history is None else self.history.copies()


def make_space(
    graph: TemporalGraph,
    data: Dataset,
    config: Config,
    clock: Clock,
    kinds: tuple[Kind, ...] = (),
    added: Sequence[Part] = (),
) -> FeatureSpace:
    """Return the features that the settings request, on the graph that a view sees.

    data   the data set, whose training facts determine which entities have a token, and whether all
           facts are dated
    added  the parts that families created, in the order of the setting features.parts
    """
    parts = list[Part]()
    if "history" in config.features.parts:
        parts.append(History(graph, clock, config.history, bool(data.train.dated.all())))
    if "traits" in config.features.parts:
        parts.append(Traits.of(data, config.traits, kinds))
    return FeatureSpace(graph, (*parts, *(part.on(graph) for part in added)))


class Found(NamedTuple):
    """The context in which a part is created: the view's graph, predicate names, and settings."""

    graph: TemporalGraph
    predicates: Names
    config: Config


class FamilyFit(NamedTuple):
    """The inputs for fitting a family.

    folder     stores expensive intermediate results; an interrupted fit resumes from there
    stage      announces a stage of fitting and measures its duration
    progress   receives the progress of the agent's training
    agent      the folder of a trained agent, if the user provides one
    """

    found: Found
    train: Facts
    seed: int
    folder: Path
    stage: Callable[[str], AbstractContextManager[None]]
    progress: Progress = no_progress
    agent: Path | None = None


class FeatureFamily(NamedTuple):
    """A family: `fit` creates a part from training facts, `load` reads it from a model's files."""

    fit: Callable[[FamilyFit], AddedPart]
    load: Callable[[Mapping[str, bytes], Found], AddedPart]


_REGISTERED: dict[str, FeatureFamily] = {}
_MODULES = {"topologies": "apptek.paper.features"}  # contains a FAMILY; imported when named


def register_features(name: str, family: FeatureFamily) -> None:
    """Make your own family available in the setting `features.parts`, within this process.

    To register a family permanently, a package declares an entry point for a FeatureFamily:

        [project.entry-points."apptek.features"]
        mine = "my_package.my_module:FAMILY"
    """
    if name in ("history", "traits", *_MODULES):
        raise ConfigError(f"there are already features {name!r}: choose another name")
    _REGISTERED[name] = family
    if name not in FEATURE_PARTS:
        FEATURE_PARTS.append(name)


def find_family(name: str) -> FeatureFamily:
    """Return a family by name. Raise ConfigError if no package adds it."""
    if name in _MODULES:
        family: FeatureFamily = import_module(_MODULES[name]).FAMILY
        return family
    if name not in _REGISTERED:
        points = {point.name: point for point in entry_points(group=FEATURE_GROUP)}
        if name not in points:
            raise ConfigError(f"no installed package adds the features {name!r}")
        register_features(name, points[name].load())
    return _REGISTERED[name]
