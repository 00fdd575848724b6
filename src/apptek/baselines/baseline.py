"""A fitted baseline with the interface of a Predictor, and its model folder."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from apptek.arrays import Floats, Matrix
from apptek.baselines.definition import FitTask, Progress, Scorer
from apptek.baselines.registry import BASELINES, find_baseline, preset_of
from apptek.baselines.tuning import TuningQueries
from apptek.config import View
from apptek.data.facts import SPLITS, Dataset, Split
from apptek.data.protocols import Protocol, apply_protocol
from apptek.data.queries import Queries, held_out_queries
from apptek.errors import ApptekError, DataError, ModelError
from apptek.evaluation.calibration import Calibration, fit_calibration, top_predictions
from apptek.evaluation.ranking import Evaluation, EvaluationQueries, evaluate_scores
from apptek.files import new_folder
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answers import Answer, Query, RankedPredicates, Seen, best_answers, queries_of
from apptek.models.manifest import read_about, write_manifest
from apptek.models.storage import (
    ABOUT,
    RUN,
    load_data,
    refusing_damage,
    save_data,
    write_json,
)
from apptek.resuming import open_work, work_folder
from apptek.setting_rules import changed_settings, config_from_json

FORMAT = 2
KIND = "baseline"
MOST_CALIBRATED = 20_000  # queries of valid that the calibration is fitted on


def no_progress(_message: str, _done: int, _total: int) -> None:
    """Ignores progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineModel:
    """A fitted scorer with its data under the protocol, its settings and its report."""

    name: str
    preset: str  # the settings that it started from; see `changed`
    protocol: str
    seed: int
    config: Any
    dataset: Dataset
    graph: TemporalGraph
    scorer: Scorer
    calibration: Calibration
    report: dict[str, Any]  # what was chosen on valid, and the metrics there

    @property
    def changed(self) -> dict[str, Any]:
        """The settings, by section.key, in which the model differs from its preset."""
        return changed_settings(self.config, preset_of(self.name, self.preset))


class Baseline:
    """A fitted baseline that answers queries, as a Predictor does.

    baseline = Baseline.fit("recency", data, folder="model")
    Baseline.load("model").evaluate("valid").metrics.mrr
    """

    def __init__(self, model: BaselineModel) -> None:
        self.model = model
        self._seen = Seen(model.graph)

    @classmethod
    def fit(
        cls,
        name: str,
        data: Dataset,
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

        config     the preset's settings with some changed, instead of the preset's own
        about_run  further entries for run.json: a command, a commit
        """
        started = time.monotonic()
        own = preset_of(name, preset)  # an unknown preset is refused even if there is a config
        config = config or own
        dataset = apply_protocol(data, protocol)
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
            task = FitTask(
                dataset=dataset, graph=graph, config=config, seed=seed, work=work,
                progress=progress,
            )  # fmt: skip
            scorer, report = find_baseline(name).fit(task)
            model = BaselineModel(
                name=name,
                preset=preset,
                protocol=protocol,
                seed=seed,
                config=config,
                dataset=dataset,
                graph=graph,
                scorer=scorer,
                calibration=_calibrate(scorer, dataset),
                report=report,
            )
            if folder is not None:
                # The clock of a resumed run knows nothing of the time before it was stopped.
                seconds = {"fit": None if resume else time.monotonic() - started}
                save_baseline(model, Path(folder), {"seconds": seconds, **(about_run or {})})
        return cls(model)

    @classmethod
    def load(cls, folder: str | Path) -> "Baseline":
        """The baseline of a model folder."""
        return cls(load_baseline(Path(folder)))

    def scores(self, queries: Queries) -> Floats:
        """The scores of all predicates, (B, R)."""
        return self.model.scorer.scores(queries)

    def probabilities(self, scores: Matrix) -> Matrix:
        """Scores as calibrated probabilities: (B, R) -> (B, R)."""
        return self.model.calibration.probabilities(scores)

    def predict(self, asked: Sequence[Query], *, top: int = 10) -> list[Answer]:
        """The most probable predicates of each query; unseen entities and times are flagged."""
        queries = queries_of(self.model.dataset, asked)
        probabilities = self.probabilities(self.scores(queries))
        ranked = RankedPredicates(queries, probabilities, [self._view] * len(queries))
        return best_answers(asked, ranked, self.model.dataset.predicates, self._seen, top=top)

    @property
    def _view(self) -> View:
        return "ahead" if BASELINES[self.model.name].past_only else "within"

    def views_of(self, _split: Split) -> tuple[View, ...]:
        """The one view that a baseline has, whatever the split."""
        return (self._view,)

    def evaluate(self, split: Split = "test", view: View | None = None) -> Evaluation:
        """The ranking metrics on a split of the model's own data, under its own protocol.

        All scores are in memory at once: RE-GCN is much faster on all queries of a time together.
        """
        if view not in (None, self._view):
            raise ApptekError(f"{self.model.name} has no view {view!r}; it sees {self._view}")
        dataset = self.model.dataset
        scores = self.scores(held_out_queries(dataset.split(split)))
        queries = EvaluationQueries.of(dataset, split)
        return evaluate_scores(
            lambda start, stop: scores[start:stop], queries, probabilities=self.probabilities
        )


def _calibrate(scorer: Scorer, dataset: Dataset) -> Calibration:
    """The calibration of a scorer's scores on valid."""
    tuning = TuningQueries.of(dataset, MOST_CALIBRATED)
    scores = scorer.scores(tuning.queries)
    best, _ = top_predictions(scores)
    # Another predicate that holds for the same (s, o, t) is a right answer, too.
    return fit_calibration(scores, (best == tuning.truths) | tuning.known.contains(best))


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
        "calibration": asdict(model.calibration),
        "report": model.report,
    }
    with new_folder(folder) as building:
        save_data(building, model.dataset, model.graph)
        model.scorer.save(building)
        write_json(building / RUN, run)
        write_json(building / ABOUT, about)
        write_manifest(building)


def load_baseline(folder: Path) -> BaselineModel:
    """The baseline of a folder; ModelError if it holds none, or is damaged."""
    about = read_about(folder)
    if about.get("kind") != KIND:
        raise ModelError(f"{folder} is not the folder of a baseline")
    if about.get("format") != FORMAT:
        version = about.get("format")
        raise ModelError(
            f"{folder}: a baseline of format {version}, expected {FORMAT}; fit it again"
        )
    name = str(about.get("name"))
    if name not in BASELINES:
        raise ModelError(f"{folder} is damaged: there is no baseline {name!r}")
    definition = find_baseline(name)  # not below: that torch is missing is no damage
    with refusing_damage(folder):
        dataset, graph = load_data(folder, about["data"]["name"])
        config = config_from_json(definition.presets["default"], about["settings"])
        return BaselineModel(
            name=name,
            preset=about["preset"],
            protocol=about["protocol"],
            seed=about["seed"],
            config=config,
            dataset=dataset,
            graph=graph,
            scorer=definition.load(folder, dataset, graph, config),
            calibration=Calibration(**about["calibration"]),
            report=about["report"],
        )
