"""A checkpoint of a training run: everything its future depends on, in one safetensors file."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from apptek.errors import CheckpointError
from apptek.files import write_whole
from apptek.paper.trainer import Trainer
from apptek.resuming import arrays_checksum, check_arrays, check_same_run

Arrays = dict[str, npt.NDArray[Any]]


def run_identity(trainer: Trainer) -> dict[str, Any]:
    """What a checkpoint or a trained agent must share with a run that goes on from it."""
    return {
        "format": "1",  # of the checkpoint and of the trained agent's folder
        "seed": str(trainer.seed),
        "data": trainer.process.graph.facts.digest(),
        "settings": asdict(trainer.config),
    }


def save_checkpoint(trainer: Trainer, path: Path) -> None:
    """Writes the run as it stands; the checkpoint before it stays intact until this one is."""
    done = trainer.episodes_done
    arrays: Arrays = {
        "slots": trainer.slots,
        "trail": trainer.trail,
        "legal_counts": trainer.legal_counts,
    }
    arrays |= {f"history.{name}": a[:done] for name, a in trainer.history.columns().items()}
    arrays |= {f"replay.{name}": array for name, array in trainer.replay.state_dict().items()}
    learner = trainer.learner.state_dict()
    arrays |= {f"learner.{name}": tensor.cpu().numpy() for name, tensor in learner.items()}
    position = {
        "started": trainer.started,
        "episodes_done": done,
        "environment_steps": trainer.environment_steps,
        "debt": trainer.debt,
        "act_rng": trainer.act_rng.bit_generator.state,
        "sample_rng": trainer.sample_rng.bit_generator.state,
    }
    identity = run_identity(trainer)
    metadata = identity | {  # safetensors takes strings alone
        "settings": json.dumps(identity["settings"], sort_keys=True),
        "position": json.dumps(position, sort_keys=True),
    }
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    metadata["checksum"] = arrays_checksum(contiguous, json.dumps(metadata, sort_keys=True))
    write_whole(path, save(contiguous, metadata=metadata))


def load_checkpoint(trainer: Trainer, path: Path) -> None:
    """Brings a new trainer to where the checkpoint was; CheckpointError if it is of another run."""
    record, arrays = _read(path)
    check_same_run(run_identity(trainer), record, path, "choose another folder")
    try:
        _restore(trainer, record["position"], arrays)
    except (KeyError, ValueError, IndexError) as error:
        raise CheckpointError(f"{path} is damaged: {error!r}") from None


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    try:
        with safe_open(path, framework="numpy") as file:
            record: dict[str, Any] = dict(file.metadata() or {})
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        checksum = record.pop("checksum")
        check_arrays(arrays, json.dumps(record, sort_keys=True), checksum)
        record |= {name: json.loads(record[name]) for name in ("settings", "position")}
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise CheckpointError(f"{path} is missing or damaged: {error}") from None
    return record, arrays


def _restore(trainer: Trainer, position: dict[str, Any], arrays: Arrays) -> None:
    done = trainer.episodes_done = position["episodes_done"]
    trainer.started = position["started"]
    trainer.environment_steps = position["environment_steps"]
    trainer.debt = position["debt"]
    trainer.act_rng.bit_generator.state = position["act_rng"]
    trainer.sample_rng.bit_generator.state = position["sample_rng"]
    trainer.slots[:], trainer.trail[:] = arrays["slots"], arrays["trail"]
    trainer.legal_counts[:] = arrays["legal_counts"]
    for name, column in trainer.history.columns().items():
        column[:done] = arrays[f"history.{name}"]
    trainer.replay.load_state_dict(_part(arrays, "replay."))
    learner = {name: torch.from_numpy(a.copy()) for name, a in _part(arrays, "learner.").items()}
    trainer.learner.load_state_dict(learner)
    # The state of the environment is not stored: replaying the trails is exact, and small.
    trainer.rebuild()


def _part(arrays: Arrays, prefix: str) -> Arrays:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
