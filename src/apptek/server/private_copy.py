"""A copy of a model folder that belongs to the service alone.

Arrays are mapped from their files: a file that somebody truncates would end the process, and one
that somebody overwrites would mix two models. So the service opens a copy that nobody else can
reach, after it was compared with its checksums.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from apptek.errors import ApptekError, ModelError
from apptek.models.manifest import check_files, verify_folder

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - where there is no other place, as in a container


@contextmanager
def private_copy(folder: Path) -> Iterator[Path]:
    """A copy for the time of the block; what is mapped from it stays beyond.

    ApptekError where the folder is no whole model, also if it changes meanwhile, or where there is
    no room for a copy. The errors of the block name the folder instead of its copy.
    """
    check_files(folder)
    place = _temporary_place()
    private = Path(tempfile.mkdtemp(prefix="apptek-serve-", dir=place))  # for this user only
    copy = private / "model"
    try:
        try:
            shutil.copytree(folder, copy)
        except (OSError, shutil.Error) as error:
            reason = getattr(error, "strerror", None) or "a file cannot be read"
            raise ApptekError(
                f"{folder} cannot be copied to {place}: {reason}; TMPDIR can name another place"
            ) from None
        verify_folder(copy)
        yield copy
    except ModelError as error:
        raise ModelError(str(error).replace(str(copy), str(folder))) from None
    finally:
        shutil.rmtree(private, ignore_errors=True)


def _temporary_place() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        if _SHARED_MEMORY.is_dir():
            return _SHARED_MEMORY
        raise ApptekError(
            "there is no place for a copy of the model: set TMPDIR to a folder"
        ) from None
