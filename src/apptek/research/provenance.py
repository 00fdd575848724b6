"""Where results come from: this process's command and machine, and the list of runs."""

import os
import platform
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from apptek.compiling import processor
from apptek.errors import ConfigError
from apptek.safe_text import without_passwords

_ROOT = Path(__file__).parents[3]
_WRITTEN_BY_RUNS = ("paper/results", "paper/figures", "docs")


def about_run() -> dict[str, Any]:
    """Return the command, commit, machine and date of this process."""
    return {"command": command(), "commit": commit(), "machine": machine(), "date": date()}


def with_update(run: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what is known about a model's fit, with this process's update of its folder."""
    this = {"from": str(folder), "finished": finished_at(), **about_run()}
    return {**run, "updates": [*run.get("updates", []), this]}


def date() -> str:
    """Return the day, in UTC."""
    return datetime.now(UTC).date().isoformat()


def finished_at() -> str:
    """Return the time of day, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def command() -> str:
    """Return the command line of this process, without the program's path and passwords."""
    program, arguments = Path(sys.argv[0]), map(without_passwords, sys.argv[1:])
    if program.suffix != ".py":
        return shlex.join([program.name, *arguments])
    package, module = program.parent.name, program.stem
    words = ["python", "-m", package if module == "__main__" else f"{package}.{module}"]
    return shlex.join([*words, *arguments])


def commit() -> str | None:
    """Return the commit of the running checkout; None outside a checkout.

    It ends in '+changes' if a tracked file has been modified. Results, figures and docs are
    ignored, because the runs themselves write them.
    """
    git = ["git", "--no-optional-locks", "-C", str(_ROOT)]  # must not write to the repository
    excluded = [f":(exclude){path}" for path in _WRITTEN_BY_RUNS]
    status = ["status", "--porcelain", "--untracked-files=no", "--", "."]
    try:
        head = _output([*git, "rev-parse", "HEAD"])
        changes = _output([*git, *status, *excluded])
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}+changes" if changes else head


def _output(words: list[str]) -> str:
    done = subprocess.run(words, check=True, capture_output=True, text=True)  # noqa: S603
    return done.stdout.strip()


def machine() -> dict[str, Any]:
    """Return cores, memory, processor and relevant package versions; None: not installed."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "processor": processor(),
        "memory_gib": round(memory / 2**30, 1),
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "numba", "torch", "lightgbm")},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@dataclass(frozen=True, slots=True)
class RunList:
    """Command lines by name of their result file, and the runs that each table or figure shows."""

    commands: Mapping[str, str]
    shown: Mapping[str, list[str]]


def read_runs(path: Path) -> RunList:
    """Read a list of runs; ConfigError if the file is missing or invalid."""
    try:
        sections = tomllib.loads(path.read_text(encoding="utf-8"))
        also = sections.pop("also", {})
        commands = {name: line for runs in sections.values() for name, line in runs.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path} is not a list of runs: {error}") from None
    shown = {what: [*sections.get(what, ()), *also.get(what, ())] for what in {**sections, **also}}
    return RunList(commands, shown)
