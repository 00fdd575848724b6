"""A text file as blocks of whole lines, plain or compressed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from apptek.errors import DataError

BLOCK_BYTES = 1 << 25
LONGEST_LINE = 1 << 26
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CODECS = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True, slots=True)
class Block:
    """Some whole lines of a file, each with its newline."""

    text: bytes
    position: int  # bytes of the file read so far, as they lie on the disk


def stem_and_suffix(path: Path) -> tuple[str, str]:
    """A file's name without suffixes, and the suffix of its format (not of the compression)."""
    inner = path.with_suffix("") if is_compressed(path) else path
    return inner.stem, inner.suffix.lower()


def is_compressed(path: Path) -> bool:
    """Whether the file's name says that it is compressed."""
    return path.suffix.lower() in _CODECS


def read_whole(path: Path) -> bytes:
    """The whole content of a file, decompressed."""
    with _open(path) as (stream, _):
        return _read(path, stream, None)


def read_blocks(path: Path, size: int | None = None) -> Iterator[Block]:
    """The lines of a file in blocks of about `size` bytes."""
    with _open(path) as (stream, raw):
        rest = b""  # the start of a line that goes on in the next block
        while text := _read(path, stream, size or BLOCK_BYTES):
            end = text.rfind(b"\n") + 1
            if end:
                yield Block(rest + memoryview(text)[:end], raw.tell())
                rest = text[end:]
            else:
                rest += text
            if len(rest) > LONGEST_LINE:
                raise DataError(
                    f"{path}: found a line of more than {LONGEST_LINE} bytes, expected one fact"
                )
        if rest:
            yield Block(rest + b"\n", raw.tell())


@contextmanager
def _open(path: Path) -> Iterator[tuple[Any, Any]]:
    """The stream of a file's content, and the one of its bytes on the disk, for the progress."""
    codec = _CODECS.get(path.suffix.lower())
    try:
        raw = pa.OSFile(str(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be opened ({one_line(error)})") from None
    with raw:
        if codec is None:
            yield raw, raw
        else:
            with pa.CompressedInputStream(raw, codec) as stream:
                yield stream, raw


def _read(path: Path, stream: Any, size: int | None) -> bytes:
    try:
        return bytes(stream.read(size))
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, error) from None


def damaged(path: Path, error: Exception) -> DataError:
    """The error for a file that cannot be read to its end."""
    return DataError(f"{path}: the file is truncated or damaged ({one_line(error)})")


def one_line(error: Exception) -> str:
    """The first line of an error's message."""
    return next(iter(str(error).splitlines()), type(error).__name__)
