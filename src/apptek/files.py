"""Writing that is whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.errors import ApptekError


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A temporary folder beside `target` that takes its name when the block ends well.

    Whatever goes wrong, nothing is left behind. An existing target must be an empty folder.
    """
    check_new_folder(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise ApptekError(f"{target} cannot be written: {error.strerror}") from None
    try:
        yield building
        building.chmod(0o777 & ~_umask())
        building.replace(target)
    except OSError as error:
        raise ApptekError(f"{target} could not be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(building, ignore_errors=True)


def check_new_folder(target: Path) -> None:
    """Raises ApptekError where a folder is to be written and there is something already."""
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise ApptekError(f"{target} exists already; choose another folder or remove it")


def check_target(path: Path) -> None:
    """ApptekError where a file cannot be written there: to be asked before long work."""
    if path.is_dir():
        raise ApptekError(f"{path} is a folder; expected the name of a file to write")
    if not path.parent.is_dir():
        raise ApptekError(f"{path} cannot be written: there is no folder {path.parent}")


def write_whole(path: Path, content: bytes | npt.NDArray[Any]) -> None:
    """Writes bytes, or an array as .npy, through a temporary file beside the right one.

    A full disk or a kill in between leaves the old file, and nothing half-written under its name.
    """
    temporary = path.with_name(f".{path.name}.new")
    try:
        with temporary.open("wb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                np.save(file, content, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ApptekError(f"{path} could not be written: {error.strerror or error}") from None


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
