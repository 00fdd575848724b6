"""The list of recorded runs: command lines by the name of their result file."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from apptek.errors import ConfigError


@dataclass(frozen=True, slots=True)
class RunList:
    """Command lines by the name of the result file, and the runs that a table or figure shows."""

    commands: Mapping[str, str]
    shown: Mapping[str, list[str]]


def read_runs(path: Path) -> RunList:
    """Read a list of runs; ConfigError where there is none, or it is damaged."""
    try:
        sections = tomllib.loads(path.read_text(encoding="utf-8"))
        also = sections.pop("also", {})
        commands = {name: line for runs in sections.values() for name, line in runs.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path} is no list of runs: {error}") from None
    shown = {what: [*sections.get(what, ()), *also.get(what, ())] for what in {**sections, **also}}
    return RunList(commands, shown)
