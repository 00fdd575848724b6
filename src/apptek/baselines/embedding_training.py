"""The training loop of the learned baselines, which stops early by the MRR on valid."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from apptek.baselines.embedding import Embedding, EncodedQueries, embedding_scores
from apptek.errors import DivergedError
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.ranking import TuningQueries
from apptek.facts.facts import Dataset
from apptek.facts.queries import held_out_queries
from apptek.ragged import Ragged
from apptek.seeding import generator
from apptek.setting_rules import checked_dataclass, setting
from apptek.terminal import tell

Objective = Literal["predicates", "entities"]
Optimizer = Literal["adagrad", "adam"]
MASKED = -1e30  # the logit of a predicate that takes no part in the softmax


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
