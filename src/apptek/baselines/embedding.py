"""The learned baselines: an embedding that scores the predicates of queries, and its training.

Training stops early by the MRR on valid.
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

CHUNK = 4096  # queries that are scored at a time
Objective = Literal["predicates", "entities"]
Optimizer = Literal["adagrad", "adam"]
MASKED = -1e30  # the logit of a predicate that takes no part in the softmax


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


@checked_dataclass
class TrainingConfig:
    """How an embedding is trained."""

    objective: Objective = setting(
        "predicates", "a softmax over all predicates, or the true entity among corrupted ones"
    )
    mask_known: bool = setting(
        True, "other training predicates of the same (s, o, t) take no part in the softmax"
    )
    negatives: int = setting(20, "corrupted subjects, and objects, of each fact", ge=1)
    unseen_share: float = setting(0.02, "share of entities replaced by the unseen one", ge=0, lt=1)
    epochs: int = setting(30, "passes over the training facts", ge=1)
    batch_size: int = setting(1000, "facts of an update", ge=1)
    optimizer: Optimizer = setting("adagrad", "how an update follows its gradient")
    learning_rate: float = setting(0.1, "of the optimizer", gt=0)
    patience: int = setting(3, "epochs without a better MRR on valid before stopping", ge=1)
    valid_queries: int = setting(20_000, "most queries of valid, spread evenly over it", ge=1)


def choose_device() -> torch.device:
    """Return the GPU if torch has one, which a line on stderr says; else the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    tell("training on the GPU; set CUDA_VISIBLE_DEVICES= to use the CPU")
    return torch.device("cuda")


@dataclass(slots=True)
class TrainingRecord:
    """What a training run has reached: loss and MRR of each epoch, and the best epoch's weights."""

    epochs: list[dict[str, float]]
    best_epoch: int  # counted from 1; 0 before the first
    best_weights: dict[str, Tensor]

    @property
    def best_mrr(self) -> float:
        """The MRR on valid after the best epoch."""
        return self.epochs[self.best_epoch - 1]["valid_mrr"] if self.best_epoch else 0.0


class EmbeddingTrainer:
    """One training run.

    Every epoch draws from random streams of its own, so that a run resumed after any epoch gives
    the same bytes as one that was never stopped.
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
        self.optimizer = make_optimizer(model, config)
        self.record = TrainingRecord([], 0, {})

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or `patience` epochs in a row brought no improvement."""
        done, best = len(self.record.epochs), self.record.best_epoch
        return done >= self.config.epochs or done - best >= self.config.patience

    def run_epoch(self) -> None:
        """Learns from every fact once, then computes the MRR on valid."""
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
            # Clones: the optimizer goes on changing the tensors in place.
            self.record.best_weights = {name: t.detach().clone() for name, t in state.items()}

    def loss(self, rows: Tensor, noise: torch.Generator) -> Tensor:
        """Return the objective on a batch of training facts, regularisation included."""
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
        """Return the MRR on valid; DivergedError if the scores are no longer finite."""
        scores = embedding_scores(self.model, self.tuning.queries)
        if not np.isfinite(scores).all():
            raise DivergedError("training has diverged: choose a lower training.learning_rate")
        return self.tuning.mrr(scores)


def make_optimizer(model: Embedding, config: TrainingConfig) -> torch.optim.Optimizer:
    """Return the optimizer of the settings. `fused` updates each parameter in one pass over it."""
    if config.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), config.learning_rate, fused=True)
    return torch.optim.Adagrad(model.parameters(), config.learning_rate, fused=True)


def mask_known(logits: Tensor, known: Ragged, rows: Tensor) -> Tensor:
    """Return the logits (B, R) of these training rows, with their other known predicates masked."""
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
    """Return the cross entropy of the true subject among corrupted ones, plus that of the object.

    A corrupted entity is drawn from all of them; now and then it is the true one.
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
