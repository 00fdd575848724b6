"""The three public benchmarks. benchmarks.toml lists their files' addresses and checksums."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from pydantic import TypeAdapter

from apptek.errors import DownloadError
from apptek.facts.facts import SPLITS, Split

DATA_VARIABLE = "APPTEK_DATA"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFile:
    """A file on the web and the checksums of its content.

    blob    its git blob id: the sha1 of "blob <size>" + NUL + content
    sha256  None if only the file's blob id is known; the same applies to size
    """

    address: str
    blob: str
    sha256: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A public data set: its files by split.

    forecast_cuts  the last training and validation days under the protocol `forecast`, as the
                   forecasting literature cuts these facts; None if it does not
    """

    name: str
    title: str
    licence: str
    files: Mapping[Split, PublicFile]
    forecast_cuts: tuple[str, str] | None = None


def data_home() -> Path:
    """Return the folder for downloads: $APPTEK_DATA, or a folder in the user's cache."""
    return _homes()[0]


def find_benchmark(name: str) -> Path | None:
    """Return the folder with all files of a benchmark, from $APPTEK_DATA or the cache.

    Return None for an unknown name, or if a file is missing, as after an interrupted download.
    """
    if name not in BENCHMARKS:
        return None
    for folder in (home / name for home in _homes()):
        if all((folder / f"{split}.txt").is_file() for split in SPLITS):
            return folder
    return None


def find_folder(name: str) -> Path | None:
    """Return the folder with this name in $APPTEK_DATA or the cache, benchmark or not."""
    if Path(name).name != name or name in ("", ".", ".."):
        return None
    return next((home / name for home in _homes() if (home / name).is_dir()), None)


def get_benchmark(name: str) -> Benchmark:
    """Return the benchmark with this name. If it is unknown, a DownloadError lists the names."""
    if name not in BENCHMARKS:
        known = ", ".join(BENCHMARKS)
        raise DownloadError(f"there is no benchmark {name!r}; the known ones are {known}")
    return BENCHMARKS[name]


def _homes() -> list[Path]:
    cache = platformdirs.user_cache_path("apptek") / "data"
    folder = os.environ.get(DATA_VARIABLE)
    return [Path(folder).expanduser(), cache] if folder else [cache]


def _load() -> dict[str, Benchmark]:
    content = tomllib.loads(Path(__file__).with_name("benchmarks.toml").read_text("utf-8"))
    named = {name: {"name": name, **entry} for name, entry in content.items()}
    return TypeAdapter(dict[str, Benchmark]).validate_python(named)


BENCHMARKS = _load()
