"""A training run on the disk: everything that its future depends on, in one safetensors file."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from apptek.agent.trainer import Trainer
from apptek.errors import CheckpointError
from apptek.files import write_whole

FORMAT = 1
Arrays = dict[str, npt.NDArray[Any]]


def save_checkpoint(trainer: Trainer, path: Path) -> None:
    """Writes the run as it stands; a file that was there before stays whole until then."""
    done = trainer.episodes_done
    arrays: Arrays = {
        "slots": trainer.slots,
        "trail": trainer.trail,
        "legal_counts": trainer.legal_counts,
        "history.queries": trainer.history.queries[:done],
        "history.met": trainer.history.met[:done],
        "history.trail": trainer.history.trail[:done],
        "history.legal_counts": trainer.history.legal_counts[:done],
    }
    arrays |= {f"replay.{name}": array for name, array in trainer.replay.state_dict().items()}
    learner = trainer.learner.state_dict()
    arrays |= {f"learner.{name}": tensor.cpu().numpy() for name, tensor in learner.items()}
    whole = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    position = {
        "started": trainer.started,
        "episodes_done": done,
        "environment_steps": trainer.environment_steps,
        "debt": trainer.debt,
        "act_rng": trainer.act_rng.bit_generator.state,
        "sample_rng": trainer.sample_rng.bit_generator.state,
    }
    about = identity(trainer) | {"position": json.dumps(position, sort_keys=True)}
    write_whole(path, save(whole, metadata=about))


def identity(trainer: Trainer) -> dict[str, str]:
    """What a checkpoint must share with the run that goes on from it."""
    return {
        "format": str(FORMAT),
        "seed": str(trainer.seed),
        "data": trainer.process.graph.facts.digest(),
        "settings": json.dumps(asdict(trainer.config), sort_keys=True),
    }


def load_checkpoint(trainer: Trainer, path: Path) -> None:
    """Brings a new trainer to where the checkpoint was; CheckpointError if it is of another run."""
    about, arrays = _read(path)
    for key, expected in identity(trainer).items():
        if about.get(key) != expected:
            raise CheckpointError(
                f"{path} belongs to another run: {key} is {about.get(key)}, expected {expected}"
            )
    try:
        _restore(trainer, json.loads(about["position"]), arrays)
    except (KeyError, ValueError, IndexError) as error:
        raise CheckpointError(f"{path} is damaged: {error!r}") from None


def _read(path: Path) -> tuple[dict[str, str], Arrays]:
    try:
        with safe_open(path, framework="numpy") as file:
            return dict(file.metadata() or {}), {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, ValueError) as error:
        raise CheckpointError(f"{path} is missing or damaged: {error}") from None


def _restore(trainer: Trainer, position: dict[str, Any], arrays: Arrays) -> None:
    done = trainer.episodes_done = position["episodes_done"]
    trainer.started = position["started"]
    trainer.environment_steps = position["environment_steps"]
    trainer.debt = position["debt"]
    trainer.act_rng.bit_generator.state = position["act_rng"]
    trainer.sample_rng.bit_generator.state = position["sample_rng"]
    trainer.slots[:], trainer.trail[:] = arrays["slots"], arrays["trail"]
    trainer.legal_counts[:] = arrays["legal_counts"]
    for name in ("queries", "met", "trail", "legal_counts"):
        getattr(trainer.history, name)[:done] = arrays[f"history.{name}"]
    trainer.replay.load_state_dict(_part(arrays, "replay."))
    learner = {name: torch.from_numpy(a.copy()) for name, a in _part(arrays, "learner.").items()}
    trainer.learner.load_state_dict(learner)
    trainer.rebuild()


def _part(arrays: Arrays, prefix: str) -> Arrays:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
