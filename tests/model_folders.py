"""The files of a fitted model, ways for tests to change them, and a way to stop a fit midway."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy.typing as npt

from apptek.array_file import read_arrays, write_arrays
from apptek.models.manifest import ARRAYS, write_manifest


class Killed(BaseException):
    """Raised when a test stops a fit. It is not an Exception, so that no handler catches it."""


def files_of(folder: Path) -> dict[str, bytes]:
    """The content of every file by its relative path.

    Excludes the record of times (run.json) and the manifest, which contains its checksum.
    """
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("run.json", "manifest.json")
    }


def rewrite_manifest(folder: Path) -> None:
    """Update the manifest of a folder that a test has changed, as a hostile author would."""
    (folder / "manifest.json").unlink(missing_ok=True)
    write_manifest(folder)


def change_about(folder: Path, place: str, value: object) -> object:
    """Set a value in model.json, such as `clock.short` or `views.all_facts`; return the old one."""
    entry = about = json.loads((folder / "model.json").read_text())
    *names, last = (int(name) if name.isdigit() else name for name in place.split("."))
    for name in names:
        entry = entry[name]
    old, entry[last] = entry[last], value
    (folder / "model.json").write_text(json.dumps(about))
    return old


def change_array(
    folder: Path, name: str, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
) -> None:
    """Replace an array, and update checksums and manifest accordingly."""
    arrays, record = read_arrays(folder / ARRAYS)
    write_arrays(folder / ".new", arrays | {name: change(arrays[name].copy())}, record)
    (folder / ".new").replace(folder / ARRAYS)  # the old one remains mapped
    rewrite_manifest(folder)
