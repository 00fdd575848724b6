"""The compression of a Parquet file, read from its footer before anything is decompressed.

pyarrow tells it, too, but a codec that does not exist ends the whole process there. So the footer,
a struct in the compact protocol of Thrift, is walked here: every value that may be a codec counts,
whatever else a damaged or hostile footer holds.
"""

import struct
from collections.abc import Iterator

MARK = b"PAR1"
LONGEST = 1 << 18  # bytes of a footer
# Row groups, of these the columns, of these the metadata, of these the codec: numbers of fields.
_CODEC = (4, 1, 3, 4)
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = (
    0, 1, 2, 3, 7, 8, 9, 10, 11, 12,
)  # fmt: skip
NAMES = {
    0: "UNCOMPRESSED", 1: "SNAPPY", 2: "GZIP", 3: "LZO", 4: "BROTLI", 5: "LZ4", 6: "ZSTD", 7: "LZ4",
}  # fmt: skip


def codecs(body: bytes) -> set[str]:
    """The names of all codecs in a file. Raises ValueError where its footer cannot be read."""
    (length,) = struct.unpack("<I", body[-8:-4]) if len(body) > 8 else (0,)
    if body[-4:] != MARK or not 0 < length <= min(LONGEST, len(body) - 8):
        raise ValueError("no footer of Parquet")
    try:
        found = set(_Footer(body[-8 - length : -8]).walk_struct(()))
    except (IndexError, RecursionError):
        raise ValueError("a damaged footer of Parquet") from None
    return {NAMES.get(number, f"codec {number}") for number in found}


class _Footer:
    """A position in the bytes of a footer. Every walk yields the codecs that it passes."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def walk_struct(self, path: tuple[int, ...]) -> Iterator[int]:
        """The fields of a struct, up to its stop."""
        field = 0
        while (head := self._byte()) & 0x0F != _STOP:
            delta = head >> 4
            field = field + delta if delta else _signed(self._varint())
            kind = head & 0x0F
            if kind not in (_TRUE, _FALSE):  # of a field, the type itself is the value
                yield from self._walk((*path, field), kind)

    def _walk(self, path: tuple[int, ...], kind: int) -> Iterator[int]:
        if kind == _STRUCT:
            yield from self.walk_struct(path)
        elif kind in (_LIST, _SET):
            head = self._byte()
            size = head >> 4 if head >> 4 != 15 else self._varint()
            for _ in range(size):
                yield from self._walk(path, head & 0x0F)
        elif kind == _MAP:
            size = self._varint()
            kinds = self._byte() if size else 0
            for _ in range(size):
                yield from self._walk(path, kinds >> 4)
                yield from self._walk(path, kinds & 0x0F)
        elif kind == _BINARY:
            size = self._varint()
            self._at += size
        elif kind == _DOUBLE:
            self._at += 8
        elif kind in (_TRUE, _FALSE, _BYTE):
            self._byte()
        else:
            number = _signed(self._varint())
            if path == _CODEC:
                yield number


def _signed(number: int) -> int:
    """A number from its zigzag form."""
    return number >> 1 ^ -(number & 1)
