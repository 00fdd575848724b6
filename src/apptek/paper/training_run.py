"""A training run in a folder: checkpoints on the way, the agent and its history at the end."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.torch import load_file

from apptek.arrays import Bools
from apptek.errors import CheckpointError
from apptek.files import write_whole
from apptek.paper.agent import WEIGHTS
from apptek.paper.checkpoint import load_checkpoint, run_identity, save_checkpoint
from apptek.paper.trainer import History, Trainer
from apptek.resuming import check_same_run, read_sealed, seal

CHECKPOINT = "checkpoint.safetensors"
ABOUT = "agent.json"
REWARDS = "rewards.csv"
HISTORY = "history"
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
    """Trains to the end, from a checkpoint if there is one; calls `observers` after every step.

    In the folder, rewards.csv grows during training. At the end agent.safetensors (the weights of
    the network), agent.json and history/*.npy (every episode) replace the checkpoint.
    """
    if resume and (folder / ABOUT).exists():
        _load_trained(trainer, folder)
        return
    _prepare(trainer, folder, resume)
    last = time.monotonic()
    while not trainer.finished:
        trainer.step()
        for observe in observers:
            observe(trainer)
        if time.monotonic() - last >= checkpoint_seconds:
            save_checkpoint(trainer, folder / CHECKPOINT)
            write_rewards(trainer.history, trainer.episodes_done, folder / REWARDS)
            last = time.monotonic()
    _finish(trainer, folder)


def _load_trained(trainer: Trainer, folder: Path) -> None:
    """Brings a new trainer to the end of a run that is complete."""
    advice = "choose another folder"
    record = read_sealed(folder / ABOUT, advice)
    check_same_run(run_identity(trainer), record, folder / ABOUT, advice)
    trainer.learner.network.load_state_dict(load_file(folder / WEIGHTS))
    for name, column in trainer.history.columns().items():
        column[:] = np.load(folder / HISTORY / f"{name}.npy")
    trainer.episodes_done = trainer.started = record["episodes"]
    trainer.environment_steps = record["environment_steps"]


def _prepare(trainer: Trainer, folder: Path, resume: bool) -> None:
    if (folder / ABOUT).exists():
        raise CheckpointError(f"{folder} holds a trained agent already; choose another folder")
    if (folder / CHECKPOINT).exists():
        if not resume:
            raise CheckpointError(
                f"{folder} holds a run that was stopped: continue it with --resume"
            )
        load_checkpoint(trainer, folder / CHECKPOINT)
        return
    if folder.exists() and any(folder.iterdir()) and not resume:
        raise CheckpointError(f"{folder} is not empty; choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(f"{folder} cannot be written: {error.strerror}") from None
    save_checkpoint(trainer, folder / CHECKPOINT)


def _finish(trainer: Trainer, folder: Path) -> None:
    write_rewards(trainer.history, trainer.episodes_done, folder / REWARDS)
    (folder / HISTORY).mkdir(exist_ok=True)
    columns = {folder / HISTORY / f"{n}.npy": c for n, c in trainer.history.columns().items()}
    for path, column in columns.items():
        write_whole(path, column)
    write_whole(folder / WEIGHTS, trainer.weights())
    record = run_identity(trainer) | {
        "episodes": trainer.episodes_done,
        "environment_steps": trainer.environment_steps,
    }
    # Last: its presence says that the run is complete.
    seal(folder / ABOUT, record, (folder / WEIGHTS, *columns))
    (folder / CHECKPOINT).unlink(missing_ok=True)


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
