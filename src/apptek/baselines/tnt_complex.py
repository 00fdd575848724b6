"""TNTComplEx (Lacroix et al. 2020), trained to predict predicates.

score(s, r, o, t) = Re< s, r + r_t * t, conj(o) > + bias(r)

All vectors are complex, and * multiplies element by element.
"""

import numpy as np
import torch
from torch import Tensor, nn

from apptek.arrays import Ints
from apptek.baselines.embedding import Embedding, EncodedQueries, TrainingConfig, normal
from apptek.baselines.embedding_baseline import embedding_baseline
from apptek.facts.times import UNKNOWN
from apptek.graph.temporal_graph import TemporalGraph
from apptek.setting_rules import checked_dataclass, setting


@checked_dataclass
class TntComplExConfig:
    """The size of the embedding and its regularisation."""

    rank: int = setting(200, "complex numbers per entity", ge=1)
    n3: float = setting(0.02, "weight of the cubed moduli of what a fact uses", ge=0)
    smoothness: float = setting(0.01, "weight of the differences between adjacent times", ge=0)
    scale: float = setting(0.01, "standard deviation of the initial values", ge=0)


@checked_dataclass
class TntComplExSettings:
    """All settings of TNTComplEx."""

    model: TntComplExConfig = TntComplExConfig()
    training: TrainingConfig = TrainingConfig()


class TntComplEx(Embedding):
    """The model. The first `rank` columns of a table are real parts, the others imaginary parts.

    There is a row for each time in the training facts, and a last row for undated queries. A query
    uses the row with the nearest time.
    """

    def __init__(
        self, graph: TemporalGraph, config: TntComplExConfig, *, rng: np.random.Generator
    ) -> None:
        super().__init__(graph.facts, graph.entity_count)
        self.config, self._axis = config, graph.axis
        positions = np.unique(graph.axis.positions(graph.facts.times))
        self._times = positions[positions != UNKNOWN].astype(np.int64)
        width, predicates = 2 * config.rank, graph.predicate_count
        self.entities = normal(graph.entity_count + 1, width, scale=config.scale, rng=rng)
        self.static = normal(predicates, width, scale=config.scale, rng=rng)
        self.changing = normal(predicates, width, scale=config.scale, rng=rng)
        self.times = normal(len(self._times) + 1, width, scale=config.scale, rng=rng)
        self.bias = nn.Parameter(torch.zeros(predicates))

    def moments(self, codes: Ints) -> Tensor:
        """Return the rows with the nearest training times, (B,)."""
        return torch.from_numpy(nearest_rows(self._times, self._axis.positions(codes)))

    def logits(self, queries: EncodedQueries, *, noise: torch.Generator | None = None) -> Tensor:  # noqa: ARG002
        """(B, R)."""
        pairs = self._pairs(queries)  # (B, 2 rank)
        turned = times_conjugate(pairs, self.times[queries.moments])
        return pairs @ self.static.T + turned @ self.changing.T + self.bias

    def score(self, queries: EncodedQueries, predicates: Tensor) -> Tensor:
        """(B,) or (B, N)."""
        named = self.static[predicates] + times(
            self.changing[predicates], self.times[queries.moments]
        )
        return (self._pairs(queries) * named).sum(-1) + self.bias[predicates]

    def _pairs(self, queries: EncodedQueries) -> Tensor:
        """Return conj(s) * o, so that the real product with a predicate is Re<s, r, conj(o)>."""
        return times_conjugate(self.entities[queries.objects], self.entities[queries.subjects])

    def penalty(self, queries: EncodedQueries, predicates: Tensor) -> Tensor:
        """Return the N3 penalty on entities and predicate parts, plus the smoothness of times."""
        moving = times(self.changing[predicates], self.times[queries.moments])
        used = (
            self.entities[queries.subjects], self.entities[queries.objects],
            self.static[predicates], moving,
        )  # fmt: skip
        cubes = sum((cubed_moduli(part) for part in used), torch.zeros(()).to(predicates.device))
        loss = self.config.n3 * cubes / len(predicates)
        dated = self.times[:-1]
        if len(dated) < 2 or not self.config.smoothness:
            return loss
        return loss + self.config.smoothness * cubed_moduli(dated.diff(dim=0)) / (len(dated) - 1)


def times(one: Tensor, other: Tensor) -> Tensor:
    """Return the complex product, element by element."""
    (a, b), (c, d) = one.chunk(2, dim=-1), other.chunk(2, dim=-1)
    return torch.cat([a * c - b * d, a * d + b * c], dim=-1)


def times_conjugate(one: Tensor, other: Tensor) -> Tensor:
    """Return the complex product of one with the conjugate of the other, element by element."""
    (a, b), (c, d) = one.chunk(2, dim=-1), other.chunk(2, dim=-1)
    return torch.cat([a * c + b * d, b * c - a * d], dim=-1)


def cubed_moduli(numbers: Tensor) -> Tensor:
    """Return the sum of the cubed absolute values of complex numbers."""
    real, imaginary = numbers.chunk(2, dim=-1)
    # 1e-12 keeps the gradient finite at 0.
    return (real.square() + imaginary.square() + 1e-12).pow(1.5).sum()


def nearest_rows(known: np.ndarray, positions: Ints) -> np.ndarray:
    """Return the row of the nearest known position, or the number of rows for unknown positions.

    `known` is ascending. On ties, the earlier position wins.
    """
    if not len(known):
        return np.zeros(len(positions), np.int64)
    exact = positions.astype(np.int64)
    after = np.clip(np.searchsorted(known, exact), 1, max(len(known) - 1, 1))
    after = np.minimum(after, len(known) - 1)  # with a single position, 1 is out of range
    before = np.maximum(after - 1, 0)
    nearest = np.where(exact - known[before] <= known[after] - exact, before, after)
    return np.where(positions == UNKNOWN, len(known), nearest)


PRESETS = {
    "default": TntComplExSettings(),
    "paper": TntComplExSettings(training=TrainingConfig(mask_known=False)),
}
SPACE = {
    "model.rank": (50, 100, 200, 400),
    "model.n3": (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2),
    "model.smoothness": (0.0, 0.001, 0.01, 0.1, 1.0),
    "training.learning_rate": (0.03, 0.1, 0.3),
    "training.batch_size": (300, 1000, 3000),
}
DEFINITIONS = {"tnt_complex": embedding_baseline(TntComplEx, PRESETS, SPACE)}
