"""What a baseline is to the rest of the package: how it is fitted, loaded, and scores queries."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from apptek.arrays import Floats
from apptek.config import View
from apptek.data.facts import Dataset
from apptek.data.queries import Queries
from apptek.graph.temporal_graph import TemporalGraph

Space = Mapping[str, Sequence[Any]]  # the values that a search may try, by section.key
Progress = Callable[[str, int, int], None]  # called with a message, steps done, steps in total


class Scorer(Protocol):
    """A fitted baseline.

    The counting baselines leave out the fact that a query hides. A trained embedding cannot
    forget a fact, so that for it `hidden` has no effect.
    """

    def scores(self, queries: Queries) -> Floats:
        """The scores of all predicates, (B, R). An entity of -1 is unknown."""

    def save(self, folder: Path, view: View) -> None:
        """Writes the fitted parameters of a view into a model folder under construction."""


@runtime_checkable
class GrowingScorer(Scorer, Protocol):
    """A scorer that can answer from other facts than those of its fit, with the same weights."""

    def with_facts(self, graph: TemporalGraph) -> Scorer:
        """The scorer over these facts, in the same view."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitTask:
    """Everything that the fit of a view of a baseline depends on, and where it keeps checkpoints.

    Every choice is made on `dataset.valid`. The test split is used for one thing only: the filter
    of the ranks on valid knows its facts, as is usual.
    """

    dataset: Dataset  # under the protocol of the fit
    graph: TemporalGraph  # as the view sees it
    config: Any  # the baseline's own settings class
    seed: int
    work: Path
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedScorer:
    """The scorer of a view in a model folder, with the data, graph and settings of its fit."""

    folder: Path
    dataset: Dataset
    graph: TemporalGraph  # as the view sees it
    config: Any
    view: View


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineDefinition:
    """All that the package needs to know of a baseline beyond its line in the registry.

    presets         its settings by the name of the preset; "default" is always there
    fit             returns the scorer, and a report of what was chosen on valid
    load            reads the scorer of a view from a model folder
    space           what `apptek search` may try; empty where there is nothing to search for
    quick_settings  by section.key, what makes a fit on a tiny world take seconds
    """

    presets: Mapping[str, Any]
    fit: Callable[[FitTask], tuple[Scorer, dict[str, Any]]]
    load: Callable[["SavedScorer"], Scorer]
    space: Space = field(default_factory=dict)
    quick_settings: Mapping[str, Any] = field(default_factory=dict)
