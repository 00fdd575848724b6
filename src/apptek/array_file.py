"""Named arrays and a JSON record in one memory-mapped file, in the safetensors format.

The first eight bytes contain the length of the header, which is JSON. The header lists each array's
type, shape and offsets. Its `__metadata__` contains the record, a checksum of each array, and a
checksum of the rest of the header. The arrays follow without gaps. Arrays with wider types come
first, so that every array is aligned.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from apptek.arrays import Arrays, read_only

METADATA = "__metadata__"
MAX_HEADER = 1 << 24  # bytes
_ALIGNMENT = 64
_TYPES = {
    "BOOL": np.bool_, "U8": np.uint8, "I8": np.int8, "I16": np.int16, "I32": np.int32,
    "U32": np.uint32, "I64": np.int64, "U64": np.uint64, "F32": np.float32, "F64": np.float64,
}  # fmt: skip
_CODES = {np.dtype(kind): code for code, kind in _TYPES.items()}


def checksum(content: Any) -> str:
    """Return the checksum of bytes, or of a contiguous array of bytes."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def write_arrays(path: Path, arrays: Arrays, record: Mapping[str, Any] | None = None) -> None:
    """Write named arrays, and a record that is stored as JSON.

    Equal content gives equal bytes. An array with several names is written once, and is read back
    as a single array.
    """
    names: dict[int, str] = {}
    same = {name: names.setdefault(id(array), name) for name, array in sorted(arrays.items())}
    order = sorted(names.values(), key=lambda name: (-arrays[name].dtype.itemsize, name))
    metadata = {
        "record": json.dumps(record or {}, sort_keys=True),
        "same": json.dumps({name: first for name, first in same.items() if name != first}),
    }
    header: dict[str, Any] = {METADATA: metadata}
    contents, place = [], 0
    for name in order:
        array = arrays[name]
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        end = place + content.size
        header[name] = {
            "dtype": _CODES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [place, end],
        }
        metadata[f"blake2b {name}"] = checksum(content)
        contents.append(content)
        place = end
    metadata["blake2b"] = checksum(_text(header))
    text = _text(header)
    text += b" " * (-(len(text) + 8) % _ALIGNMENT)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for content in contents:
            file.write(content.data)


def read_arrays(
    path: Path, *, check: bool = True, header_checksum: str | None = None
) -> tuple[Arrays, dict[str, Any]]:
    """Return a file's arrays, memory-mapped and read-only, and its record.

    Raise ValueError for content that differs from what was written. The header is always checked.
    If `header_checksum` is given, the header must have this checksum. With `check=False`, the
    contents of the arrays are not read or checked.
    """
    header, start = read_header(path)
    metadata = header.pop(METADATA)
    if header_checksum not in (None, metadata["blake2b"]):
        raise ValueError(f"{path.name} does not match its checksum")
    content = np.asarray(np.memmap(path, np.uint8, "r"))[start:]
    arrays: Arrays = {}
    for name, entry in header.items():
        part = content[slice(*entry["data_offsets"])]
        if check and checksum(part) != metadata[f"blake2b {name}"]:
            raise ValueError(f"{name} in {path.name} does not match its checksum")
        arrays[name] = read_only(part.view(_TYPES[entry["dtype"]]).reshape(entry["shape"]))
    if content.size != sum(array.nbytes for array in arrays.values()):
        raise ValueError(f"{path.name} is longer or shorter than its header says")
    arrays |= {name: arrays[first] for name, first in json.loads(metadata["same"]).items()}
    return arrays, json.loads(metadata["record"])


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """Return the header and the offset of the first array. Raise ValueError if it is damaged."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        text = file.read(min(length, MAX_HEADER))
    try:
        header: dict[str, Any] = json.loads(text)
        expected = header[METADATA].pop("blake2b")
        damaged = len(text) != length or checksum(_text(header)) != expected
        header[METADATA]["blake2b"] = expected
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        damaged = True
    if damaged:
        raise ValueError(f"the header of {path.name} does not match its checksum")
    return header, 8 + length


def _text(header: Mapping[str, Any]) -> bytes:
    return json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
