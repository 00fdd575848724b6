"""The rivals by name. Those that learn need torch, and are imported when they are asked for."""

from dataclasses import fields
from importlib import import_module
from typing import Any

from apptek.baselines.interface import Rival
from apptek.errors import ApptekError, ConfigError
from apptek.extras import require_torch

_HOMES = {
    "frequency": "counting",
    "profile": "counting",
    "pair": "counting",
    "recency": "counting",
    "tnt_complex": "tnt_complex",
    "de_transe": "diachronic",
    "de_distmult": "diachronic",
    "de_simple": "diachronic",
    "re_gcn": "re_gcn",
}
NAMES = tuple(_HOMES)


def rival(name: str) -> Rival:
    """How the rival of this name is fitted; ApptekError lists the known ones."""
    if name not in _HOMES:
        raise ApptekError(f"there is no baseline {name!r}; known: {', '.join(NAMES)}")
    if _HOMES[name] != "counting":
        require_torch(name)
    known: dict[str, Rival] = import_module(f"apptek.baselines.{_HOMES[name]}").RIVALS
    return known[name]


def preset_of(name: str, preset: str) -> Any:
    """The settings of a rival's preset; ConfigError names the known ones."""
    presets = rival(name).presets
    if preset not in presets:
        known = ", ".join(presets)
        raise ConfigError(f"{name} has no preset {preset!r}; known: {known}")
    return presets[preset]


def settings_from_json(default: Any, stored: dict[str, dict[str, Any]]) -> Any:
    """Settings in the sections of `default`, read back from a model folder."""
    sections = {}
    for section in fields(default):
        values = stored[section.name].items()
        plain = {key: tuple(v) if isinstance(v, list) else v for key, v in values}
        sections[section.name] = type(getattr(default, section.name))(**plain)
    return type(default)(**sections)
