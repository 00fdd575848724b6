"""What a baseline is to the rest of the package: how it is fitted, loaded, and scores queries."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, runtime_checkable

from apptek.arrays import Floats
from apptek.baselines.tuning import TuningQueries
from apptek.config import View
from apptek.errors import ApptekError
from apptek.evaluation.calibration import Calibration
from apptek.evaluation.scorer import checked_scores
from apptek.facts.facts import Dataset
from apptek.facts.queries import Queries
from apptek.graph.temporal_graph import TemporalGraph

MOST_TUNED = 10_000  # queries of valid that tell how good a baseline is that does not say it itself
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
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineDefinition:
    """All that the package needs to know of a baseline beyond its line in the registry.

    presets         its settings by the name of the preset; "default" is always there
    fit             returns the scorer, and a report of what was chosen on valid
    load            reads the scorer of a view from a model folder
    space           what `apptek research search` may try; empty if there is nothing to search
    quick_settings  by section.key, what makes a fit on a tiny world take seconds
    views           what a query may see; of our own baselines the registry says it
    """

    presets: Mapping[str, Any]
    fit: Callable[[FitTask], tuple[Scorer, dict[str, Any]]]
    load: Callable[["SavedScorer"], Scorer]
    space: Space = field(default_factory=dict)
    quick_settings: Mapping[str, Any] = field(default_factory=dict)
    views: tuple[View, ...] = ("all_facts",)


@dataclass(frozen=True, slots=True)
class FittedScorer:
    """The scorer of a view, its calibration, and what was chosen on valid."""

    scorer: Scorer
    calibration: Calibration
    report: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineModel:
    """A fitted baseline with its data under the protocol, its settings and its views."""

    name: str
    preset: str  # the settings that it started from
    changed: dict[str, Any]  # by section.key, those in which it differs from them
    protocol: str
    seed: int
    config: Any
    dataset: Dataset
    graph: TemporalGraph
    views: Mapping[View, FittedScorer]

    @property
    def main(self) -> FittedScorer:
        """Within, where there is such a view; else ahead."""
        return next(iter(self.views.values()))

    @property
    def report(self) -> dict[str, Any]:
        """What was chosen on valid, and the metrics there; of a second view under its name."""
        others = {view: fitted.report for view, fitted in list(self.views.items())[1:]}
        return self.main.report | others

    @property
    def calibrated(self) -> bool:
        """Whether its probabilities were calibrated: a baseline is not fitted without valid."""
        return True


def own_baseline(
    fit: Callable[[FitTask], Any],
    *,
    load: Callable[[SavedScorer], Any] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    space: Space | None = None,
    views: tuple[View, ...] = ("all_facts",),
) -> BaselineDefinition:
    """A baseline that is not ours, by as little as a function: FitTask -> scorer.

    fit       returns a function of Queries, or an object with a method `scores`; or that and a
              report of what was chosen on valid, whose MRR is added where it is missing. The
              object may have save(folder, view), and with_facts(graph) to be evaluated rolling
    load      reads it back from a model folder; without it, opening a model fits it again
    settings  the defaults by section and key; `task.config.model.size` is that of "model", "size"
    space     the values that `apptek research search` may try, by section.key
    views     all_facts, past_only or both: for past_only, `task.graph` shows earlier facts alone
    """

    def fitted(task: FitTask) -> tuple[Scorer, dict[str, Any]]:
        outcome = fit(task)
        found, report = outcome if isinstance(outcome, tuple) else (outcome, {})
        scorer = _own_scorer(found, task.dataset)
        if "valid_mrr" not in report:
            tuning = TuningQueries.of(task.dataset, MOST_TUNED)
            report = {**report, "valid_mrr": tuning.mrr(scorer.scores(tuning.queries))}
        return scorer, report

    def loaded(saved: SavedScorer) -> Scorer:
        if load is not None:
            return _own_scorer(load(saved), saved.dataset)
        with TemporaryDirectory(prefix="apptek-refit-") as work:
            task = FitTask(
                dataset=saved.dataset,
                graph=saved.graph,
                config=saved.config,
                seed=saved.seed,
                work=Path(work),
                progress=lambda _message, _done, _total: None,
            )
            return fitted(task)[0]

    presets = {"default": _settings_of(settings or {})}
    return BaselineDefinition(
        presets=presets, fit=fitted, load=loaded, space=space or {}, views=views
    )


def _settings_of(sections: Mapping[str, Mapping[str, Any]]) -> Any:
    """An object with these sections, whose attributes are the settings; lists become tuples."""
    classes = []
    for name, values in sections.items():
        frozen = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
        columns = [(key, type(value), field(default=value)) for key, value in frozen.items()]
        section = make_dataclass(name, columns, frozen=True, kw_only=True)
        classes.append((name, section, field(default_factory=section)))
    return make_dataclass("Settings", classes, frozen=True, kw_only=True)()


class OwnScorer:
    """A scorer that is not ours: its scores are checked, and it need not save anything."""

    def __init__(self, scorer: Any, width: int) -> None:
        self._scorer, self._width = scorer, width
        self._call: Callable[[Queries], Any] = getattr(scorer, "scores", scorer)
        if not callable(self._call):
            raise ApptekError(
                f"the fit of a baseline returns a function of queries, or an object with a method "
                f"scores, not {scorer!r}"
            )

    def scores(self, queries: Queries) -> Any:
        """(B, R); ApptekError for another shape."""
        return checked_scores(self._call(queries), queries, (self._width,))

    def save(self, folder: Path, view: View) -> None:
        """Lets the scorer write what it has to."""
        if hasattr(self._scorer, "save"):
            self._scorer.save(folder, view)


class GrowingOwnScorer(OwnScorer):
    """The same for a scorer that can answer from other facts."""

    def with_facts(self, graph: TemporalGraph) -> Scorer:
        """The scorer over these facts."""
        return OwnScorer(self._scorer.with_facts(graph), self._width)


def _own_scorer(scorer: Any, data: Dataset) -> Scorer:
    kind = GrowingOwnScorer if hasattr(scorer, "with_facts") else OwnScorer
    return kind(scorer, len(data.predicates))
