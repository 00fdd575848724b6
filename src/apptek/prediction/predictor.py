"""The predictor: (subject, ?, object, time) -> ranked, calibrated predicates."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from apptek.agent.environment import Queries, World, held_out_queries
from apptek.data.facts import Dataset, Facts
from apptek.data.protocols import Protocol
from apptek.data.times import UNKNOWN, Ints
from apptek.errors import CheckpointError
from apptek.prediction.explanation import Explanation
from apptek.prediction.explanation import explain as find_reasons
from apptek.prediction.known import Mask
from apptek.prediction.model import Model, load_model, save_model
from apptek.prediction.presets import Config
from apptek.prediction.presets import preset as settings_of
from apptek.prediction.ranking import Evaluation, Questions, evaluate_scores
from apptek.prediction.sparse import Floats, SparseRows
from apptek.topologies.application import apply_topologies

if TYPE_CHECKING:
    from apptek.prediction.pipeline import Stage

CHUNK = 8192


@contextmanager
def _work_folder(folder: str | Path | None) -> Iterator[Path]:
    """Where the stages of a fit leave their results: beside its folder, gone when it ends well."""
    if folder is None:
        with TemporaryDirectory(prefix="apptek-fit-") as temporary:
            yield Path(temporary)
        return
    target = Path(folder)
    if target.exists() and any(target.iterdir()):
        raise CheckpointError(f"{target} exists already; choose another folder or remove it")
    work = target.with_name(f".{target.name}-fit")
    yield work
    shutil.rmtree(work)


@dataclass(frozen=True, slots=True)
class Query:
    """A question in words. An empty time, or '?', is unknown."""

    subject: str
    object: str
    time: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The predicates of a query, most probable first, and what is unusual about the query."""

    query: Query
    predicates: tuple[str, ...]
    probabilities: tuple[float, ...]
    unseen_subject: bool
    unseen_object: bool
    unseen_time: bool


class Predictor:
    """A fitted model that answers queries.

    predictor = Predictor.fit(data, preset="paper")
    predictor.save("model")
    Predictor.load("model").predict([Query("Iran", "China", "2014-02-02")], top=3)
    """

    def __init__(self, model: Model, run: dict[str, Any] | None = None) -> None:
        self.model = model
        self.run = run or {}  # how it was fitted: seconds of each stage, and what fit was told
        self._world = World(model.graph, model.config.agent)
        self._seen_times = np.unique(model.dataset.train.times)
        degrees = np.diff(model.graph.incidence.offsets[::3])
        self._seen_entities: Mask = np.greater(degrees.reshape(2, -1).sum(axis=0), 0)

    @classmethod
    def fit(
        cls,
        data: Dataset,
        *,
        preset: str = "paper",
        config: Config | None = None,
        protocol: Protocol = "official",
        seed: int = 0,
        folder: str | Path | None = None,
        resume: bool = False,
        on_stage: "Stage" = lambda _: None,
        observers: Sequence[Any] = (),
        about_run: dict[str, Any] | None = None,
    ) -> "Predictor":
        """Fits a model; with a `folder`, it is saved there, and a run that was stopped can resume.

        config     instead of the preset's settings
        about_run  further entries for run.json: a command, a commit
        """
        from apptek.prediction.pipeline import fit_model  # brings PyTorch, which answers need not

        settings = config or settings_of(preset)
        with _work_folder(folder) as work:
            model, seconds = fit_model(
                data,
                settings,
                work,
                preset=preset,
                protocol=protocol,
                seed=seed,
                resume=resume,
                on_stage=on_stage,
                observers=observers,
            )
            predictor = cls(model, {"seconds": seconds, **(about_run or {})})
            if folder is not None:
                predictor.save(folder)
        return predictor

    def save(self, folder: str | Path) -> None:
        """Writes the model to a new folder, whole or not at all."""
        save_model(self.model, Path(folder), self.run)

    @classmethod
    def load(cls, folder: str | Path) -> "Predictor":
        """The predictor of a model folder."""
        return cls(load_model(Path(folder)))

    def features(self, queries: Queries) -> SparseRows:
        """The topologies that connect each query."""
        found = apply_topologies(self._world, queries, self.model.topologies)
        return SparseRows(found.offsets, found.columns, len(self.model.topologies))

    def scores(self, queries: Queries) -> Floats:
        """The logits of all predicates, (B, R)."""
        return self.model.classifier.scores(self.features(queries))

    def queries_of(self, asked: Sequence[Query]) -> Queries:
        """Queries as ids; unknown names become -1, a time that is no time is a TimeFormatError."""
        data = self.model.dataset

        def ids(names: list[str]) -> Ints:
            found = [data.entities.find(name) for name in names]
            return np.asarray([-1 if place is None else place for place in found], np.int32)

        times = [data.axis.parse(query.time) for query in asked]
        return Queries(
            ids([query.subject for query in asked]),
            ids([query.object for query in asked]),
            np.asarray(times, np.int32),
            np.full(len(asked), -1, np.int32),
        )

    def predict(self, asked: Sequence[Query], *, top: int = 10) -> list[Answer]:
        """The most probable predicates of each query; unseen entities and times are flagged."""
        queries = self.queries_of(asked)
        probabilities = self.model.classifier.probabilities(self.scores(queries))
        order = np.argsort(-probabilities, axis=1, kind="stable")[:, :top]
        names = self.model.dataset.predicates
        return [
            Answer(
                query,
                tuple(names[int(place)] for place in order[row]),
                tuple(float(probabilities[row, place]) for place in order[row]),
                not self._is_seen(int(queries.subjects[row])),
                not self._is_seen(int(queries.objects[row])),
                not self._is_seen_time(int(queries.times[row])),
            )
            for row, query in enumerate(asked)
        ]

    def explain(self, query: Query, predicate: str | None = None, *, most: int = 5) -> Explanation:
        """Why a predicate (the most probable, unless named): topologies, contributions, facts."""
        return find_reasons(self, query, predicate, most=most)

    def _is_seen(self, entity: int) -> bool:
        return entity >= 0 and bool(self._seen_entities[entity])

    def _is_seen_time(self, code: int) -> bool:
        place = int(np.searchsorted(self._seen_times, code))
        found = place < len(self._seen_times) and int(self._seen_times[place]) == code
        return found or code == UNKNOWN

    def evaluate(self, split: str = "test") -> Evaluation:
        """The ranking metrics on a split of the model's own data, under its own protocol."""
        facts: Facts = self.model.dataset.split(split)  # type: ignore[arg-type]
        queries = held_out_queries(facts)

        def score(start: int, stop: int) -> Floats:
            return self.scores(queries.take(np.arange(start, stop)))

        questions = Questions.of(self.model.dataset, split)  # type: ignore[arg-type]
        return evaluate_scores(score, questions, probabilities=self.model.classifier.probabilities)
