"""Downloads a benchmark: streamed, resumed after an interruption, verified before it is in place.

| on the disk        | what happens                                                          |
|--------------------|-----------------------------------------------------------------------|
| nothing            | fetched into train.txt.part, verified, renamed to train.txt           |
| train.txt.part     | resumed after its last byte, or restarted if the server cannot resume |
| train.txt, right   | kept; no request is made                                              |
| train.txt, wrong   | an error; it is not overwritten                                       |
"""

import errno
import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import cast
from urllib import request
from urllib.error import HTTPError, URLError

from apptek.errors import DownloadError
from apptek.facts.benchmarks import DATA_VARIABLE, Benchmark, PublicFile, stored_name

Progress = Callable[[str, int, int | None], None]  # file, bytes done, bytes in all if known

TIMEOUT_SECONDS = 60.0
_CHUNK = 1 << 16
_AGAIN = "the same command continues there"


def download(benchmark: Benchmark, home: Path, *, progress: Progress) -> Path:
    """Fetches the files of a benchmark that are missing in home/<name>; returns that folder.

    Every failure is a DownloadError of one line. Whatever was fetched until then stays as a .part
    for the next call; a .part with wrong checksums is removed.
    """
    folder = home / benchmark.name
    files = [(file, folder / stored_name(split)) for split, file in benchmark.files.items()]
    missing = [(file, path) for file, path in files if not _is_complete(file, path, progress)]
    for file, path in missing:
        _fetch(file, path, progress)
    return folder


def checksum_fault(file: PublicFile, path: Path) -> str | None:
    """The wrong checksum of a file on disk, found and expected; None where all are right."""
    header = b"blob %d\0" % path.stat().st_size
    with path.open("rb") as content:
        blob = hashlib.file_digest(content, lambda: hashlib.sha1(header, usedforsecurity=False))
        content.seek(0)
        sha256 = hashlib.file_digest(content, "sha256").hexdigest() if file.sha256 else None
    if sha256 != file.sha256:
        return f"its sha256 is {sha256}, expected {file.sha256}"
    if blob.hexdigest() != file.blob:
        return f"its git blob id is {blob.hexdigest()}, expected {file.blob}"
    return None


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
        # A run that is killed between the last byte and the renaming leaves a complete .part.
        if not part.exists() or checksum_fault(file, part):
            with _request(file, path.name, _resumable(file, part)) as response:
                _store(response, file, part, progress)
            _verify(file, part)
        os.replace(part, path)  # noqa: PTH105 - the atomic one, by its name
    except OSError as error:  # from the disk: network errors are DownloadErrors already
        raise DownloadError(_disk_fault(error, part)) from error
    finally:
        with suppress(OSError):
            if part.stat().st_size == 0:
                part.unlink()


def _resumable(file: PublicFile, part: Path) -> int:
    """How many bytes of the .part can be resumed from: none where it is too long for the file."""
    size = part.stat().st_size if part.exists() else 0
    return size if file.size is None or size < file.size else 0


def _opener() -> request.OpenerDirector:
    """An opener for http and https alone, after a redirect, too: it has no other handlers."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPRedirectHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
        request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _request(file: PublicFile, name: str, offset: int) -> HTTPResponse:
    """Requests the file from byte `offset` on; a server that can resume answers with 206."""
    headers = {"User-Agent": "apptek"} | ({"Range": f"bytes={offset}-"} if offset else {})
    http_request = request.Request(file.address, headers=headers)  # noqa: S310 - see _opener
    try:
        return cast("HTTPResponse", _opener().open(http_request, timeout=TIMEOUT_SECONDS))
    except HTTPError as error:
        error.close()
        if error.code == 416 and offset:  # the .part is longer than the file: restart
            return _request(file, name, 0)
        reason = f"{error.code} {error.reason}"
        raise DownloadError(f"{name}: {file.address} answered {reason}") from error
    except (OSError, HTTPException) as error:
        reason = str(error.reason if isinstance(error, URLError) else error)
        raise DownloadError(f"{name}: cannot reach {file.address}: {reason}") from error


def _store(response: HTTPResponse, file: PublicFile, part: Path, progress: Progress) -> None:
    """Writes the response to the .part, appending to it if the server resumed."""
    part.parent.mkdir(parents=True, exist_ok=True)
    name = part.name.removesuffix(".part")
    done = part.stat().st_size if response.status == 206 else 0
    total = file.size if response.length is None else done + response.length
    with part.open("ab" if done else "wb") as out:
        progress(name, done, total)
        while chunk := _read(response, f"{name}: the connection was cut after {_of(done, total)}"):
            out.write(chunk)
            done += len(chunk)
            progress(name, done, total)
            if file.size is not None and done > file.size:
                return  # not the file, and perhaps endless: the checksum will tell
        out.flush()
        os.fsync(out.fileno())
    if total is not None and done < total:
        raise DownloadError(f"{name}: the connection was cut after {_of(done, total)}; {_AGAIN}")


def _read(response: HTTPResponse, failure: str) -> bytes:
    try:
        return response.read(_CHUNK)
    except (OSError, HTTPException) as error:
        reason = str(error) or type(error).__name__
        raise DownloadError(f"{failure} ({reason}); {_AGAIN}") from error


def _of(done: int, total: int | None) -> str:
    return f"{done:,} bytes" if total is None else f"{done:,} of {total:,} bytes"


def _verify(file: PublicFile, part: Path) -> None:
    fault = checksum_fault(file, part)
    if fault:
        part.unlink()
        raise DownloadError(f"{file.address} is not the expected file: {fault}; it was removed")


def _disk_fault(error: OSError, part: Path) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        kept = part.stat().st_size if part.exists() else 0
        return f"the disk is full, {kept:,} bytes are in {part}: make room, then {_AGAIN}"
    fix = f"set {DATA_VARIABLE} to a folder that can be written"
    return f"cannot write {part}: {error.strerror}; {fix}"
