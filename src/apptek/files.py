"""Writing that is whole or not at all, also after a power cut.

A rename may reach the disk before what is renamed: then a file has its name and no content. So
every file and folder is synced before it gets its name, and the folder around it afterwards. When a
function here returns, what it wrote is on the disk.
"""

import ctypes
import errno
import os
import re
import shutil
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.errors import ApptekError, BeingChangedError

# What reading a damaged archive of arrays (.npz) may raise.
DAMAGED = (OSError, ValueError, EOFError, LookupError, NotImplementedError, zipfile.BadZipFile)
_MINUTE = 60.0
_HAS_LOCKS = find_spec("fcntl") is not None  # not on every system
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of Linux's renameat2


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turns what the disk refuses within the block into an ApptekError that names the target."""
    try:
        yield
    except OSError as error:
        # numpy has no number and no text of the system where only a part was written.
        reason = error.strerror or (str(error) if error.errno else "the disk is full")
        raise ApptekError(f"{target} could not be written: {reason}") from None


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A temporary folder beside `target` that takes its name when the block ends well.

    Whatever goes wrong, nothing is left behind. An existing target must be an empty folder.
    """
    check_new_folder(target)
    try:
        make_folder(target.parent)
        _remove_debris(target)
        building = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise ApptekError(f"{target} cannot be written: {error.strerror}") from None
    try:
        with _held(building), writing(target):
            yield building
            building.chmod(0o777 & ~_umask())
            for path in (*building.rglob("*"), building):
                sync(path)
            building.replace(target)
            sync(target.parent)
    finally:
        shutil.rmtree(building, ignore_errors=True)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """The folder is locked while the block lasts, so that nobody takes it for debris."""
    if not _HAS_LOCKS:
        yield
        return
    with _opened(folder) as handle:
        _lock(handle)
        yield


def _remove_debris(target: Path) -> None:
    """Removes the temporary folders that killed writers of `target` have left: nobody holds them.

    One that is only a minute old may belong to a writer that has not locked it yet.
    """
    name = re.compile(rf"\.{re.escape(target.name)}-[a-z0-9_]{{8}}")
    for folder in target.parent.iterdir() if _HAS_LOCKS else ():
        if name.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink():
            with suppress(OSError, ApptekError), _opened(folder) as handle:  # it may vanish
                if time.time() - folder.stat().st_mtime > _MINUTE:
                    _lock(handle)
                    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """No other process changes the folder while the block lasts; an error if one does now.

    The lock is on the folder itself: it leaves no file behind, and ends with the process.
    """
    if not _HAS_LOCKS:  # users must not start two writers
        yield
        return
    with _opened(folder) as handle:
        try:
            _lock(handle)
            is_current = os.fstat(handle).st_ino == folder.stat().st_ino
        except OSError:
            is_current = False
        if not is_current:  # held by another, or already replaced by another
            raise BeingChangedError(
                f"{folder} is being changed by another process: try again later"
            )
        yield


def _lock(handle: int) -> None:
    """Locks an open folder; BlockingIOError where another process has done so."""
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL):  # it has no locks
            raise


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise ApptekError(f"{folder} cannot be opened: {error.strerror}") from None
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def replaced_folder(target: Path) -> Iterator[Path]:
    """A new folder that takes the place of `target` when the block ends well; the old one goes.

    On Linux the two are exchanged in one step, so that there is a whole folder of that name at
    any moment; elsewhere the old one is moved aside first.
    """
    with folder_beside(target) as beside:
        with new_folder(beside / target.name) as building:
            yield building
        new = beside / target.name
        with writing(target):
            if not _exchange(new, target):
                target.replace(beside / "old")
                new.replace(target)
            sync(target.parent)


@contextmanager
def folder_beside(target: Path) -> Iterator[Path]:
    """Make a private folder beside `target` for the length of a block.

    Those that killed processes have left there are removed.
    """
    try:
        make_folder(target.parent)
        _remove_debris(target)
        folder = tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent)
    except OSError as error:
        raise ApptekError(f"{target.parent} cannot be written: {error.strerror}") from None
    try:
        with _held(Path(folder)):
            yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Exchanges two folders in one step; False where the system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    names = [os.fsencode(path.absolute()) for path in (one, other)]
    status: int = rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE)
    return status == 0


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """A temporary file beside `target` that takes its name when the block ends well.

    Its rights are those of any new file, by the umask. Whatever goes wrong, an old file stays and
    nothing is left behind. The block itself puts `writing` around what it writes: it may read as
    well, and what fails there is another error.
    """
    _check_not_in_a_model(target)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
        os.close(handle)
    except OSError as error:
        raise ApptekError(f"{target} cannot be written: {error.strerror}") from None
    temporary = Path(name)
    try:
        yield temporary
        with writing(target):
            temporary.chmod(0o666 & ~_umask())
            sync(temporary)
            temporary.replace(target)
            sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def is_file(path: Path) -> bool:
    """Whether there is a file that this process may look at: no error, whatever the path."""
    try:
        return path.is_file()
    except OSError:
        return False


def make_folder(folder: Path) -> None:
    """Makes a folder where there is none, and those around it; they are on the disk then."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for made in missing:
        sync(made.parent)


def sync(path: Path) -> None:
    """Waits until a file, or the entries of a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some network file systems cannot sync a folder; they need not.
        if not (path.is_dir() and error.errno == errno.EINVAL):
            raise
    finally:
        os.close(handle)


def check_new_folder(target: Path) -> None:
    """Raises ApptekError where a folder is to be written and there is something already."""
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise ApptekError(f"{target} exists already; choose another folder or remove it")


def check_replaceable(target: Path) -> None:
    """ApptekError where there is something other than a model folder, which may be replaced."""
    if not is_model(target):
        check_new_folder(target)


def check_target(path: Path) -> None:
    """ApptekError where a file cannot be written there: to be asked before long work."""
    if path.is_dir():
        raise ApptekError(f"{path} is a folder; expected the name of a file to write")
    if not path.parent.is_dir():
        raise ApptekError(f"{path} cannot be written: there is no folder {path.parent}")
    _check_not_in_a_model(path)


def _check_not_in_a_model(path: Path) -> None:
    """A model folder stays as its manifest says: one file more, and it could not be opened."""
    if is_model(path.parent):
        raise ApptekError(f"{path} would be inside a model folder; choose another place for it")


def is_model(folder: Path) -> bool:
    """Whether a folder looks like that of a model."""
    return all(is_file(folder / name) for name in ("model.json", "manifest.json"))


def write_whole(path: Path, content: bytes | npt.NDArray[Any]) -> None:
    """Writes bytes, or an array as .npy, through a temporary file beside the right one.

    A full disk or a kill in between leaves the old file, and nothing half-written under its name.
    """
    _check_not_in_a_model(path)
    temporary = path.with_name(f".{path.name}.new")
    try:
        with writing(path):
            with temporary.open("wb") as file:
                if isinstance(content, bytes):
                    file.write(content)
                else:
                    np.save(file, content, allow_pickle=False)
            sync(temporary)
            temporary.replace(path)
            sync(path.parent)
    except ApptekError:
        with suppress(OSError):
            temporary.unlink()
        raise


def _umask() -> int:
    """The umask. Setting it, the only portable way to learn it, would reach all threads."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("Umask:")).split()[1], 8)
    current = os.umask(0)
    os.umask(current)
    return current
