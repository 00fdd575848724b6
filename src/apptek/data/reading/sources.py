"""Where data is: a path or a benchmark's name becomes the files of its splits."""

from pathlib import Path

from apptek.data.benchmarks import BENCHMARKS, find_benchmark
from apptek.data.facts import SPLITS, Split
from apptek.data.reading.text_blocks import stem_and_suffix
from apptek.data.reading.text_cells import TEXT_FORMATS
from apptek.errors import DataError

SUFFIXES = (*TEXT_FORMATS, ".parquet")
SPLIT_NAMES: dict[Split, tuple[str, ...]] = {
    "train": ("train",),
    "valid": ("valid", "validation", "dev"),
    "test": ("test",),
}


def find_source(source: str | Path) -> Path:
    """The folder or file that `source` means: a path, or the name of a benchmark."""
    path = Path(source)
    if path.exists():
        return path
    if str(source) in BENCHMARKS:
        folder = find_benchmark(str(source))
        if folder is None:
            raise DataError(
                f"{source} is not on this machine: set APPTEK_DATA to the folder that holds it, "
                f"or run 'apptek data download {source}'"
            )
        return folder
    raise DataError(
        f"{source}: no such file or folder, and no benchmark of that name "
        f"(known: {', '.join(sorted(BENCHMARKS))})"
    )


def dataset_name(path: Path) -> str:
    """The name of the data set in a folder or file."""
    return stem_and_suffix(path)[0] if path.is_file() else path.resolve().name


def find_split_files(path: Path) -> dict[Split, Path]:
    """The files of train, valid and test in a folder; a single file is all train."""
    if not path.is_dir():
        return {"train": path}
    split_files: dict[Split, Path] = {}
    for split in SPLITS:
        files = [file for file in sorted(path.iterdir()) if _is_split_file(file, split)]
        if len(files) > 1:
            names = ", ".join(file.name for file in files)
            raise DataError(f"{path}: more than one file for {split}: {names}")
        if files:
            split_files[split] = files[0]
    if "train" not in split_files:
        raise DataError(f"{path}: there is no train file (train{', train'.join(SUFFIXES)})")
    return split_files


def _is_split_file(file: Path, split: Split) -> bool:
    stem, suffix = stem_and_suffix(file)
    return suffix in SUFFIXES and stem in SPLIT_NAMES[split] and file.is_file()
