"""What the learned baselines share: an embedding of entities, predicates and times that scores."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from apptek.arrays import Ints
from apptek.data.facts import Dataset, Facts
from apptek.data.queries import Queries


@dataclass(frozen=True, slots=True)
class Asked:
    """Queries as tensors: entities as rows of the tables, and moments as the model takes them."""

    subjects: Tensor  # (B,), or (B, N) for candidates
    objects: Tensor
    moments: Tensor  # (B, ...)

    def take(self, rows: Tensor) -> "Asked":
        """The queries of these rows."""
        return Asked(self.subjects[rows], self.objects[rows], self.moments[rows])

    def to(self, device: torch.device) -> "Asked":
        """The same on a device."""
        moved = (part.to(device) for part in (self.subjects, self.objects, self.moments))
        return Asked(*moved)


class Embedding(nn.Module, ABC):
    """A model of (subject, predicate, object, time) that is trained by gradient descent.

    Entities without a training fact share one row, the last: `unseen`. It is trained by asking
    some questions as if an entity were not known, and stands for every name of a later query.
    """

    def __init__(self, facts: Facts, entity_count: int) -> None:
        super().__init__()
        seen = np.zeros(entity_count + 1, np.bool_)  # the last place is that of -1
        seen[facts.subjects] = seen[facts.objects] = True
        self.unseen = entity_count
        self._rows = np.where(seen, np.arange(entity_count + 1), entity_count)

    def encode(self, queries: Queries) -> Asked:
        """Queries as the model takes them."""
        subjects, objects = (
            torch.from_numpy(self._rows[entities])
            for entities in (queries.subjects, queries.objects)
        )
        return Asked(subjects, objects, self.moments(queries.times))

    @abstractmethod
    def moments(self, codes: Ints) -> Tensor:
        """Time codes as the model takes them: (B, ...)."""

    @abstractmethod
    def logits(self, asked: Asked, *, noise: torch.Generator | None = None) -> Tensor:
        """The scores of all predicates, (B, R); `noise` is for training alone."""

    @abstractmethod
    def score(self, asked: Asked, predicates: Tensor) -> Tensor:
        """The score of one predicate for each query: (B,); with entities (B, N), (B, N)."""

    def penalty(self, asked: Asked, predicates: Tensor) -> Tensor:  # noqa: ARG002
        """What regularisation adds to the loss of a batch."""
        return torch.zeros((), device=predicates.device)

    def training_facts(self, facts: Facts) -> Facts:
        """What is learned from the facts of the graph: mostly these themselves."""
        return facts

    def remarks(self, dataset: Dataset) -> dict[str, float]:  # noqa: ARG002
        """What else is reported of it on valid."""
        return {}

    def batches(self, asked: Asked, size: int, *, rng: np.random.Generator) -> Iterator[Tensor]:
        """The rows of each batch of an epoch, in a random order."""
        order = torch.from_numpy(rng.permutation(len(asked.subjects)))
        yield from torch.split(order, size)


def dropped(values: Tensor, share: float, noise: torch.Generator | None) -> Tensor:
    """Values of which a share is 0 and the rest larger; as they are where there is no noise."""
    if noise is None or not share:
        return values
    kept = torch.rand(values.shape, generator=noise, device=noise.device) >= share
    return values * kept.to(values.device) / (1 - share)


def normal(*shape: int, scale: float, rng: np.random.Generator) -> nn.Parameter:
    """A table of small random numbers."""
    values = rng.standard_normal(shape, np.float32) * np.float32(scale)
    return nn.Parameter(torch.from_numpy(values))
