"""The files of a fitted model, how a test changes them, and a way to stop a fit in the middle."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy.typing as npt

from apptek.array_file import read_arrays, write_arrays
from apptek.models.manifest import ARRAYS, write_manifest


class Killed(BaseException):
    """Raised where a test stops a fit. No Exception, so that nothing on the way catches it."""


def files_of(folder: Path) -> dict[str, bytes]:
    """The content of every file by its relative path.

    Without the record of times (run.json), and without the manifest, which holds its checksum.
    """
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("run.json", "manifest.json")
    }


def rewrite_manifest(folder: Path) -> None:
    """Makes the manifest fit a folder that a test has changed: what a hostile author would do."""
    (folder / "manifest.json").unlink(missing_ok=True)
    write_manifest(folder)


def change_array(
    folder: Path, name: str, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
) -> None:
    """Puts another array in the place of one, with checksums and a manifest that fit it."""
    arrays, record = read_arrays(folder / ARRAYS)
    write_arrays(folder / ".new", arrays | {name: change(arrays[name].copy())}, record)
    (folder / ".new").replace(folder / ARRAYS)  # the old one stays mapped
    rewrite_manifest(folder)
