"""The baselines by name.

To add a baseline, write a module here with a dict DEFINITIONS and add one line to BASELINES. Help
texts, tables and quick runs follow from both. This module imports nothing heavy, so that the
command line can name the baselines without loading numpy or torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from apptek.errors import ApptekError, ConfigError
from apptek.extras import require_torch

if TYPE_CHECKING:
    from apptek.baselines.definition import BaselineDefinition


class BaselineEntry(NamedTuple):
    """What is known of a baseline before its module is imported."""

    module: str  # in this package; its DEFINITIONS hold the baseline under its name
    learned: bool = True  # needs torch, and has settings to search for
    past_only: bool = False  # sees no fact of the query's own time or later


BASELINES = {  # in the order of help texts and tables
    "frequency": BaselineEntry("counting", learned=False),
    "profile": BaselineEntry("counting", learned=False),
    "pair": BaselineEntry("counting", learned=False),
    "recency": BaselineEntry("counting", learned=False),
    "tnt_complex": BaselineEntry("tnt_complex"),
    "de_transe": BaselineEntry("diachronic"),
    "de_distmult": BaselineEntry("diachronic"),
    "de_simple": BaselineEntry("diachronic"),
    "re_gcn": BaselineEntry("re_gcn", past_only=True),
}
NAMES = tuple(BASELINES)
LEARNED_NAMES = tuple(name for name, entry in BASELINES.items() if entry.learned)
PAST_ONLY_NAMES = tuple(name for name, entry in BASELINES.items() if entry.past_only)


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
