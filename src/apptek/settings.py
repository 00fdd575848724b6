"""Settings from the command line: `--set section.key=value`, checked as they are declared."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from apptek.errors import ConfigError

Sections = TypeVar("Sections")


def with_settings(config: Sections, settings: Sequence[str]) -> Sections:
    """A config of sections with some settings changed, given as texts like agent.tknn=5."""
    changes: dict[str, dict[str, Any]] = {}
    for text in settings:
        section, key, value = _parts(text)
        part = _known(text, section, {f.name: getattr(config, f.name) for f in fields(config)})  # type: ignore[arg-type]
        default = _known(text, key, {f.name: getattr(part, f.name) for f in fields(part)})
        changes.setdefault(section, {})[key] = _read(text, value, default)
    parts = {name: replace(getattr(config, name), **changed) for name, changed in changes.items()}
    return replace(config, **parts)  # type: ignore[type-var]


def setting_texts(settings: Mapping[str, Any]) -> list[str]:
    """Values by section.key as the texts that `with_settings` takes."""
    return [
        f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in settings.items()
    ]


def _parts(text: str) -> tuple[str, str, str]:
    name, equals, value = text.partition("=")
    section, dot, key = name.partition(".")
    if not (equals and dot):
        raise ConfigError(f"--set {text}: expected section.key=value, as agent.tknn=25")
    return section, key, value


def _known(text: str, name: str, known: dict[str, Any]) -> Any:
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; known: {', '.join(known)}"
        raise ConfigError(f"--set {text}: there is no {name!r}{hint}")
    return known[name]


def _read(text: str, value: str, default: Any) -> Any:
    """The value in the type of the setting's default."""
    if isinstance(default, str):
        return value
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if isinstance(default, tuple) and isinstance(found, list):
        return tuple(_element(text, value, default) for value in found)
    if isinstance(default, float) and isinstance(found, int) and not isinstance(found, bool):
        return float(found)
    if type(found) is not type(default):
        kind = "a list, as [16, 16]" if isinstance(default, tuple) else type(default).__name__
        raise ConfigError(f"--set {text}: found {value!r}, expected {kind}")
    return found


def _element(text: str, value: Any, default: tuple[Any, ...]) -> Any:
    """An element of a list, of the kind of those that the default has."""
    kind = type(default[0]) if default else type(value)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ConfigError(f"--set {text}: found {value!r} in the list, expected {kind.__name__}")
    return value
