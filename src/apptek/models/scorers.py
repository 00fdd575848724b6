"""Scorers, which score predicates for queries, and how a baseline fits and loads its scorer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from apptek.arrays import Floats
from apptek.config import Progress, View, no_progress
from apptek.errors import ApptekError
from apptek.evaluation.ranking import TuningQueries
from apptek.evaluation.scorer import checked_scores
from apptek.facts.facts import Dataset
from apptek.facts.queries import Queries
from apptek.graph.temporal_graph import TemporalGraph

MOST_TUNED = 10_000  # validation queries for the MRR of a baseline that does not report one
Space = Mapping[str, Sequence[Any]]  # the values that a search may try, by section.key


class Scorer(Protocol):
    """An object that scores all predicates for queries in one view: the core of a baseline.

    Counting baselines exclude a query's hidden fact. A trained embedding cannot forget a fact, so
    `hidden` has no effect on it.

    A scorer may also define `with_facts(graph)`, which applies the same weights to other facts, as
    its view sees them. Only these scorers support rolling evaluation.
    """

    def scores(self, queries: Queries) -> Floats:
        """Return the scores of all predicates, (B, R). An entity of -1 is unknown."""

    def save(self, folder: Path, view: View) -> None:
        """Write a view's fitted parameters into a model folder under construction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitTask:
    """The inputs for fitting a baseline in one view, and the folder for checkpoints.

    Every choice is made on `dataset.valid`. The test set has only one use: as is usual, its facts
    are filtered out of the ranks on the validation set.
    """

    dataset: Dataset  # under the fit's protocol
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
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineDefinition:
    """A baseline's definition, in addition to its line in the registry.

    presets  the settings by preset name; "default" always exists
    fit      returns the scorer, and a report of the choices made on the validation set
    load     reads a view's scorer from a model folder
    space    the values that `apptek research search` may try; empty: nothing to search
    views    the facts that a query may see; for our own baselines, the registry contains them
    """

    presets: Mapping[str, Any]
    fit: Callable[[FitTask], tuple[Scorer, dict[str, Any]]]
    load: Callable[["SavedScorer"], Scorer]
    space: Space = field(default_factory=dict)
    views: tuple[View, ...] = ("all_facts",)


def own_baseline(
    fit: Callable[[FitTask], Any],
    *,
    load: Callable[[SavedScorer], Any] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    space: Space | None = None,
    views: tuple[View, ...] = ("all_facts",),
) -> BaselineDefinition:
    """Define a baseline from a function: FitTask -> scorer.

    fit       returns a function of Queries, or an object with a method `scores`. It may also return
              a report of the choices made on the validation set. If the report has no MRR, it is
              added. The object may have save(folder, view), and with_facts(graph) for rolling
              evaluation
    load      reads the scorer from a model folder; without it, opening a model fits it again
    settings  the defaults by section and key; `task.config.model.size` is key "size" of "model"
    space     the values that `apptek research search` may try, by section.key
    views     all_facts, past_only or both; for past_only, `task.graph` shows only earlier facts
    """

    def fitted(task: FitTask) -> tuple[Scorer, dict[str, Any]]:
        outcome = fit(task)
        found, report = outcome if isinstance(outcome, tuple) else (outcome, {})
        scorer = OwnScorer(found, len(task.dataset.predicates))
        if "valid_mrr" not in report:
            tuning = TuningQueries.of(task.dataset, MOST_TUNED)
            report = {**report, "valid_mrr": tuning.mrr(scorer.scores(tuning.queries))}
        return scorer, report

    def loaded(saved: SavedScorer) -> Scorer:
        if load is not None:
            return OwnScorer(load(saved), len(saved.dataset.predicates))
        with TemporaryDirectory(prefix="apptek-refit-") as work:
            task = FitTask(
                dataset=saved.dataset,
                graph=saved.graph,
                config=saved.config,
                seed=saved.seed,
                work=Path(work),
                progress=no_progress,
            )
            return fitted(task)[0]

    presets = {"default": _settings_of(settings or {})}
    return BaselineDefinition(
        presets=presets, fit=fitted, load=loaded, space=space or {}, views=views
    )


def _settings_of(sections: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return an object with these sections and settings as attributes. Lists become tuples."""
    classes = []
    for name, values in sections.items():
        frozen = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
        columns = [(key, _type_of(value), field(default=value)) for key, value in frozen.items()]
        section = make_dataclass(name, columns, frozen=True, kw_only=True)
        classes.append((name, section, field(default_factory=section)))
    return make_dataclass("Settings", classes, frozen=True, kw_only=True)()


def _type_of(value: Any) -> Any:
    """Return a setting's type. All items of a list have the type of its default's first item."""
    return tuple[type(value[0]), ...] if isinstance(value, tuple) and value else type(value)  # type: ignore[misc]


class OwnScorer:
    """A scorer from outside the package. Its scores are checked, and it need not save anything."""

    def __init__(self, scorer: Any, width: int) -> None:
        self._scorer, self._width = scorer, width
        self._call: Callable[[Queries], Any] = getattr(scorer, "scores", scorer)
        if not callable(self._call):
            raise ApptekError(
                f"a baseline's fit must return a function of queries, or an object with a method "
                f"scores, not {scorer!r}"
            )
        if hasattr(scorer, "with_facts"):
            self.with_facts = lambda graph: OwnScorer(scorer.with_facts(graph), width)

    def scores(self, queries: Queries) -> Any:
        """Return the scores, (B, R). Raise ApptekError for any other shape."""
        return checked_scores(self._call(queries), queries, self._width)

    def save(self, folder: Path, view: View) -> None:
        """Let the scorer write its own files, if it has any."""
        if hasattr(self._scorer, "save"):
            self._scorer.save(folder, view)
