"""Which run a record belongs to, and how a run that was stopped goes on.

A run's *identity* is what its result depends on: data, settings, seed. Whatever a run leaves on the
disk - a checkpoint, a work folder, a result - carries its identity, and is used again only by a run
of the same identity.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.errors import (
    BeingChangedError,
    CheckpointError,
    ConfigError,
    DataError,
    DivergedError,
)
from apptek.files import (
    check_new_folder,
    check_replaceable,
    make_folder,
    sole_writer,
    write_whole,
)

Identity = Mapping[str, Any]
RECORD = "fit.json"  # of a work folder: the identity of its run
PROCESS = ".process"  # likewise: the number of the process that runs it
_SHOWN = 3  # differences that an error names


def differences(expected: Identity, recorded: Identity) -> list[str]:
    """The entries in which a record is not what is expected of it, as "seed 1, not 0".

    Entries of sections are compared one by one and named section.key. Both sides are compared as
    JSON has them, so that a tuple equals a list. What the record holds beyond is not compared.
    """
    wanted: dict[str, Any] = json.loads(json.dumps(expected))
    different = []
    for key, value in wanted.items():
        found = recorded.get(key)
        if isinstance(value, dict) and isinstance(found, dict):
            different += [f"{key}.{text}" for text in differences(value, found)]
        elif value != found:
            different.append(f"{key} {found!r}, not {value!r}")
    return different


def check_same_run(expected: Identity, recorded: Identity, place: Path, advice: str) -> None:
    """Raises CheckpointError where the record at `place` is of another run; says what to do."""
    different = differences(expected, recorded)
    if different:
        named = "; ".join(different[:_SHOWN])
        raise CheckpointError(f"{place} belongs to another run ({named}): {advice}")


def read_record(path: Path, advice: str) -> dict[str, Any]:
    """The JSON object that a run has left; CheckpointError where it is damaged."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged ({error}): {advice}") from None
    if not isinstance(record, dict):
        raise CheckpointError(f"{path} is damaged (not a JSON object): {advice}")
    return record


def claim(path: Path, identity: Identity, advice: str) -> None:
    """Writes an identity, or checks that the one that stands there is the same."""
    if path.exists():
        check_same_run(identity, read_record(path, advice), path, advice)
        return
    try:
        make_folder(path.parent)
    except OSError as error:
        raise CheckpointError(f"{path.parent} cannot be written: {error.strerror}") from None
    write_whole(path, json.dumps(identity, indent=1, sort_keys=True).encode())


def seal(path: Path, entries: Identity, files: Iterable[Path] = ()) -> None:
    """Writes a record with checksums of itself and of files beside it; they are complete then."""
    sums = {file.relative_to(path.parent).as_posix(): _file_checksum(file) for file in files}
    record = json.loads(json.dumps({**entries, "files": sums}))
    record["checksum"] = _checksum(record)
    write_whole(path, (json.dumps(record, indent=1, sort_keys=True) + "\n").encode())


def read_sealed(path: Path, advice: str) -> dict[str, Any]:
    """A record that was sealed; CheckpointError where it, or one of its files, has changed."""
    record = read_record(path, advice)
    if record.pop("checksum", None) != _checksum(record):
        raise CheckpointError(f"{path} is damaged (it is not as it was written): {advice}")
    for name, checksum in record.pop("files").items():
        try:
            same = _file_checksum(path.parent / name) == checksum
        except OSError as error:
            raise CheckpointError(
                f"{path.parent / name} cannot be read ({error.strerror}): {advice}"
            ) from None
        if not same:
            raise CheckpointError(f"{path.parent / name} is damaged: {advice}")
    return record


def arrays_checksum(arrays: Mapping[str, npt.NDArray[Any]], text: str) -> str:
    """The checksum of named arrays and a text, as a checkpoint carries it within itself."""
    state = hashlib.blake2b(text.encode(), digest_size=16)
    for name, array in sorted(arrays.items()):
        state.update(f"{name} {array.dtype} {array.shape}".encode())
        state.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return state.hexdigest()


def check_arrays(arrays: Mapping[str, npt.NDArray[Any]], text: str, checksum: str) -> None:
    """ValueError where arrays and text have another checksum."""
    if arrays_checksum(arrays, text) != checksum:
        raise ValueError("it is not as it was written")


def _checksum(record: Identity) -> str:
    text = json.dumps(record, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _file_checksum(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()


@contextmanager
def work_folder(folder: str | Path | None, *, replace: bool = False) -> Iterator[Path]:
    """Where the stages of a fit leave their results: beside its folder, gone when it ends well.

    Only one run at a time has it. With `replace`, the folder may be a model that is to go.
    """
    if folder is None:
        with TemporaryDirectory(prefix="apptek-fit-") as temporary:
            yield Path(temporary)
        return
    target = Path(folder)
    if replace:
        check_replaceable(target)
    else:
        check_new_folder(target)
    work = target.with_name(f".{target.name}-fit")
    try:
        make_folder(work)
    except OSError as error:
        raise CheckpointError(f"{work} cannot be written: {error.strerror}") from None
    with _only_user(work):
        try:
            yield work
        except (ConfigError, DataError, DivergedError):  # resuming would fail again
            shutil.rmtree(work, ignore_errors=True)
            raise
        finally:
            if not (work / RECORD).exists():  # there is nothing to resume
                shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(work)


@contextmanager
def _only_user(work: Path) -> Iterator[None]:
    """Holds a work folder, and writes into it which process does."""
    with ExitStack() as stack:
        try:
            stack.enter_context(sole_writer(work))
        except BeingChangedError:
            number = "unknown"
            with suppress(OSError, UnicodeDecodeError):
                number = (work / PROCESS).read_text(encoding="ascii").strip()
            raise CheckpointError(
                f"{work} is used by a fit that is running (process {number}): "
                "wait for it, or choose another folder"
            ) from None
        write_whole(work / PROCESS, f"{os.getpid()}\n".encode())
        yield


def open_work(work: Path, identity: Identity, *, resume: bool) -> None:
    """A new work folder, or with `resume` the one that a stopped run of the same fit has left."""
    record, advice = work / RECORD, f"remove {work} to start again"
    if record.exists() and not resume:
        check_same_run(identity, read_record(record, advice), record, advice)
        raise CheckpointError(f"{work} holds a fit that was stopped: continue it with --resume")
    if not record.exists() and any(not path.name.startswith(".") for path in work.glob("*")):
        raise CheckpointError(f"{record} is missing: {advice}")
    claim(record, identity, advice)
