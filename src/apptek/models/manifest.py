"""manifest.json: size and checksum of every other file of a model folder.

Kernels do not check their bounds, and LightGBM does not check its text: a damaged file would crash
the process or change answers without a word. So nothing of a folder is used before its files are
what they were when the folder was written.

Below FULL_CHECK bytes everything is read and compared. Above, what is read whole anyway is compared
as well; of the memory-mapped arrays (.npy) only the size and the first bytes, where the header is.
`apptek info --check` reads everything, whatever the size.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from apptek.errors import ModelError
from apptek.files import is_file
from apptek.models.storage import ABOUT, ADVICE, FULL_CHECK, MANIFEST, RUN, read_json

FORMAT = 1
MAPPED = ".npy"
HEAD = 4096  # bytes; the header of an array is much shorter
BLOCK = 1 << 20
EXCHANGES = 5  # of a folder for another while it is read

Opened = TypeVar("Opened")

Progress = Callable[[str, int, int], None]  # a file, bytes read so far, bytes in all


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What the manifest says of one file: bytes, checksum, checksum of the first 4,096 bytes."""

    size: int
    blake2b: str
    head: str


@dataclass(frozen=True, slots=True)
class Verified:
    """What was compared: how many files, and their bytes."""

    files: int
    size: int


def no_progress(_file: str, _done: int, _total: int) -> None:
    """Ignores progress."""


def write_manifest(folder: Path) -> None:
    """Records every file of a folder under construction; to be called last."""
    records = {name: _record(path) for name, path in _files(folder)}
    (folder / MANIFEST).write_bytes(_bytes_of(records))


def read_about(folder: Path) -> dict[str, Any]:
    """model.json of a folder whose files are as they were written.

    ModelError names the first file that is missing, different or not of the model.
    """
    check_files(folder)
    return read_json(folder, ABOUT)


def check_files(folder: Path) -> None:
    """Compares a folder with its manifest, as far as its size allows; see the head of this file."""
    records = _read_manifest(folder)
    _check_names(folder, records)
    everything = sum(record.size for record in records.values()) <= FULL_CHECK
    for name, record in records.items():
        whole = everything or not name.endswith(MAPPED)
        _check_content(folder, name, record, whole=whole)


def read_whole(folder: Path, read: Callable[[Path], Opened]) -> Opened:
    """What `read` makes of a folder, as long as no other folder takes its place meanwhile.

    Else it is read once more: a part of an old model and a part of a new one are no model.
    """
    for _ in range(EXCHANGES):
        before = _identity(folder)
        try:
            opened = read(folder)
        except (ModelError, OSError) as error:
            if _identity(folder) != before:
                continue
            if isinstance(error, OSError):
                raise ModelError(f"{folder} cannot be read: {error.strerror or error}") from None
            raise
        if _identity(folder) == before:
            return opened
    raise ModelError(f"{folder} is being exchanged again and again: try again later")


def _identity(folder: Path) -> tuple[int, int, int] | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def verify_folder(folder: Path, progress: Progress = no_progress) -> Verified:
    """Compares all contents of a folder with its manifest; ModelError names what differs."""
    return read_whole(folder, lambda path: _verify(path, progress))


def _verify(folder: Path, progress: Progress) -> Verified:
    records = _read_manifest(folder)
    _check_names(folder, records)
    done, total = 0, sum(record.size for record in records.values())
    for name, record in records.items():
        progress(name, done, total)
        _check_content(folder, name, record)
        done += record.size
    progress("", done, total)
    return Verified(len(records), total)


def model_digest(folder: Path) -> str:
    """The digest of a model: equal for two folders if they differ in run.json at most."""
    records = _read_manifest(folder)
    records.pop(RUN, None)
    return hashlib.blake2b(_bytes_of(records), digest_size=16).hexdigest()


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every file but the manifest, by its path in the folder, in order."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    for name in sorted(paths):
        if name != MANIFEST and not paths[name].is_dir():
            yield name, paths[name]


def _record(path: Path) -> FileRecord:
    """What is there; the file is read once."""
    state = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        state.update(file.read(HEAD))
        head = state.hexdigest()
        while block := file.read(BLOCK):
            state.update(block)
        return FileRecord(file.tell(), state.hexdigest(), head)


def _head(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.blake2b(file.read(HEAD), digest_size=16).hexdigest()


def _bytes_of(records: dict[str, FileRecord]) -> bytes:
    """The manifest as text: the same records, the same bytes."""
    content = {"format": FORMAT, "files": {n: asdict(record) for n, record in records.items()}}
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()


def _read_manifest(folder: Path) -> dict[str, FileRecord]:
    if not is_file(folder / MANIFEST):
        version = read_json(folder, ABOUT).get("format")
        raise ModelError(
            f"{folder}: a model of format {version} without {MANIFEST}: fit it again if an earlier "
            "version wrote it, or copy the folder again"
        )
    damaged = f"{folder} is damaged: {MANIFEST} is not as it was written; {ADVICE}"
    try:
        content = (folder / MANIFEST).read_bytes()
        files = json.loads(content)["files"]
        records = {str(name): FileRecord(**record) for name, record in files.items()}
        # Written once more it must be the same text: a changed space is damage, too.
        if _bytes_of(records) != content or not _are_sound(records):
            raise ModelError(damaged)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ModelError(damaged) from None
    return records


def _are_sound(records: dict[str, FileRecord]) -> bool:
    return all(
        type(record.size) is int
        and record.size >= 0
        and ".." not in Path(name).parts
        and not Path(name).is_absolute()
        for name, record in records.items()
    )


def _check_names(folder: Path, records: dict[str, FileRecord]) -> None:
    """Missing and additional files, links, and files of another size."""
    for path in folder.rglob("*"):
        if path.is_symlink():  # it may lead anywhere, and be turned after the check
            name = path.relative_to(folder).as_posix()
            raise ModelError(f"{folder} is damaged: {name} is a link; {ADVICE}")
    present = {name for name, _ in _files(folder)}
    for name in sorted(records.keys() | present):
        if name in records and not is_file(folder / name):
            raise ModelError(f"{folder} is damaged: {name} is missing; {ADVICE}")
        if name not in records:
            raise ModelError(
                f"{folder} is damaged: {name} does not belong to the model; remove it, or {ADVICE}"
            )
        size, expected = (folder / name).stat().st_size, records[name].size
        if size != expected:
            raise ModelError(
                f"{folder} is damaged: {name} has {size:,} bytes, expected {expected:,}; {ADVICE}"
            )


def _check_content(folder: Path, name: str, record: FileRecord, *, whole: bool = True) -> None:
    path = folder / name
    try:
        same = _record(path) == record if whole else _head(path) == record.head
    except OSError as error:
        raise ModelError(f"{folder}: {name} cannot be read: {error.strerror}") from None
    if not same:
        raise ModelError(f"{folder} is damaged: {name} is not as it was written; {ADVICE}")
