"""The bytes of a file, plain or compressed, in any encoding, as blocks of whole lines."""

import codecs
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from apptek.errors import DataError

BLOCK_BYTES = 1 << 25
LONGEST_LINE = 1 << 26
LONGEST_ROW = 10_000  # maximum number of lines to search for the end of a quote
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# The default limit for a decompressed file: this multiple of its size, or this number of bytes.
MAX_EXPANSION = 200
SMALL_BYTES = 1 << 28
_CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz", ".zip": "zip"}
# What Arrow, a decompressor or a sheet reader may raise for a damaged file.
DAMAGE = (
    *(OSError, ValueError, LookupError, TypeError, RuntimeError, ArithmeticError, MemoryError),
    *(
        EOFError,
        zlib.error,
        lzma.LZMAError,
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        pa.ArrowException,
    ),
)


@dataclass(frozen=True, slots=True)
class Block:
    """Some whole lines of a file, each with its newline, as UTF-8."""

    text: bytes
    position: int  # bytes of the file read so far, before decompression
    is_cut: bool = False  # the file ends with this block and without a newline


def stem_and_suffix(path: Path) -> tuple[str, str]:
    """Return a file's name without suffixes, and its format's suffix, ignoring compression."""
    inner = path.with_suffix("") if is_compressed(path) else path
    return inner.stem, inner.suffix.lower()


def is_compressed(path: Path) -> bool:
    """Return whether a file's name indicates compression."""
    return path.suffix.lower() in _CODECS


def check_growth(path: Path, size: int, max_bytes: int | None) -> None:
    """Raise DataError if a compressed file grows beyond the limit."""
    allowed = max_bytes or max(SMALL_BYTES, MAX_EXPANSION * path.stat().st_size)
    if size > allowed:
        raise DataError(
            f"{path}: it expands to more than {allowed:,} bytes; if this is expected, "
            "allow more with --read max_bytes=N"
        )


def damaged(path: Path, error: Exception) -> DataError:
    """Return the error for a file that cannot be read to its end."""
    return DataError(f"{path}: the file is truncated or damaged ({one_line(error)})")


def one_line(error: Exception) -> str:
    """Return the first line of an error's message."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def undecodable(name: str, error: UnicodeError, encoding: str) -> DataError:
    """Return the error for a file that is not text in this encoding."""
    found, expected = one_line(error), f"text in {encoding} (--read encoding=NAME changes it)"
    return DataError(f"{name}: found {found}, expected {expected}")


def read_start(path: Path, size: int) -> bytes:
    """Return the first bytes of a file, decompressed but not decoded."""
    with _open(path) as (stream, _):
        return _read(path, stream, size)


def read_pieces(path: Path, max_bytes: int | None) -> Iterator[tuple[bytes, int]]:
    """Yield the decompressed bytes of a file, and the number of bytes read from disk.

    max_bytes  the limit for the decompressed file; None means the default
    """
    total = 0
    with _open(path) as (stream, raw):
        while text := _read(path, stream, BLOCK_BYTES):
            total += len(text)
            if stream is not raw:
                check_growth(path, total, max_bytes)
            yield text, raw.tell()


def read_blocks(
    path: Path, encoding: str | None, max_bytes: int | None, *, quoted: bool = False
) -> Iterator[Block]:
    """Yield the lines of a file in blocks of about BLOCK_BYTES, as UTF-8.

    Without an encoding, the file is UTF-8. Concatenated files may have byte order marks at the
    start of lines, which are removed. In a quoted file, a block ends at the end of a row, not
    within a cell that has line breaks.
    """
    rest, position, line = b"", 0, 1  # the bytes read but not yet yielded
    for text, now in _decoded(path, encoding, max_bytes):
        end = _end_of_rows(rest) if quoted else rest.rfind(b"\n") + 1
        if end:
            yield Block(_cleaned(rest[:end], path, line), position)
            line += rest.count(b"\n", 0, end)
        rest, position = rest[end:] + text, now
        if len(rest) - rest.rfind(b"\n") > LONGEST_LINE:
            raise DataError(
                f"{path}: found a line of more than {LONGEST_LINE} bytes, expected one fact"
            )
    if rest:
        is_cut = not rest.endswith(b"\n")
        yield Block(_cleaned(rest + b"\n" * is_cut, path, line), position, is_cut)


def _end_of_rows(text: bytes) -> int:
    """Return where the last whole row ends: after the last line break outside of quotes.

    A row without an end within LONGEST_ROW lines lacks a quote. The last line ends it.
    """
    last = end = text.rfind(b"\n") + 1
    is_open = text.count(b'"', 0, end) % 2 == 1
    for _ in range(LONGEST_ROW):
        if not is_open:
            return end
        before = text.rfind(b"\n", 0, end - 1) + 1
        is_open ^= text.count(b'"', before, end) % 2 == 1
        end = before
    return last


def _cleaned(text: bytes, path: Path, line: int) -> bytes:
    """Return lines without byte order marks. Raise DataError if they are not UTF-8."""
    text = text.removeprefix(BYTE_ORDER_MARK)
    if BYTE_ORDER_MARK in text:
        text = text.replace(b"\n" + BYTE_ORDER_MARK, b"\n")
    try:
        text.decode()
    except UnicodeDecodeError as error:
        byte, line = text[error.start], line + text.count(b"\n", 0, error.start)
        row = text[text.rfind(b"\n", 0, error.start) + 1 :].partition(b"\n")[0][:60]
        raise DataError(
            f"{path.name}:{line}: found byte 0x{byte:02x} in {row.decode(errors='replace')!r}, "
            "expected valid UTF-8 (or --read encoding=windows-1252 or another)"
        ) from None
    return text


def _decoded(
    path: Path, encoding: str | None, max_bytes: int | None
) -> Iterator[tuple[bytes, int]]:
    """Yield the pieces of a file as UTF-8."""
    if encoding is None:
        yield from read_pieces(path, max_bytes)
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    position = 0
    try:
        for text, position in read_pieces(path, max_bytes):
            yield decoder.decode(text).encode(), position
        yield decoder.decode(b"", final=True).encode(), position
    except UnicodeError as error:
        raise undecodable(path.name, error, encoding) from None


@contextmanager
def _open(path: Path) -> Iterator[tuple[Any, Any]]:
    """Open the streams of a file's content and of its bytes on disk."""
    codec = _CODECS.get(path.suffix.lower())
    try:
        raw = path.open("rb") if codec in ("xz", "zip") else pa.OSFile(str(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be opened ({one_line(error)})") from None
    with raw:
        if codec is None:
            yield raw, raw
        else:
            with _decompressed(path, raw, codec) as stream:
                yield stream, raw


def _decompressed(path: Path, raw: Any, codec: str) -> Any:
    if codec == "xz":
        return lzma.LZMAFile(raw)
    if codec != "zip":
        return pa.CompressedInputStream(raw, codec)
    try:
        archive = zipfile.ZipFile(raw)
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) != 1:
            raise DataError(f"{path}: found {len(members)} files in it, expected one")
        return archive.open(members[0])
    except DAMAGE as error:
        raise damaged(path, error) from None


def _read(path: Path, stream: Any, size: int) -> bytes:
    try:
        return bytes(stream.read(size))
    except DAMAGE as error:
        raise damaged(path, error) from None
