"""Where data is: paths, patterns, standard input or a benchmark's name become files by split."""

import glob
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from apptek.errors import DataError, NoFactsError
from apptek.facts.benchmarks import BENCHMARKS, find_benchmark, find_folder
from apptek.facts.facts import SPLITS, Split
from apptek.reading.streams import read_start, stem_and_suffix, too_large

TEXT_SUFFIXES = (".txt", ".tsv", ".tab", ".csv")
JSON_LINES = (".jsonl", ".ndjson", ".json")
SHEETS = (".xlsx", ".xls", ".ods")
SUFFIXES = (*TEXT_SUFFIXES, *JSON_LINES, *SHEETS, ".parquet")
STANDARD_INPUT = "-"
SPLIT_NAMES: dict[Split, tuple[str, ...]] = {
    "train": ("train",),
    "valid": ("valid", "val", "validation", "dev"),
    "test": ("test",),
}
_COPY_BYTES = 1 << 24
_COMPRESSED = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
_KINDS = {b"PAR1": ".parquet", b"PK\x03\x04": ".xlsx", b"{": ".jsonl", b"[": ".json"}


@dataclass(frozen=True, slots=True)
class Located:
    """The files of a data set, by split; without splits of its own, all are train."""

    name: str
    files: dict[Split, list[Path]]
    has_splits: bool


@contextmanager
def located(
    source: str | Path | Sequence[str | Path], max_bytes: int | None = None
) -> Iterator[Located]:
    """The files that `source` means: a path, several, a pattern, - or the name of a benchmark.

    Standard input is kept in a file as long as the context lasts.
    """
    sources = [source] if isinstance(source, str | Path) else list(source)
    if not sources:
        raise NoFactsError("there is nothing to read: the list is empty")
    with tempfile.TemporaryDirectory(prefix="apptek-") as scratch:
        paths: list[Path] = []
        for one in sources:
            if str(one) == STANDARD_INPUT:
                paths.append(_keep(sys.stdin.buffer, Path(scratch), max_bytes))
            else:
                paths += find_sources(one)
        yield _by_split(paths)


def find_sources(source: str | Path) -> list[Path]:
    """The folder or files that `source` means: a path, a pattern, or the name of a benchmark."""
    path = Path(source)
    if path.exists():
        return [path]
    if str(source) in BENCHMARKS:
        folder = find_benchmark(str(source))
        if folder is None:
            raise DataError(
                f"{source} is not on this machine: set APPTEK_DATA to the folder that holds it, "
                f"or run 'apptek data download {source}'"
            )
        return [folder]
    if (folder := find_folder(str(source))) is not None:
        return [folder]
    if glob.has_magic(str(source)):
        files = [Path(name) for name in sorted(glob.glob(str(source), recursive=True))]  # noqa: PTH207
        files = [file for file in files if file.is_file()]
        if files:
            return files
        raise DataError(f"{source}: no file matches this pattern")
    raise DataError(
        f"{source}: no such file or folder, no benchmark of that name "
        f"(known: {', '.join(sorted(BENCHMARKS))}), and no folder of that name in APPTEK_DATA"
    )


def _by_split(paths: list[Path]) -> Located:
    first = paths[0]
    if len(paths) == 1:
        return Located(dataset_name(first), find_split_files(first), first.is_dir())
    folders = [path for path in paths if path.is_dir()]
    if folders:
        raise DataError(f"{folders[0]}: several files are read as one, but this is a folder")
    names = f"{dataset_name(first)} and {len(paths) - 1} more"
    return Located(names, {"train": paths}, has_splits=False)


def dataset_name(path: Path) -> str:
    """The name of the data set in a folder or file."""
    return stem_and_suffix(path)[0] if path.is_file() else path.resolve().name


def find_split_files(path: Path) -> dict[Split, list[Path]]:
    """The files of train, valid and test in a folder; a single file is all train.

    A split is a file, or a folder with the files of its parts, as Spark writes them.
    """
    if not path.is_dir():
        return {"train": [path]}
    split_files: dict[Split, list[Path]] = {}
    for split in SPLITS:
        files = [file for file in sorted(path.iterdir()) if _is_split_file(file, split)]
        parts = [list(_parts(folder)) for folder in _split_folders(path, split)]
        if len(files) + len(parts) > 1:
            names = ", ".join(file.name for file in [*files, *_split_folders(path, split)])
            raise DataError(f"{path}: more than one file for {split}: {names}")
        if files or parts:
            split_files[split] = files or parts[0]
    if "train" not in split_files:
        raise DataError(
            f"{path}: there is no train file (train{', train'.join(SUFFIXES)}); "
            f"to read all its files as one, say '{path}/*'"
        )
    return split_files


def _split_folders(path: Path, split: Split) -> list[Path]:
    names = (path / name for name in SPLIT_NAMES[split])
    return [folder for folder in names if folder.is_dir() and any(_parts(folder))]


def _parts(folder: Path) -> Iterator[Path]:
    """The files of a split's parts, by name; those that begin with _ or . are not data."""
    for file in sorted(folder.iterdir()):
        if file.name[0] not in "_." and stem_and_suffix(file)[1] in SUFFIXES and file.is_file():
            yield file


def _is_split_file(file: Path, split: Split) -> bool:
    stem, suffix = stem_and_suffix(file)
    return suffix in SUFFIXES and stem in SPLIT_NAMES[split] and file.is_file()


def _keep(stream: IO[bytes], folder: Path, max_bytes: int | None) -> Path:
    """Standard input as a file, whose suffix says what its first bytes look like."""
    path, size = folder / "stdin", 0
    with path.open("wb") as file:
        while piece := stream.read(_COPY_BYTES):
            size += len(piece)
            if max_bytes is not None and size > max_bytes:
                raise too_large(Path(STANDARD_INPUT), max_bytes)
            file.write(piece)
    with path.open("rb") as file:
        start = file.read(4)
    compression = next((s for magic, s in _COMPRESSED.items() if start.startswith(magic)), "")
    if compression:
        path = Path(shutil.move(path, folder / f"stdin{compression}"))
    start = read_start(path, 1 << 16)
    kind = next((s for magic, s in _KINDS.items() if start.startswith(magic)), None)
    if kind is None:
        line = start.partition(b"\n")[0]
        kind = ".tsv" if line.count(b"\t") > 1 else ".csv"
    return Path(shutil.move(path, folder / f"stdin{kind}{compression}"))
