"""A file of text as blocks of whole lines, plain or compressed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from apptek.errors import DataError

BLOCK_BYTES = 1 << 25
LONGEST_LINE = 1 << 26
_CODECS = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True, slots=True)
class Block:
    """Some whole lines of a file, each with its newline."""

    text: bytes
    position: int  # bytes of the file read so far, as they lie on the disk


def suffix_of(path: Path) -> str:
    """The suffix that tells the format, without that of the compression."""
    inner = path.with_suffix("") if path.suffix in _CODECS else path
    return inner.suffix.lower()


def read_blocks(path: Path, size: int | None = None) -> Iterator[Block]:
    """The lines of a file in blocks of about `size` bytes."""
    with _open(path) as (stream, raw):
        rest = b""
        while text := _read(path, stream, size or BLOCK_BYTES):
            end = text.rfind(b"\n") + 1
            if end:
                yield Block(rest + memoryview(text)[:end], raw.tell())
                rest = text[end:]
            else:
                rest += text
            if len(rest) > LONGEST_LINE:
                raise DataError(f"{path}: a line of more than {LONGEST_LINE} bytes")
        if rest:
            yield Block(rest + b"\n", raw.tell())


@contextmanager
def _open(path: Path) -> Iterator[tuple[Any, Any]]:
    codec = _CODECS.get(path.suffix)
    try:
        raw = pa.OSFile(str(path))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None
    with raw:
        if codec is None:
            yield raw, raw
        else:
            with pa.CompressedInputStream(raw, codec) as stream:
                yield stream, raw


def _read(path: Path, stream: Any, size: int) -> bytes:
    try:
        return bytes(stream.read(size))
    except (OSError, pa.ArrowInvalid) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path}: the file is truncated or damaged ({reason})") from None
