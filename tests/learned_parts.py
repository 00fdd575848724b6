"""Small learned baselines, and data that they can memorise."""

from typing import Any

import numpy as np
from reference import PlainFact
from worlds import facts_of, names_of

from apptek.baselines.embedding import Embedding
from apptek.baselines.embedding_baseline import EmbeddingScorer
from apptek.facts.facts import Dataset, Facts
from apptek.facts.times import TimeAxis
from apptek.models.registry import preset_of
from apptek.predictor import Predictor
from apptek.setting_rules import with_settings

SMALL = {
    "tnt_complex": ["model.rank=16", "model.n3=0.0", "training.learning_rate=0.2"],
    "de_transe": ["model.size=24", "model.dropout=0.0", "training.learning_rate=0.03"],
    "de_distmult": ["model.size=24", "model.dropout=0.0", "training.learning_rate=0.03"],
    "de_simple": ["model.size=24", "model.dropout=0.0", "training.learning_rate=0.03"],
    "re_gcn": [
        "model.size=16", "model.channels=8", "model.history=2", "model.dropout=0.0",
        "training.learning_rate=0.01",
    ],
}  # fmt: skip
LEARNED = tuple(SMALL)


def settings_of(name: str, *changes: str, preset: str = "default") -> Any:
    return with_settings(preset_of(name, preset), [*SMALL[name], *changes])


def dataset_of(facts: Facts, entities: int, predicates: int) -> Dataset:
    """Facts used as training, validation and test set, on an axis of integers."""
    return Dataset(
        name="small",
        entities=names_of(f"{number:03d}" for number in range(entities)),
        predicates=names_of(f"{number:03d}" for number in range(predicates)),
        axis=TimeAxis("integer"),
        train=facts,
        valid=facts,
        test=facts,
    )


def fifty_facts() -> Dataset:
    """Facts in which no pair occurs twice in either direction, so a model can memorise them."""
    rng = np.random.default_rng(0)
    pairs = [(int(p) // 20, int(p) % 20) for p in rng.permutation(20 * 20)]
    plain = [
        PlainFact(subject, int(rng.integers(5)), object_, when, when)
        for (subject, object_), when in zip(
            [pair for pair in pairs if pair[0] < pair[1]][:50],
            rng.integers(0, 6, 50).tolist(),
            strict=True,
        )
    ]
    return dataset_of(facts_of(plain), 21, 5)


def model_of(name: str, data: Dataset, *changes: str, preset: str = "default") -> Embedding:
    """A model after one epoch."""
    config = settings_of(name, "training.epochs=1", *changes, preset=preset)
    scorer = Predictor.fit(data, model=name, config=config).model.main.scorer
    assert isinstance(scorer, EmbeddingScorer)
    return scorer.model
