"""Downloads a benchmark. Each file is streamed and verified before it is moved into place.

A correct existing file is kept, without a request. An incorrect existing file is an error and is
not overwritten.
"""

import errno
import hashlib
import os
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import cast
from urllib import request
from urllib.error import HTTPError, URLError

from apptek.errors import DownloadError
from apptek.facts.benchmarks import DATA_VARIABLE, Benchmark, PublicFile

Progress = Callable[[str, int, int | None], None]  # file, bytes so far, total bytes if known

TIMEOUT_SECONDS = 60.0
_CHUNK = 1 << 16


def download(benchmark: Benchmark, home: Path, *, progress: Progress) -> Path:
    """Download the missing files of a benchmark to home/<name> and return that folder.

    Every failure raises a DownloadError with a one-line message. Complete files are kept.
    """
    folder = home / benchmark.name
    files = [(file, folder / f"{split}.txt") for split, file in benchmark.files.items()]
    missing = [(file, path) for file, path in files if not _is_complete(file, path, progress)]
    for file, path in missing:
        _fetch(file, path, progress)
    return folder


def checksum_fault(file: PublicFile, path: Path) -> str | None:
    """Return a file's wrong checksum and the expected one, or None if it is correct."""
    with path.open("rb") as content:
        if file.sha256:
            name, found = "sha256", hashlib.file_digest(content, "sha256").hexdigest()
        else:
            header = b"blob %d\0" % path.stat().st_size
            digest = hashlib.file_digest(
                content, lambda: hashlib.sha1(header, usedforsecurity=False)
            )
            name, found = "git blob id", digest.hexdigest()
    expected = file.sha256 or file.blob
    return None if found == expected else f"its {name} is {found}, expected {expected}"


def _is_complete(file: PublicFile, path: Path, progress: Progress) -> bool:
    try:
        if not path.exists():
            return False
        fault = checksum_fault(file, path)
        size = path.stat().st_size
    except OSError as error:
        raise DownloadError(f"cannot read {path}: {error.strerror}") from error
    if fault:
        raise DownloadError(
            f"{path} exists but is not the published file: {fault}; "
            f"move it away, or set {DATA_VARIABLE} to another folder"
        )
    progress(path.name, size, size)
    return True


def _fetch(file: PublicFile, path: Path, progress: Progress) -> None:
    part = path.with_name(f"{path.name}.part")
    try:
        with _request(file, path.name) as response:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                _store(response, file, part, progress)
                if fault := checksum_fault(file, part):
                    raise DownloadError(f"{file.address} is not the expected file: {fault}")
                os.replace(part, path)  # noqa: PTH105 - the atomic one, by its name
            finally:
                part.unlink(missing_ok=True)
    except OSError as error:  # from the disk, because network errors are already DownloadErrors
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DownloadError(f"the disk is full: make room for {path}, then try again") from None
        fix = f"set {DATA_VARIABLE} to a folder that can be written"
        raise DownloadError(f"cannot write {part}: {error.strerror}; {fix}") from error


def _request(file: PublicFile, name: str) -> HTTPResponse:
    asked = request.Request(file.address, headers={"User-Agent": "apptek"})  # noqa: S310 - ours
    try:
        return cast("HTTPResponse", request.urlopen(asked, timeout=TIMEOUT_SECONDS))  # noqa: S310
    except HTTPError as error:
        error.close()
        reason = f"{error.code} {error.reason}"
        raise DownloadError(f"{name}: {file.address} answered {reason}") from error
    except (OSError, HTTPException) as error:
        reason = str(error.reason if isinstance(error, URLError) else error)
        raise DownloadError(f"{name}: cannot reach {file.address}: {reason}") from error


def _store(response: HTTPResponse, file: PublicFile, part: Path, progress: Progress) -> None:
    """Write the response to a file. Stop if it is longer than the published file."""
    name, done, cut = part.name.removesuffix(".part"), 0, "no more data arrived"
    total = file.size if response.length is None else response.length
    with part.open("wb") as out:
        while True:
            progress(name, done, total)
            try:
                chunk = response.read(_CHUNK)
            except (OSError, HTTPException) as error:
                chunk, cut, total = b"", str(error) or type(error).__name__, total or done + 1
            out.write(chunk)
            done += len(chunk)
            if file.size is not None and done > file.size:
                return  # not the file, and perhaps endless; the checksum will show that
            if not chunk:
                break
        out.flush()
        os.fsync(out.fileno())
    if total is not None and done < total:
        count = f"{done:,} of {total:,} bytes"
        raise DownloadError(f"{name}: the connection was cut after {count} ({cut}); try again")
