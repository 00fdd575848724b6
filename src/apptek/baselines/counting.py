"""The counting baselines, whose only parameters are a few weights chosen on the validation set.

| name      | what it counts                                                                    |
|-----------|-----------------------------------------------------------------------------------|
| frequency | each predicate                                                                    |
| profile   | predicates of the subject and of the object, and how often each one is dated      |
| pair      | predicates from the subject to the object, backing off to the profile             |
| recency   | the same by nearness in time, and predicates from the object to the subject       |
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from apptek.evaluation.ranking import TuningQueries
from apptek.models.counting import (
    VARIANTS,
    WEIGHTS,
    CountingConfig,
    CountingScorer,
    FrequencyScorer,
    choose_weights,
)
from apptek.models.counting_kernels import Weights
from apptek.models.manifest import read_json
from apptek.models.scorers import BaselineDefinition, FitTask, SavedScorer, Scorer


@dataclass(frozen=True, slots=True, kw_only=True)
class CountingSettings:
    """All settings of the counting baselines."""

    counting: CountingConfig = field(default_factory=CountingConfig)


def _fit_frequency(task: FitTask) -> tuple[Scorer, dict[str, Any]]:
    scorer = FrequencyScorer(task.graph)
    tuning = TuningQueries.of(task.dataset, task.config.counting.most_queries)
    return scorer, {"valid_mrr": tuning.mrr(scorer.scores(tuning.queries))}


def _fit_variant(name: str, task: FitTask) -> tuple[Scorer, dict[str, Any]]:
    config, scorer = task.config.counting, CountingScorer(task.graph, VARIANTS[name].start)
    tuning = TuningQueries.of(task.dataset, config.most_queries)

    def quality(weights: Weights) -> float:
        return tuning.mrr(scorer.with_weights(weights).scores(tuning.queries))

    weights, mrr, tried = choose_weights(VARIANTS[name], config, quality)
    report = {"valid_mrr": mrr, "chosen": weights._asdict(), "tried": tried}
    return scorer.with_weights(weights), report


def _load_frequency(saved: SavedScorer) -> Scorer:
    return FrequencyScorer(saved.graph)


def _load_variant(saved: SavedScorer) -> Scorer:
    entries = read_json(saved.folder, WEIGHTS.format(view=saved.view))
    weights = {name: float(value) for name, value in entries.items()}
    return CountingScorer(saved.graph, Weights(**weights))


PRESETS = {"default": CountingSettings()}
DEFINITIONS = {
    "frequency": BaselineDefinition(presets=PRESETS, fit=_fit_frequency, load=_load_frequency),
    **{
        name: BaselineDefinition(
            presets=PRESETS, fit=partial(_fit_variant, name), load=_load_variant
        )
        for name in VARIANTS
    },
}
