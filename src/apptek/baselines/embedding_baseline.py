"""Trained embeddings as baselines: fitting with checkpoints, and weights as safetensors."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from apptek.arrays import Floats
from apptek.baselines.embedding import (
    Embedding,
    EmbeddingTrainer,
    TrainingRecord,
    choose_device,
    embedding_scores,
)
from apptek.config import View
from apptek.errors import CheckpointError, ModelError
from apptek.extras import one_torch_thread
from apptek.facts.queries import Queries
from apptek.models.scorers import BaselineDefinition, FitTask, SavedScorer, Scorer, Space
from apptek.resuming import StageCache
from apptek.seeding import generator

Build = Callable[..., Embedding]  # graph, the section `model` of the settings, rng
Tensors = dict[str, torch.Tensor]
STAGE = "training"
WEIGHTS = "weights.safetensors"
CHECKPOINT_SECONDS = 15.0  # minimum time between two checkpoints, which are written after an epoch


class EmbeddingScorer:
    """A trained embedding. It has learned every training fact, so `hidden` has no effect."""

    def __init__(self, model: Embedding) -> None:
        self.model = model

    @one_torch_thread()
    def scores(self, queries: Queries) -> Floats:
        """(B, R)."""
        return embedding_scores(self.model, queries)

    def save(self, folder: Path, view: View) -> None:  # noqa: ARG002
        """Write the weights as safetensors. There is only one view."""
        (folder / WEIGHTS).write_bytes(save(_detached(self.model.state_dict())))


def embedding_baseline(
    build: Build, presets: Mapping[str, Any], space: Space
) -> BaselineDefinition:
    """Return the definition of a baseline from its embedding class.

    Its settings have a section `model` for that class, and a section `training`.
    """
    return BaselineDefinition(
        presets=presets,
        fit=partial(_fit, build),
        load=partial(_load, build),
        space=space,
    )


@one_torch_thread()
def _fit(build: Build, task: FitTask) -> tuple[Scorer, dict[str, Any]]:
    model = build(task.graph, task.config.model, rng=generator(task.seed, "embedding"))
    trainer = EmbeddingTrainer(
        model, task.dataset, task.config.training, seed=task.seed, device=choose_device()
    )
    cache = StageCache(task.work)
    load_checkpoint(trainer, cache)
    last = time.monotonic()
    while not trainer.finished:
        trainer.run_epoch()
        if time.monotonic() - last >= CHECKPOINT_SECONDS:
            save_checkpoint(trainer, cache)
            last = time.monotonic()
        mrr, done = trainer.record.best_mrr, len(trainer.record.epochs)
        task.progress(f"MRR {mrr:.4f}", done, task.config.training.epochs)
    record = trainer.record
    model.load_state_dict(record.best_weights)  # the last epochs brought no improvement
    report = {"valid_mrr": record.best_mrr, "epoch": record.best_epoch, "epochs": record.epochs}
    return EmbeddingScorer(model), report | model.extra_metrics(task.dataset)


def _load(build: Build, saved: SavedScorer) -> Scorer:
    # The weights replace the initial values, so any seed will do.
    model = build(saved.graph, saved.config.model, rng=generator(0, "embedding"))
    try:
        model.load_state_dict(load((saved.folder / WEIGHTS).read_bytes()))
    except (RuntimeError, SafetensorError) as error:
        raise ModelError(f"{saved.folder} is damaged: {str(error).splitlines()[0]}") from None
    return EmbeddingScorer(model)


def save_checkpoint(trainer: EmbeddingTrainer, cache: StageCache) -> None:
    """Write a run's state after an epoch, atomically."""
    tensors = {f"model.{name}": tensor for name, tensor in trainer.model.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in trainer.record.best_weights.items()}
    for number, state in trainer.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": tensor for name, tensor in state.items()}
    arrays = {name: tensor.numpy() for name, tensor in _detached(tensors).items()}
    course = {"epochs": trainer.record.epochs, "best_epoch": trainer.record.best_epoch}
    cache.save(STAGE, arrays, course)


def load_checkpoint(trainer: EmbeddingTrainer, cache: StageCache) -> None:
    """Restore a new trainer to the state in a checkpoint, if there is one."""
    stored = cache.load(STAGE)
    if stored is None:
        return
    arrays, course = stored
    tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    try:
        trainer.model.load_state_dict(_with_prefix(tensors, "model."))
        trainer.optimizer.load_state_dict(_optimizer_state(trainer, tensors))
        best = _with_prefix(tensors, "best.")
        trainer.record = TrainingRecord(course["epochs"], course["best_epoch"], best)
    except (RuntimeError, KeyError, ValueError, TypeError) as error:
        raise CheckpointError(f"{cache.path(STAGE)} is damaged: {error}") from None


def _optimizer_state(trainer: EmbeddingTrainer, tensors: Tensors) -> dict[str, Any]:
    """Return the optimizer's state_dict, with tensors by parameter number, from a checkpoint."""
    states: dict[int, Tensors] = {}
    for key, tensor in _with_prefix(tensors, "optimizer.").items():
        number, _, name = key.partition(".")
        states.setdefault(int(number), {})[name] = tensor
    return {**trainer.optimizer.state_dict(), "state": states}


def _with_prefix(tensors: Tensors, prefix: str) -> Tensors:
    """Return the tensors whose names begin with a prefix, with the prefix removed."""
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def _detached(tensors: Mapping[str, torch.Tensor]) -> Tensors:
    """Copy tensors to the CPU without shared memory, as safetensors requires."""
    return {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
