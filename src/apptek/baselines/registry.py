"""The baselines by name.

To add a baseline, write a module here with a dict DEFINITIONS and add one line to BASELINES. Help
texts, tables and quick runs follow from both. This module imports nothing heavy, so that the
command line can name the baselines without loading numpy or torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from apptek.config import VIEWS, View
from apptek.errors import ApptekError, ConfigError
from apptek.extras import require_torch

if TYPE_CHECKING:
    from apptek.baselines.definition import BaselineDefinition


class BaselineEntry(NamedTuple):
    """What is known of a baseline before its module is imported."""

    module: str  # in this package; its DEFINITIONS hold the baseline under its name
    learned: bool = True  # needs torch, and has settings to search for
    views: tuple[View, ...] = ("within",)  # what a query may see; ahead: only what was before it


BASELINES = {  # in the order of help texts and tables
    "frequency": BaselineEntry("counting", learned=False, views=VIEWS),
    "profile": BaselineEntry("counting", learned=False, views=VIEWS),
    "pair": BaselineEntry("counting", learned=False, views=VIEWS),
    "recency": BaselineEntry("counting", learned=False, views=VIEWS),
    "tnt_complex": BaselineEntry("tnt_complex"),
    "de_transe": BaselineEntry("diachronic"),
    "de_distmult": BaselineEntry("diachronic"),
    "de_simple": BaselineEntry("diachronic"),
    "re_gcn": BaselineEntry("re_gcn", views=("ahead",)),
}
NAMES = tuple(BASELINES)
LEARNED_NAMES = tuple(name for name, entry in BASELINES.items() if entry.learned)
PAST_ONLY_NAMES = tuple(name for name, entry in BASELINES.items() if entry.views == ("ahead",))


def find_baseline(name: str) -> "BaselineDefinition":
    """The definition of a baseline; ApptekError lists the known names, or asks for torch."""
    if name not in BASELINES:
        raise ApptekError(f"there is no baseline {name!r}; known: {', '.join(NAMES)}")
    entry = BASELINES[name]
    if entry.learned:
        require_torch(name)
    module = import_module(f"apptek.baselines.{entry.module}")
    definition: BaselineDefinition = module.DEFINITIONS[name]
    return definition


def preset_of(name: str, preset: str) -> Any:
    """The settings of a baseline's preset; ConfigError lists its presets."""
    presets = find_baseline(name).presets
    if preset not in presets:
        raise ConfigError(f"{name} has no preset {preset!r}; known: {', '.join(presets)}")
    return presets[preset]
