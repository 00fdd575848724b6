"""DE-TransE, DE-DistMult and DE-SimplE (Goel et al. 2020): entities that change with time.

A part of an entity's vector depends on the time: it is the sum of
amplitude * sin(frequency * feature + phase) over the features of the time (year, month, day). The
rest is constant. With z the vectors at time t, the scores are

| de_transe   | - || z_s + r - z_o ||                                                      |
| de_distmult | < z_s, r, z_o >                                                            |
| de_simple   | (< h_s, r, t_o > + < h_o, r_inverse, t_s >) / 2, entities with two vectors |

plus the predicate's bias.
"""

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from apptek.arrays import Doubles, Floats, Ints, Longs
from apptek.baselines.embedding import Embedding, EncodedQueries, TrainingConfig, dropout, normal
from apptek.baselines.embedding_baseline import embedding_baseline
from apptek.facts.calendar import DAY_SECONDS, calendar
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.graph.temporal_graph import TemporalGraph
from apptek.setting_rules import checked_dataclass, setting

_COUNTS = {"integer": 1, "year": 1, "month": 2, "week": 3, "day": 3}  # features of other units: 4


@checked_dataclass
class DiachronicConfig:
    """The size of the embedding, its dropout and its initial values."""

    size: int = setting(100, "size of an entity's vector", ge=1)
    temporal_share: float = setting(0.64, "proportion that depends on the time", ge=0, le=1)
    dropout: float = setting(0.4, "dropout rate", ge=0, le=0.99)
    scale: float = setting(0.1, "standard deviation of the other initial values", ge=0)
    frequency: float = setting(3.0, "standard deviation of the initial frequencies", ge=0)


@checked_dataclass
class DiachronicSettings:
    """All settings of the diachronic baselines."""

    model: DiachronicConfig = DiachronicConfig()
    training: TrainingConfig = TrainingConfig(
        optimizer="adam", learning_rate=3e-3, batch_size=512, epochs=30
    )


class EntityTable(nn.Module):
    """A vector for each entity at each time: features (B, F) -> (B, size)."""

    def __init__(
        self, count: int, features: int, config: DiachronicConfig, *, rng: np.random.Generator
    ) -> None:
        super().__init__()
        moving = round(config.size * config.temporal_share)  # values that depend on the time
        self.still = normal(count, config.size - moving, scale=config.scale, rng=rng)
        shape, scale = (count, features, moving), config.scale
        self.amplitudes = normal(*shape, scale=scale, rng=rng)
        self.frequencies = normal(*shape, scale=config.frequency, rng=rng)
        self.phases = normal(*shape, scale=1.0, rng=rng)

    def at(self, entities: Tensor, moments: Tensor) -> Tensor:
        """Return the vectors of entities (B,) or (B, N) at moments (B, F) or (B, 1, F)."""
        angles = self.frequencies[entities] * moments[..., None] + self.phases[entities]
        moving = (self.amplitudes[entities] * torch.sin(angles)).sum(-2)
        still = self.still[entities].expand(*moving.shape[:-1], -1)
        return torch.cat([still, moving], dim=-1)


class Diachronic(Embedding):
    """The common parts of the three models: time features and parameters."""

    def __init__(
        self, graph: TemporalGraph, config: DiachronicConfig, *, rng: np.random.Generator
    ) -> None:
        super().__init__(graph.facts, graph.entity_count)
        self.config, self._features = config, TimeFeatures(graph)
        # The parameters' names are keys in weights files and cannot be changed.
        self.first = self._table(graph, rng)
        self.predicates = normal(graph.predicate_count, config.size, scale=config.scale, rng=rng)
        self.bias = nn.Parameter(torch.zeros(graph.predicate_count))

    def _table(self, graph: TemporalGraph, rng: np.random.Generator) -> EntityTable:
        count, features = graph.entity_count + 1, self._features.count
        return EntityTable(count, features, self.config, rng=rng)

    def moments(self, codes: Ints) -> Tensor:
        """Return time features, (B, F)."""
        return torch.from_numpy(self._features.of(codes))

    def ends(
        self, queries: EncodedQueries, of_subjects: EntityTable, of_objects: EntityTable
    ) -> tuple[Tensor, Tensor]:
        """Return the vectors of subjects and objects at the queries' times."""
        moments = queries.moments
        return of_subjects.at(queries.subjects, moments), of_objects.at(queries.objects, moments)


class DeTransE(Diachronic):
    """A model in which a predicate translates the subject's vector to the object's vector."""

    def logits(self, queries: EncodedQueries, *, noise: torch.Generator | None = None) -> Tensor:
        """Return the scores of all predicates: (B, R).

        Expanding |a + r|^2 = |a|^2 + 2 a r + |r|^2 avoids an array of shape (B, R, size).
        """
        steps = self._steps(queries)  # (B, size)
        steps = dropout(steps, self.config.dropout, noise)
        squares = steps.square().sum(-1, keepdim=True) + self.predicates.square().sum(-1)
        squares = squares + 2 * steps @ self.predicates.T
        return self.bias - root(squares)

    def score(self, queries: EncodedQueries, predicates: Tensor) -> Tensor:
        """(B,) or (B, N)."""
        apart = self._steps(queries) + self.predicates[predicates]
        return self.bias[predicates] - root(apart.square().sum(-1))

    def _steps(self, queries: EncodedQueries) -> Tensor:
        subjects, objects = self.ends(queries, self.first, self.first)
        return subjects - objects


class Products(Diachronic):
    """A model that scores a predicate by the product of its vector with the pair's vectors.

    The score is the mean over the pairs that `products` returns.
    """

    @abstractmethod
    def products(self, queries: EncodedQueries) -> list[tuple[Tensor, Tensor]]:
        """Return pairs of subject * object (B, size) and predicate vectors (R, size)."""

    def logits(self, queries: EncodedQueries, *, noise: torch.Generator | None = None) -> Tensor:
        """(B, R)."""
        share = self.config.dropout
        parts = [dropout(pair, share, noise) @ names.T for pair, names in self.products(queries)]
        return sum(parts[1:], parts[0]) / len(parts) + self.bias

    def score(self, queries: EncodedQueries, predicates: Tensor) -> Tensor:
        """(B,) or (B, N)."""
        parts = [pair * names[predicates] for pair, names in self.products(queries)]
        return sum(parts[1:], parts[0]).sum(-1) / len(parts) + self.bias[predicates]


class DeDistMult(Products):
    """A model in which a predicate weights the element-wise product of subject and object."""

    def products(self, queries: EncodedQueries) -> list[tuple[Tensor, Tensor]]:
        """Return one pair, with the product of both entities' vectors."""
        subjects, objects = self.ends(queries, self.first, self.first)
        return [(subjects * objects, self.predicates)]


class DeSimplE(Products):
    """An entity has one vector as subject (`first`) and one as object (`second`).

    Each predicate has an inverse, which is scored from the object to the subject.
    """

    def __init__(
        self, graph: TemporalGraph, config: DiachronicConfig, *, rng: np.random.Generator
    ) -> None:
        super().__init__(graph, config, rng=rng)
        self.second = self._table(graph, rng)
        self.inverses = normal(graph.predicate_count, config.size, scale=config.scale, rng=rng)

    def products(self, queries: EncodedQueries) -> list[tuple[Tensor, Tensor]]:
        """Return two pairs: from subject to object, and from object to subject."""
        subjects, objects = self.ends(queries, self.first, self.second)
        as_objects, as_subjects = self.ends(queries, self.second, self.first)
        return [(subjects * objects, self.predicates), (as_subjects * as_objects, self.inverses)]


def root(squares: Tensor) -> Tensor:
    """Return a square root with a finite gradient at 0. Rounding can make a square negative."""
    return (squares.clamp_min(0) + 1e-9).sqrt()


class TimeFeatures:
    """Time codes as numbers: year, month, day and time of day, if the axis has them.

    The year, or the number on an integer axis, is scaled to run from 1 to 2 over the training
    facts. The others are between 0 and 1. All features of an undated query are 0, so that its
    entities depend only on their phases.
    """

    def __init__(self, graph: TemporalGraph) -> None:
        self._axis = graph.axis
        positions = graph.axis.positions(graph.facts.times)
        known = positions[positions != UNKNOWN].astype(np.int64)
        coarse = _calendar(graph.axis, known)[:, 0] if len(known) else np.zeros(1)
        self._low, self._span = float(coarse.min()), max(float(np.ptp(coarse)), 1.0)

    @property
    def count(self) -> int:
        """The number of features: one for each unit, from the coarsest down to the axis's unit."""
        return _COUNTS.get(self._axis.unit, 4)

    def of(self, codes: Ints) -> Floats:
        """Return the features of time codes: (B, F)."""
        positions = self._axis.positions(codes).astype(np.int64)
        undated = positions == UNKNOWN
        features = _calendar(self._axis, np.where(undated, 0, positions))
        features[:, 0] = 1 + (features[:, 0] - self._low) / self._span
        features[undated] = 0.0
        return features.astype(np.float32)


def _calendar(axis: TimeAxis, positions: Longs) -> Doubles:
    """Return year (or integer), month / 12, day / 31 and fraction of the day: (B, F)."""
    if axis.unit == "integer":
        return positions[:, None].astype(np.float64)
    year, month, day, second = calendar(axis.unit, positions)
    columns: list[Any] = [year, month / 12, day / 31, second / DAY_SECONDS]
    return np.stack(columns[: _COUNTS.get(axis.unit, 4)], axis=1).astype(np.float64)


DEFAULT = DiachronicSettings()
PAPER = replace(DEFAULT, training=replace(DEFAULT.training, objective="entities"))
PRESETS: dict[str, Any] = {"default": DEFAULT, "paper": PAPER}
SPACE = {
    "model.size": (50, 100, 200),
    "model.temporal_share": (0.2, 0.36, 0.64, 0.8),
    "model.dropout": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    "model.frequency": (1.0, 3.0, 10.0, 30.0),
    "training.learning_rate": (1e-3, 3e-3, 1e-2),
    "training.batch_size": (256, 512, 1024),
}
DEFINITIONS = {
    "de_transe": embedding_baseline(DeTransE, PRESETS, SPACE),
    "de_distmult": embedding_baseline(DeDistMult, PRESETS, SPACE),
    "de_simple": embedding_baseline(DeSimplE, PRESETS, SPACE),
}
