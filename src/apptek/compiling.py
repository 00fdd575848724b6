"""How kernels are compiled, where compiled code is cached, and how kernels run in threads.

numba's cache checks only the file that contains a kernel. After an edit to a function that a kernel
in another file calls, the old code would still run. Every state of the kernels therefore has its
own cache folder, below $NUMBA_CACHE_DIR or the user's cache folder. numba unpickles the contents of
its cache, so a folder is used only if no other user can write to it or to its parent. Without such
a folder, each process compiles the kernels again.
"""

import hashlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numba
import platformdirs
from numba import njit

Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])
_PACKAGE = Path(__file__).parent
_IS_KERNEL = re.compile(rb"^@(kernel|leaf|fast)\b", re.MULTILINE)
_IMPORTED = re.compile(rb"^from apptek\.([\w.]+) import", re.MULTILINE)


def kernels_digest(package: Path = _PACKAGE) -> str:
    """Return a digest of numba's version, every file with kernels, and the modules they import."""
    sources = set()
    for path in package.rglob("*.py"):
        text = path.read_bytes()
        if _IS_KERNEL.search(text):
            names = (name.decode().replace(".", "/") for name in _IMPORTED.findall(text))
            sources |= {path, *(package / f"{name}.py" for name in names)}
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for path in sorted(sources):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def cache_folder(digest: str, parent: Path) -> Path | None:
    """Return the folder for this digest below a parent, or None if using it would not be safe."""
    with suppress(OSError):
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = parent.resolve() / digest
        if not _is_private(folder.parent):
            return None
        folder.mkdir(mode=0o700, exist_ok=True)
        if not _is_private(folder):
            return None
        with tempfile.TemporaryFile(dir=folder):
            pass
        return folder
    return None


def _is_private(folder: Path) -> bool:
    """Return whether a folder is not a link and only this user can write to it."""
    if not hasattr(os, "geteuid"):  # Windows: the folders are below the user's profile
        return True
    about = folder.lstat()
    return (
        stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o022
    )


_PARENT = os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_path("apptek") / "kernels"
_CACHE = cache_folder(kernels_digest(), Path(_PARENT))
if _CACHE is None:
    sys.stderr.write(
        f"compiled code cannot be cached: {_PARENT} is not a folder that "
        "only you can write to; set NUMBA_CACHE_DIR to one\n"
    )
else:
    numba.config.CACHE_DIR = str(_CACHE)  # type: ignore[attr-defined]
_OPTIONS: dict[str, Any] = {"cache": _CACHE is not None, "nogil": True}


def kernel(function: Function) -> Function:
    """Compile a function that may allocate arrays."""
    compiled: Function = njit(**_OPTIONS)(function)
    return compiled


def fast(function: Function) -> Function:
    """Compile a function that divides like numpy, without checking for zeros.

    Sums are computed in the written order. With fastmath, the order would depend on the processor's
    vector width, and so would the learned weights.
    """
    compiled: Function = njit(**_OPTIONS, error_model="numpy")(function)
    return compiled


def processor() -> dict[str, Any]:
    """Return the processor's name, and which of the usual vector instructions it supports."""
    from llvmlite import binding

    has = binding.get_host_cpu_features()
    known = ("sse4.2", "avx", "avx2", "fma", "avx512f", "neon", "sve")
    return {
        "name": binding.get_host_cpu_name(),
        "vectors": [name for name in known if has.get(name)],
    }


def leaf(function: Function) -> Function:
    """Compile a function that does not allocate arrays, without reference counting.

    At every call, numba counts the references to each array argument. For a small function with
    many arrays, this takes much of the time. It is unnecessary if the function allocates nothing.
    """
    compiled: Function = njit(**_OPTIONS | {"_nrt": False})(function)
    return compiled


_most_threads = os.cpu_count()


def limit_threads(count: int) -> None:
    """Limit `in_threads` to this many threads, for processes with one core each."""
    global _most_threads  # noqa: PLW0603  a property of the process, as the number of cores is
    _most_threads = count


def in_threads(
    work: Callable[[int], Result], starts: range, threads: int | None = None
) -> list[Result]:
    """Call `work` for every start and return the results in order, with one thread per core.

    A single start is processed in the calling thread, because a pool would cost more.
    """
    if len(starts) < 2:
        return [work(start) for start in starts]
    with ThreadPoolExecutor(threads or _most_threads) as pool:
        return list(pool.map(work, starts))
