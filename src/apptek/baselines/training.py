"""The training loop of the learned baselines, which stops early by the MRR on valid."""

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from apptek.arrays import Floats
from apptek.baselines.embedding import Asked, Embedding
from apptek.data.facts import Dataset
from apptek.data.queries import Queries, held_out_queries
from apptek.errors import ConfigError, DivergedError
from apptek.evaluation.filters import KnownPredicates, known_predicates
from apptek.evaluation.ranking import expected_ranks
from apptek.seeding import generator
from apptek.terminal import tell

Objective = Literal["predicates", "entities"]
Optimizer = Literal["adagrad", "adam"]
CHUNK = 4096  # queries that are scored at a time
MASKED = -1e30
QUICK_TRAINING = {"training.epochs": 2, "training.batch_size": 500}  # for a tiny world


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """How a baseline learns."""

    objective: Objective = "predicates"  # entities: the true one among corrupted ones
    mask_known: bool = True  # other training predicates of the same (s, o, t) are no mistakes
    negatives: int = 20  # corrupted subjects, and objects, of each fact; for `entities`
    unseen_share: float = 0.02  # entities that are asked about as if they were not known
    epochs: int = 30
    batch_size: int = 1000
    optimizer: Optimizer = "adagrad"
    learning_rate: float = 0.1
    patience: int = 3  # epochs without a better MRR on valid before stopping
    valid_queries: int = 20_000  # at most, spread evenly over valid

    def __post_init__(self) -> None:
        for name in ("negatives", "epochs", "batch_size", "patience", "valid_queries"):
            self._require(name, getattr(self, name) >= 1, "at least 1")
        self._require("learning_rate", 0 < self.learning_rate < math.inf, "above 0")
        self._require("unseen_share", 0 <= self.unseen_share < 1, "from 0 to below 1")
        for name, choices in (("objective", Objective), ("optimizer", Optimizer)):
            known = get_args(choices)
            self._require(name, getattr(self, name) in known, f"one of {', '.join(known)}")

    def _require(self, name: str, holds: bool, what: str) -> None:
        if not holds:
            raise ConfigError(f"training.{name} must be {what}, not {getattr(self, name)!r}")


def choose_device() -> torch.device:
    """The GPU where torch has one, with a line on stderr that says so; else the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    tell("training on the GPU; with CUDA_VISIBLE_DEVICES set to nothing it would be the CPU")
    return torch.device("cuda")


@dataclass(slots=True)
class Course:
    """What a training run has reached: an entry for each epoch, and the best epoch's weights."""

    epochs: list[dict[str, float]]
    best_epoch: int
    best: dict[str, Tensor]

    @property
    def best_mrr(self) -> float:
        """The MRR on valid of the best epoch."""
        return self.epochs[self.best_epoch - 1]["valid_mrr"] if self.best_epoch else 0.0


class Trainer:
    """One training run, epoch by epoch; all randomness of an epoch comes from its own streams."""

    def __init__(
        self,
        model: Embedding,
        dataset: Dataset,
        config: TrainingConfig,
        *,
        seed: int,
        device: torch.device,
    ) -> None:
        self.device = device
        self.model, self.config, self.seed = model.to(self.device), config, seed
        facts = model.training_facts(dataset.train)
        self.asked = model.encode(held_out_queries(facts)).to(self.device)
        self.labels = torch.from_numpy(facts.predicates.astype(np.int64)).to(self.device)
        self.others = known_predicates(facts, (facts,))
        self.valid = ValidQuestions(dataset, config.valid_queries)
        self.optimizer = make_optimizer(model, config)
        self.course = Course([], 0, {})

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or the last ones have not helped."""
        done, best = len(self.course.epochs), self.course.best_epoch
        return done >= self.config.epochs or done - best >= self.config.patience

    def run_epoch(self) -> None:
        """Learns from every fact once, then asks valid."""
        number = len(self.course.epochs) + 1
        rng = generator(self.seed, f"epoch {number}")
        noise = torch.Generator().manual_seed(int(rng.integers(2**63)))
        total = 0.0
        for rows in self.model.batches(self.asked, self.config.batch_size, rng=rng):
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.loss(rows, noise)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            total += float(loss.detach()) * len(rows)
        mrr = self.valid.mrr(self.model)
        better = mrr > self.course.best_mrr
        self.course.epochs.append({"loss": total / len(self.labels), "valid_mrr": mrr})
        if better or number == 1:
            self.course.best_epoch = number
            self.course.best = {n: t.detach().clone() for n, t in self.model.state_dict().items()}

    def loss(self, rows: Tensor, noise: torch.Generator) -> Tensor:
        """The objective on a batch of training facts, regularisation included."""
        known, labels = self.asked.take(rows), self.labels[rows]
        asked = with_unseen(known, self.model.unseen, self.config.unseen_share, noise)
        if self.config.objective == "entities":
            loss = entity_loss(self.model, asked, labels, self.config.negatives, noise)
        else:
            logits = self.model.logits(asked, noise=noise)
            if self.config.mask_known:
                logits = masked(logits, self.others, rows)
            loss = cross_entropy(logits, labels)
        return loss + self.model.penalty(asked, labels)


class ValidQuestions:
    """Queries of valid, spread evenly, with what the ranking filters."""

    def __init__(self, dataset: Dataset, most: int) -> None:
        step = -(-len(dataset.valid) // most)
        asked = dataset.valid.take(np.arange(0, len(dataset.valid), step))
        self._queries, self._truths = held_out_queries(asked), asked.predicates
        self._known = known_predicates(asked, (dataset.train, dataset.valid, dataset.test))

    def mrr(self, model: Embedding) -> float:
        """The filtered MRR of a model; DivergedError where it has lost itself in large numbers."""
        scores = score_queries(model, self._queries)
        if not np.isfinite(scores).all():
            raise DivergedError("training has diverged: choose a lower training.learning_rate")
        return float(np.mean(1 / expected_ranks(scores, self._truths, self._known)))


@torch.inference_mode()
def score_queries(model: Embedding, queries: Queries) -> Floats:
    """The scores of all predicates, (B, R); queries of one time are asked together."""
    device, asked = next(model.parameters()).device, model.encode(queries)
    order = torch.from_numpy(np.argsort(queries.times, kind="stable"))
    scores = [model.logits(asked.take(rows).to(device)).cpu() for rows in torch.split(order, CHUNK)]
    found: Floats = torch.cat(scores)[torch.argsort(order)].numpy()
    return found


def make_optimizer(model: Embedding, config: TrainingConfig) -> torch.optim.Optimizer:
    """The optimizer of the settings; fused: one pass over each table."""
    if config.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), config.learning_rate, fused=True)
    return torch.optim.Adagrad(model.parameters(), config.learning_rate, fused=True)


def masked(logits: Tensor, others: KnownPredicates, rows: Tensor) -> Tensor:
    """Logits in which the other known predicates of each row take no part."""
    places = rows.cpu().numpy()
    starts, counts = others.offsets[places], np.diff(others.offsets)[places]
    inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    columns = others.predicates[np.repeat(starts, counts) + inside]
    mask = torch.zeros(logits.shape, dtype=torch.bool)
    mask[np.repeat(np.arange(len(places)), counts), columns] = True
    return logits.masked_fill(mask.to(logits.device), MASKED)


def with_unseen(asked: Asked, unseen: int, share: float, noise: torch.Generator) -> Asked:
    """Questions in which a share of the entities is not known."""
    if not share:
        return asked

    def forget(entities: Tensor) -> Tensor:
        forgotten = torch.rand(entities.shape, generator=noise) < share
        return entities.masked_fill(forgotten.to(entities.device), unseen)

    return replace(asked, subjects=forget(asked.subjects), objects=forget(asked.objects))


def entity_loss(
    model: Embedding, asked: Asked, labels: Tensor, negatives: int, noise: torch.Generator
) -> Tensor:
    """How far the true subject stands out among corrupted ones, and the true object so, too."""
    drawn = torch.randint(model.unseen, (2, len(labels), negatives), generator=noise)
    drawn = drawn.to(labels.device)
    subjects = torch.cat([asked.subjects[:, None], drawn[0]], dim=1)  # (B, 1 + N), true one first
    objects = torch.cat([asked.objects[:, None], drawn[1]], dim=1)
    first = torch.zeros_like(labels)
    of_subjects = Asked(subjects, asked.objects[:, None], asked.moments[:, None])
    of_objects = Asked(asked.subjects[:, None], objects, asked.moments[:, None])
    scores = (model.score(part, labels[:, None]) for part in (of_subjects, of_objects))
    return sum(
        (cross_entropy(part, first) for part in scores), torch.zeros((), device=first.device)
    )
