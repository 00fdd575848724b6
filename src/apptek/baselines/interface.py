"""One interface for all rivals: queries -> (B, predicates) scores, however they were fitted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from apptek.arrays import Floats
from apptek.data.facts import Dataset
from apptek.data.queries import Queries
from apptek.graph.temporal_graph import TemporalGraph

Space = Mapping[str, Sequence[Any]]  # the values that a search may try, by section.key
Progress = Callable[[str, int, int], None]  # what was reached, steps done, steps in all


class Scorer(Protocol):
    """A fitted rival. Those that count hide what a query hides; those that learned it cannot."""

    def scores(self, queries: Queries) -> Floats:
        """The scores of all predicates, (B, R); an entity may be -1."""

    def save(self, folder: Path) -> None:
        """Writes what was fitted into a model folder that is being built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a rival is fitted on: data under a protocol, settings, and where it keeps checkpoints.

    Every choice is made on `dataset.valid`. Of test a rival knows only what the filter of valid's
    ranks needs: other predicates of the same (s, o, t), which count as no mistakes.
    """

    dataset: Dataset
    graph: TemporalGraph
    config: Any  # of the rival's own kind
    seed: int
    work: Path
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """How one rival is fitted, and opened again from its folder.

    presets  its settings, in sections, by the name of the preset
    fit      the scorer, and a report of what was chosen on valid
    open     from a model folder, with the data that stands there and the settings
    space    what a search may try
    """

    presets: Mapping[str, Any]
    fit: Callable[[Task], tuple[Scorer, dict[str, Any]]]
    open: Callable[[Path, Dataset, TemporalGraph, Any], Scorer]
    space: Space = field(default_factory=dict)
