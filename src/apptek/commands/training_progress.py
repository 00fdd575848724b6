"""Observers of the agent's training: a progress bar, and TensorBoard if asked for."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from apptek.errors import ApptekError
from apptek.paper.trainer import Observer, Trainer
from apptek.terminal import progress_bar

REDRAW_SECONDS = 0.25
SCALARS_EVERY = 500  # episodes


@contextmanager
def training_progress(tensorboard: Path | None = None) -> Iterator[list[Observer]]:
    """Return observers that show episodes, speed, mean rewards, epsilon and the time left."""
    with ExitStack() as stack:
        observers = [stack.enter_context(_terminal_bar())]
        if tensorboard is not None:
            observers.append(stack.enter_context(_tensorboard(tensorboard)))
        yield observers


@contextmanager
def _terminal_bar() -> Iterator[Observer]:
    columns = (
        TextColumn("training"),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]} episodes/s, reward {task.fields[rewards]}"),
        TextColumn("epsilon {task.fields[epsilon]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with progress_bar(*columns) as bar:
        task = bar.add_task("", total=None, speed="-", rewards="-", epsilon="-")
        start, last = time.monotonic(), 0.0

        def observe(trainer: Trainer) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last < REDRAW_SECONDS and not trainer.finished:
                return
            last = now
            speed = trainer.episodes_done / max(now - start, 1e-9)
            bar.update(
                task,
                total=len(trainer.order),
                completed=trainer.episodes_done,
                speed=f"{speed:,.0f}",
                rewards=" / ".join(f"{mean:.3f}" for mean in recent_rewards(trainer)),
                epsilon=f"{trainer.epsilon:.3f}",
            )

        yield observe


@contextmanager
def _tensorboard(folder: Path) -> Iterator[Observer]:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ApptekError(
            "--tensorboard needs TensorBoard: pip install 'apptek[tensorboard]'"
        ) from None
    with SummaryWriter(str(folder)) as writer:
        written = 0

        def observe(trainer: Trainer) -> None:
            nonlocal written
            if trainer.episodes_done < written + SCALARS_EVERY and not trainer.finished:
                return
            written = trainer.episodes_done
            means = dict(zip(("500", "10000"), recent_rewards(trainer), strict=True))
            for window, mean in means.items():
                writer.add_scalar(f"reward/mean_{window}", mean, written)
            writer.add_scalar("epsilon", trainer.epsilon, written)

        yield observe


def recent_rewards(trainer: Trainer) -> tuple[float, float]:
    """Return the mean reward of the last 500 and the last 10,000 episodes."""
    done, met = trainer.episodes_done, trainer.history.met
    if not done:
        return 0.0, 0.0
    short, long = met[max(0, done - 500) : done], met[max(0, done - 10_000) : done]
    return float(short.mean()), float(long.mean())
