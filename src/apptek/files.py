"""Atomic, durable writes of files and folders.

A rename may reach the disk before what is renamed: then a file has its name and no content. So
every file and folder is synced before it gets its name, and the folder around it afterwards. When a
function here returns, what it wrote is on the disk.
"""

import ctypes
import errno
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from apptek.errors import ApptekError, BeingChangedError

_MINUTE = 60.0
_HAS_LOCKS = find_spec("fcntl") is not None  # not on every system
_WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL)  # of a file system that has none
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of Linux's renameat2


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn what the disk refuses within the block into an ApptekError that names the target."""
    try:
        yield
    except OSError as error:
        # numpy has no number and no text of the system where only a part was written.
        reason = error.strerror or (str(error) if error.errno else "the disk is full")
        raise ApptekError(f"{target} could not be written: {reason}") from None


@contextmanager
def new_folder(target: Path, *, replace: bool = False) -> Iterator[Path]:
    """Give a folder beside `target` that takes its name when the block ends well.

    Whatever goes wrong, nothing is left behind; what a killed writer has left, the next one
    removes. Without `replace`, an existing target must be an empty folder. With it, the target goes
    at the end; the caller is its `sole_writer`. On Linux the two are exchanged in one step, so that
    there is a whole folder of that name at any moment.
    """
    if not replace:
        check_new_folder(target)
    building, done = target.with_name(f".{target.name}.new"), False
    with writing(target):
        make_folder(target.parent)
        if building.is_symlink():
            building.unlink()
        building.mkdir(exist_ok=True)
    with sole_writer(building):
        try:
            with writing(target):
                _empty(building)
                yield building
                for path in (*building.rglob("*"), building):
                    sync(path)
                done = _rename(building, target, replace=replace)
                sync(target.parent)
        finally:
            if not done:  # else another writer's may be there by now
                shutil.rmtree(building, ignore_errors=True)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _rename(new: Path, target: Path, *, replace: bool) -> bool:
    """Give a folder its name; return whether nothing is left under the old one."""
    if replace and _exchange(new, target):
        return False
    old = target.with_name(f".{target.name}.old")
    if replace:
        target.replace(old)
    new.replace(target)
    shutil.rmtree(old, ignore_errors=True)
    return True


@contextmanager
def folder_beside(target: Path) -> Iterator[Path]:
    """Make a private folder beside `target` for the length of a block.

    Those that killed processes have left there are removed; one that is only a minute old may
    belong to a process that has not locked it yet.
    """
    prefix = f".{target.name}.work-"
    with writing(target.parent):
        make_folder(target.parent)
        for left in target.parent.iterdir():
            if left.name.startswith(prefix) and time.time() - left.stat().st_mtime > _MINUTE:
                with suppress(ApptekError), sole_writer(left):
                    shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
    try:
        with sole_writer(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; return False where the system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    names = [os.fsencode(path.absolute()) for path in (one, other)]
    status: int = rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE)
    return status == 0


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Let no other process change the folder while the block lasts; an error if one does now.

    The lock is on the folder itself: it leaves no file behind, and ends with the process.
    """
    if not _HAS_LOCKS:  # users must not start two writers
        yield
        return
    import fcntl

    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise ApptekError(f"{folder} cannot be opened: {error.strerror}") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _WITHOUT_LOCKS:
                raise _being_changed(folder) from None
        # Another process may have replaced it before the lock.
        if not folder.exists() or os.fstat(handle).st_ino != folder.stat().st_ino:
            raise _being_changed(folder)
        yield
    finally:
        os.close(handle)


def _being_changed(folder: Path) -> BeingChangedError:
    return BeingChangedError(f"{folder} is being changed by another process: try again later")


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Give a temporary file beside `target` that takes its name when the block ends well.

    Whatever goes wrong, an old file stays and nothing is left behind. The block itself puts
    `writing` around what it writes: it may read as well, and what fails there is another error.
    """
    _check_not_in_a_model(target)
    temporary = target.with_name(f".{target.name}-{secrets.token_hex(4)}")
    with writing(target):
        temporary.touch(exist_ok=False)
    try:
        yield temporary
        with writing(target):
            sync(temporary)
            temporary.replace(target)
            sync(target.parent)
    finally:
        with suppress(OSError):
            temporary.unlink()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with new_file(path) as temporary, writing(path):
        temporary.write_bytes(content)


def make_folder(folder: Path) -> None:
    """Make a folder where there is none, and those around it; they are on the disk then."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for made in missing:
        sync(made.parent)


def sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some network file systems cannot sync a folder; they need not.
        if not (path.is_dir() and error.errno == errno.EINVAL):
            raise
    finally:
        os.close(handle)


def is_file(path: Path) -> bool:
    """Like Path.is_file, but False instead of an OSError."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_model(folder: Path) -> bool:
    """Return whether a folder looks like that of a model."""
    return all(is_file(folder / name) for name in ("model.json", "manifest.json"))


def check_new_folder(target: Path) -> None:
    """Raise ApptekError where a folder is to be written and there is something already."""
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise ApptekError(f"{target} already exists; choose another folder or remove it")


def check_target(path: Path) -> None:
    """Raise ApptekError where a file cannot be written: to be asked before long work."""
    if path.is_dir():
        raise ApptekError(f"{path} is a folder; expected the name of a file to write")
    if not path.parent.is_dir():
        raise ApptekError(f"{path} cannot be written: there is no folder {path.parent}")
    _check_not_in_a_model(path)


def _check_not_in_a_model(path: Path) -> None:
    """Raise an error for a path in a model folder, which another file would make unreadable."""
    if is_model(path.parent):
        raise ApptekError(f"{path} would be inside a model folder; choose another place for it")
