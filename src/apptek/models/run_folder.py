"""Where a fit keeps what it has so far: a folder beside the model's, gone when it ends well."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from apptek.errors import CheckpointError, ConfigError, DataError, DivergedError
from apptek.files import write_whole


@contextmanager
def work_folder(folder: str | Path | None) -> Iterator[Path]:
    """Where the stages of a fit leave their results: beside its folder, gone when it ends well."""
    if folder is None:
        with TemporaryDirectory(prefix="apptek-fit-") as temporary:
            yield Path(temporary)
        return
    target = Path(folder)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise CheckpointError(f"{target} exists already; choose another folder or remove it")
    work = target.with_name(f".{target.name}-fit")
    try:
        yield work
    except (ConfigError, DataError, DivergedError):  # resuming would fail again
        shutil.rmtree(work, ignore_errors=True)
        raise
    shutil.rmtree(work)


def open_work(work: Path, identity: dict[str, Any], resume: bool) -> None:
    """A new work folder, or with `resume` the one that a stopped run of the same fit has left."""
    text = json.dumps(identity, indent=1, sort_keys=True)
    about = work / "fit.json"
    if about.exists():
        if not resume:
            raise CheckpointError(f"{work} holds a fit that was stopped: go on with --resume")
        try:
            found = json.loads(about.read_text(encoding="utf-8"))
        except ValueError as error:
            raise CheckpointError(f"{about} is damaged: {error}; remove {work}") from None
        if found != json.loads(text):
            raise CheckpointError(
                f"{work} is of another fit: other data, settings or seed; remove it to begin anew"
            )
        return
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(f"{work} cannot be written: {error.strerror}") from None
    write_whole(about, text.encode())
