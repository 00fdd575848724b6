"""A checkpoint of a training run: everything its future depends on."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from apptek.arrays import Arrays
from apptek.errors import CheckpointError
from apptek.paper.trainer import Trainer
from apptek.resuming import StageCache

STAGE = "training"


def stage_cache(trainer: Trainer, folder: Path) -> StageCache:
    """Return where a run keeps its checkpoint, which only an equal run goes on from."""
    identity = {
        "seed": trainer.seed,
        "data": trainer.process.graph.facts.digest(),
        "settings": asdict(trainer.config),
    }
    return StageCache(folder, identity)


def save_checkpoint(trainer: Trainer, folder: Path) -> None:
    """Write the run as it stands; the checkpoint before it stays intact until this one is."""
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
    stage_cache(trainer, folder).save(STAGE, arrays, position)


def load_checkpoint(trainer: Trainer, folder: Path) -> bool:
    """Bring a new trainer to where the checkpoint was; return False where there is none."""
    cache = stage_cache(trainer, folder)
    stored = cache.load(STAGE)
    if stored is None:
        return False
    try:
        _restore(trainer, *stored)
    except (KeyError, ValueError, IndexError) as error:
        raise CheckpointError(f"{cache.path(STAGE)} is damaged: {error!r}") from None
    return True


def _restore(trainer: Trainer, arrays: Arrays, position: dict[str, Any]) -> None:
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
