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

from apptek.errors import CheckpointError, ConfigError, DataError, DivergedError
from apptek.files import check_new_folder, make_folder, write_whole

Identity = Mapping[str, Any]
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
    except (OSError, ValueError) as error:
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


@contextmanager
def work_folder(folder: str | Path | None) -> Iterator[Path]:
    """Where the stages of a fit leave their results: beside its folder, gone when it ends well."""
    if folder is None:
        with TemporaryDirectory(prefix="apptek-fit-") as temporary:
            yield Path(temporary)
        return
    target = Path(folder)
    check_new_folder(target)
    work = target.with_name(f".{target.name}-fit")
    try:
        yield work
    except (ConfigError, DataError, DivergedError):  # resuming would fail again
        shutil.rmtree(work, ignore_errors=True)
        raise
    shutil.rmtree(work)


def open_work(work: Path, identity: Identity, *, resume: bool) -> None:
    """A new work folder, or with `resume` the one that a stopped run of the same fit has left."""
    record = work / "fit.json"
    if record.exists() and not resume:
        raise CheckpointError(f"{work} holds a fit that was stopped: continue it with --resume")
    claim(record, identity, f"remove {work} to start again")
