"""The baselines by name: ours, and those added by other packages.

To add a baseline here, write a module in `apptek.baselines` with a dict DEFINITIONS and add one
line to BASELINES. The rows of result tables and the list in errors are derived from BASELINES. The
help texts of `fit` and `research search` list the names by hand. Other packages add baselines with
`register_baseline` or an entry point. This module imports nothing heavy, so that the command
line can list the baselines without loading numpy or torch.
"""

import re
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, NamedTuple

from apptek.config import PRESETS, VIEWS, View
from apptek.errors import ApptekError, ConfigError
from apptek.extras import require_torch

if TYPE_CHECKING:
    from apptek.models.scorers import BaselineDefinition


class BaselineEntry(NamedTuple):
    """The properties of a baseline that are needed before its module is imported."""

    module: str  # in apptek.baselines; its DEFINITIONS contain the baseline under its name
    learned: bool = True  # needs torch, and has settings to search
    views: tuple[View, ...] = ("all_facts",)  # the facts that a query may see


BASELINES = {  # in the order of tables and errors
    "frequency": BaselineEntry("counting", learned=False, views=VIEWS),
    "profile": BaselineEntry("counting", learned=False, views=VIEWS),
    "pair": BaselineEntry("counting", learned=False, views=VIEWS),
    "recency": BaselineEntry("counting", learned=False, views=VIEWS),
    "tnt_complex": BaselineEntry("tnt_complex"),
    "de_transe": BaselineEntry("diachronic"),
    "de_distmult": BaselineEntry("diachronic"),
    "de_simple": BaselineEntry("diachronic"),
    "re_gcn": BaselineEntry("re_gcn", views=("past_only",)),
}
NAMES = tuple(BASELINES)
GROUP = "apptek.baselines"  # group of the entry points
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_REGISTERED: dict[str, "BaselineDefinition"] = {}
LEARNED_NAMES = tuple(name for name, entry in BASELINES.items() if entry.learned)
PAST_ONLY_NAMES = tuple(name for name, entry in BASELINES.items() if entry.views == ("past_only",))


def register_baseline(name: str, fit: Any, **more: Any) -> None:
    """Make your own model available by name in fit, evaluate, contest and search.

        register_baseline("mine", fit)                     fit: FitTask -> scorer

    The registration lasts as long as the process. For a permanent one, a package declares an entry
    point:

        [project.entry-points."apptek.baselines"]
        mine = "my_package.my_module:fit"

    `own_baseline` in `apptek.models.scorers` describes what `fit` may return, and the other
    keywords. The entry point may also refer to a result of `own_baseline`.
    """
    _check_name(name)
    _REGISTERED[name] = _definition(name, fit, more)


def baseline_names() -> tuple[str, ...]:
    """Return all baselines: ours first, then those that were registered or that packages added."""
    return (*NAMES, *sorted({*_REGISTERED, *_entry_points()} - set(NAMES)))


def find_baseline(name: str) -> "BaselineDefinition":
    """Return a baseline's definition; ConfigError lists all models, ApptekError asks for torch."""
    if name in BASELINES:
        return _ours(name)
    if name not in _REGISTERED:
        points = _entry_points()
        if name not in points:
            known = ", ".join((*PRESETS, *baseline_names()))
            raise ConfigError(f"there is no model {name!r}; known: {known}")
        _check_name(name)
        try:
            loaded = points[name].load()
        except Exception as error:  # a third-party package may raise anything
            where = points[name].value
            raise ApptekError(f"the baseline {name!r} of {where} fails: {error!r}") from error
        _REGISTERED[name] = _definition(name, loaded, {})
    return _REGISTERED[name]


def views_of(name: str) -> tuple[View, ...]:
    """Return the views in which a baseline is fitted."""
    return BASELINES[name].views if name in BASELINES else find_baseline(name).views


def _ours(name: str) -> "BaselineDefinition":
    entry = BASELINES[name]
    if entry.learned:
        require_torch(name)
    module = import_module(f"apptek.baselines.{entry.module}")
    definition: BaselineDefinition = module.DEFINITIONS[name]
    return definition


def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ApptekError(f"a baseline's name may contain only letters, digits and _, not {name!r}")
    if name in BASELINES or name in PRESETS:
        raise ApptekError(f"there is already a model {name!r}: choose another name")


def _definition(name: str, fit: Any, more: dict[str, Any]) -> "BaselineDefinition":
    from apptek.models.scorers import BaselineDefinition, own_baseline

    if isinstance(fit, BaselineDefinition):
        return fit
    if not callable(fit):
        raise ApptekError(f"the baseline {name!r} is {fit!r}, expected a function of a FitTask")
    return own_baseline(fit, **more)


def name_and_preset(model: str) -> tuple[str, str]:
    """Split a model name: "de_simple:paper" is baseline de_simple with the preset of its paper."""
    name, _, preset = model.partition(":")
    return name, preset or "default"


def model_settings(model: str) -> Any:
    """Return the settings of a preset or of a baseline. ConfigError lists all models."""
    if model in PRESETS:
        return PRESETS[model]
    name, preset = name_and_preset(model)
    if name in PRESETS:
        raise ConfigError(f"{name} is a single model: leave out :{preset}")
    return preset_of(name, preset)


def preset_of(name: str, preset: str) -> Any:
    """Return the settings of a baseline's preset. ConfigError lists the baseline's presets."""
    presets = find_baseline(name).presets
    if preset not in presets:
        raise ConfigError(f"{name} has no preset {preset!r}; known: {', '.join(presets)}")
    return presets[preset]
