"""Which run a record belongs to, and how a stopped run continues.

A run's *identity* is what its result depends on: data, settings, seed. Everything that a run
writes to disk (a checkpoint, a work folder, a result) includes its identity. It is reused only by a
run with the same identity.
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
RECORD = "fit.json"  # in a work folder: its run's identity
_SHOWN = 3  # differences listed in an error


def differences(expected: Identity, recorded: Identity) -> list[str]:
    """Return the entries in which a record differs from what is expected, as "seed 1, not 0".

    Section entries are compared one by one and named section.key. Both sides are compared as JSON,
    so a tuple equals a list. Additional entries in the record are ignored.
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
    """Raise CheckpointError, with advice, if the record at `place` belongs to another run."""
    different = differences(expected, recorded)
    if different:
        named = "; ".join(different[:_SHOWN])
        raise CheckpointError(f"{place} belongs to another run ({named}): {advice}")


def read_record(path: Path, advice: str) -> dict[str, Any]:
    """Return the JSON object that a run wrote. Raise CheckpointError if it is damaged."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged ({error}): {advice}") from None
    if not isinstance(record, dict):
        raise CheckpointError(f"{path} is damaged (not a JSON object): {advice}")
    return record


def claim(path: Path, identity: Identity, advice: str) -> None:
    """Write an identity, or check that the file contains the same one."""
    if path.exists():
        check_same_run(identity, read_record(path, advice), path, advice)
        return
    try:
        make_folder(path.parent)
    except OSError as error:
        raise CheckpointError(f"{path.parent} cannot be written: {error.strerror}") from None
    write_whole(path, json.dumps(identity, indent=1, sort_keys=True).encode())


class StageCache:
    """The results of a run's stages in its work folder, each a file with arrays and a record.

    Damaged files raise CheckpointError. `open_work` has already compared the run's identity.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, stage: str) -> Path:
        """Return the path of a stage's result."""
        return self.folder / f"{stage}.safetensors"

    def save(self, stage: str, arrays: Arrays, record: Mapping[str, Any] | None = None) -> None:
        """Store a stage's result. An earlier result stays intact until this one is on disk."""
        path = self.path(stage)
        with new_file(path) as temporary, writing(path):
            write_arrays(temporary, arrays, record)

    def load(self, stage: str, *, check: bool = True) -> tuple[Arrays, dict[str, Any]] | None:
        """Return the memory-mapped arrays and the record, or None if there are none.

        Without `check`, the arrays are not compared with their checksums, as they were earlier.
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
    """Yield a folder next to a fit's folder for the results of stages, removed if the fit succeeds.

    Only one run at a time can use it. With `replace`, the fit's folder may be a model to replace.
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
    """Prepare a new work folder, or with `resume` the folder of a stopped run of the same fit."""
    record, advice = work / RECORD, f"remove {work} to start again"
    if record.exists() and not resume:
        check_same_run(identity, read_record(record, advice), record, advice)
        raise CheckpointError(f"{work} contains a stopped fit: continue it with --resume")
    if not record.exists() and any(not path.name.startswith(".") for path in work.glob("*")):
        raise CheckpointError(f"{record} is missing: {advice}")
    claim(record, identity, advice)
