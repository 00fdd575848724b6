"""All kinds of sources, and how to find the data.

A kind of source is a function that converts it to Arrow tables of text columns: see SourceKind.
Paths, patterns, standard input or a benchmark's name become files by split.
"""

import glob
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from apptek.databases import Database, find_database
from apptek.errors import DataError, NoFactsError, UnfitOptionsError
from apptek.facts.benchmarks import BENCHMARKS, find_benchmark, find_folder
from apptek.facts.facts import Split
from apptek.reading.columns import Roles
from apptek.reading.database import open_database
from apptek.reading.frames import open_frame, open_parquet, open_tuples
from apptek.reading.options import OF_RDF, OF_SOURCES, ReadOptions
from apptek.reading.parts import Content
from apptek.reading.rdf import RDF_FORMATS, open_rdf
from apptek.reading.streams import check_growth, is_compressed, read_start, stem_and_suffix
from apptek.reading.text import TEXT_FORMATS, open_text
from apptek.reading.values import open_json, open_sheet


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source.

    open   the function that opens it: (source, options, name), for files and databases also the
           roles of queries
    heeds  the options of OF_SOURCES that apply to it
    """

    open: Callable[..., Content]
    heeds: tuple[str, ...]


_OF_FILES = ("columns", "split", "header", "max_bytes")
_TEXT = SourceKind(open_text, (*_OF_FILES, "delimiter", "encoding", "format"))
_JSON = SourceKind(open_json, (*_OF_FILES, "encoding"))
_SHEET = SourceKind(open_sheet, (*_OF_FILES, "sheet"))
_PARQUET = SourceKind(open_parquet, _OF_FILES)
_RDF = SourceKind(open_rdf, ("format", "max_bytes", *OF_RDF))
FILE_KINDS: dict[str, SourceKind] = {
    **dict.fromkeys(TEXT_FORMATS, _TEXT),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), _JSON),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), _SHEET),
    ".parquet": _PARQUET,
    **dict.fromkeys(RDF_FORMATS, _RDF),
}
OBJECT_KINDS: dict[str, SourceKind] = {
    "database": SourceKind(open_database, ("columns", "split", "sql", "since")),
    "frame": SourceKind(open_frame, ("columns", "split")),
    "facts": SourceKind(open_tuples, ()),
}
SUFFIXES = tuple(FILE_KINDS)
STANDARD_INPUT = "-"
SPLIT_NAMES: dict[Split, tuple[str, ...]] = {
    "train": ("train",),
    "valid": ("valid", "val", "validation", "dev"),
    "test": ("test",),
}
_COPY_BYTES = 1 << 24
_COMPRESSED = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst", b"BZh": ".bz2", b"\xfd7zX": ".xz"}
_KINDS = {b"PAR1": ".parquet", b"PK\x03\x04": ".xlsx", b"{": ".jsonl", b"[": ".json"}
_KINDS |= {b"@prefix": ".ttl", b"PREFIX": ".ttl"}


def object_kind(source: Any) -> str | None:
    """Return the key of OBJECT_KINDS for a source, or None for files."""
    if find_database(source) is not None:
        return "database"
    if not isinstance(source, str | Path | list | tuple):
        return "frame"
    are_files = isinstance(source, str | Path) or all(isinstance(x, str | Path) for x in source)
    return None if are_files else "facts"


def kind_of(file: Path | Database, options: ReadOptions) -> SourceKind:
    """Return the kind of a file or a database. Raise DataError for unknown kinds."""
    if isinstance(file, Database):
        return OBJECT_KINDS["database"]
    if f".{options.format}" in RDF_FORMATS:
        return _RDF
    kind = FILE_KINDS.get(stem_and_suffix(file)[1])
    if kind is None or (kind in (_SHEET, _PARQUET) and is_compressed(file)):
        raise DataError(
            f"{file}: unknown kind of file; expected {', '.join(SUFFIXES)}, also "
            ".gz, .bz2, .xz, .zst and .zip"
        )
    return kind


def open_file(file: Path | Database, options: ReadOptions, roles: Roles = None) -> Content:
    """Open a file of any kind, or a database."""
    return kind_of(file, options).open(file, options, file.name, roles)


def check_options(options: ReadOptions, kinds: Sequence[SourceKind], name: str) -> None:
    """Reject options that do not apply to any of the sources."""
    changed, heeded = options.changed(), {option for kind in kinds for option in kind.heeds}
    for option in OF_SOURCES:
        if option in changed and option not in heeded:
            shown = option.replace("_", "-")
            raise UnfitOptionsError(f"{name}: --{shown} does not apply to this kind of source")


@dataclass(frozen=True, slots=True)
class Located:
    """The files of a data set, by split. Without published splits, all files are train."""

    name: str
    files: dict[Split, list[Path]]
    has_splits: bool


@contextmanager
def located(
    source: str | Path | Sequence[str | Path], max_bytes: int | None = None
) -> Iterator[Located]:
    """Yield the files of `source`: a path, several, a pattern, - or the name of a benchmark.

    Standard input, or a pipe such as <(zcat ...), is stored in a file until the context ends.
    """
    sources = [source] if isinstance(source, str | Path) else list(source)
    if not sources:
        raise NoFactsError("there is nothing to read: the list is empty")
    with tempfile.TemporaryDirectory(prefix="apptek-") as scratch:
        paths: list[Path] = []
        for number, one in enumerate(sources):
            folder = Path(scratch, str(number))
            if str(one) == STANDARD_INPUT:
                paths.append(_keep(sys.stdin.buffer, folder / "stdin", max_bytes))
            elif Path(one).is_fifo():
                with Path(one).open("rb") as stream:
                    paths.append(_keep(stream, folder / Path(one).stem, max_bytes))
            else:
                paths += find_sources(one)
        yield _by_split(paths)


def find_sources(source: str | Path) -> list[Path]:
    """Return the folder or files of `source`: a path, a pattern, or a benchmark's name."""
    path = Path(source)
    if path.exists():
        return [path]
    if str(source) in BENCHMARKS:
        folder = find_benchmark(str(source))
        if folder is None:
            raise DataError(
                f"{source} is not on this machine: set APPTEK_DATA to the folder that contains it, "
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
        f"{source}: no such file or folder, no benchmark with that name "
        f"(known: {', '.join(sorted(BENCHMARKS))}), and no folder with that name in APPTEK_DATA"
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
    """Return the name of the data set in a folder or file."""
    return stem_and_suffix(path)[0] if path.is_file() else path.resolve().name


def find_split_files(path: Path) -> dict[Split, list[Path]]:
    """Return a folder's files for train, valid and test. A single file is all train."""
    if not path.is_dir():
        return {"train": [path]}
    split_files: dict[Split, list[Path]] = {}
    for split, names in SPLIT_NAMES.items():
        files = [
            f for f in sorted(path.iterdir()) if stem_and_suffix(f)[0] in names and _is_data(f)
        ]
        if len(files) > 1:
            found = ", ".join(file.name for file in files)
            raise DataError(f"{path}: more than one file for {split}: {found}")
        if files:
            split_files[split] = files
    if "train" not in split_files:
        raise DataError(
            f"{path}: there is no train file (train{', train'.join(SUFFIXES)}); "
            f"to read all its files as one, use '{path}/*'"
        )
    return split_files


def _is_data(file: Path) -> bool:
    return stem_and_suffix(file)[1] in SUFFIXES and file.is_file()


def _keep(stream: IO[bytes], path: Path, max_bytes: int | None) -> Path:
    """Save standard input or a pipe as a file, with a suffix that its first bytes determine."""
    path.parent.mkdir()
    size = 0
    with path.open("wb") as file:
        while piece := stream.read(_COPY_BYTES):
            size += len(piece)
            check_growth(Path(STANDARD_INPUT), size, max_bytes or size)
            file.write(piece)
    with path.open("rb") as file:
        start = file.read(4)
    compression = next((s for magic, s in _COMPRESSED.items() if start.startswith(magic)), "")
    packed = path.rename(path.with_name(f"{path.name}{compression}"))
    start = read_start(packed, 1 << 16)
    kind = next((s for magic, s in _KINDS.items() if start.startswith(magic)), None)
    if kind is None:
        line = start.partition(b"\n")[0]
        kind = ".tsv" if line.count(b"\t") > 1 else ".csv"
    return packed.rename(path.with_name(f"{path.name}{kind}{compression}"))
