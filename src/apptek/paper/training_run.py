"""A training run in a folder: a checkpoint on the way, the agent's network at the end."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools
from apptek.errors import CheckpointError
from apptek.files import write_whole
from apptek.paper.agent import WEIGHTS
from apptek.paper.checkpoint import STAGE, load_checkpoint, save_checkpoint, stage_cache
from apptek.paper.trainer import History, Trainer

REWARDS = "rewards.csv"
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
