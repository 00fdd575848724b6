"""A fitted baseline with the interface of a Predictor, and its model folder."""

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from apptek.arrays import Floats, Matrix
from apptek.baselines.definition import (
    BaselineModel,
    FitTask,
    FittedScorer,
    GrowingScorer,
    Progress,
    SavedScorer,
)
from apptek.baselines.registry import baseline_names, find_baseline, preset_of, views_of
from apptek.baselines.tuning import calibrate
from apptek.config import VIEWS, View
from apptek.errors import ApptekError, DataError, ModelError
from apptek.evaluation.calibration import Calibration
from apptek.evaluation.forecast import ForecastFigures, evaluate_forecast
from apptek.evaluation.predicate_classes import LabelledPredicates
from apptek.evaluation.ranking import Evaluation
from apptek.evaluation.scorer import ViewScorer, check_evaluated, evaluate_split
from apptek.facts.facts import SPLITS, Dataset, Split
from apptek.facts.name_matching import NameResolver
from apptek.facts.protocols import Protocol, apply_protocol
from apptek.facts.queries import Queries
from apptek.files import new_folder
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answers import (
    asked_queries,
    best_answers,
    is_single,
    queries_of,
    ranked_by_view,
)
from apptek.models.manifest import read_about, read_whole, write_manifest
from apptek.models.model import rolling_graph
from apptek.models.own_facts import own_facts
from apptek.models.seen import Seen
from apptek.models.storage import (
    ABOUT,
    RUN,
    load_data,
    refusing_damage,
    save_data,
    write_json,
)
from apptek.reading.reader import as_dataset
from apptek.results import Answers
from apptek.resuming import open_work, work_folder
from apptek.safe_text import counted
from apptek.setting_rules import changed_settings, config_from_json

FORMAT = 4
KIND = "baseline"


def no_progress(_message: str, _done: int, _total: int) -> None:
    """Ignores progress."""


class Baseline:
    """A fitted baseline that answers queries, as a Predictor does.

    baseline = Baseline.fit("recency", data, folder="model")
    Baseline.load("model").evaluate("valid").metrics.mrr
    """

    def __init__(self, model: BaselineModel, *, past_only: bool = False) -> None:
        if past_only and "past_only" not in model.views:
            raise ApptekError(
                f"{model.name} cannot answer as of each query's time: it sees no facts"
            )
        self.model = model
        self.past_only = past_only or "all_facts" not in model.views
        self._seen = Seen(model.graph, model.dataset.entities)
        self._entities = NameResolver.of_entities(model.dataset, model.graph.facts)
        self._predicates = LabelledPredicates.of(model.dataset)

    @classmethod
    def fit(
        cls,
        name: str,
        data: Any,
        *,
        preset: str = "default",
        config: Any = None,
        protocol: Protocol = "official",
        seed: int = 0,
        folder: str | Path | None = None,
        resume: bool = False,
        progress: Progress = no_progress,
        about_run: dict[str, Any] | None = None,
    ) -> "Baseline":
        """Fits a baseline. With a `folder` it is saved there, and a stopped run can be resumed.

        data       a Dataset, or what `read_dataset` takes: a frame, tuples, a path
        config     the preset's settings with some changed, instead of the preset's own
        about_run  further entries for run.json: a command, a commit
        """
        started = time.monotonic()
        own = preset_of(name, preset)  # an unknown preset is refused even if there is a config
        config = config or own
        dataset = apply_protocol(as_dataset(data).labelled(), protocol)
        if not len(dataset.valid):
            raise DataError(f"{name} chooses its settings on valid, but there are no valid facts")
        identity = {
            "baseline": name,
            "data": {split: dataset.split(split).digest() for split in SPLITS},
            "preset": preset,
            "protocol": protocol,
            "seed": seed,
            "settings": asdict(config),
        }
        with work_folder(folder) as work:
            open_work(work, identity, resume=resume)
            graph = TemporalGraph.of(dataset)
            views: dict[View, FittedScorer] = {}
            for view in fitted_views(name, dataset):
                task = FitTask(
                    dataset=dataset, graph=seen_in(graph, view), config=config, seed=seed,
                    work=work, progress=progress,
                )  # fmt: skip
                scorer, report = find_baseline(name).fit(task)
                views[view] = FittedScorer(scorer, calibrate(scorer.scores, dataset), report)
            model = BaselineModel(
                name=name,
                preset=preset,
                changed=changed_settings(config, own),
                protocol=protocol,
                seed=seed,
                config=config,
                dataset=dataset,
                graph=graph,
                views=views,
            )
            if folder is not None:
                # The clock of a resumed run knows nothing of the time before it was stopped.
                seconds = {"fit": None if resume else time.monotonic() - started}
                save_baseline(model, Path(folder), {"seconds": seconds, **(about_run or {})})
        return cls(model)

    @classmethod
    def load(cls, folder: str | Path, *, past_only: bool = False) -> "Baseline":
        """The baseline of a model folder; the options are those of a Predictor."""
        return cls(load_baseline(Path(folder)), past_only=past_only)

    def scores(self, queries: Queries) -> Floats:
        """The scores of all predicates in the main view, (B, R)."""
        return self.model.main.scorer.scores(queries)

    def similar_names(self, *names: str) -> dict[str, list[str]]:
        """For each name that the model does not know, or that could mean several: names like it."""
        return self._entities.similar(names)

    def __repr__(self) -> str:
        model, facts = self.model, self.model.graph.facts
        data, views = model.dataset, " and ".join(model.views)
        return (
            f"Baseline {model.name!r}, {views}: {counted(len(data.predicates), 'predicate')} "
            f"between {counted(len(data.entities), 'entity')}, from "
            f"{counted(len(facts), 'fact')} of {data.name!r} ({data.span_of(facts)})"
        )

    def predict(
        self,
        asked: Any,
        *,
        top: int | None = 10,
        hide_known: bool = False,
        allow_unknown: bool = False,
    ) -> Answers:
        """The most probable predicates of each query; unseen entities and times are flagged.

        What may be asked is what a Predictor takes: queries, tuples, a frame. So are the options.
        """
        axis, single = self.model.dataset.axis, is_single(asked)
        asked = asked_queries(asked, axis)
        if single:
            (query,) = asked
            time = axis.parse(query.time)
            self._entities.check(query.subject, query.object, allow_unknown=allow_unknown)
            self._seen.check_time(time)
        queries = queries_of(axis, self._entities.find, asked)

        def probabilities(view: View, part: Queries) -> Matrix:
            fitted = self._fitted(view)
            return fitted.calibration.probabilities(fitted.scorer.scores(part))

        past_only = np.full(len(queries), self.past_only)
        ahead = past_only | self._seen.lies_before(queries)
        if hide_known:
            splits, hidden = own_facts(queries, self.model.dataset)
            queries = replace(queries, hidden=hidden)
            for row, split in enumerate(splits):
                ahead[row] = ahead[row] if split is None else self.views_of(split)[0] == "past_only"
        predicate_count = len(self.model.dataset.predicates)
        ranked = ranked_by_view(queries, ahead, predicate_count, probabilities)
        seen, calibrated = self._seen, self.model.calibrated
        found = best_answers(asked, ranked, self._predicates, seen, top=top, calibrated=calibrated)
        return Answers(found)

    def _fitted(self, view: View) -> FittedScorer:
        """An embedding sees no facts: beyond the last one it answers as it does before."""
        return self.model.views.get(view, self.model.main)

    def views_of(self, split: Split) -> tuple[View, ...]:
        """The views in which a split can be evaluated, the usual one first."""
        if self.past_only or self.model.dataset.lies_beyond_train(split):
            return ("past_only",)
        return tuple(self.model.views)

    def evaluate(
        self, split: Split = "test", view: View | None = None, *, rolling: bool = False
    ) -> Evaluation:
        """The ranking metrics on a split of the model's own data, under its own protocol.

        All scores are in memory at once: RE-GCN is much faster on all queries of a time together.
        """
        return evaluate_split(self.scorer(split, view, rolling=rolling), self.model.dataset, split)

    def scorer(
        self, split: Split = "test", view: View | None = None, *, rolling: bool = False
    ) -> ViewScorer:
        """What `evaluate` ranks: the baseline in a view, on the facts that the split may see."""
        fitted = self._evaluated(split, view, rolling=rolling)
        return ViewScorer(fitted.scorer.scores, fitted.calibration.probabilities, at_once=True)

    def evaluate_forecast(self, split: Split = "test", *, rolling: bool = False) -> ForecastFigures:
        """The four figures of the forecasting literature on a split that lies beyond train."""
        fitted = self._evaluated(split, "past_only", rolling=rolling)
        return evaluate_forecast(
            fitted.scorer.scores,
            fitted.calibration.probabilities,
            self.model.dataset,
            split,
            rolling=rolling,
        )

    def _evaluated(self, split: Split, view: View | None, *, rolling: bool) -> FittedScorer:
        check_evaluated(split, view)
        known: tuple[View, ...] = ("past_only",) if rolling else self.views_of(split)
        if view is not None and view not in known:
            names = " or ".join(map(repr, known))
            raise ApptekError(
                f"{self.model.name} cannot be evaluated {view!r} on {split}, only {names}"
            )
        fitted = self._fitted(view or known[0])
        if not rolling:
            return fitted
        if not isinstance(fitted.scorer, GrowingScorer) or "past_only" not in self.model.views:
            raise ApptekError(
                f"{self.model.name} cannot be evaluated rolling: it takes in no new facts"
            )
        scorer = fitted.scorer.with_facts(rolling_graph(self.model.dataset))
        return replace(fitted, scorer=scorer)


def fitted_views(name: str, dataset: Dataset) -> tuple[View, ...]:
    """The views to fit. Where valid lies beyond train, nothing can be chosen for within."""
    views = views_of(name)
    return ("past_only",) if len(views) > 1 and dataset.lies_beyond_train("valid") else views


def seen_in(graph: TemporalGraph, view: View) -> TemporalGraph:
    """Return the graph as a view sees it."""
    return graph.past_view() if view == "past_only" else graph


def save_baseline(model: BaselineModel, folder: Path, run: dict[str, Any]) -> None:
    """Writes the folder, whole or not at all; `run` (durations, commit) goes to run.json."""
    about = {
        "format": FORMAT,
        "kind": KIND,
        "name": model.name,
        "preset": model.preset,
        "changed": model.changed,
        "protocol": model.protocol,
        "seed": model.seed,
        "settings": asdict(model.config),
        "data": {"name": model.dataset.name, "digest": model.dataset.train.digest()},
        "views": {
            view: {"calibration": asdict(fitted.calibration), "report": fitted.report}
            for view, fitted in model.views.items()
        },
    }
    with new_folder(folder) as building:
        save_data(building, model.dataset, model.graph)
        for view, fitted in model.views.items():
            fitted.scorer.save(building, view)
        write_json(building / RUN, run)
        write_json(building / ABOUT, about)
        write_manifest(building)


def load_baseline(folder: Path) -> BaselineModel:
    """The baseline of a folder; ModelError if it holds none, or is damaged."""
    return read_whole(folder, _load_checked)


def _load_checked(folder: Path) -> BaselineModel:
    about = read_about(folder)
    if about.get("kind") != KIND:
        raise ModelError(f"{folder} is not the folder of a baseline")
    if about.get("format") != FORMAT:
        version = about.get("format")
        raise ModelError(
            f"{folder}: a baseline of format {version}, expected {FORMAT}; fit it again"
        )
    name = about.get("name")
    if not isinstance(name, str):
        raise ModelError(f"{folder} is damaged: there is no baseline {name!r}")
    if name not in baseline_names():
        raise ModelError(
            f"{folder} holds a baseline {name!r}, which is not known here: register it, or install "
            "the package that adds it"
        )
    definition = find_baseline(name)  # not below: that torch is missing is no damage
    with refusing_damage(folder):
        dataset, graph = load_data(folder, about["data"]["name"])
        config = config_from_json(definition.presets["default"], about["settings"])
        views: dict[View, FittedScorer] = {}
        for view in VIEWS:
            if view not in about["views"]:
                continue
            entry, seen = about["views"][view], seen_in(graph, view)
            saved = SavedScorer(
                folder=folder,
                dataset=dataset,
                graph=seen,
                config=config,
                view=view,
                seed=about["seed"],
            )
            views[view] = FittedScorer(
                definition.load(saved), Calibration(**entry["calibration"]), entry["report"]
            )
        if not views:
            raise ValueError("it has no view")
        return BaselineModel(
            name=name,
            preset=about["preset"],
            changed=changed_settings(config, preset_of(name, about["preset"])),
            protocol=about["protocol"],
            seed=about["seed"],
            config=config,
            dataset=dataset,
            graph=graph,
            views=views,
        )
