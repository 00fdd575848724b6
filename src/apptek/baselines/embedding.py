"""The base class of the learned baselines: an embedding that scores the predicates of queries."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from apptek.arrays import Floats, Ints
from apptek.facts.facts import Dataset, Facts
from apptek.facts.queries import Queries

CHUNK = 4096  # queries that are scored at a time


@dataclass(frozen=True, slots=True)
class EncodedQueries:
    """Queries as tensors: entities as rows of the embedding, times as the model encodes them."""

    subjects: Tensor  # (B,), or (B, N) for N candidates each
    objects: Tensor
    moments: Tensor  # (B, ...)

    def take(self, rows: Tensor) -> "EncodedQueries":
        """Return the queries of these rows."""
        return EncodedQueries(self.subjects[rows], self.objects[rows], self.moments[rows])

    def to(self, device: torch.device) -> "EncodedQueries":
        """Return the same queries on a device."""
        moved = (part.to(device) for part in (self.subjects, self.objects, self.moments))
        return EncodedQueries(*moved)


class Embedding(nn.Module, ABC):
    """A model of (subject, predicate, object, time) that is trained by gradient descent.

    Entities without a training fact share one row, the last: `unseen`. It is used for every
    new name in a query, and trained by replacing a few entities of the training queries with it.
    """

    def __init__(self, facts: Facts, entity_count: int) -> None:
        super().__init__()
        seen = np.zeros(entity_count + 1, np.bool_)  # the last entry is that of entity -1
        seen[facts.subjects] = seen[facts.objects] = True
        self.unseen = entity_count
        self._rows = np.where(seen, np.arange(entity_count + 1), entity_count)

    def encode(self, queries: Queries) -> EncodedQueries:
        """Return the queries as tensors on the CPU."""
        subjects, objects = (
            torch.from_numpy(self._rows[entities])
            for entities in (queries.subjects, queries.objects)
        )
        return EncodedQueries(subjects, objects, self.moments(queries.times))

    @abstractmethod
    def moments(self, codes: Ints) -> Tensor:
        """Time codes as the model encodes them, (B, ...)."""

    @abstractmethod
    def logits(self, queries: EncodedQueries, *, noise: torch.Generator | None = None) -> Tensor:
        """Return the scores of all predicates, (B, R). `noise` draws dropout in training."""

    @abstractmethod
    def score(self, queries: EncodedQueries, predicates: Tensor) -> Tensor:
        """Return the score of one predicate for each query, (B,); with entities (B, N), (B, N)."""

    def penalty(self, queries: EncodedQueries, predicates: Tensor) -> Tensor:  # noqa: ARG002
        """Return the regularisation that is added to the loss of a batch."""
        return torch.zeros((), device=predicates.device)

    def training_facts(self, facts: Facts) -> Facts:
        """Return the facts to learn from, given those of the train split."""
        return facts

    def extra_metrics(self, dataset: Dataset) -> dict[str, float]:  # noqa: ARG002
        """Further metrics on valid for the report."""
        return {}

    def batches(
        self, queries: EncodedQueries, size: int, *, rng: np.random.Generator
    ) -> Iterator[Tensor]:
        """Return the rows of each batch of an epoch, in a random order."""
        order = torch.from_numpy(rng.permutation(len(queries.subjects)))
        yield from torch.split(order, size)


@torch.inference_mode()
def embedding_scores(model: Embedding, queries: Queries) -> Floats:
    """Return the scores of all predicates, (B, R).

    Queries are scored in the order of their times: RE-GCN evolves its embedding once for each time
    in a chunk.
    """
    device, encoded = next(model.parameters()).device, model.encode(queries)
    order = torch.from_numpy(np.argsort(queries.times, kind="stable"))
    chunks = (encoded.take(rows).to(device) for rows in torch.split(order, CHUNK))
    ordered = torch.cat([model.logits(chunk).cpu() for chunk in chunks])
    scores: Floats = ordered[torch.argsort(order)].numpy()
    return scores


def dropout(values: Tensor, share: float, noise: torch.Generator | None) -> Tensor:
    """Set a share of the values to 0 and scale up the others; without noise, change nothing."""
    if noise is None or not share:
        return values
    # Drawn on the noise's own device, so that a seed means the same on every device.
    kept = torch.rand(values.shape, generator=noise, device=noise.device) >= share
    return values * kept.to(values.device) / (1 - share)


def normal(*shape: int, scale: float, rng: np.random.Generator) -> nn.Parameter:
    """Return a parameter of normally distributed random numbers with this standard deviation."""
    values = rng.standard_normal(shape, np.float32) * np.float32(scale)
    return nn.Parameter(torch.from_numpy(values))
