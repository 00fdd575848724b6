"""Atomic, durable writes of files and folders.

A rename may reach the disk before the content of the renamed file. After a crash, the file would
then be empty. Every file and folder is therefore synced before it gets its name, and its parent
folder is synced afterwards. When a function in this module returns, everything that it wrote is on
the disk.
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
_HAS_LOCKS = find_spec("fcntl") is not None  # some systems have no file locks
_WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL)  # errors if there are no locks
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # arguments of Linux's renameat2


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Convert an OSError within the block to an ApptekError that names the target."""
    try:
        yield
    except OSError as error:
        # After a partial write, numpy's error has neither a system error number nor its text.
        reason = error.strerror or (str(error) if error.errno else "the disk is full")
        raise ApptekError(f"{target} could not be written: {reason}") from None


@contextmanager
def new_folder(target: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary folder next to `target`, and rename it to `target` if the block succeeds.

    If the block fails, nothing is left behind. If a writer is killed, the next writer removes its
    temporary folder. Without `replace`, an existing target must be an empty folder. With `replace`,
    the old folder is removed at the end, and the caller must hold `sole_writer`. On Linux the
    folders are exchanged in one step, so that a complete folder with this name always exists.
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
            if not done:  # otherwise another writer's folder may already have this name
                shutil.rmtree(building, ignore_errors=True)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _rename(new: Path, target: Path, *, replace: bool) -> bool:
    """Rename a folder. Return whether no folder is left under its temporary name."""
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
    """Create a private folder next to `target` and remove it when the block ends.

    Folders left behind by killed processes are removed as well. A folder that is less than a minute
    old is kept, because it may belong to a process that has not locked it yet.
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
    """Exchange two folders in one step. Return False if the system does not support this."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    names = [os.fsencode(path.absolute()) for path in (one, other)]
    status: int = rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE)
    return status == 0


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Prevent other processes from changing the folder during the block.

    Raise an error if another process is changing it now. The lock is on the folder itself, so it
    leaves no file behind. It is released when the process ends.
    """
    if not _HAS_LOCKS:  # users must not run two writers at once
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
        # Another process may have replaced the folder before it was locked.
        if not folder.exists() or os.fstat(handle).st_ino != folder.stat().st_ino:
            raise _being_changed(folder)
        yield
    finally:
        os.close(handle)


def _being_changed(folder: Path) -> BeingChangedError:
    return BeingChangedError(f"{folder} is being changed by another process: try again later")


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Yield a temporary file next to `target`, and rename it to `target` if the block succeeds.

    If the block fails, an existing file is kept and nothing is left behind. The block must use
    `writing` around its own writes. It may also read files, and read errors must not be reported as
    write errors.
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
    """Write a file atomically: either all of its content or nothing."""
    with new_file(path) as temporary, writing(path):
        temporary.write_bytes(content)


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents, and sync them to the disk."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for made in missing:
        sync(made.parent)


def sync(path: Path) -> None:
    """Wait until a file's content or a folder's entries are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some network file systems cannot sync a folder, and do not need to.
        if not (path.is_dir() and error.errno == errno.EINVAL):
            raise
    finally:
        os.close(handle)


def is_file(path: Path) -> bool:
    """Return whether a path is a file, like Path.is_file, but never raise OSError."""
    return os.path.isfile(path)  # noqa: PTH113 - which never raises it


def is_model(folder: Path) -> bool:
    """Return whether a folder looks like a model folder."""
    return all(is_file(folder / name) for name in ("model.json", "manifest.json"))


def check_new_folder(target: Path) -> None:
    """Raise ApptekError if something already exists where a folder is to be written."""
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise ApptekError(f"{target} already exists; choose another folder or remove it")


def check_target(path: Path) -> None:
    """Raise ApptekError if a file cannot be written. Call this before a long computation."""
    if path.is_dir():
        raise ApptekError(f"{path} is a folder; expected the name of a file to write")
    if not path.parent.is_dir():
        raise ApptekError(f"{path} cannot be written: there is no folder {path.parent}")
    _check_not_in_a_model(path)


def _check_not_in_a_model(path: Path) -> None:
    """Reject a path in a model folder, because an extra file would make the model unreadable."""
    if is_model(path.parent):
        raise ApptekError(f"{path} would be inside a model folder; choose another location")
