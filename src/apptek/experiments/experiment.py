"""An experiment: what is run, on what data and with which settings, described in TOML.

what = "baseline"            statistics, baseline, search, fit, agent or topologies
serves = ["table2"]          the tables and figures that show it
dataset = "icews14"          as a command takes it
name = "de_simple"           the baseline, for `baseline` and `search`
preset = "default"           for `baseline`, `search`, `fit` and `topologies`
protocol = "official"        official, paper or forecast
seeds = [0, 1, 2]            each seed is one run and leaves one result file
predicates = ["Reject"]      for `topologies`: the predicates to show
rolling = true               for a model: each query of test sees every fact before its time
minutes = 15                 for `search`: the time on one core
[settings.training]          the settings that differ from the preset
batch_size = 1024
"""

import math
import shlex
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from apptek.baselines.registry import baseline_names, preset_of
from apptek.config import PRESETS, preset
from apptek.data.protocols import PROTOCOLS, Protocol
from apptek.data.reading.sources import dataset_name
from apptek.errors import ApptekError, ConfigError
from apptek.experiments.result import plain_settings
from apptek.setting_rules import setting_texts, with_settings

What = Literal["statistics", "baseline", "search", "fit", "agent", "topologies"]
SHOWN = (
    "table1", "table2", "table3", "table-m", "table-search", "table-forecast",
    "figure-actions", "figure-rewards", "figure-success", "figure-topologies",
)  # fmt: skip
_COMMON_KEYS = {"what", "serves", "dataset"}
_FIT_KEYS = {"preset", "protocol", "seeds", "settings"}
_WITH_BASELINE = ("baseline", "search")


class _Kind(NamedTuple):
    """What an experiment of a kind may say, besides the keys that all have."""

    serves: set[str]
    keys: frozenset[str] | set[str] = frozenset()
    needed: frozenset[str] | set[str] = frozenset()


_KINDS = {
    "statistics": _Kind({"table1", "table3"}),
    "baseline": _Kind({"table2", "table-forecast"}, {"name", "rolling", *_FIT_KEYS}, {"name"}),
    "search": _Kind({"table-search"}, {"name", "minutes", *_FIT_KEYS}, {"name", "minutes"}),
    "fit": _Kind(
        {"table2", "table3", "table-m", "table-forecast"}, {"rolling", *_FIT_KEYS}, {"preset"}
    ),
    "agent": _Kind({"figure-actions", "figure-rewards", "figure-success"}, {"seeds", "settings"}),
    "topologies": _Kind(
        {"figure-topologies"}, {"predicates", *_FIT_KEYS}, {"preset", "predicates"}
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What is run, on what data and with which settings; each of its seeds is one run."""

    name: str
    what: What
    serves: tuple[str, ...]
    dataset: str
    baseline: str = ""
    preset: str = ""
    protocol: Protocol = "official"
    seeds: tuple[int, ...] = (0,)
    settings: tuple[str, ...] = ()  # those that differ from the preset, as --set takes them
    predicates: tuple[str, ...] = ()
    minutes: float = 0.0
    rolling: bool = False
    reading: tuple[str, ...] = ()  # options with which its commands read the data

    @property
    def model(self) -> str:
        """The name of the model in its results."""
        if self.what == "fit":
            return f"apptek_{self.preset}"
        return self.baseline if self.what == "baseline" else self.what

    def result_name(self, seed: int) -> str:
        """The name of a seed's result, without .json; a single seed has the experiment's name."""
        return f"{self.name}-seed{seed}" if len(self.seeds) > 1 else self.name

    def config(self) -> Any:
        """All its settings, those of the preset included; ConfigError where one is wrong."""
        if self.what in _WITH_BASELINE:
            base = preset_of(self.baseline, self.preset)
        else:
            base = preset(self.preset or "paper")
        try:
            config = with_settings(base, self.settings)
        except ConfigError as error:
            raise ConfigError(f"the experiment {self.name}: {error}") from None
        return config.agent if self.what == "agent" else config

    def command(self, seed: int) -> str:
        """The command that does the same by hand, without the evaluation of a fitted model."""
        out = self.result_name(seed)
        if self.what == "statistics":
            return f"apptek data stats {shlex.quote(self.dataset)} --json"
        model = self.baseline + f":{self.preset}" * (self.preset != "default")
        model = model if self.baseline else self.preset
        if self.what == "search":
            words = ["apptek", "research", "search", model, self.dataset]
        elif self.what == "agent":
            words = ["apptek", "paper", "train", self.dataset]
        else:
            words = ["apptek", "fit", self.dataset, "--model", model]
        if self.what != "agent":
            words += ["--protocol", self.protocol]
        if self.what == "search":
            words += ["--minutes", f"{self.minutes:g}", "--seed", str(seed)]
            words += ["--result", f"{out}.json"]
        else:
            words += ["--seed", str(seed), "--out", out]
        changed = (word for text in self.settings for word in ("--set", text))
        return shlex.join([*words, *changed, *self.reading])

    def identity(self) -> dict[str, Any]:
        """What every result of it says of itself, whatever its seed, as JSON has it."""
        entries: dict[str, Any] = {
            "model": self.model,
            "dataset": dataset_name(Path(self.dataset)),
        }
        if self.what == "statistics":
            return entries
        config = plain_settings(self.config())
        entries["settings"] = {"agent": config} if self.what == "agent" else config
        if self.what in (*_WITH_BASELINE, "topologies"):
            entries["preset"] = self.preset
        if self.what != "agent":
            entries["protocol"] = self.protocol
        if self.what in ("baseline", "fit"):
            entries |= {"split": "test", "rolling": self.rolling}
        if self.what == "search":
            entries |= {"baseline": self.baseline, "minutes": self.minutes}
        if self.what == "topologies":
            entries["predicates"] = list(self.predicates)
        return entries

    def preset_settings(self) -> dict[str, Any]:
        """The settings of its preset, in the form of its identity."""
        settings: dict[str, Any] = replace(self, settings=()).identity().get("settings", {})
        return settings


def read_experiments(folder: Path) -> list[Experiment]:
    """The experiments of a folder by name; ConfigError names the file that is wrong."""
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        raise ApptekError(
            f"{folder} holds no experiments: name the folder of the .toml files with --experiments"
        )
    experiments = [read_experiment(path) for path in paths]
    _refuse_namesakes(experiments)
    return experiments


def _refuse_namesakes(experiments: Sequence[Experiment]) -> None:
    """Raises ConfigError for two data sets of one name: results tell them apart by name only."""
    first_of: dict[str, Experiment] = {}
    for experiment in experiments:
        path = Path(experiment.dataset)
        first = first_of.setdefault(dataset_name(path), experiment)
        if path.resolve() != Path(first.dataset).resolve():
            raise ConfigError(
                f"the experiments {first.name} and {experiment.name} have data of one name, in "
                f"different places: {first.dataset} and {experiment.dataset}"
            )


def read_experiment(path: Path) -> Experiment:
    """An experiment from its file. Its settings are checked by `config`, which may need torch."""
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
        return _experiment(path.stem, entries)
    except (OSError, ValueError, TypeError, ConfigError) as error:
        raise ConfigError(f"{path}: {error}") from None


def _experiment(name: str, entries: dict[str, Any]) -> Experiment:
    what: Any = _one_of("what", entries.get("what"), get_args(What))
    _check_keys(what, entries)
    for shown in entries["serves"]:
        _one_of("serves", shown, SHOWN)
        if shown not in _KINDS[what].serves:
            raise ConfigError(f"{shown} does not show experiments of {what}")
    seeds = entries.get("seeds", [0])
    if any(type(seed) is not int or seed < 0 for seed in seeds) or len(set(seeds)) < len(seeds):
        raise ConfigError(f"seeds must be distinct numbers from 0, not {seeds}")
    minutes = entries.get("minutes", 0.0)
    if what == "search" and (type(minutes) not in (int, float) or not 0 < minutes < math.inf):
        raise ConfigError(f"minutes must be a number above 0, not {minutes!r}")
    rolling = entries.get("rolling", False)
    if type(rolling) is not bool:
        raise ConfigError(f"rolling must be true or false, not {rolling!r}")
    dataset = entries["dataset"]
    if not isinstance(dataset, str) or not dataset:
        raise ConfigError(f"dataset must be a name, not {dataset!r}")
    return Experiment(
        name=name,
        what=what,
        serves=tuple(entries["serves"]),
        dataset=dataset,
        baseline=_one_of("name", entries["name"], baseline_names())
        if what in _WITH_BASELINE
        else "",
        preset=_preset(what, entries.get("preset")),
        protocol=_one_of("protocol", entries.get("protocol", "official"), PROTOCOLS),  # type: ignore[arg-type]
        seeds=tuple(seeds),
        settings=_settings(entries.get("settings", {})),
        predicates=tuple(entries.get("predicates", ())),
        minutes=float(minutes),
        rolling=rolling,
    )


def _check_keys(what: str, entries: dict[str, Any]) -> None:
    unknown = set(entries) - _COMMON_KEYS - _KINDS[what].keys
    missing = (_COMMON_KEYS | _KINDS[what].needed) - set(entries)
    for keys, verb in ((unknown, "has no"), (missing, "needs")):
        if keys:
            raise ConfigError(f"an experiment of {what} {verb} {', '.join(sorted(keys))}")
    for key in ("serves", "seeds", "predicates"):
        if not isinstance(entries.get(key, []), list) or entries.get(key) == []:
            raise ConfigError(f"{key} must be a non-empty list")


def _preset(what: str, name: str | None) -> str:
    if what in _WITH_BASELINE:
        return _one_of("preset", name or "default", ("default", "paper"))
    return _one_of("preset", name, tuple(PRESETS)) if what in ("fit", "topologies") else ""


def _settings(sections: Any) -> tuple[str, ...]:
    """Settings of TOML sections, as --set takes them."""
    if not isinstance(sections, dict) or not all(isinstance(s, dict) for s in sections.values()):
        raise ConfigError("settings come in sections: [settings.training]")
    values = {
        f"{section}.{key}": value
        for section, settings in sections.items()
        for key, value in settings.items()
    }
    return tuple(setting_texts(values))


def _one_of(key: str, value: Any, known: Sequence[str]) -> str:
    if value not in known:
        raise ConfigError(f"{key} is {value!r}; known: {', '.join(known)}")
    return str(value)
