"""RE-GCN (Li et al. 2021), trained to predict predicates from the snapshots before a query.

The embedding starts from one table for all times. Each of the last snapshots before the query's
time updates it:

predicates  GRU([table, mean of the entities that occur with the predicate], previous value)
entities    a relation-aware GCN over the snapshot's facts, in both directions, gated with the
            previous values

A convolution over the query's two entities then produces a vector. A predicate's score is the dot
product of this vector with the predicate's vector. A query sees no snapshot at its own time or
later. The paper's static graph constraint is omitted.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from apptek.arrays import Ints
from apptek.baselines.embedding import Embedding, EncodedQueries, TrainingConfig, dropout, normal
from apptek.baselines.embedding_baseline import embedding_baseline
from apptek.errors import ConfigError, DataError
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.ranking import filtered_mrr
from apptek.facts.facts import Dataset, Facts, with_inverses
from apptek.facts.queries import held_out_queries
from apptek.facts.times import UNKNOWN
from apptek.graph.temporal_graph import TemporalGraph
from apptek.setting_rules import checked_dataclass, setting

SLOPE = 0.23  # of the leaky rectifier below 0: the mean of the authors' random slope


@checked_dataclass
class ReGcnConfig:
    """The size of the embedding, and how many snapshots it sees."""

    size: int = setting(100, "size of an entity's vector", ge=1)
    history: int = setting(3, "snapshots that a query sees before its time", ge=1)
    layers: int = setting(2, "layers of the GCN in each snapshot", ge=1)
    channels: int = setting(50, "channels of the convolution", ge=1)
    kernel: Literal[1, 3, 5, 7, 9] = setting(3, "width of the convolution")
    dropout: float = setting(0.2, "dropout rate", ge=0, lt=1)
    inverse_candidates: bool = setting(
        False, "train as its authors do: each fact in both directions, 2 R candidates"
    )


@checked_dataclass
class ReGcnSettings:
    """All settings of RE-GCN."""

    model: ReGcnConfig = ReGcnConfig()
    training: TrainingConfig = TrainingConfig(
        optimizer="adam", learning_rate=1e-3, batch_size=200, epochs=20
    )

    def __post_init__(self) -> None:
        if self.training.objective != "predicates":
            raise ConfigError("RE-GCN learns predicates: training.objective must be predicates")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All facts with the same time as E edges: each fact, and its inverse with predicate + R."""

    heads: Tensor  # (E,)
    predicates: Tensor
    tails: Tensor
    shares: Tensor  # (E, 1): 1 / number of edges into the tail
    members: Tensor  # (P,) each entity that occurs with a predicate, once
    member_predicates: Tensor  # (P,) that predicate

    def within(self, rows: Tensor) -> "Snapshot":
        """Return the snapshot with entities as indices into the ascending, complete `rows`."""
        heads, tails, members = (
            torch.searchsorted(rows, entities)
            for entities in (self.heads, self.tails, self.members)
        )
        return replace(self, heads=heads, tails=tails, members=members)

    def to(self, device: torch.device) -> "Snapshot":
        """Return the same snapshot on a device."""
        return Snapshot(*(getattr(self, part.name).to(device) for part in fields(self)))


class ReGcn(Embedding):
    """The model. Each distinct training time is a snapshot. Undated queries see none."""

    def __init__(
        self, graph: TemporalGraph, config: ReGcnConfig, *, rng: np.random.Generator
    ) -> None:
        if not graph.facts.dated.any():
            raise DataError(
                "RE-GCN learns from the snapshots before a query's time, "
                "but no training fact has a time"
            )
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
        """Return the number of snapshots before each time, (B,); 0 for an unknown time."""
        positions = self._axis.positions(codes).astype(np.int64)
        before = np.searchsorted(self._times, positions)
        return torch.from_numpy(np.where(positions == UNKNOWN, 0, before))

    def batches(
        self, queries: EncodedQueries, size: int, *, rng: np.random.Generator
    ) -> Iterator[Tensor]:
        """Yield batches of whole snapshots, in random order, with at least `size` facts each.

        The snapshots before a time are evolved once for all its queries in a batch, so dividing a
        snapshot doubles that cost. Only those with more than ten times `size` facts are divided.
        """
        moments, rows = torch.sort(queries.moments.cpu(), stable=True)
        counts = torch.unique_consecutive(moments, return_counts=True)[1].tolist()
        snapshots = torch.split(rows, counts)
        parts = [part for rows in snapshots for part in torch.split(rows, 10 * size)]
        batch: list[Tensor] = []
        for index in rng.permutation(len(parts)):
            batch.append(parts[index])
            if sum(map(len, batch)) >= size:
                yield torch.cat(batch)
                batch = []
        if batch:
            yield torch.cat(batch)

    def logits(self, queries: EncodedQueries, *, noise: torch.Generator | None = None) -> Tensor:
        """(B, R); in training with inverse candidates, (B, 2 R)."""
        both = self.config.inverse_candidates and noise is not None
        return self._scores(queries, self._predicate_count * (1 + both), noise)

    def _scores(self, queries: EncodedQueries, width: int, noise: torch.Generator | None) -> Tensor:
        """Return the scores of the first `width` candidates, (B, width)."""
        scores = torch.empty(len(queries.subjects), width, device=self.bias.device)
        for moment in torch.unique(queries.moments).tolist():
            rows = torch.nonzero(queries.moments == moment).flatten()
            of_moment = self._decode(queries.take(rows), moment, noise)
            scores = scores.index_copy(0, rows, of_moment[:, :width])
        return scores

    def training_facts(self, facts: Facts) -> Facts:
        """Return each fact, in both directions if there are inverse candidates."""
        if not self.config.inverse_candidates:
            return facts
        return with_inverses(facts, self._predicate_count)

    @torch.inference_mode()
    def extra_metrics(self, dataset: Dataset) -> dict[str, float]:
        """Return the validation MRR in both directions, if there are inverse candidates.

        Each true predicate is ranked among all 2 R candidates.
        """
        if not self.config.inverse_candidates:
            return {}
        splits = (dataset.valid, dataset.train, dataset.valid, dataset.test)
        facts, *known = (with_inverses(facts, self._predicate_count) for facts in splits)
        encoded = self.encode(held_out_queries(facts)).to(self.bias.device)
        scores = self._scores(encoded, 2 * self._predicate_count, None).cpu().numpy()
        mrr = filtered_mrr(scores, facts.predicates, known_predicates(facts, known))
        return {"valid_mrr_of_both_ways": mrr}

    def score(self, queries: EncodedQueries, predicates: Tensor) -> Tensor:
        """(B,)."""
        return self.logits(queries).gather(1, predicates[:, None])[:, 0]

    def _decode(
        self, queries: EncodedQueries, moment: int, noise: torch.Generator | None
    ) -> Tensor:
        """Return the scores of all predicates and inverses for simultaneous queries, (B, 2 R)."""
        share, named = self.config.dropout, torch.cat([queries.subjects, queries.objects])
        rows, entities, predicates = self.evolve(moment, named, noise)
        pair = entities[torch.searchsorted(rows, named)].view(2, len(queries.subjects), -1)
        pair = dropout(torch.tanh(pair.transpose(0, 1)), share, noise)  # (B, 2, size)
        waves = functional.conv1d(pair, self.convolution, padding=self.config.kernel // 2)
        waves = dropout(functional.relu(waves), share, noise).flatten(1)
        decoded = dropout(waves @ self.decoder + self.decoder_bias, share, noise)
        return functional.relu(decoded) @ predicates.T + self.bias

    def evolve(
        self, moment: int, named: Tensor, noise: torch.Generator | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return entity ids, their vectors, and all predicate vectors before a given time.

        Only the `named` entities and the entities in the snapshots are computed. Their ids ascend.
        No other entity sends messages, so leaving them out changes nothing.
        """
        seen = self._snapshots[max(moment - self.config.history, 0) : moment]
        seen = [snapshot.to(named.device) for snapshot in seen]
        # The heads are all entities in a snapshot, because every fact occurs in both directions.
        rows = torch.unique(torch.cat([named, *(snapshot.heads for snapshot in seen)]))
        entities = functional.normalize(self.entities[rows])
        predicates: Tensor = self.predicates
        for snapshot in (snapshot.within(rows) for snapshot in seen):
            predicates = self._evolve_predicates(snapshot, entities, predicates)
            changed = functional.normalize(self._convolve(snapshot, entities, predicates, noise))
            gate = torch.sigmoid(entities @ self.gate + self.gate_bias)
            entities = gate * changed + (1 - gate) * entities
        return rows, entities, predicates

    def _evolve_predicates(self, snapshot: Snapshot, entities: Tensor, before: Tensor) -> Tensor:
        total = torch.zeros_like(before).index_add(
            0, snapshot.member_predicates, entities[snapshot.members]
        )
        counts = torch.bincount(snapshot.member_predicates, minlength=len(before)).clamp_min(1)
        seen = torch.cat([self.predicates, total / counts[:, None]], dim=1)  # (2 R, 2 size)
        return functional.normalize(gru(seen, before, self.gru_in, self.gru_hidden, self.gru_bias))

    def _convolve(
        self,
        snapshot: Snapshot,
        entities: Tensor,
        predicates: Tensor,
        noise: torch.Generator | None,
    ) -> Tensor:
        # Entities without a fact in the snapshot use another self-loop, as in the authors' code.
        lonely = torch.ones(len(entities), 1, device=entities.device)
        lonely = lonely.index_fill(0, snapshot.tails, 0.0)
        for layer in range(self.config.layers):
            sent = (entities[snapshot.heads] + predicates[snapshot.predicates]) * snapshot.shares
            received = torch.zeros_like(entities).index_add(0, snapshot.tails, sent)
            kept = torch.where(
                lonely > 0, entities @ self.lonely_loops[layer], entities @ self.loops[layer]
            )
            entities = functional.leaky_relu(received @ self.messages[layer] + kept, SLOPE)
            entities = dropout(entities, self.config.dropout, noise)
        return entities


def make_snapshot(graph: TemporalGraph, rows: np.ndarray) -> Snapshot:
    """Return the snapshot of these training facts."""
    facts = graph.facts
    subjects, predicates, objects = (
        column[rows].astype(np.int64)
        for column in (facts.subjects, facts.predicates, facts.objects)
    )
    heads, tails = np.concatenate([subjects, objects]), np.concatenate([objects, subjects])
    named = np.concatenate([predicates, predicates + graph.predicate_count])
    into = np.bincount(tails, minlength=graph.entity_count + 1)
    members = np.unique(
        np.concatenate([np.stack([named, heads], axis=1), np.stack([named, tails], axis=1)]),
        axis=0,
    )
    shares = (1 / into[tails]).astype(np.float32)[:, None]
    arrays = (heads, named, tails, shares, members[:, 1].copy(), members[:, 0].copy())
    return Snapshot(*map(torch.from_numpy, arrays))


def gru(seen: Tensor, before: Tensor, weights: Tensor, hidden: Tensor, bias: Tensor) -> Tensor:
    """Apply one step of a gated recurrent unit: (B, in), (B, size) -> (B, size)."""
    of_seen = (seen @ weights.T + bias[0]).chunk(3, dim=-1)
    of_before = (before @ hidden.T + bias[1]).chunk(3, dim=-1)
    reset, update = (torch.sigmoid(of_seen[k] + of_before[k]) for k in range(2))
    new = torch.tanh(of_seen[2] + reset * of_before[2])
    return (1 - update) * new + update * before


DEFAULT = ReGcnSettings()
PAPER = ReGcnSettings(
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
DEFINITIONS = {"re_gcn": embedding_baseline(ReGcn, PRESETS, SPACE)}
