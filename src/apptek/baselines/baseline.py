"""A fitted baseline as a model: it answers, is evaluated, and stands in a folder as ours do."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from apptek.arrays import Floats, Matrix
from apptek.baselines.definition import FitTask, Progress, Scorer
from apptek.baselines.registry import find_baseline, preset_of
from apptek.data.facts import SPLITS, Dataset, Split
from apptek.data.protocols import Protocol, apply_protocol
from apptek.data.queries import Queries, held_out_queries
from apptek.errors import DataError, ModelError
from apptek.evaluation.calibration import Calibration, fit_calibration, top_predictions
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.ranking import Evaluation, EvaluationQueries, evaluate_scores
from apptek.files import new_folder
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answers import (
    Answer,
    Query,
    Seen,
    best_answers,
    queries_of,
)
from apptek.models.storage import (
    ABOUT,
    load_data,
    read_json,
    refusing_damage,
    save_data,
    write_json,
)
from apptek.resuming import open_work, work_folder
from apptek.settings import config_from_json

FORMAT = 1
KIND = "baseline"
MOST_CALIBRATED = 20_000  # queries of valid that the calibration is fitted on


def no_progress(_what: str, _done: int, _total: int) -> None:
    """For those who do not want to hear of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineModel:
    """A fitted scorer with its data under the protocol, its settings and its report."""

    name: str
    preset: str
    protocol: str
    seed: int
    config: Any
    dataset: Dataset
    graph: TemporalGraph
    scorer: Scorer
    calibration: Calibration
    report: dict[str, Any]  # what was chosen on valid, and how it did there


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

        config     instead of the preset's settings
        about_run  further entries for run.json: a command, a commit
        """
        started = time.monotonic()
        settings = config or preset_of(name, preset)
        dataset = apply_protocol(data, protocol)
        if not len(dataset.valid):
            raise DataError(f"{name} chooses its settings on valid, but there are no valid facts")
        identity = {
            "baseline": name,
            "data": {split: dataset.split(split).digest() for split in SPLITS},
            "preset": preset,
            "protocol": protocol,
            "seed": seed,
            "settings": asdict(settings),
        }
        with work_folder(folder) as work:
            open_work(work, identity, resume=resume)
            graph = TemporalGraph.of(dataset)
            task = FitTask(
                dataset=dataset, graph=graph, config=settings, seed=seed, work=work,
                progress=progress,
            )  # fmt: skip
            scorer, report = find_baseline(name).fit(task)
            model = BaselineModel(
                name=name,
                preset=preset,
                protocol=protocol,
                seed=seed,
                config=settings,
                dataset=dataset,
                graph=graph,
                scorer=scorer,
                calibration=calibration_on_valid(scorer, dataset),
                report=report,
            )
            if folder is not None:
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
        names = self.model.dataset.predicates
        return best_answers(asked, queries, probabilities, names, self._seen, top)

    def evaluate(self, split: Split = "test") -> Evaluation:
        """The ranking metrics on a split of the model's own data, under its own protocol.

        All its scores are in memory at once: some baselines are much faster when asked so.
        """
        data = self.model.dataset
        scores = self.scores(held_out_queries(data.split(split)))
        questions = EvaluationQueries.of(data, split)
        return evaluate_scores(
            lambda start, stop: scores[start:stop], questions, probabilities=self.probabilities
        )


def calibration_on_valid(scorer: Scorer, dataset: Dataset) -> Calibration:
    """What makes probabilities of a scorer's scores, from queries spread evenly over valid."""
    step = -(-len(dataset.valid) // MOST_CALIBRATED)
    asked = dataset.valid.take(np.arange(0, len(dataset.valid), step))
    scores = scorer.scores(held_out_queries(asked))
    known = known_predicates(asked, (dataset.train, dataset.valid, dataset.test))
    best, _ = top_predictions(scores)
    return fit_calibration(scores, (best == asked.predicates) | known.contains(best))


def save_baseline(model: BaselineModel, folder: Path, run: dict[str, Any]) -> None:
    """Writes the folder, whole or not at all; `run` (durations, commit) goes to run.json."""
    about = {
        "format": FORMAT,
        "kind": KIND,
        "name": model.name,
        "preset": model.preset,
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
        write_json(building / "run.json", run)
        write_json(building / ABOUT, about)


def load_baseline(folder: Path) -> BaselineModel:
    """The baseline of a folder; ModelError where it is none, or damaged."""
    about = read_json(folder, ABOUT)
    if about.get("kind") != KIND:
        raise ModelError(f"{folder} is not the folder of a baseline")
    if about.get("format") != FORMAT:
        found = about.get("format")
        raise ModelError(f"{folder}: a baseline of format {found}, expected {FORMAT}; fit it again")
    with refusing_damage(folder):
        return _load(folder, about)


def _load(folder: Path, about: dict[str, Any]) -> BaselineModel:
    name = str(about["name"])
    kind = find_baseline(name)
    dataset, graph = load_data(folder, about["data"]["name"])
    config = config_from_json(kind.presets["default"], about["settings"])
    return BaselineModel(
        name=name,
        preset=about["preset"],
        protocol=about["protocol"],
        seed=about["seed"],
        config=config,
        dataset=dataset,
        graph=graph,
        scorer=kind.load(folder, dataset, graph, config),
        calibration=Calibration(**about["calibration"]),
        report=about["report"],
    )
