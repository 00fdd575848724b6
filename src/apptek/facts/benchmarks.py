"""The three public benchmarks: addresses and checksums of their files."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from apptek.errors import DownloadError
from apptek.facts.facts import SPLITS, Split

DATA_VARIABLE = "APPTEK_DATA"
_MMKB = "https://raw.githubusercontent.com/mniepert/mmkb/master/TemporalKGs"
_LICENCE = "mmkb: BSD-3-Clause, Copyright 2018 NEC Laboratories Europe"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFile:
    """A file on the web and the checksums of its content.

    blob    its git blob id: the sha1 of "blob <size>" + NUL + content
    sha256  None, like size, where only the blob id of the file is known
    """

    address: str
    blob: str
    sha256: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A public data set: its files by split.

    forecast_cuts  the last day of train and of valid under the protocol `forecast`, as the
                   literature on forecasting cuts the same facts; None where it does not
    """

    name: str
    title: str
    licence: str
    files: Mapping[Split, PublicFile]
    forecast_cuts: tuple[str, str] | None = None


def stored_name(split: Split) -> str:
    """The name of a split's file in the benchmark's folder."""
    return f"{split}.txt"


def data_home() -> Path:
    """The folder for downloads: $APPTEK_DATA, else a folder in the user's cache."""
    return _homes()[0]


def find_benchmark(name: str) -> Path | None:
    """The folder with all files of a benchmark, looked up in $APPTEK_DATA, then in the cache.

    None for an unknown name, or where a file is missing, as after an interrupted download.
    """
    if name not in BENCHMARKS:
        return None
    for folder in (home / name for home in _homes()):
        if all((folder / stored_name(split)).is_file() for split in SPLITS):
            return folder
    return None


def find_folder(name: str) -> Path | None:
    """The folder of that name in $APPTEK_DATA or in the cache, which need not be a benchmark's."""
    if Path(name).name != name or name in ("", ".", ".."):
        return None
    return next((home / name for home in _homes() if (home / name).is_dir()), None)


def get_benchmark(name: str) -> Benchmark:
    """The benchmark of that name; DownloadError lists the known ones."""
    if name not in BENCHMARKS:
        known = ", ".join(BENCHMARKS)
        raise DownloadError(f"there is no benchmark {name!r}; the known ones are {known}")
    return BENCHMARKS[name]


def _homes() -> list[Path]:
    cache = platformdirs.user_cache_path("apptek") / "data"
    folder = os.environ.get(DATA_VARIABLE)
    return [Path(folder).expanduser(), cache] if folder else [cache]


_ICEWS14 = Benchmark(
    name="icews14",
    title="ICEWS14: political events of 2014, dated by day",
    licence=f"{_LICENCE}; the events are ICEWS's, with its own terms",
    files={
        "train": PublicFile(
            address=f"{_MMKB}/icews14/icews_2014_train.txt",
            blob="c11643a07a2dd70c26131a6c660f9c4115fb0f0b",
            sha256="a6c7922dcbe406b3e292a313b4eab191e2399c3bc4810f662bb4363043a93df6",
            size=5_023_924,
        ),
        "valid": PublicFile(
            address=f"{_MMKB}/icews14/icews_2014_valid.txt",
            blob="73d385953f2d813ec19f43fe11341f6974e88a6e",
            sha256="23dfa5cd6f3bb5421efcc30fc03bed0e8de4c2cf251d1765ff722d6f8b15dbe3",
            size=614_786,
        ),
        "test": PublicFile(
            address=f"{_MMKB}/icews14/icews_2014_test.txt",
            blob="31c99abed9094d6e9d486e4675aeacf3a665cad9",
            sha256="50d53602409a3dbaca2f13d9c7e30bf7311d8c1868fac890dc0c2836118b4cb4",
            size=617_988,
        ),
    },
    forecast_cuts=("2014-10-31", "2014-11-30"),
)

_ICEWS05_15 = Benchmark(
    name="icews05-15",
    title="ICEWS05-15: political events of 2005 to 2015, dated by day",
    licence=f"{_LICENCE}; the events are ICEWS's, with its own terms",
    files={
        "train": PublicFile(
            address=f"{_MMKB}/icews05-15/icews_2005-2015_train.txt",
            blob="f340143afc2c442762a7994abd3fb85d8a09f517",
            sha256="b736c7827497da10e0c51befdb0b5797f957d3bc264fa125543f729b22cd321d",
            size=24_811_711,
        ),
        "valid": PublicFile(
            address=f"{_MMKB}/icews05-15/icews_2005-2015_valid.txt",
            blob="2fba2999eb0f49ca35a24482664352687174ff99",
            sha256="404516f2da966c563ab6d81f1355ec5c67a9aa77c111bf712429e65136162b23",
            size=3_119_589,
        ),
        "test": PublicFile(
            address=f"{_MMKB}/icews05-15/icews_2005-2015_test.txt",
            blob="3d9726df71149888fcb4b65f3b296ba7ac17d37d",
            sha256="d034cd94ace08279639526cbe2ce34829562941ddd1301e6afa9e0ffa7a5b160",
            size=3_103_913,
        ),
    },
    forecast_cuts=("2013-11-17", "2014-12-26"),
)

_YAGO15K = Benchmark(
    name="yago15k",
    title="YAGO15K: facts of YAGO, some with the date since or until which they hold",
    licence=f"{_LICENCE}; the facts are YAGO's, with its own terms",
    files={
        "train": PublicFile(
            address=f"{_MMKB}/yago15k/yago15k_train.txt",
            blob="0bcd84f00a29d8e577fde177c7c3c6fa29048256",
        ),
        "valid": PublicFile(
            address=f"{_MMKB}/yago15k/yago15k_valid.txt",
            blob="2e8151c04d3e7ef49288ba635ef876464168f5a7",
            sha256="e3c642ecf3eb459ae6abd390e0fd8ff8ad7fdeeb16ee84107f5df81808a14e60",
            size=801_545,
        ),
        "test": PublicFile(
            address=f"{_MMKB}/yago15k/yago15k_test.txt",
            blob="46b267ce8a2417b32acac74ffa3661e010f50f55",
            sha256="4852245fee9c80eed7670cebc4bdaac12eeef597d8e62f70075223eff2040337",
            size=800_758,
        ),
    },
)

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark for benchmark in (_ICEWS14, _ICEWS05_15, _YAGO15K)
}
