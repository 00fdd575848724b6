"""DE-TransE, DE-DistMult and DE-SimplE (Goel et al. 2020): entities that change with time.

A part of an entity's vector moves with every time feature, amplitude * sin(frequency * feature +
phase), summed over the features; the rest stands still. Then, with z the vectors at time t,

| de_transe   | - || z_s + r - z_o ||                       |
| de_distmult | < z_s, r, z_o >                             |
| de_simple   | (< h_s, r, t_o > + < h_o, r_inverse, t_s >) / 2, entities with two vectors |

plus a bias of the predicate.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from apptek.arrays import Ints, Longs
from apptek.baselines.embedding import Asked, Embedding, dropped, normal
from apptek.baselines.learned import learned_baseline
from apptek.baselines.training import QUICK_TRAINING, TrainingConfig
from apptek.data.facts import Dataset
from apptek.data.times import UNKNOWN, TimeAxis
from apptek.errors import ConfigError
from apptek.graph.temporal_graph import TemporalGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class DiachronicConfig:
    """The size of the embedding, and how it is kept from learning by heart."""

    size: int = 100  # numbers of an entity
    temporal_share: float = 0.64  # of them that move with time
    dropout: float = 0.4
    scale: float = 0.1  # of the first random numbers
    frequency: float = 3.0  # of the first frequencies

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ConfigError(f"model.size must be at least 1, not {self.size}")
        for name, most in (("temporal_share", 1.0), ("dropout", 0.99)):
            if not 0 <= getattr(self, name) <= most:
                raise ConfigError(f"model.{name} must be from 0 to {most:g}")
        for name in ("scale", "frequency"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ConfigError(f"model.{name} must be at least 0, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting of the diachronic baselines."""

    model: DiachronicConfig = field(default_factory=DiachronicConfig)
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(
            optimizer="adam", learning_rate=3e-3, batch_size=512, epochs=30
        )
    )


class Entities(nn.Module):
    """A table of entities, each a vector for every time: (B, F) features -> (B, size)."""

    def __init__(
        self, count: int, features: int, config: DiachronicConfig, *, rng: np.random.Generator
    ) -> None:
        super().__init__()
        moving = round(config.size * config.temporal_share)
        self.still = normal(count, config.size - moving, scale=config.scale, rng=rng)
        shape, scale = (count, features, moving), config.scale
        self.amplitudes = normal(*shape, scale=scale, rng=rng)
        self.frequencies = normal(*shape, scale=config.frequency, rng=rng)
        self.phases = normal(*shape, scale=1.0, rng=rng)

    def at(self, entities: Tensor, moments: Tensor) -> Tensor:
        """The vectors of entities (B,) or (B, N) at moments (B, F) or (B, 1, F)."""
        angles = self.frequencies[entities] * moments[..., None] + self.phases[entities]
        moving = (self.amplitudes[entities] * torch.sin(angles)).sum(-2)
        still = self.still[entities].expand(*moving.shape[:-1], -1)
        return torch.cat([still, moving], dim=-1)


class Diachronic(Embedding):
    """What the three share: time features, a bias, dropout of the combined vectors."""

    def __init__(
        self, graph: TemporalGraph, config: DiachronicConfig, *, rng: np.random.Generator
    ) -> None:
        super().__init__(graph.facts, graph.entity_count)
        self.config, self._clock = config, Clock(graph)
        self.first = self._table(graph, rng)
        self.predicates = normal(graph.predicate_count, config.size, scale=config.scale, rng=rng)
        self.bias = nn.Parameter(torch.zeros(graph.predicate_count))

    def _table(self, graph: TemporalGraph, rng: np.random.Generator) -> Entities:
        count, features = graph.entity_count + 1, self._clock.feature_count
        return Entities(count, features, self.config, rng=rng)

    def moments(self, codes: Ints) -> Tensor:
        """Time features, (B, F)."""
        return torch.from_numpy(self._clock.features(codes))


class DeTransE(Diachronic):
    """The predicate moves the subject to the object."""

    def logits(self, asked: Asked, *, noise: torch.Generator | None = None) -> Tensor:
        """(B, R), from squares: |a + r|^2 = |a|^2 + 2 a r + |r|^2."""
        steps = self._steps(asked)  # (B, size)
        steps = dropped(steps, self.config.dropout, noise)
        squares = steps.square().sum(-1, keepdim=True) + self.predicates.square().sum(-1)
        squares = squares + 2 * steps @ self.predicates.T
        return self.bias - root(squares)

    def score(self, asked: Asked, predicates: Tensor) -> Tensor:
        """(B,) or (B, N)."""
        apart = self._steps(asked) + self.predicates[predicates]
        return self.bias[predicates] - root(apart.square().sum(-1))

    def _steps(self, asked: Asked) -> Tensor:
        return self.first.at(asked.subjects, asked.moments) - self.first.at(
            asked.objects, asked.moments
        )


class DeDistMult(Diachronic):
    """The predicate weighs where subject and object agree."""

    def logits(self, asked: Asked, *, noise: torch.Generator | None = None) -> Tensor:
        """(B, R)."""
        agreement = dropped(self._agreement(asked), self.config.dropout, noise)
        return agreement @ self.predicates.T + self.bias

    def score(self, asked: Asked, predicates: Tensor) -> Tensor:
        """(B,) or (B, N)."""
        return (self._agreement(asked) * self.predicates[predicates]).sum(-1) + self.bias[
            predicates
        ]

    def _agreement(self, asked: Asked) -> Tensor:
        return self.first.at(asked.subjects, asked.moments) * self.first.at(
            asked.objects, asked.moments
        )


class DeSimplE(Diachronic):
    """Each entity has a vector as subject and one as object, each predicate an inverse."""

    def __init__(
        self, graph: TemporalGraph, config: DiachronicConfig, *, rng: np.random.Generator
    ) -> None:
        super().__init__(graph, config, rng=rng)
        self.second = self._table(graph, rng)
        self.inverses = normal(graph.predicate_count, config.size, scale=config.scale, rng=rng)

    def logits(self, asked: Asked, *, noise: torch.Generator | None = None) -> Tensor:
        """(B, R)."""
        forward, backward = self._agreements(asked)
        forward = dropped(forward, self.config.dropout, noise)
        backward = dropped(backward, self.config.dropout, noise)
        both = forward @ self.predicates.T + backward @ self.inverses.T
        return both / 2 + self.bias

    def score(self, asked: Asked, predicates: Tensor) -> Tensor:
        """(B,) or (B, N)."""
        forward, backward = self._agreements(asked)
        both = forward * self.predicates[predicates] + backward * self.inverses[predicates]
        return both.sum(-1) / 2 + self.bias[predicates]

    def _agreements(self, asked: Asked) -> tuple[Tensor, Tensor]:
        forward = self.first.at(asked.subjects, asked.moments) * self.second.at(
            asked.objects, asked.moments
        )
        backward = self.first.at(asked.objects, asked.moments) * self.second.at(
            asked.subjects, asked.moments
        )
        return forward, backward


def root(squares: Tensor) -> Tensor:
    """A square root whose slope stays finite at 0."""
    return (squares.clamp_min(0) + 1e-9).sqrt()


class Clock:
    """Time codes as features: year, month and day, as far as the axis knows them.

    The year, and a number on an axis of integers, goes from 1 to 2 over the training facts; months
    and days lie between 0 and 1. Undated is the origin, where nothing but the phases count.
    """

    def __init__(self, graph: TemporalGraph) -> None:
        self._axis = graph.axis
        known = graph.axis.positions(graph.facts.times)
        known = known[known != UNKNOWN]
        coarse = _calendar(graph.axis, known.astype(np.int64))[:, 0] if len(known) else np.zeros(1)
        self._low, self._span = float(coarse.min()), max(float(np.ptp(coarse)), 1.0)

    @property
    def feature_count(self) -> int:
        """One for each unit from the coarsest to that of the axis."""
        return {"integer": 1, "year": 1, "month": 2, "day": 3}[self._axis.unit]

    def features(self, codes: Ints) -> npt.NDArray[np.float32]:
        """(B, F)."""
        positions = self._axis.positions(codes).astype(np.int64)
        undated = positions == UNKNOWN
        found = _calendar(self._axis, np.where(undated, 0, positions))
        found[:, 0] = 1 + (found[:, 0] - self._low) / self._span
        found[undated] = 0.0
        return found.astype(np.float32)


def _calendar(axis: TimeAxis, positions: Longs) -> npt.NDArray[np.float64]:
    """Year (or integer), month / 12 and day / 31 of positions, (B, F)."""
    if axis.unit in ("integer", "year"):
        return positions[:, None].astype(np.float64)
    months = positions
    if axis.unit == "day":
        dates = positions.astype("datetime64[D]")
        months = dates.astype("datetime64[M]").astype(np.int64) + 1970 * 12
    columns = [months // 12, (months % 12 + 1) / 12]
    if axis.unit == "day":
        columns.append(((dates - dates.astype("datetime64[M]")).astype(np.int64) + 1) / 31)
    return np.stack(columns, axis=1).astype(np.float64)


def _build(
    kind: Callable[..., Diachronic],
    _data: Dataset,
    graph: TemporalGraph,
    settings: Settings,
    rng: np.random.Generator,
) -> Diachronic:
    return kind(graph, settings.model, rng=rng)


DEFAULT = Settings()
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
QUICK = {**QUICK_TRAINING, "model.size": 16}
DEFINITIONS = {
    "de_transe": learned_baseline(partial(_build, DeTransE), PRESETS, SPACE, QUICK),
    "de_distmult": learned_baseline(partial(_build, DeDistMult), PRESETS, SPACE, QUICK),
    "de_simple": learned_baseline(partial(_build, DeSimplE), PRESETS, SPACE, QUICK),
}
