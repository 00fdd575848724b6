"""Named arrays and a record in one file, memory-mapped, in the format of safetensors.

Eight bytes hold the length of the header. The header is JSON: type, shape and place of each array,
and under `__metadata__` the record and a checksum of each array, of the rest of the header as well.
The arrays follow without gaps, those of wider types first, so that each is aligned.
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
    """Write arrays and a record, which becomes JSON; the same content gives the same bytes.

    One array under several names is written once, and read as one.
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
    """Return the arrays of a file, mapped from the disk and read-only, and the record.

    ValueError names what is not as it was written. The header is always checked, also against the
    checksum that it must have; without `check`, the arrays are not read.
    """
    header, start = read_header(path)
    metadata = header.pop(METADATA)
    if header_checksum not in (None, metadata["blake2b"]):
        raise ValueError(f"{path.name} is not as it was written")
    content = np.asarray(np.memmap(path, np.uint8, "r"))[start:]
    arrays: Arrays = {}
    for name, entry in header.items():
        part = content[slice(*entry["data_offsets"])]
        if check and checksum(part) != metadata[f"blake2b {name}"]:
            raise ValueError(f"{name} in {path.name} is not as it was written")
        arrays[name] = read_only(part.view(_TYPES[entry["dtype"]]).reshape(entry["shape"]))
    if content.size != sum(array.nbytes for array in arrays.values()):
        raise ValueError(f"{path.name} is longer or shorter than its header says")
    arrays |= {name: arrays[first] for name, first in json.loads(metadata["same"]).items()}
    return arrays, json.loads(metadata["record"])


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """Return the header and where the arrays start; ValueError where it is damaged."""
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
        raise ValueError(f"the header of {path.name} is not as it was written")
    return header, 8 + length


def _text(header: Mapping[str, Any]) -> bytes:
    return json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
