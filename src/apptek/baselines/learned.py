"""Baselines that are trained embeddings: fitting with checkpoints, weights as safetensors."""

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save

from apptek.arrays import Floats
from apptek.baselines.definition import BaselineDefinition, FitTask, Scorer, Space
from apptek.baselines.embedding import Embedding
from apptek.baselines.training import Course, Trainer, choose_device, score_queries
from apptek.data.facts import Dataset
from apptek.data.queries import Queries
from apptek.errors import CheckpointError, ModelError
from apptek.extras import one_torch_thread
from apptek.files import write_whole
from apptek.graph.temporal_graph import TemporalGraph
from apptek.seeding import generator

Build = Callable[[Dataset, TemporalGraph, Any, np.random.Generator], Embedding]
Tensors = dict[str, torch.Tensor]
CHECKPOINT = "checkpoint.safetensors"
WEIGHTS = "weights.safetensors"
CHECKPOINT_SECONDS = 15.0  # at least, between two of them; they are written after an epoch


class Learned:
    """A trained embedding as a scorer. It cannot forget: what a query hides changes nothing."""

    def __init__(self, model: Embedding) -> None:
        self.model = model

    @one_torch_thread()
    def scores(self, queries: Queries) -> Floats:
        """(B, R)."""
        return score_queries(self.model, queries)

    def save(self, folder: Path) -> None:
        """The weights as safetensors."""
        (folder / WEIGHTS).write_bytes(save(_plain(self.model.state_dict())))


def learned_baseline(
    build: Build, presets: Mapping[str, Any], space: Space, quick_settings: Mapping[str, Any]
) -> BaselineDefinition:
    """The baseline whose embedding `build` makes; its settings have a section `training`."""
    return BaselineDefinition(
        presets=presets,
        fit=partial(_fit, build),
        load=partial(_load, build),
        space=space,
        quick_settings=quick_settings,
    )


@one_torch_thread()
def _fit(build: Build, task: FitTask) -> tuple[Scorer, dict[str, Any]]:
    model = build(task.dataset, task.graph, task.config, generator(task.seed, "embedding"))
    trainer = Trainer(
        model, task.dataset, task.config.training, seed=task.seed, device=choose_device()
    )
    checkpoint = task.work / CHECKPOINT
    if checkpoint.exists():
        load_checkpoint(trainer, checkpoint)
    last = time.monotonic()
    while not trainer.finished:
        trainer.run_epoch()
        if time.monotonic() - last >= CHECKPOINT_SECONDS:
            save_checkpoint(trainer, checkpoint)
            last = time.monotonic()
        reached, done = trainer.course.best_mrr, len(trainer.course.epochs)
        task.progress(f"MRR {reached:.4f}", done, task.config.training.epochs)
    course = trainer.course
    model.load_state_dict(course.best)
    report = {"valid_mrr": course.best_mrr, "epoch": course.best_epoch, "epochs": course.epochs}
    return Learned(model), report | model.remarks(task.dataset)


def _load(
    build: Build, folder: Path, dataset: Dataset, graph: TemporalGraph, config: Any
) -> Scorer:
    model = build(dataset, graph, config, generator(0, "embedding"))
    try:
        model.load_state_dict(load((folder / WEIGHTS).read_bytes()))
    except (RuntimeError, SafetensorError) as error:
        raise ModelError(f"{folder} is damaged: {str(error).splitlines()[0]}") from None
    return Learned(model)


def save_checkpoint(trainer: Trainer, path: Path) -> None:
    """Writes the run as it stands after an epoch, whole or not at all."""
    tensors = {f"model.{name}": tensor for name, tensor in trainer.model.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in trainer.course.best.items()}
    for number, state in trainer.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": tensor for name, tensor in state.items()}
    course = {"epochs": trainer.course.epochs, "best_epoch": trainer.course.best_epoch}
    write_whole(path, save(_plain(tensors), metadata={"course": json.dumps(course)}))


def load_checkpoint(trainer: Trainer, path: Path) -> None:
    """Brings a new trainer to where the checkpoint was; CheckpointError where it is damaged."""
    try:
        with safe_open(path, framework="pt") as file:
            course = json.loads(file.metadata()["course"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        trainer.model.load_state_dict(_part(tensors, "model."))
        trainer.optimizer.load_state_dict(_optimizer_state(trainer, _part(tensors, "optimizer.")))
    except (OSError, SafetensorError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise CheckpointError(f"{path} is damaged: {error}") from None
    trainer.course = Course(course["epochs"], course["best_epoch"], _part(tensors, "best."))


def _optimizer_state(trainer: Trainer, tensors: Tensors) -> dict[str, Any]:
    states: dict[int, Tensors] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition(".")
        states.setdefault(int(number), {})[name] = tensor
    return {**trainer.optimizer.state_dict(), "state": states}


def _part(tensors: Tensors, prefix: str) -> Tensors:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def _plain(tensors: Mapping[str, torch.Tensor]) -> Tensors:
    """Copies on the CPU that share no memory, as safetensors wants them."""
    return {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
