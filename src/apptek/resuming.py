"""Which run a record belongs to, and how a run that was stopped goes on.

A run's *identity* is what its result depends on: data, settings, seed. Whatever a run leaves on the
disk - a checkpoint, a work folder, a result - carries its identity, and is used again only by a run
of the same identity.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from apptek.array_file import read_arrays, write_arrays
from apptek.arrays import Arrays
from apptek.errors import CheckpointError, ConfigError, DataError, DivergedError
from apptek.files import (
    check_new_folder,
    is_model,
    make_folder,
    new_file,
    sole_writer,
    write_whole,
    writing,
)

Identity = Mapping[str, Any]
RECORD = "fit.json"  # of a work folder: the identity of its run
_SHOWN = 3  # differences that an error names


def differences(expected: Identity, recorded: Identity) -> list[str]:
    """Return the entries in which a record is not what is expected of it, as "seed 1, not 0".

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
    """Raise CheckpointError where the record at `place` is of another run; say what to do."""
    different = differences(expected, recorded)
    if different:
        named = "; ".join(different[:_SHOWN])
        raise CheckpointError(f"{place} belongs to another run ({named}): {advice}")


def read_record(path: Path, advice: str) -> dict[str, Any]:
    """Return the JSON object that a run has left; CheckpointError where it is damaged."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged ({error}): {advice}") from None
    if not isinstance(record, dict):
        raise CheckpointError(f"{path} is damaged (not a JSON object): {advice}")
    return record


def claim(path: Path, identity: Identity, advice: str) -> None:
    """Write an identity, or check that the one in the file is the same."""
    if path.exists():
        check_same_run(identity, read_record(path, advice), path, advice)
        return
    try:
        make_folder(path.parent)
    except OSError as error:
        raise CheckpointError(f"{path.parent} cannot be written: {error.strerror}") from None
    write_whole(path, json.dumps(identity, indent=1, sort_keys=True).encode())


class StageCache:
    """What the stages of a run have left in its work folder, each in a file of arrays and a record.

    CheckpointError where a file is damaged. `open_work` has compared the identity of the run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, stage: str) -> Path:
        """Return where the result of a stage is."""
        return self.folder / f"{stage}.safetensors"

    def save(self, stage: str, arrays: Arrays, record: Mapping[str, Any] | None = None) -> None:
        """Keep the result of a stage; an earlier one stays intact until this one is on the disk."""
        path = self.path(stage)
        with new_file(path) as temporary, writing(path):
            write_arrays(temporary, arrays, record)

    def load(self, stage: str, *, check: bool = True) -> tuple[Arrays, dict[str, Any]] | None:
        """Return the arrays, mapped from the disk, and the record; None where there are none.

        Without `check` the arrays are not compared with their checksums: they were before.
        """
        path = self.path(stage)
        if not path.exists():
            return None
        try:
            return read_arrays(path, check=check)
        except (OSError, ValueError) as error:
            advice = f"remove {path} to do this stage again, or choose another folder"
            raise CheckpointError(f"{path} is damaged ({error}): {advice}") from None


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
    if not (replace and is_model(target)):
        check_new_folder(target)
    work = target.with_name(f".{target.name}-fit")
    try:
        make_folder(work)
    except OSError as error:
        raise CheckpointError(f"{work} cannot be written: {error.strerror}") from None
    with sole_writer(work):
        try:
            yield work
        except (ConfigError, DataError, DivergedError):  # resuming would fail again
            shutil.rmtree(work, ignore_errors=True)
            raise
        finally:
            if not (work / RECORD).exists():  # there is nothing to resume
                shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(work, ignore_errors=True)


def open_work(work: Path, identity: Identity, *, resume: bool) -> None:
    """Return a new work folder, or with `resume` that of a stopped run of the same fit."""
    record, advice = work / RECORD, f"remove {work} to start again"
    if record.exists() and not resume:
        check_same_run(identity, read_record(record, advice), record, advice)
        raise CheckpointError(f"{work} holds a fit that was stopped: continue it with --resume")
    if not record.exists() and any(not path.name.startswith(".") for path in work.glob("*")):
        raise CheckpointError(f"{record} is missing: {advice}")
    claim(record, identity, advice)
