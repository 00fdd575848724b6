"""A text file as blocks of whole lines, plain or compressed, in any encoding."""

import codecs
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from apptek.errors import DataError

BLOCK_BYTES = 1 << 25
LONGEST_LINE = 1 << 26
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# What a compressed file may grow to, unless a limit is given: so many times its size, or so much.
MOST_EXPANSION = 200
SMALL_BYTES = 1 << 28
_CODECS = {".gz": "gzip", ".zst": "zstd", ".zip": "zip"}


@dataclass(frozen=True, slots=True)
class Block:
    """Some whole lines of a file, each with its newline."""

    text: bytes
    position: int  # bytes of the file read so far, as they lie on the disk
    is_cut: bool = False  # the file ends with this block, and not with a newline


@dataclass(frozen=True, slots=True)
class TextSource:
    """A file of text: its encoding (None: UTF-8), and how large it may grow (None: as usual)."""

    path: Path
    encoding: str | None = None
    max_bytes: int | None = None


def stem_and_suffix(path: Path) -> tuple[str, str]:
    """A file's name without suffixes, and the suffix of its format (not of the compression)."""
    inner = path.with_suffix("") if is_compressed(path) else path
    return inner.stem, inner.suffix.lower()


def is_compressed(path: Path) -> bool:
    """Whether the file's name says that it is compressed."""
    return path.suffix.lower() in _CODECS


def allowed_bytes(path: Path, max_bytes: int | None) -> int:
    """How many bytes a compressed file may grow to."""
    return max_bytes or max(SMALL_BYTES, MOST_EXPANSION * path.stat().st_size)


def too_large(path: Path, allowed: int) -> DataError:
    """The error for a file that grows beyond what is allowed."""
    return DataError(
        f"{path}: it grows to more than {allowed:,} bytes; if that is right, allow more with "
        "--read max_bytes=N"
    )


def read_whole(path: Path, max_bytes: int | None = None) -> bytes:
    """The whole content of a file, decompressed."""
    return b"".join(text for text, _ in _pieces(TextSource(path, None, max_bytes), BLOCK_BYTES))


def read_start(source: TextSource, size: int) -> bytes:
    """The first bytes of a file, decompressed, as they are encoded."""
    with _open(source.path) as (stream, _):
        return _read(source.path, stream, size)


def read_blocks(path: Path | TextSource, size: int | None = None) -> Iterator[Block]:
    """The lines of a file in blocks of about `size` bytes, as UTF-8.

    Files that were joined may have byte order marks at the start of lines, which are left out.
    """
    source = path if isinstance(path, TextSource) else TextSource(path)
    rest = b""  # the start of a line that goes on in the next block
    position = 0
    for text, position in _decoded(source, size or BLOCK_BYTES):
        end = text.rfind(b"\n") + 1
        if end:
            yield Block(_without_marks(rest + memoryview(text)[:end]), position)
            rest = text[end:]
        else:
            rest += text
        if len(rest) > LONGEST_LINE:
            raise DataError(
                f"{source.path}: found a line of more than {LONGEST_LINE} bytes, expected one fact"
            )
    if rest:
        yield Block(_without_marks(rest + b"\n"), position, is_cut=True)


def _without_marks(text: bytes) -> bytes:
    text = text.removeprefix(BYTE_ORDER_MARK)
    return text.replace(b"\n" + BYTE_ORDER_MARK, b"\n") if BYTE_ORDER_MARK in text else text


def whole_rows(blocks: Iterator[Block], longest: int) -> Iterator[Block]:
    """The same lines in blocks that end with a row of .csv, also where its cells have line breaks.

    A block whose last row does not end within `longest` bytes stays as it is: a quote is missing.
    """
    rest = b""
    block: Block | None = None
    for block in blocks:
        text = rest + block.text
        end = _end_of_rows(text) if text.count(b'"') % 2 else len(text)
        if len(text) - end > longest:
            end = len(text)
        rest = text[end:]
        if end:
            yield Block(text[:end], block.position, block.is_cut and not rest)
    if rest and block is not None:
        yield Block(rest, block.position, block.is_cut)


def _end_of_rows(text: bytes) -> int:
    """Where the last row ends that is whole: after the last line break outside of quotes."""
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    outside = np.searchsorted(np.flatnonzero(data == ord('"')), ends) % 2 == 0
    return int(ends[outside][-1]) + 1 if outside.any() else 0


def _decoded(source: TextSource, size: int) -> Iterator[tuple[bytes, int]]:
    """The pieces of a file as UTF-8."""
    if source.encoding is None:
        yield from _pieces(source, size)
        return
    decoder = codecs.getincrementaldecoder(source.encoding)()
    position = 0
    try:
        for text, position in _pieces(source, size):
            yield decoder.decode(text).encode(), position
        yield decoder.decode(b"", final=True).encode(), position
    except UnicodeError as error:
        raise DataError(
            f"{source.path.name}: found {one_line(error)}, expected text in {source.encoding} "
            "(--read encoding=NAME says otherwise)"
        ) from None


def _pieces(source: TextSource, size: int) -> Iterator[tuple[bytes, int]]:
    """The decompressed bytes of a file, piece by piece, and the bytes read from the disk."""
    path, total = source.path, 0
    with _open(path) as (stream, raw):
        allowed = allowed_bytes(path, source.max_bytes) if stream is not raw else None
        while text := _read(path, stream, size):
            total += len(text)
            if allowed is not None and total > allowed:
                raise too_large(path, allowed)
            yield text, raw.tell()


@contextmanager
def _open(path: Path) -> Iterator[tuple[Any, Any]]:
    """The stream of a file's content, and the one of its bytes on the disk, for the progress."""
    codec = _CODECS.get(path.suffix.lower())
    try:
        raw = path.open("rb") if codec == "zip" else pa.OSFile(str(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be opened ({one_line(error)})") from None
    with raw:
        if codec is None:
            yield raw, raw
        elif codec == "zip":
            with _open_member(path, raw) as stream:
                yield stream, raw
        else:
            with pa.CompressedInputStream(raw, codec) as stream:
                yield stream, raw


def _open_member(path: Path, raw: Any) -> Any:
    """The only file in a .zip."""
    try:
        archive = zipfile.ZipFile(raw)
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) != 1:
            raise DataError(f"{path}: found {len(members)} files in it, expected one")
        return archive.open(members[0])
    except (OSError, RuntimeError, ValueError, NotImplementedError, zipfile.BadZipFile) as error:
        raise damaged(path, error) from None


def _read(path: Path, stream: Any, size: int) -> bytes:
    try:
        return bytes(stream.read(size))
    except (OSError, EOFError, pa.ArrowException, zipfile.BadZipFile, zlib.error) as error:
        raise damaged(path, error) from None


def damaged(path: Path, error: Exception) -> DataError:
    """The error for a file that cannot be read to its end."""
    return DataError(f"{path}: the file is truncated or damaged ({one_line(error)})")


def one_line(error: Exception) -> str:
    """The first line of an error's message."""
    return next(iter(str(error).splitlines()), type(error).__name__)
