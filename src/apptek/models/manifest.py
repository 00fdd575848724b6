"""A folder whose files are all checked: model.json, arrays, further files, and manifest.json.

Kernels do not check their bounds, and LightGBM does not check its text: a damaged file would crash
the process or silently change answers. `open_folder` therefore compares every file with the size
and checksum in the manifest, and returns the checked contents. No file is read twice.

Arrays are memory-mapped. Their file's header contains a checksum of each array. If a folder is
larger than FULL_CHECK bytes, only that header is checked. `apptek info --check` reads everything.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from apptek.array_file import METADATA, checksum, read_arrays, read_header, write_arrays
from apptek.arrays import Arrays
from apptek.errors import ConfigError, DataError, GraphError, ModelError
from apptek.files import is_file

FORMAT = 9  # of every folder; increased by one when the format of any file changes
ABOUT = "model.json"
ARRAYS = "arrays.safetensors"
MANIFEST = "manifest.json"
RUN = "run.json"  # durations, command and commit, which may differ between equal models
FULL_CHECK = 256 * 2**20  # largest folder size, in bytes, that is read completely on opening
ADVICE = "copy the folder again, or fit again"  # the end of every error about damage
EXCHANGES = 5  # how many times the folder may be replaced during reading
_DAMAGE = (
    ConfigError, DataError, GraphError, pa.ArrowException, OSError, ValueError,
)  # fmt: skip
_MISFIT = (AttributeError, IndexError, KeyError, TypeError)

Opened = TypeVar("Opened")
Progress = Callable[[str, int, int], None]  # file, bytes read so far, total bytes
# By file name: `size` and checksum `blake2b`. For arrays, the checksum covers the header.
Records = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class CheckedFolder:
    """An open folder whose files all match their checksums."""

    path: Path
    about: dict[str, Any]  # model.json
    arrays: Arrays  # mapped, read-only
    contents: dict[str, bytes]  # the other files, by path within the folder
    size: int  # total bytes of all files
    is_large: bool  # larger than FULL_CHECK

    def json(self, name: str) -> dict[str, Any]:
        """Return the object in a JSON file, or an empty object if the file does not exist."""
        return _parsed(self.path, name, self.contents.get(name, b"{}"))


def write_folder(
    folder: Path,
    about: Mapping[str, Any],
    arrays: Arrays,
    contents: Mapping[str, bytes] | None = None,
) -> None:
    """Write the files of a folder under construction, then a manifest of everything in it."""
    for name, content in (contents or {}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    write_arrays(folder / ARRAYS, arrays)
    (folder / ABOUT).write_bytes(json_bytes({"format": FORMAT, **about}))
    write_manifest(folder)


def json_bytes(content: Mapping[str, Any]) -> bytes:
    """Return an object as JSON. Equal content gives equal bytes. Arrays become lists."""
    how: Any = {"indent": 1, "sort_keys": True, "ensure_ascii": False}
    return (json.dumps(content, default=np.ndarray.tolist, **how) + "\n").encode()


def write_manifest(folder: Path) -> None:
    """Write a manifest of every file in a folder under construction."""
    records = {name: _record(path) for name, path in _files(folder)}
    (folder / MANIFEST).write_bytes(json_bytes({"files": records}))


def open_folder(
    folder: Path, *, every_array: bool = False, progress: Progress = lambda *_: None
) -> CheckedFolder:
    """Read a folder and compare it with its manifest.

    Raise ModelError for the first file that is missing, different or not part of the model. For a
    folder in another format, the error says what to do.
    """
    read_about(folder)
    records = _read_manifest(folder)
    _check_names(folder, records)
    total = sum(record["size"] for record in records.values())
    every_array = every_array or total <= FULL_CHECK
    arrays: Arrays = {}
    contents, done = {}, 0
    for name, record in records.items():
        progress(name, done, total)
        done += record["size"]
        if name == ARRAYS:
            arrays = _read_arrays(folder, record["blake2b"], check=every_array)
        else:
            contents[name] = _read(folder, name)
            if checksum(contents[name]) != record["blake2b"]:
                raise _damaged(folder, f"{name} does not match its checksum")
    progress("", done, total)
    about = _parsed(folder, ABOUT, contents[ABOUT])
    return CheckedFolder(folder, about, arrays, contents, total, total > FULL_CHECK)


def verify_folder(folder: Path, progress: Progress = lambda *_: None) -> CheckedFolder:
    """Compare a folder's entire contents with its manifest, whatever the folder's size."""
    return read_whole(folder, lambda path: open_folder(path, every_array=True, progress=progress))


def read_whole(folder: Path, read: Callable[[Path], Opened]) -> Opened:
    """Return the result of `read` for a folder.

    If another folder replaces it meanwhile, read again: files from an old and a new model do not
    form a model.
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
    raise ModelError(f"{folder} is being replaced again and again: try again later")


@contextmanager
def refusing_damage(folder: Path) -> Iterator[None]:
    """Convert errors caused by a model folder's files to ModelError.

    The checksums were correct, so the errors in _MISFIT more likely come from the program than from
    the folder. They are not reported as damage.
    """
    try:
        yield
    except ModelError:
        raise
    except _DAMAGE as error:
        raise _damaged(folder, error) from None
    except _MISFIT as error:
        raise ModelError(
            f"{folder} cannot be opened by this version of apptek ({type(error).__name__}: {error})"
            "; if the same version wrote it, please report this"
        ) from error


def _damaged(folder: Path, found: object, instead: str = "") -> ModelError:
    return ModelError(f"{folder} is damaged: {found}; {instead}{ADVICE}")


def _identity(folder: Path) -> tuple[int, int, int] | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def read_about(folder: Path) -> dict[str, Any]:
    """Return model.json, unchecked. Raise ModelError if it is missing or in another format."""
    about = read_json(folder, ABOUT)
    if about.get("format") != FORMAT:
        raise ModelError(
            f"{folder} has format {about.get('format')}, but this version reads {FORMAT}: fit it "
            f"again; its {RUN} contains the command"
        )
    return about


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """Return the object in a JSON file, unchecked. Raise ModelError if the file is missing."""
    return _parsed(folder, name, _read(folder, name))


def model_digest(folder: Path) -> str:
    """Return a digest of a model. Folders that differ only in run.json have equal digests."""
    records = _read_manifest(folder)
    records.pop(RUN, None)
    return checksum(json_bytes({"files": records}))


def _read(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        found = f"{name}: {error.strerror}"
        if is_file(folder / MANIFEST):
            raise _damaged(folder, found) from None
        raise ModelError(f"{folder} is not a model folder: {found}") from None


def _parsed(folder: Path, name: str, content: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _damaged(folder, f"{name} is not JSON ({error})") from None
    if not isinstance(parsed, dict):
        raise _damaged(folder, f"{name} is not a JSON object")
    return parsed


def _read_arrays(folder: Path, header_checksum: str, *, check: bool) -> Arrays:
    try:
        return read_arrays(folder / ARRAYS, check=check, header_checksum=header_checksum)[0]
    except (OSError, ValueError) as error:
        raise _damaged(folder, error) from None


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield every file except the manifest, sorted, with its path within the folder."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    for name in sorted(paths):
        if name != MANIFEST and not paths[name].is_dir():
            yield name, paths[name]


def _record(path: Path) -> dict[str, Any]:
    if path.name == ARRAYS:
        found = read_header(path)[0][METADATA]["blake2b"]
    else:
        found = checksum(path.read_bytes())
    return {"size": path.stat().st_size, "blake2b": found}


def _read_manifest(folder: Path) -> Records:
    damaged = _damaged(folder, f"{MANIFEST} does not match its checksum")
    if not is_file(folder / MANIFEST):
        raise _damaged(folder, f"{MANIFEST} is missing")
    content = _read(folder, MANIFEST)
    try:
        records: Records = json.loads(content)["files"]
        # Writing it again must produce the same text, so even a changed space counts as damage.
        if json_bytes({"files": records}) != content or not _are_sound(records):
            raise damaged
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise damaged from None
    return records


def _are_sound(records: Records) -> bool:
    return ABOUT in records and all(
        record.keys() == {"size", "blake2b"}
        and type(record["size"]) is int
        and record["size"] >= 0
        and ".." not in Path(name).parts
        and not Path(name).is_absolute()
        for name, record in records.items()
    )


def _check_names(folder: Path, records: Records) -> None:
    """Raise ModelError for missing or additional files, links, and files of the wrong size."""
    for path in folder.rglob("*"):
        if path.is_symlink():  # it may lead anywhere, and may change after the check
            name = path.relative_to(folder).as_posix()
            raise _damaged(folder, f"{name} is a link")
    present = {name for name, _ in _files(folder)}
    for name in sorted(records.keys() | present):
        if name in records and not is_file(folder / name):
            raise _damaged(folder, f"{name} is missing")
        if name not in records:
            raise _damaged(folder, f"{name} does not belong to the model", "remove it, or ")
        size, expected = (folder / name).stat().st_size, records[name]["size"]
        if size != expected:
            raise _damaged(folder, f"{name} has {size:,} bytes, expected {expected:,}")
