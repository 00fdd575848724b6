"""The learned baselines: embeddings that score the predicates of queries, and their training.

Training uses early stopping on the validation MRR.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from apptek.arrays import Floats, Ints
from apptek.errors import DivergedError
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.ranking import TuningQueries
from apptek.facts.facts import Dataset, Facts
from apptek.facts.queries import Queries, held_out_queries
from apptek.ragged import Ragged
from apptek.seeding import generator
from apptek.setting_rules import checked_dataclass, setting
from apptek.terminal import tell

CHUNK = 4096  # queries scored at once
Objective = Literal["predicates", "entities"]
Optimizer = Literal["adagrad", "adam"]
MASKED = -1e30  # the logit of a predicate excluded from the softmax


@dataclass(frozen=True, slots=True)
class EncodedQueries:
    """Queries as tensors: entities as rows of the embedding, times as the model encodes them."""

    subjects: Tensor  # (B,), or (B, N) with N candidates per query
    objects: Tensor
    moments: Tensor  # (B, ...)

    def take(self, rows: Tensor) -> "EncodedQueries":
        """Return the queries in these rows."""
        return EncodedQueries(self.subjects[rows], self.objects[rows], self.moments[rows])

    def to(self, device: torch.device) -> "EncodedQueries":
        """Return the same queries on a device."""
        moved = (part.to(device) for part in (self.subjects, self.objects, self.moments))
        return EncodedQueries(*moved)


class Embedding(nn.Module, ABC):
    """A model of (subject, predicate, object, time) that is trained by gradient descent.

    Entities without a training fact share the last row, `unseen`. It is used for every new name in
    a query. To train it, a few entities in the training queries are replaced with it.
    """

    def __init__(self, facts: Facts, entity_count: int) -> None:
        super().__init__()
        seen = np.zeros(entity_count + 1, np.bool_)  # the last entry is for entity -1
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
        """Return time codes as the model encodes them, (B, ...)."""

    @abstractmethod
    def logits(self, queries: EncodedQueries, *, noise: torch.Generator | None = None) -> Tensor:
        """Return the scores of all predicates, (B, R). `noise` draws dropout in training."""

    @abstractmethod
    def score(self, queries: EncodedQueries, predicates: Tensor) -> Tensor:
        """Return one predicate's score for each query: (B,), or (B, N) if entities are (B, N)."""

    def penalty(self, queries: EncodedQueries, predicates: Tensor) -> Tensor:  # noqa: ARG002
        """Return the regularisation to add to a batch's loss."""
        return torch.zeros((), device=predicates.device)

    def training_facts(self, facts: Facts) -> Facts:
        """Return the facts to train on, derived from the training facts."""
        return facts

    def extra_metrics(self, dataset: Dataset) -> dict[str, float]:  # noqa: ARG002
        """Return additional validation metrics for the report."""
        return {}

    def batches(
        self, queries: EncodedQueries, size: int, *, rng: np.random.Generator
    ) -> Iterator[Tensor]:
        """Yield the rows of each batch in an epoch, in random order."""
        order = torch.from_numpy(rng.permutation(len(queries.subjects)))
        yield from torch.split(order, size)


@torch.inference_mode()
def embedding_scores(model: Embedding, queries: Queries) -> Floats:
    """Return the scores of all predicates, (B, R).

    Queries are scored in order of time, because RE-GCN evolves its embedding once for each time in
    a chunk.
    """
    device, encoded = next(model.parameters()).device, model.encode(queries)
    order = torch.from_numpy(np.argsort(queries.times, kind="stable"))
    chunks = (encoded.take(rows).to(device) for rows in torch.split(order, CHUNK))
    ordered = torch.cat([model.logits(chunk).cpu() for chunk in chunks])
    return ordered[torch.argsort(order)].numpy()


def dropout(values: Tensor, share: float, noise: torch.Generator | None) -> Tensor:
    """Set a proportion of the values to 0 and scale up the rest. Without noise, do nothing."""
    if noise is None or not share:
        return values
    # Drawn on the noise's own device, so that a seed has the same meaning on every device.
    kept = torch.rand(values.shape, generator=noise, device=noise.device) >= share
    return values * kept.to(values.device) / (1 - share)


def normal(*shape: int, scale: float, rng: np.random.Generator) -> nn.Parameter:
    """Return a parameter of normally distributed random numbers with this standard deviation."""
    values = rng.standard_normal(shape, np.float32) * np.float32(scale)
    return nn.Parameter(torch.from_numpy(values))


@checked_dataclass
class TrainingConfig:
    """The settings for training an embedding."""

    objective: Objective = setting(
        "predicates", "softmax over all predicates, or the true entity among corrupted ones"
    )
    mask_known: bool = setting(
        True, "exclude other training predicates of the same (s, o, t) from the softmax"
    )
    negatives: int = setting(20, "corrupted subjects and corrupted objects per fact", ge=1)
    unseen_share: float = setting(0.02, "rate of replacing entities with `unseen`", ge=0, lt=1)
    epochs: int = setting(30, "passes over the training facts", ge=1)
    batch_size: int = setting(1000, "facts per update", ge=1)
    optimizer: Optimizer = setting("adagrad", "update rule")
    learning_rate: float = setting(0.1, "learning rate of the optimizer", gt=0)
    patience: int = setting(3, "epochs without a better validation MRR before stopping", ge=1)
    valid_queries: int = setting(20_000, "max. validation queries, sampled evenly", ge=1)


def choose_device() -> torch.device:
    """Return the GPU if torch has one, and print a line on stderr. Otherwise return the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    tell("training on the GPU; set CUDA_VISIBLE_DEVICES= to use the CPU")
    return torch.device("cuda")


@dataclass(slots=True)
class TrainingRecord:
    """The progress of a training run: each epoch's loss and MRR, and the best epoch's weights."""

    epochs: list[dict[str, float]]
    best_epoch: int  # counted from 1; 0 before the first
    best_weights: dict[str, Tensor]

    @property
    def best_mrr(self) -> float:
        """The validation MRR after the best epoch."""
        return self.epochs[self.best_epoch - 1]["valid_mrr"] if self.best_epoch else 0.0


class EmbeddingTrainer:
    """A training run.

    Every epoch draws from its own random streams, so that a run resumed after any epoch gives the
    same bytes as an uninterrupted run.
    """

    def __init__(
        self,
        model: Embedding,
        dataset: Dataset,
        config: TrainingConfig,
        *,
        seed: int,
        device: torch.device,
    ) -> None:
        self.model, self.config, self.seed = model.to(device), config, seed
        facts = model.training_facts(dataset.train)
        self.queries = model.encode(held_out_queries(facts)).to(device)
        self.labels = torch.from_numpy(facts.predicates.astype(np.int64)).to(device)
        self.known = known_predicates(facts, (facts,))
        self.tuning = TuningQueries.of(dataset, config.valid_queries)
        # `fused` updates each parameter in a single pass.
        kind = torch.optim.Adam if config.optimizer == "adam" else torch.optim.Adagrad
        self.optimizer = kind(model.parameters(), config.learning_rate, fused=True)
        self.record = TrainingRecord([], 0, {})

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or `patience` epochs in a row brought no improvement."""
        done, best = len(self.record.epochs), self.record.best_epoch
        return done >= self.config.epochs or done - best >= self.config.patience

    def run_epoch(self) -> None:
        """Train on every fact once, then compute the validation MRR."""
        number = len(self.record.epochs) + 1
        rng = generator(self.seed, f"epoch {number}")
        noise = torch.Generator().manual_seed(int(rng.integers(2**63)))
        total_loss = 0.0
        for rows in self.model.batches(self.queries, self.config.batch_size, rng=rng):
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.loss(rows, noise)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            total_loss += float(loss.detach()) * len(rows)
        mrr = self.valid_mrr()
        improved = mrr > self.record.best_mrr
        self.record.epochs.append({"loss": total_loss / len(self.labels), "valid_mrr": mrr})
        if improved or number == 1:
            self.record.best_epoch = number
            state = self.model.state_dict()
            # Cloned, because the optimizer keeps changing the tensors in place.
            self.record.best_weights = {name: t.detach().clone() for name, t in state.items()}

    def loss(self, rows: Tensor, noise: torch.Generator) -> Tensor:
        """Return the loss on a batch of training facts, including regularisation."""
        labels = self.labels[rows]
        queries = with_unseen(
            self.queries.take(rows), self.model.unseen, self.config.unseen_share, noise
        )
        if self.config.objective == "entities":
            loss = entity_loss(self.model, queries, labels, self.config.negatives, noise)
        else:
            logits = self.model.logits(queries, noise=noise)
            if self.config.mask_known:
                logits = mask_known(logits, self.known, rows)
            loss = cross_entropy(logits, labels)
        return loss + self.model.penalty(queries, labels)

    def valid_mrr(self) -> float:
        """Return the validation MRR. Raise DivergedError if the scores are no longer finite."""
        scores = embedding_scores(self.model, self.tuning.queries)
        if not np.isfinite(scores).all():
            raise DivergedError("training has diverged: choose a lower training.learning_rate")
        return self.tuning.mrr(scores)


def mask_known(logits: Tensor, known: Ragged, rows: Tensor) -> Tensor:
    """Return the logits (B, R) with each training row's other known predicates masked."""
    of_rows = known.take(rows.cpu().numpy())
    mask = np.zeros(logits.shape, np.bool_)
    mask[of_rows.row_of_each, of_rows.columns] = True
    return logits.masked_fill(torch.from_numpy(mask).to(logits.device), MASKED)


def with_unseen(
    queries: EncodedQueries, unseen: int, share: float, noise: torch.Generator
) -> EncodedQueries:
    """Return the queries with a random share of their entities replaced by the unseen one."""
    if not share:
        return queries

    def forget(entities: Tensor) -> Tensor:
        forgotten = torch.rand(entities.shape, generator=noise) < share
        return entities.masked_fill(forgotten.to(entities.device), unseen)

    return replace(queries, subjects=forget(queries.subjects), objects=forget(queries.objects))


def entity_loss(
    model: Embedding,
    queries: EncodedQueries,
    labels: Tensor,
    negatives: int,
    noise: torch.Generator,
) -> Tensor:
    """Return the cross entropy of true subjects among corrupted ones, plus the same for objects.

    Corrupted entities are drawn from all entities, so occasionally one is the true entity.
    """
    drawn = torch.randint(model.unseen, (2, len(labels), negatives), generator=noise)
    drawn = drawn.to(labels.device)
    # (B, 1 + N), the true entity first
    subjects = torch.cat([queries.subjects[:, None], drawn[0]], dim=1)
    objects = torch.cat([queries.objects[:, None], drawn[1]], dim=1)
    moments, first = queries.moments[:, None], torch.zeros_like(labels)
    corrupted = (
        EncodedQueries(subjects, queries.objects[:, None], moments),
        EncodedQueries(queries.subjects[:, None], objects, moments),
    )
    losses = (cross_entropy(model.score(part, labels[:, None]), first) for part in corrupted)
    return sum(losses, torch.zeros((), device=first.device))
