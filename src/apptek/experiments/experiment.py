"""An experiment, described in TOML, and the results that belong to it.

what = "baseline"            statistics, baseline, search, fit, agent or topologies
serves = ["table2"]          the tables and figures that show it
dataset = "icews14"          as a command takes it
name = "de_simple"           of a baseline, or of a search for its settings
preset = "default"           of a baseline, a search, a fit, or the fit whose topologies are shown
protocol = "official"
seeds = [0, 1, 2]
predicates = ["Reject"]      of topologies: those to show
minutes = 15                 of a search: of one core
[settings.training]          what differs from the preset
batch_size = 1024
"""

import json
import math
import shlex
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from apptek.baselines.registry import NAMES, preset_of
from apptek.config import PRESETS, preset
from apptek.data.protocols import PROTOCOLS, Protocol
from apptek.data.reading.sources import dataset_name
from apptek.errors import ApptekError, ConfigError
from apptek.settings import setting_texts, with_settings

What = Literal["statistics", "baseline", "search", "fit", "agent", "topologies"]
SHOWN = (
    "table1", "table2", "table3", "table-m", "table-search",
    "figure-actions", "figure-rewards", "figure-success", "figure-topologies",
)  # fmt: skip
_FITTED = {"preset", "protocol", "seeds", "settings"}
_SERVED = {  # what experiments of a kind can be shown in
    "statistics": {"table1", "table3"},
    "baseline": {"table2"},
    "search": {"table-search"},
    "fit": {"table2", "table3", "table-m"},
    "agent": {"figure-actions", "figure-rewards", "figure-success"},
    "topologies": {"figure-topologies"},
}
_KEYS: dict[str, set[str]] = {  # beside what, serves and dataset
    "statistics": set(),
    "baseline": {"name", *_FITTED},
    "search": {"name", "minutes", *_FITTED},
    "fit": _FITTED,
    "agent": {"seeds", "settings"},
    "topologies": {"predicates", *_FITTED},
}
_WITH_BASELINE = ("baseline", "search")
_NEEDED = {
    "baseline": {"name"},
    "search": {"name", "minutes"},
    "fit": {"preset"},
    "topologies": {"preset", "predicates"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What is run, on what, and with which settings; `settings` as --set takes them."""

    name: str
    what: What
    serves: tuple[str, ...]
    dataset: str
    baseline: str = ""
    preset: str = ""
    protocol: Protocol = "official"
    seeds: tuple[int, ...] = (0,)
    settings: tuple[str, ...] = ()
    predicates: tuple[str, ...] = ()
    minutes: float = 0.0
    reading: tuple[str, ...] = ()  # options with which its commands read the data

    @property
    def model(self) -> str:
        """What its results call the model."""
        if self.what == "fit":
            return f"apptek_{self.preset}"
        return self.baseline if self.what == "baseline" else self.what

    def result_name(self, seed: int) -> str:
        """The name of a seed's result, without .json; a single seed has the experiment's name."""
        return f"{self.name}-seed{seed}" if len(self.seeds) > 1 else self.name

    def config(self) -> Any:
        """Its settings, those of the preset included; ConfigError where they make no sense."""
        is_baseline = self.what in _WITH_BASELINE
        own = (
            preset_of(self.baseline, self.preset) if is_baseline else preset(self.preset or "paper")
        )
        try:
            whole = with_settings(own, self.settings)
        except ConfigError as error:
            raise ConfigError(f"the experiment {self.name}: {error}") from None
        return whole.agent if self.what == "agent" else whole

    def command(self, seed: int) -> str:
        """The commands that do the same by hand."""
        out = self.result_name(seed)
        if self.what == "statistics":
            return f"apptek data stats {shlex.quote(self.dataset)} --json"
        verb = {what: f"{what} {self.baseline}" for what in _WITH_BASELINE} | {
            "agent": "train-agent"
        }
        words = ["apptek", *verb.get(self.what, "fit").split(), self.dataset]
        if self.what != "agent":
            words += ["--preset", self.preset, "--protocol", self.protocol]
        if self.what == "search":
            words += [
                "--minutes",
                f"{self.minutes:g}",
                "--seed",
                str(seed),
                "--result",
                f"{out}.json",
            ]
        else:
            words += ["--seed", str(seed), "--out", out]
        changed = (word for text in self.settings for word in ("--set", text))
        return shlex.join([*words, *changed, *self.reading])

    def expected(self) -> dict[str, Any]:
        """What every result of it says of itself, whatever its seed, as JSON has it."""
        data = dataset_name(Path(self.dataset))
        found: dict[str, Any] = {"model": self.model, "dataset": data}
        if self.what == "statistics":
            return found
        config = asdict(self.config())
        found["settings"] = {"agent": config} if self.what == "agent" else config
        if self.what in (*_WITH_BASELINE, "topologies"):
            found["preset"] = self.preset
        if self.what != "agent":
            found["protocol"] = self.protocol
        if self.what in ("baseline", "fit"):
            found["split"] = "test"
        if self.what == "search":
            found |= {"baseline": self.baseline, "minutes": self.minutes}
        if self.what == "topologies":
            found["predicates"] = list(self.predicates)
        plain: dict[str, Any] = json.loads(json.dumps(found))
        return plain


def read_experiments(folder: Path) -> list[Experiment]:
    """The experiments of a folder by name; ConfigError says which file is wrong, and what in it."""
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        raise ApptekError(
            f"{folder} holds no experiments: name the folder of the .toml with --experiments"
        )
    experiments = [read_experiment(path) for path in paths]
    _refuse_namesakes(experiments)
    return experiments


def _refuse_namesakes(experiments: Sequence[Experiment]) -> None:
    """Results tell data sets apart by their names."""
    known: dict[str, Experiment] = {}
    for experiment in experiments:
        path = Path(experiment.dataset)
        other = known.setdefault(dataset_name(path), experiment)
        if path.resolve() != Path(other.dataset).resolve():
            raise ConfigError(
                f"the experiments {other.name} and {experiment.name} have data of one name, in "
                f"different places: {other.dataset} and {experiment.dataset}"
            )


def read_experiment(path: Path) -> Experiment:
    """An experiment, checked but for its settings, whose check may need torch: see `config`."""
    try:
        written = tomllib.loads(path.read_text(encoding="utf-8"))
        return _experiment(path.stem, written)
    except (OSError, ValueError, TypeError, ConfigError) as error:
        raise ConfigError(f"{path}: {error}") from None


def _experiment(name: str, written: dict[str, Any]) -> Experiment:
    what: Any = _one_of("what", written.get("what"), get_args(What))
    known = {"what", "serves", "dataset", *_KEYS[what]}
    needed = {"what", "serves", "dataset", *_NEEDED.get(what, set())}
    for wrong, why in ((set(written) - known, "has no"), (needed - set(written), "needs")):
        if wrong:
            raise ConfigError(f"an experiment of {what} {why} {', '.join(sorted(wrong))}")
    for key in ("serves", "seeds", "predicates"):
        if not isinstance(written.get(key, []), list) or written.get(key) == []:
            raise ConfigError(f"{key} must be a non-empty list")
    for one in written["serves"]:
        _one_of("serves", one, SHOWN)
        if one not in _SERVED[what]:
            raise ConfigError(f"{one} does not show experiments of {what}")
    seeds = written.get("seeds", [0])
    if any(type(seed) is not int or seed < 0 for seed in seeds) or len(set(seeds)) < len(seeds):
        raise ConfigError(f"seeds must be distinct numbers from 0, not {seeds}")
    minutes = written.get("minutes", 0.0)
    if what == "search" and (type(minutes) not in (int, float) or not 0 < minutes < math.inf):
        raise ConfigError(f"minutes must be a number above 0, not {minutes!r}")
    return Experiment(
        name=name,
        what=what,
        serves=tuple(written["serves"]),
        dataset=_text("dataset", written["dataset"]),
        baseline=_one_of("name", written["name"], NAMES) if what in _WITH_BASELINE else "",
        preset=_preset(what, written.get("preset")),
        protocol=_one_of("protocol", written.get("protocol", "official"), PROTOCOLS),  # type: ignore[arg-type]
        seeds=tuple(seeds),
        settings=_settings(written.get("settings", {})),
        predicates=tuple(written.get("predicates", ())),
        minutes=float(minutes),
    )


def _preset(what: str, name: str | None) -> str:
    if what in _WITH_BASELINE:
        return _one_of("preset", name or "default", ("default", "paper"))
    return _one_of("preset", name, tuple(PRESETS)) if what in ("fit", "topologies") else ""


def _settings(sections: Any) -> tuple[str, ...]:
    """Settings as --set takes them."""
    if not isinstance(sections, dict) or not all(isinstance(s, dict) for s in sections.values()):
        raise ConfigError("settings come in sections: [settings.training]")
    named = {f"{section}.{key}": v for section, part in sections.items() for key, v in part.items()}
    return tuple(setting_texts(named))


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{key} must be a name, not {value!r}")
    return value


def _one_of(key: str, value: Any, known: Sequence[str]) -> str:
    if value not in known:
        raise ConfigError(f"{key} is {value!r}; known: {', '.join(known)}")
    return str(value)


def differences(experiment: Experiment, result: dict[str, Any], **more: Any) -> list[str]:
    """In what a result is not one of the experiment's: nothing where it is; `more` must be so, too.

    A setting that the result does not name is younger than it: it had the preset's.
    """
    expected = experiment.expected() | more
    found = [
        f"{key} {result.get(key)!r}, not {value!r}"
        for key, value in expected.items()
        if key != "settings" and result.get(key) != value
    ]
    own = replace(experiment, settings=()).expected().get("settings", {})
    for section, values in expected.get("settings", {}).items():
        recorded = own[section] | result.get("settings", {}).get(section, {})
        found += [
            f"{section}.{key} {recorded[key]!r}, not {value!r}"
            for key, value in values.items()
            if recorded[key] != value
        ]
    past = result.get("settings", {}).get("features", {}).get("past_only", False)
    if result.get("as_of", past) != past:  # asked as of each time, but not fitted so
        found.append(f"as_of {result['as_of']}, not {past}")
    return found


def results_of(experiment: Experiment, results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results of an experiment, one for each seed: a run that is recorded twice counts once."""
    found: dict[int, dict[str, Any]] = {}
    for result in results:
        seed = int(result.get("seed") or 0)
        wanted = (
            result.get("model") == experiment.model
            and seed in experiment.seeds
            and seed not in found
        )
        if wanted and not differences(experiment, result):
            found[seed] = result
    return [found[seed] for seed in sorted(found)]
