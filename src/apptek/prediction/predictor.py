"""The predictor: (subject, ?, object, time) -> ranked, calibrated predicates."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apptek.agent.environment import Queries
from apptek.data.facts import Dataset, Split
from apptek.data.protocols import Protocol
from apptek.prediction.asking import (
    Answer,
    Query,
    Seen,
    best_answers,
    evaluate_split,
    queries_of,
)
from apptek.prediction.explanation import Explanation
from apptek.prediction.explanation import explain as find_reasons
from apptek.prediction.model import Model, load_model, save_model
from apptek.prediction.pipeline import Stage, TypeTable, fit_model, print_nothing
from apptek.prediction.presets import DEFAULT, Config
from apptek.prediction.presets import preset as settings_of
from apptek.prediction.ranking import Evaluation
from apptek.prediction.scoring import linear_scores
from apptek.prediction.work import work_folder
from apptek.topologies.sparse import Floats, SparseRows

__all__ = ["Answer", "Predictor", "Query"]


class Predictor:
    """A fitted model that answers queries.

    predictor = Predictor.fit(data)
    predictor.save("model")
    Predictor.load("model").predict([Query("Iran", "China", "2014-02-02")], top=3)
    """

    def __init__(
        self, model: Model, run: dict[str, Any] | None = None, *, as_of: bool = False
    ) -> None:
        self.model = model
        self.run = run or {}  # how it was fitted: seconds of each stage, and what fit was told
        self.as_of = as_of or model.config.features.past_only
        self.space = model.features(as_of=as_of)
        self._seen = Seen(model.graph)

    @classmethod
    def fit(
        cls,
        data: Dataset,
        *,
        preset: str = DEFAULT,
        config: Config | None = None,
        protocol: Protocol = "official",
        seed: int = 0,
        types: TypeTable | None = None,
        folder: str | Path | None = None,
        resume: bool = False,
        on_stage: Stage = print_nothing,
        observers: Sequence[Any] = (),
        about_run: dict[str, Any] | None = None,
    ) -> "Predictor":
        """Fits a model; with a `folder`, it is saved there, and a run that was stopped can resume.

        config     instead of the preset's settings
        types      of entities, by kind: {"sector": {"Reuters": "Media", ...}, ...}
        about_run  further entries for run.json: a command, a commit
        """
        settings = config or settings_of(preset)
        with work_folder(folder) as work:
            model, seconds = fit_model(
                data,
                settings,
                work,
                preset=preset,
                protocol=protocol,
                seed=seed,
                types=types,
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
    def load(cls, folder: str | Path, *, as_of: bool = False) -> "Predictor":
        """The predictor of a model folder; `as_of`: each answer from what had ended before."""
        return cls(load_model(Path(folder)), as_of=as_of)

    def features(self, queries: Queries) -> SparseRows:
        """The features of each query."""
        return self.space.rows(queries)

    def scores(self, queries: Queries) -> Floats:
        """The logits of all predicates, (B, R)."""
        model = self.model
        if model.reranker is None:
            return linear_scores(self.space, model.classifier, queries)
        rows = self.features(queries)
        linear = model.classifier.scores(rows)
        return model.reranker.scores(self.space, rows, model.classifier, linear)

    def queries_of(self, asked: Sequence[Query]) -> Queries:
        """Queries as ids; unknown names become -1, a time that is no time is a TimeFormatError."""
        return queries_of(self.model.dataset, asked)

    def predict(self, asked: Sequence[Query], *, top: int = 10) -> list[Answer]:
        """The most probable predicates of each query; unseen entities and times are flagged."""
        queries = self.queries_of(asked)
        probabilities = self.model.classifier.probabilities(self.scores(queries))
        names = self.model.dataset.predicates
        return best_answers(asked, queries, probabilities, names, self._seen, top)

    def explain(self, query: Query, predicate: str | None = None, *, most: int = 5) -> Explanation:
        """Why a predicate (the most probable, unless named): topologies, contributions, facts."""
        return find_reasons(self, query, predicate, most=most)

    def evaluate(self, split: Split = "test") -> Evaluation:
        """The ranking metrics on a split of the model's own data, under its own protocol."""
        probabilities = self.model.classifier.probabilities
        return evaluate_split(self.scores, probabilities, self.model.dataset, split)
