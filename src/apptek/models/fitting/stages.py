"""How a fit is asked for, and where it stands: its options, its work folder, its stages."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apptek.arrays import give_memory_back
from apptek.config import Config
from apptek.facts.facts import Dataset
from apptek.facts.protocols import Protocol
from apptek.models.fitting.examples import FeatureMaker

Stage = Callable[[str], None]  # is told the name of each stage as it begins
TypeTable = Mapping[str, Mapping[str, str]]  # kind of type -> entity -> type


def print_nothing(_: str) -> None:
    """The `on_stage` of those who do not want to hear of stages."""


def time_left(seconds: float) -> str:
    """How long something still takes, in words."""
    return f"about {round(seconds / 60)} min left" if seconds >= 60 else "less than a minute left"


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """How a model is fitted, whatever the data.

    types      the user's own types of entities; a kind that names would give is replaced
    final      whether the model answers from all facts, those of valid and test included; it is
               evaluated on its training facts all the same
    resume     whether to go on from what a stopped fit has left in the work folder
    observers  are called with the agent's trainer after every step
    engine     makes the features, in place of this process
    """

    config: Config
    preset: str
    protocol: Protocol = "official"
    seed: int = 0
    types: TypeTable = field(default_factory=dict)
    final: bool = False
    resume: bool = False
    on_stage: Stage = print_nothing
    observers: Sequence[Any] = ()
    engine: FeatureMaker | None = None


@dataclass(slots=True)
class Fit:
    """One fit on its way: the data under the protocol, the work folder, and the time it took."""

    dataset: Dataset
    options: FitOptions
    work: Path
    seconds: dict[str, float] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)  # parts of each stage

    @property
    def config(self) -> Config:
        """Every setting."""
        return self.options.config

    @contextmanager
    def stage(self, name: str, part: int = 0, parts: int = 1) -> Iterator[None]:
        """Announces a stage, or one part of it with the time left, and notes how long it took."""
        told = name
        if parts > 1:
            told = f"{name}, part {part + 1} of {parts}"
        if name in self.seconds and parts > 1:
            left = self.seconds[name] / self.done[name] * (parts - part)
            told += f", {time_left(left)}"
        self.options.on_stage(told)
        start = time.monotonic()
        yield
        give_memory_back()
        self.done[name] += 1
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - start
