"""Settings from the command line: `--set section.key=value`, checked as they are declared."""

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any

from apptek.config import AgentConfig
from apptek.errors import ConfigError


def agent_config(settings: Sequence[str], base: AgentConfig | None = None) -> AgentConfig:
    """The agent's settings with some changed, given as texts like agent.tknn=5."""
    base = base or AgentConfig()
    changes: dict[str, Any] = {}
    for text in settings:
        section, key, value = _parts(text)
        if section != "agent":
            raise ConfigError(f"--set {text}: there is no section {section!r}; expected agent")
        known = {field.name: getattr(base, field.name) for field in fields(base)}
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ConfigError(f"--set {text}: there is no setting agent.{key}{hint}")
        changes[key] = _read(text, value, known[key])
    return replace(base, **changes)


def _parts(text: str) -> tuple[str, str, str]:
    name, equals, value = text.partition("=")
    section, dot, key = name.partition(".")
    if not (equals and dot):
        raise ConfigError(f"--set {text}: expected section.key=value, as agent.tknn=25")
    return section, key, value


def _read(text: str, value: str, default: Any) -> Any:
    """The value in the type of the setting's default."""
    if isinstance(default, str):
        return value
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if isinstance(default, tuple) and isinstance(found, list):
        return tuple(found)
    if isinstance(default, float) and isinstance(found, int) and not isinstance(found, bool):
        return float(found)
    if type(found) is not type(default):
        kind = "a list, as [16, 16]" if isinstance(default, tuple) else type(default).__name__
        raise ConfigError(f"--set {text}: found {value!r}, expected {kind}")
    return found
