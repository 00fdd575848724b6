"""Objects that workers open: their arrays are mapped from files, the rest travels with the shard.

An array that the driver has mapped from a file, such as one of a model folder, is opened by workers
from the same file. Other large arrays and texts are written to the shared folder, once. No pickle
is stored: the few kilobytes that are pickled go straight from the driver to its workers.
"""

import io
import mmap
import pickle
import platform
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from apptek.arrays import read_only
from apptek.errors import ApptekError
from apptek.files import writing
from apptek.graph.temporal_graph import Derived

LARGE = 1 << 16  # bytes from which something has a file of its own
Array = npt.NDArray[Any]


class Stored(NamedTuple):
    """Where an array or a text is, and what the file must be like: size, and time of change."""

    path: str
    size: int
    changed: int | None = None
    offset: int = 0


class Shelf:
    """The shared folder, and what was written to it; a file goes when its array is freed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._count = folder, 0
        self._stored: dict[int, tuple[Any, Stored]] = {}

    def dump(self, model: Any) -> tuple[bytes, list[Any]]:
        """Return a model as workers open it, and what must not be freed while they do."""
        stream = io.BytesIO()
        pickler = _Pickler(stream, self)
        pickler.dump(model)
        return stream.getvalue(), pickler.kept

    def store(self, thing: Array | str) -> Stored:
        """Return the file of an array or a text; write it if it is the first time."""
        key = id(thing)
        if key not in self._stored:
            path = self.folder / str(self._count)
            self._count += 1
            with writing(path):
                if isinstance(thing, str):
                    path.write_bytes(thing.encode())
                else:
                    np.ascontiguousarray(thing).tofile(path)
            stored = Stored(str(path), path.stat().st_size)
            # Texts cannot be referred to weakly. There are few: the trees of a model.
            kept = (
                thing if isinstance(thing, str) else weakref.ref(thing, lambda _: self._drop(key))
            )
            self._stored[key] = kept, stored
        return self._stored[key][1]

    def _drop(self, key: int) -> None:
        Path(self._stored.pop(key)[1].path).unlink(missing_ok=True)


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, shelf: Shelf) -> None:
        super().__init__(stream, protocol=5)
        self._shelf, self._numbers = shelf, dict[int, int]()
        self.kept: list[Any] = []

    def persistent_id(self, obj: Any) -> Any:
        """Return a number for an array or a large text; with the first one, where it is."""
        is_array = isinstance(obj, np.ndarray) and not obj.dtype.hasobject
        if not is_array and not (isinstance(obj, str) and len(obj) >= LARGE):
            return None
        if (number := self._numbers.get(id(obj))) is not None:
            return (number,)
        self._numbers[id(obj)] = number = len(self.kept)
        self.kept.append(obj)
        if isinstance(obj, str):
            return number, self._shelf.store(obj)
        if obj.nbytes < LARGE:
            return number, obj.tobytes(), obj.dtype, obj.shape
        return number, _mapped_from(obj) or self._shelf.store(obj), obj.dtype, obj.shape

    def reducer_override(self, obj: Any) -> Any:
        """Take along what was derived from a graph, which an ordinary pickle leaves out."""
        return (Derived, (), vars(obj)) if isinstance(obj, Derived) else NotImplemented


def _mapped_from(array: Array) -> Stored | None:
    """Return the file that an array is mapped from; None if it lies in memory alone."""
    root: Any = array
    while isinstance(root, np.ndarray) and not isinstance(root.base, mmap.mmap):
        root = root.base
    if not isinstance(root, np.memmap) or root.filename is None or not array.flags.c_contiguous:
        return None
    path = Path(root.filename)
    try:
        about = path.stat()
    except OSError:  # replaced by another model since it was opened
        return None
    offset = root.offset + array.ctypes.data - root.ctypes.data
    return Stored(str(path), about.st_size, about.st_mtime_ns, offset)


class Unpickler(pickle.Unpickler):
    """Opens in a worker what a shelf has dumped; every array is read-only."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content))
        self._opened: dict[int, Any] = {}

    def persistent_load(self, pid: Any) -> Any:
        """Return the array or text of this number: the same object each time."""
        number, *rest = pid
        if rest:
            self._opened[number] = _open(*rest)
        return self._opened[number]


def _open(content: bytes | Stored, dtype: Any = None, shape: Any = None) -> Any:
    if isinstance(content, bytes):
        return read_only(np.frombuffer(content, dtype).reshape(shape))
    try:
        about = Path(content.path).stat()
        same = (about.st_size, content.changed or about.st_mtime_ns) == (
            content.size, about.st_mtime_ns,
        )  # fmt: skip
        if not same:
            raise ApptekError(f"{content.path} has changed since it was opened: try again")
        if dtype is None:
            return Path(content.path).read_bytes().decode()
        mapped = np.memmap(content.path, dtype, "r", content.offset, shape)
        return read_only(np.asarray(mapped))
    except OSError as error:
        raise ApptekError(
            f"the worker on {platform.node()} does not see {content.path} ({error.strerror}): all "
            "workers need the same shared folder, under the same name"
        ) from None
