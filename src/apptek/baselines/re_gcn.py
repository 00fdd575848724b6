"""RE-GCN (Li et al. 2021) for predicates: what the last snapshots make of entities and predicates.

Starting from one table for all times, each snapshot before the query's time changes, in turn,

predicates  GRU([table, mean of the entities that take part in the predicate], what it was)
entities    a relation-aware GCN over the snapshot's facts, both ways, gated with what they were

and a convolution over the query's two entities gives a vector to hold against every predicate. The
static graph constraint is off. A query sees no snapshot of its own time or later.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from apptek.arrays import Ints
from apptek.baselines.embedding import Asked, Embedding, dropped, normal
from apptek.baselines.learned import learned_baseline
from apptek.baselines.training import QUICK_TRAINING, TrainingConfig
from apptek.data.facts import Dataset, Facts
from apptek.data.queries import held_out_queries
from apptek.data.times import UNKNOWN
from apptek.errors import ConfigError, DataError
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.ranking import expected_ranks
from apptek.graph.temporal_graph import TemporalGraph

SLOPE = 0.23  # of the leaky rectifier below 0: the mean of the authors' random one


@dataclass(frozen=True, slots=True, kw_only=True)
class ReGcnConfig:
    """The size of the embedding, and how much it sees."""

    size: int = 100
    history: int = 3  # snapshots before the query's time that it sees
    layers: int = 2  # of the GCN in each snapshot
    channels: int = 50  # of the convolution
    kernel: int = 3  # width of the convolution; odd
    dropout: float = 0.2
    inverse_candidates: bool = False  # its own protocol: 2 R candidates, questions both ways

    def __post_init__(self) -> None:
        for name in ("size", "history", "layers", "channels", "kernel"):
            if getattr(self, name) < 1:
                raise ConfigError(f"model.{name} must be at least 1, not {getattr(self, name)}")
        if self.kernel % 2 == 0:
            raise ConfigError(f"model.kernel must be odd, not {self.kernel}")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"model.dropout must be from 0 to below 1, not {self.dropout}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting of RE-GCN."""

    model: ReGcnConfig = field(default_factory=ReGcnConfig)
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(
            optimizer="adam", learning_rate=1e-3, batch_size=200, epochs=20
        )
    )


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The facts of one moment, each also against its direction with predicate + R."""

    heads: Tensor  # (E,)
    predicates: Tensor
    tails: Tensor
    shares: Tensor  # (E, 1): 1 / number of edges into the tail
    touched: Tensor  # (P,) entities that take part in a predicate, once for each
    touching: Tensor  # (P,) the predicate

    def within(self, rows: Tensor) -> "Snapshot":
        """The same with entities as places among these ascending rows, which hold them all."""
        heads, tails, touched = (
            torch.searchsorted(rows, entities)
            for entities in (self.heads, self.tails, self.touched)
        )
        return replace(self, heads=heads, tails=tails, touched=touched)

    def to(self, device: torch.device) -> "Snapshot":
        """The same on a device."""
        return Snapshot(*(getattr(self, part.name).to(device) for part in fields(self)))


class ReGcn(Embedding):
    """Snapshots are the distinct times of the training facts. An undated query sees none."""

    def __init__(
        self, graph: TemporalGraph, config: ReGcnConfig, *, rng: np.random.Generator
    ) -> None:
        super().__init__(graph.facts, graph.entity_count)
        self.config, self._axis, self._predicate_count = config, graph.axis, graph.predicate_count
        positions = graph.axis.positions(graph.facts.times).astype(np.int64)
        order = np.argsort(positions, kind="stable")
        order = order[positions[order] != UNKNOWN]
        self._times, starts = np.unique(positions[order], return_index=True)
        self._snapshots = [make_snapshot(graph, rows) for rows in np.split(order, starts[1:])]
        size, entities, both = config.size, graph.entity_count + 1, 2 * graph.predicate_count
        scale = math.sqrt(2 / size)
        self.entities = normal(entities, size, scale=scale, rng=rng)
        self.predicates = normal(both, size, scale=scale, rng=rng)
        self.gru_in = normal(3 * size, 2 * size, scale=scale / 2, rng=rng)
        self.gru_hidden = normal(3 * size, size, scale=scale / 2, rng=rng)
        self.gru_bias = nn.Parameter(torch.zeros(2, 3 * size))
        self.messages = normal(config.layers, size, size, scale=scale, rng=rng)
        self.loops = normal(config.layers, size, size, scale=scale, rng=rng)
        self.lonely_loops = normal(config.layers, size, size, scale=scale, rng=rng)
        self.gate = normal(size, size, scale=scale, rng=rng)
        self.gate_bias = nn.Parameter(torch.zeros(size))
        self.convolution = normal(
            config.channels, 2, config.kernel, scale=1 / math.sqrt(2 * config.kernel), rng=rng
        )
        width = config.channels * size
        self.decoder = normal(width, size, scale=1 / math.sqrt(width), rng=rng)
        self.decoder_bias = nn.Parameter(torch.zeros(size))
        self.bias = nn.Parameter(torch.zeros(both))

    def moments(self, codes: Ints) -> Tensor:
        """How many snapshots lie before each time, (B,); none before the unknown."""
        positions = self._axis.positions(codes).astype(np.int64)
        before = np.searchsorted(self._times, positions)
        return torch.from_numpy(np.where(positions == UNKNOWN, 0, before))

    def batches(self, asked: Asked, size: int, *, rng: np.random.Generator) -> Iterator[Tensor]:
        """Whole snapshots, in a random order, until there are `size` facts or more.

        Only one of more than ten times that many is divided.
        """
        moments, rows = torch.sort(asked.moments.cpu(), stable=True)
        counts = torch.unique_consecutive(moments, return_counts=True)[1].tolist()
        parts = [p for whole in torch.split(rows, counts) for p in torch.split(whole, 10 * size)]
        batch: list[Tensor] = []
        for place in rng.permutation(len(parts)):
            batch.append(parts[place])
            if sum(map(len, batch)) >= size:
                yield torch.cat(batch)
                batch = []
        if batch:
            yield torch.cat(batch)

    def logits(self, asked: Asked, *, noise: torch.Generator | None = None) -> Tensor:
        """(B, R); while it learns with inverse candidates, (B, 2 R)."""
        both_ways = self.config.inverse_candidates and noise is not None
        return self._scores(asked, self._predicate_count * (1 + both_ways), noise)

    def _scores(self, asked: Asked, width: int, noise: torch.Generator | None) -> Tensor:
        """The scores of the first `width` candidates: one evolution for each distinct moment."""
        scores = torch.empty(len(asked.subjects), width, device=self.bias.device)
        for moment in torch.unique(asked.moments).tolist():
            rows = torch.nonzero(asked.moments == moment).flatten()
            found = self._hold(asked.take(rows), moment, noise)
            scores = scores.index_copy(0, rows, found[:, :width])
        return scores

    def training_facts(self, facts: Facts) -> Facts:
        """With inverse candidates, each fact also against its direction."""
        return both_ways(facts, self._predicate_count) if self.config.inverse_candidates else facts

    @torch.inference_mode()
    def remarks(self, dataset: Dataset) -> dict[str, float]:
        """With inverse candidates, the MRR on valid by RE-GCN's own protocol."""
        if not self.config.inverse_candidates:
            return {}
        splits = (dataset.valid, dataset.train, dataset.valid, dataset.test)
        asked, *known = (both_ways(facts, self._predicate_count) for facts in splits)
        encoded = self.encode(held_out_queries(asked)).to(self.bias.device)
        scores = self._scores(encoded, 2 * self._predicate_count, None).cpu().numpy()
        ranks = expected_ranks(scores, asked.predicates, known_predicates(asked, known))
        return {"valid_mrr_of_both_ways": float(np.mean(1 / ranks))}

    def score(self, asked: Asked, predicates: Tensor) -> Tensor:
        """(B,)."""
        return self.logits(asked).gather(1, predicates[:, None])[:, 0]

    def _hold(self, asked: Asked, moment: int, noise: torch.Generator | None) -> Tensor:
        """The scores of all predicates and their inverses, for queries of one moment: (B, 2 R)."""
        share, wanted = self.config.dropout, torch.cat([asked.subjects, asked.objects])
        rows, entities, predicates = self.evolve(moment, wanted, noise)
        pair = entities[torch.searchsorted(rows, wanted)].view(2, len(asked.subjects), -1)
        pair = dropped(torch.tanh(pair.transpose(0, 1)), share, noise)  # (B, 2, size)
        waves = functional.conv1d(pair, self.convolution, padding=self.config.kernel // 2)
        waves = dropped(functional.relu(waves), share, noise).flatten(1)
        decoded = dropped(waves @ self.decoder + self.decoder_bias, share, noise)
        return functional.relu(decoded) @ predicates.T + self.bias

    def evolve(
        self, moment: int, wanted: Tensor, noise: torch.Generator | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Rows of entities, those entities, and predicates, as the snapshots before leave them.

        The rows are those wanted and those in the snapshots: the others change none of them.
        """
        seen = self._snapshots[max(moment - self.config.history, 0) : moment]
        seen = [snapshot.to(wanted.device) for snapshot in seen]
        rows = torch.unique(torch.cat([wanted, *(snapshot.heads for snapshot in seen)]))
        entities = functional.normalize(self.entities[rows])
        predicates: Tensor = self.predicates
        for snapshot in (snapshot.within(rows) for snapshot in seen):
            predicates = self._evolve_predicates(snapshot, entities, predicates)
            changed = functional.normalize(self._convolve(snapshot, entities, predicates, noise))
            gate = torch.sigmoid(entities @ self.gate + self.gate_bias)
            entities = gate * changed + (1 - gate) * entities
        return rows, entities, predicates

    def _evolve_predicates(self, snapshot: Snapshot, entities: Tensor, before: Tensor) -> Tensor:
        total = torch.zeros_like(before).index_add(0, snapshot.touching, entities[snapshot.touched])
        counts = torch.bincount(snapshot.touching, minlength=len(before)).clamp_min(1)
        seen = torch.cat([self.predicates, total / counts[:, None]], dim=1)  # (2 R, 2 size)
        return functional.normalize(gru(seen, before, self.gru_in, self.gru_hidden, self.gru_bias))

    def _convolve(
        self,
        snapshot: Snapshot,
        entities: Tensor,
        predicates: Tensor,
        noise: torch.Generator | None,
    ) -> Tensor:
        lonely = torch.ones(len(entities), 1, device=entities.device)
        lonely = lonely.index_fill(0, snapshot.tails, 0.0)
        for layer in range(self.config.layers):
            sent = (entities[snapshot.heads] + predicates[snapshot.predicates]) * snapshot.shares
            heard = torch.zeros_like(entities).index_add(0, snapshot.tails, sent)
            kept = torch.where(
                lonely > 0, entities @ self.lonely_loops[layer], entities @ self.loops[layer]
            )
            entities = functional.leaky_relu(heard @ self.messages[layer] + kept, SLOPE)
            entities = dropped(entities, self.config.dropout, noise)
        return entities


def both_ways(facts: Facts, predicate_count: int) -> Facts:
    """Each fact, then each against its direction with predicate + R."""
    since = np.tile(facts.since, 2)
    return Facts(
        np.concatenate([facts.subjects, facts.objects]),
        np.concatenate([facts.predicates, facts.predicates + np.int32(predicate_count)]),
        np.concatenate([facts.objects, facts.subjects]),
        since,
        since if facts.until is facts.since else np.tile(facts.until, 2),
    )


def make_snapshot(graph: TemporalGraph, rows: np.ndarray) -> Snapshot:
    """The facts of these rows, both ways."""
    facts = graph.facts
    subjects, predicates, objects = (
        column[rows].astype(np.int64)
        for column in (facts.subjects, facts.predicates, facts.objects)
    )
    heads, tails = np.concatenate([subjects, objects]), np.concatenate([objects, subjects])
    named = np.concatenate([predicates, predicates + graph.predicate_count])
    into = np.bincount(tails, minlength=graph.entity_count + 1)
    touch = np.unique(
        np.concatenate([np.stack([named, heads], axis=1), np.stack([named, tails], axis=1)]),
        axis=0,
    )
    shares = (1 / into[tails]).astype(np.float32)[:, None]
    arrays = (heads, named, tails, shares, touch[:, 1].copy(), touch[:, 0].copy())
    return Snapshot(*map(torch.from_numpy, arrays))


def gru(seen: Tensor, before: Tensor, weights: Tensor, hidden: Tensor, bias: Tensor) -> Tensor:
    """One step of a gated recurrent unit: (B, in), (B, size) -> (B, size)."""
    of_seen = (seen @ weights.T + bias[0]).chunk(3, dim=-1)
    of_before = (before @ hidden.T + bias[1]).chunk(3, dim=-1)
    reset, update = (torch.sigmoid(of_seen[k] + of_before[k]) for k in range(2))
    new = torch.tanh(of_seen[2] + reset * of_before[2])
    return (1 - update) * new + update * before


def _build(
    data: Dataset, graph: TemporalGraph, settings: Settings, rng: np.random.Generator
) -> ReGcn:
    if not graph.facts.dated.any():
        raise DataError(
            f"{data.name}: RE-GCN learns from the snapshots before a query's time, "
            "but no training fact has a time"
        )
    if settings.training.objective != "predicates":
        raise ConfigError("RE-GCN learns predicates: training.objective must be predicates")
    return ReGcn(graph, settings.model, rng=rng)


DEFAULT = Settings()
PAPER = Settings(
    model=replace(DEFAULT.model, inverse_candidates=True),
    training=replace(DEFAULT.training, mask_known=False),
)
PRESETS = {"default": DEFAULT, "paper": PAPER}
SPACE = {
    "model.size": (64, 100, 150),
    "model.history": (1, 2, 3, 5, 8),
    "model.layers": (1, 2),
    "model.channels": (25, 50),
    "model.dropout": (0.1, 0.2, 0.3, 0.4),
    "training.learning_rate": (5e-4, 1e-3, 2e-3, 4e-3),
    "training.batch_size": (100, 200, 500),
}
QUICK = {
    **QUICK_TRAINING,
    "model.size": 16,
    "model.channels": 4,
    "model.history": 2,
}
DEFINITIONS = {"re_gcn": learned_baseline(_build, PRESETS, SPACE, QUICK)}
