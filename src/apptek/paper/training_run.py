"""A training run in a folder: a checkpoint on the way, the agent's network at the end."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from apptek.arrays import Arrays, Bools
from apptek.errors import CheckpointError
from apptek.files import write_whole
from apptek.paper.agent import WEIGHTS
from apptek.paper.trainer import History, Trainer
from apptek.resuming import StageCache

REWARDS = "rewards.csv"
STAGE = "training"  # of the checkpoint
COUNTERS = ("started", "episodes_done", "environment_steps", "debt")  # of a trainer
STREAMS, SLOTS = ("act_rng", "sample_rng"), ("slots", "trail", "legal_counts")
REWARD_ROWS_EVERY = 500  # episodes
WINDOWS = (500, 10_000)  # of the moving averages, as in the paper's figure
Observer = Callable[[Trainer], None]


def train(
    trainer: Trainer,
    folder: Path,
    *,
    resume: bool = False,
    checkpoint_seconds: float = 60.0,
    observers: Sequence[Observer] = (),
) -> None:
    """Train to the end, from a checkpoint if there is one; call `observers` after every step.

    In the folder, rewards.csv grows during training. The last checkpoint holds every episode;
    agent.safetensors (the weights of the network) says that the run is complete.
    """
    _prepare(trainer, folder, resume)
    last = time.monotonic()
    while not trainer.finished:
        trainer.step()
        for observe in observers:
            observe(trainer)
        if time.monotonic() - last >= checkpoint_seconds:
            save_checkpoint(trainer, folder)
            write_rewards(trainer.history, trainer.episodes_done, folder / REWARDS)
            last = time.monotonic()
    if not (folder / WEIGHTS).exists():
        save_checkpoint(trainer, folder)
    # Both follow from the checkpoint, which has a checksum: what is damaged is written anew.
    write_rewards(trainer.history, trainer.episodes_done, folder / REWARDS)
    write_whole(folder / WEIGHTS, trainer.weights())


def _prepare(trainer: Trainer, folder: Path, resume: bool) -> None:
    if not resume:
        if (folder / WEIGHTS).exists():
            raise CheckpointError(f"{folder} holds a trained agent already; choose another folder")
        if stage_cache(trainer, folder).path(STAGE).exists():
            raise CheckpointError(
                f"{folder} holds a run that was stopped: continue it with --resume"
            )
        if folder.exists() and any(folder.iterdir()):
            raise CheckpointError(f"{folder} is not empty; choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(f"{folder} cannot be written: {error.strerror}") from None
    if not load_checkpoint(trainer, folder):
        save_checkpoint(trainer, folder)


def write_rewards(history: History, done: int, path: Path) -> None:
    """Writes the mean reward of the last 500 and 10,000 episodes, a row every 500 episodes."""
    ends = np.arange(REWARD_ROWS_EVERY, done + 1, REWARD_ROWS_EVERY)
    means = moving_means(history.met[:done], ends)
    lines = ["episodes,mean_500,mean_10000"]
    lines += [f"{end},{a:.6f},{b:.6f}" for end, (a, b) in zip(ends, means, strict=True)]
    write_whole(path, ("\n".join(lines) + "\n").encode())


def moving_means(met: Bools, ends: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """The mean reward of the episodes before each end, in windows of 500 and 10,000: (n, 2)."""
    sums = np.concatenate([[0], np.cumsum(met)])
    starts = np.maximum(ends[:, None] - np.asarray(WINDOWS), 0)  # (n, 2)
    rewards = sums[ends][:, None] - sums[starts]
    means: npt.NDArray[np.float64] = rewards / np.maximum(ends[:, None] - starts, 1)
    return means


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
    arrays: Arrays = {name: getattr(trainer, name) for name in SLOTS}
    arrays |= {f"history.{name}": a[:done] for name, a in trainer.history.columns().items()}
    arrays |= {f"replay.{name}": array for name, array in trainer.replay.state_dict().items()}
    learner = trainer.learner.state_dict()
    arrays |= {f"learner.{name}": tensor.cpu().numpy() for name, tensor in learner.items()}
    position = {name: getattr(trainer, name) for name in COUNTERS}
    position |= {name: getattr(trainer, name).bit_generator.state for name in STREAMS}
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
    for name in COUNTERS:
        setattr(trainer, name, position[name])
    for name in STREAMS:
        getattr(trainer, name).bit_generator.state = position[name]
    for name in SLOTS:
        getattr(trainer, name)[:] = arrays[name]
    for name, column in trainer.history.columns().items():
        column[: trainer.episodes_done] = arrays[f"history.{name}"]
    trainer.replay.load_state_dict(_part(arrays, "replay."))
    learner = {name: torch.from_numpy(a.copy()) for name, a in _part(arrays, "learner.").items()}
    trainer.learner.load_state_dict(learner)
    # The state of the environment is not stored: replaying the trails is exact, and small.
    trainer.rebuild()


def _part(arrays: Arrays, prefix: str) -> Arrays:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
