"""The bytes of a file: plain or compressed, in any encoding, as blocks of whole lines."""

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
LONGEST_ROW = 10_000  # lines in which a quote that one of them opens is looked for its end
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# What a compressed file may grow to, unless a limit is given: so many times its size, or so much.
MAX_EXPANSION = 200
SMALL_BYTES = 1 << 28
_CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz", ".zip": "zip"}
# Whatever Arrow, a decompressor or a reader of sheets may raise about a damaged file.
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
    position: int  # bytes of the file read so far, as they lie on the disk
    is_cut: bool = False  # the file ends with this block, and not with a newline


def stem_and_suffix(path: Path) -> tuple[str, str]:
    """Return a file's name without suffixes, and the suffix of its format, not the compression."""
    inner = path.with_suffix("") if is_compressed(path) else path
    return inner.stem, inner.suffix.lower()


def is_compressed(path: Path) -> bool:
    """Return whether the file's name says that it is compressed."""
    return path.suffix.lower() in _CODECS


def check_growth(path: Path, size: int, max_bytes: int | None) -> None:
    """Raise DataError where a compressed file grows beyond what is allowed."""
    allowed = max_bytes or max(SMALL_BYTES, MAX_EXPANSION * path.stat().st_size)
    if size > allowed:
        raise DataError(
            f"{path}: it grows to more than {allowed:,} bytes; if that is right, allow more with "
            "--read max_bytes=N"
        )


def damaged(path: Path, error: Exception) -> DataError:
    """Return the error for a file that cannot be read to its end."""
    return DataError(f"{path}: the file is truncated or damaged ({one_line(error)})")


def one_line(error: Exception) -> str:
    """Return the first line of an error's message."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def undecodable(name: str, error: UnicodeError, encoding: str) -> DataError:
    """Return the error for a file that is no text in an encoding."""
    found, expected = one_line(error), f"text in {encoding} (--read encoding=NAME says otherwise)"
    return DataError(f"{name}: found {found}, expected {expected}")


def read_start(path: Path, size: int) -> bytes:
    """Return the first bytes of a file, decompressed, as they are encoded."""
    with _open(path) as (stream, _):
        return _read(path, stream, size)


def read_pieces(path: Path, max_bytes: int | None) -> Iterator[tuple[bytes, int]]:
    """Yield the decompressed bytes of a file, and how many were read from the disk.

    max_bytes  how large it may grow; None: as usual
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

    Without an encoding it is UTF-8. Files that were joined may have byte order marks at the start
    of lines, which are left out. In a quoted file, a block ends with a row, not within a cell that
    has line breaks.
    """
    rest, position, line = b"", 0, 1  # what was read but not handed out yet
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

    A row that does not end within LONGEST_ROW lacks a quote: then the last line ends there.
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
    """Return lines without byte order marks; DataError where they are no UTF-8."""
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
    """Open the stream of a file's content, and the one of its bytes on the disk."""
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
