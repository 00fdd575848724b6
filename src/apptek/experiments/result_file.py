"""A result file: what was run, on what, with which settings, and what came out."""

import json
import os
import platform
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from apptek.errors import ApptekError
from apptek.files import write_whole

FORMAT = 1
COMPARISON = "comparison"  # the `model` of a result that holds models against each other


def about_run() -> dict[str, Any]:
    """The command, commit and machine of this process."""
    return {"command": command(), "commit": commit(), "machine": machine()}


def write_result(path: Path, result: dict[str, Any]) -> None:
    """Writes a result, with the command, commit and machine where it does not name them."""
    whole = {"format": FORMAT} | about_run() | result
    write_whole(path, (json.dumps(whole, indent=1, sort_keys=True) + "\n").encode())


def read_result(path: Path) -> dict[str, Any]:
    """A result file; ApptekError where it is damaged or of another format."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except IsADirectoryError:
        raise ApptekError(
            f"{path} is a folder, not a result file: apptek evaluate MODEL --result FILE writes one"
        ) from None
    except OSError as error:
        raise ApptekError(f"{path} is not a result file: {error.strerror}") from None
    except ValueError as error:
        raise ApptekError(f"{path} is not a result file: it is not JSON ({error})") from None
    if not isinstance(result, dict) or result.get("format") != FORMAT:
        raise ApptekError(f"{path}: a result of another format; expected format {FORMAT}")
    if wrong := _wrong_part(result):
        raise ApptekError(f"{path} is damaged: {wrong}")
    return result


def _wrong_part(result: dict[str, Any]) -> str | None:
    """What of a result is not of the kind that tables and comparisons rely on."""
    seed, settings = result.get("seed"), result.get("settings", {})
    if not (seed is None or type(seed) is int):
        return f"the seed {seed!r}"
    if not isinstance(settings, dict) or not all(isinstance(p, dict) for p in settings.values()):
        return "its settings"
    if result.get("split") is None:  # it is not the result of a model
        return None
    metrics = result.get("metrics")
    if not isinstance(metrics, dict) or not _is_share(metrics.get("mrr")):
        return "its metrics"
    if not all(_is_share(metrics[key]) for key in ("hits_at_1", "hits_at_10") if key in metrics):
        return "its metrics"
    return None


def _is_share(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1


def command() -> str:
    """The command line of this process, without the place of the program."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


def commit() -> str | None:
    """The commit of the checkout that runs, with '+changes' if it is not clean; None elsewhere.

    What runs leave behind - results, figures, docs - may have changed.
    """
    root = Path(__file__).parents[3]
    git = ["git", "-C", str(root)]
    asked = [f":(exclude){place}" for place in ("paper/results", "paper/figures", "docs")]
    try:
        head = _output([*git, "rev-parse", "HEAD"])
        status = ["status", "--porcelain", "--untracked-files=no", "--", "."]
        changes = _output([*git, *status, *asked])
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}+changes" if changes else head


def _output(words: list[str]) -> str:
    done = subprocess.run(words, check=True, capture_output=True, text=True)  # noqa: S603
    return done.stdout.strip()


def machine() -> dict[str, Any]:
    """Cores, memory and the versions that matter."""
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = None
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30, 1),
        "python": platform.python_version(),
        "torch": torch,
    }
