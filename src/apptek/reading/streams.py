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
# Bytes that are no UTF-8 become characters of a private area, so that the bad rows can be named.
MARKED = 0x10FF00
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


@dataclass(frozen=True, slots=True)
class TextSource:
    """A file of text: its encoding (None: UTF-8), and how large it may grow (None: as usual)."""

    path: Path
    encoding: str | None = None
    max_bytes: int | None = None


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


def read_pieces(source: TextSource) -> Iterator[tuple[bytes, int]]:
    """Yield the decompressed bytes of a file, and how many were read from the disk."""
    path, total = source.path, 0
    with _open(path) as (stream, raw):
        while text := _read(path, stream, BLOCK_BYTES):
            total += len(text)
            if stream is not raw:
                check_growth(path, total, source.max_bytes)
            yield text, raw.tell()


def read_blocks(source: TextSource, *, quoted: bool = False) -> Iterator[Block]:
    """Yield the lines of a file in blocks of about BLOCK_BYTES, as UTF-8.

    Files that were joined may have byte order marks at the start of lines, which are left out. In
    a quoted file, a block ends with a row, not within a cell that has line breaks.
    """
    rest, position = b"", 0  # what was read but not handed out yet
    for text, now in _decoded(source):
        end = _end_of_rows(rest) if quoted else rest.rfind(b"\n") + 1
        if end:
            yield Block(_cleaned(rest[:end]), position)
        rest, position = rest[end:] + text, now
        if len(rest) - rest.rfind(b"\n") > LONGEST_LINE:
            raise DataError(
                f"{source.path}: found a line of more than {LONGEST_LINE} bytes, expected one fact"
            )
    if rest:
        is_cut = not rest.endswith(b"\n")
        yield Block(_cleaned(rest + b"\n" * is_cut), position, is_cut)


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


def _cleaned(text: bytes) -> bytes:
    text = text.removeprefix(BYTE_ORDER_MARK)
    if BYTE_ORDER_MARK in text:
        text = text.replace(b"\n" + BYTE_ORDER_MARK, b"\n")
    return marked(text)


def marked(text: bytes) -> bytes:
    """Return a text as UTF-8, with every other byte marked."""
    try:
        pa.array([text], pa.large_binary()).view(pa.large_string()).validate(full=True)
    except pa.ArrowInvalid:
        return text.decode("utf-8", "apptek.marked").encode()
    return text


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    wrong = error.object[error.start : error.end]
    return "".join(chr(MARKED + byte) for byte in wrong), error.end


codecs.register_error("apptek.marked", _mark)


def _decoded(source: TextSource) -> Iterator[tuple[bytes, int]]:
    """Yield the pieces of a file as UTF-8."""
    if source.encoding is None:
        yield from read_pieces(source)
        return
    decoder = codecs.getincrementaldecoder(source.encoding)()
    position = 0
    try:
        for text, position in read_pieces(source):
            yield decoder.decode(text).encode(), position
        yield decoder.decode(b"", final=True).encode(), position
    except UnicodeError as error:
        raise undecodable(source.path.name, error, source.encoding) from None


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
