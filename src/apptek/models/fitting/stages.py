"""The options, the work folder and the stages of a fit."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apptek.arrays import give_memory_back
from apptek.config import DEFAULT, PRESETS, Config, Progress, nearest_preset, no_progress
from apptek.errors import ApptekError
from apptek.facts.facts import Dataset
from apptek.facts.protocols import Protocol
from apptek.models.registry import model_settings, name_and_preset
from apptek.resuming import StageCache

TypeTable = Mapping[str, Mapping[str, str]]  # kind of type -> entity -> type


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """The options of a fit that do not depend on the data.

    types      the user's entity types. A kind given here replaces the same kind read from names
    final      whether the model answers from all facts, including the validation and test sets. It
               is still evaluated with its training facts only
    resume     whether to resume from the work folder of an interrupted fit
    agent      the folder of a trained agent to use instead of training one
    """

    config: Config  # for a baseline, its own settings
    preset: str
    baseline: str = ""  # its name, if a baseline is fitted
    protocol: Protocol = "official"
    seed: int = 0
    types: TypeTable = field(default_factory=dict)
    final: bool = False
    resume: bool = False
    progress: Progress = no_progress
    agent: Path | None = None


def fit_options(
    data: Dataset, model: str | None, config: Any, types: TypeTable, **given: Any
) -> FitOptions:
    """Return the fit options for a model name, which may be a baseline.

    Raise ApptekError if a baseline is given options that only our own models support.
    """
    if model is not None and model not in PRESETS:
        own = model_settings(model)  # an unknown name lists all models
        name, preset = name_and_preset(model)
        refused = {"types": types, "final": given.pop("final"), "agent": given["agent"]}
        for option, value in refused.items():
            if value:
                raise ApptekError(f"{option} is for default, max and paper, not for {name}")
        return FitOptions(config=config or own, preset=preset, baseline=name, **given)
    if config is None:
        config = PRESETS[model or DEFAULT]
    if given["agent"] is not None and "topologies" not in config.features.parts:
        raise ApptekError("an agent requires the model paper")
    with_types = "traits" in config.features.parts and config.traits.types
    final = given.pop("final")
    return FitOptions(
        config=config,
        preset=model or nearest_preset(config),
        types=(dict(data.types) if with_types else {}) | dict(types),
        final=data.was_split if final is None else final,
        **given,
    )


@dataclass(slots=True)
class Fit:
    """A running fit: the data under the protocol, the work folder, and the time used so far."""

    dataset: Dataset
    options: FitOptions
    work: Path
    seconds: dict[str, Any] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)  # completed parts of each stage

    @property
    def config(self) -> Config:
        """All settings."""
        return self.options.config

    @property
    def cache(self) -> StageCache:
        """The cache of stage results in the work folder."""
        return StageCache(self.work)

    @contextmanager
    def stage(self, name: str, part: int = 0, parts: int = 1) -> Iterator[None]:
        """Announce a stage, or a part of it with the remaining time, and record its duration."""
        told = name
        if parts > 1:
            told = f"{name}, part {part + 1} of {parts}"
        if name in self.seconds and parts > 1:
            left = self.seconds[name] / self.done[name] * (parts - part) / 60
            told += f", about {round(left)} min left" if left >= 1 else ", less than a minute left"
        self.options.progress(told, part, parts)
        start = time.monotonic()
        yield
        give_memory_back()
        self.done[name] += 1
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - start
