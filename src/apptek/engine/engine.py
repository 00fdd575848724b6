"""Where queries are processed: threads in this process, local processes, or a Ray cluster.

Queries are independent of each other, so each chunk can be processed anywhere. The chunks are the
same for every engine, and so are the results, byte for byte.

A worker opens the model that the driver shares, and processes a shard of queries. A model's arrays
are mapped from files. The rest is sent with the shard. If the driver has mapped an array from a
file, such as one in a model folder, workers open the same file. Other large arrays and texts are
written to the shared folder once. No pickle is stored: the few kilobytes that are pickled are sent
directly from the driver to its workers.
"""

import io
import mmap
import pickle
import platform
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache, lru_cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from apptek.arrays import read_only
from apptek.compiling import in_threads, limit_threads
from apptek.errors import ApptekError
from apptek.facts.queries import Queries
from apptek.files import folder_beside, writing
from apptek.graph.temporal_graph import Derived

EngineName = Literal["threads", "processes", "ray"]
MOST_CHUNKS = 16  # per shard
SHARDS = 4  # per worker, if there are enough chunks, so that all workers finish at the same time
Start = Callable[[], tuple[Any, "Shelf"]]  # Processes or RayCluster, and the shared folder
_start: Start | None = None  # for this process; None: threads
Model = TypeVar("Model")
Result = TypeVar("Result")


def map_queries(
    model: Model, queries: Queries, work: Callable[[Model, Queries], Result]
) -> list[Result]:
    """Return work(model, chunk) for each chunk of the queries, in order.

    model  anything that answers queries; workers map its arrays from files
    work   a module-level function or a method; its result for a query must not depend on others
    """
    if _start is None or len(queries) <= CHUNK:
        chunks = chunks_of(queries)
        return in_threads(lambda number: work(model, chunks[number]), range(len(chunks)))
    runner, shelf = _start()
    work(model, queries.take(slice(0, 1)))  # so that values derived from the graph are shared too
    content, kept = shelf.dump((model, work))
    chunk_count = -(-len(queries) // CHUNK)
    size = CHUNK * min(-(-chunk_count // (SHARDS * runner.worker_count)), MOST_CHUNKS)
    parts = (queries.take(slice(at, at + size)) for at in range(0, len(queries), size))
    results = runner.run([(version(), content, np.stack(part.columns())) for part in parts])
    del kept  # keeps everything that workers opened until this line
    return list(chain.from_iterable(results))


@contextmanager
def use_engine(name: EngineName, beside: Path) -> Iterator[None]:
    """Use an engine for the queries that are asked within the block.

    beside  create the shared folder next to this path, and remove it at the end. All workers must
            see this folder and the model folder under the same paths
    """
    global _start  # noqa: PLW0603  a property of the process, as the number of threads is
    before = _start
    with ExitStack() as stack:
        _start = None if name == "threads" else _starter(name, beside.absolute(), stack)
        try:
            yield
        finally:
            _start = before


def _starter(name: EngineName, beside: Path, stack: ExitStack) -> Start:
    """Return a function that starts the workers when first needed. The stack stops them."""
    if name == "ray":
        from apptek.engine.ray_cluster import RayCluster as Runner

        Runner.check()
    else:
        from apptek.engine.processes import Processes as Runner  # type: ignore[assignment]

    @cache
    def start() -> tuple[Any, Shelf]:
        shelf = Shelf(stack.enter_context(folder_beside(beside)))
        return stack.enter_context(closing(Runner())), shelf

    return start


CHUNK = 1024  # queries per call of the work, on any engine
DEATHS = 5  # consecutive worker deaths without a finished shard, after which a run gives up
TOO_MANY_DEATHS = f"workers died {DEATHS} times: is there enough memory?"
LARGE = 1 << 16  # minimum size in bytes of something with its own file
Shard = tuple[str, bytes, Any]  # version of the driver, model and work, queries
Stored = tuple[str, int, int, int]  # path; the file's size and modification time (0: any); offset


def version() -> str:
    """Return the versions that must be equal for the driver and its workers."""
    python = ".".join(platform.python_version_tuple()[:2])
    return f"apptek {import_module('apptek').__version__} with Python {python}"


def run_shard(shard: Shard) -> list[Any]:
    """Return the results of the work on each chunk in a shard."""
    limit_threads(1)
    wanted, content, columns = shard
    if version() != wanted:
        words = f"the worker on {platform.node()} has {version()}, this machine has {wanted}"
        raise ApptekError(f"{words}: install the same version everywhere")
    model, work = _open_model(content)
    return [work(model, part) for part in chunks_of(Queries(*columns))]


def chunks_of(queries: Queries) -> list[Queries]:
    """Split queries into chunks. Without queries, there is a single empty chunk."""
    starts = range(0, max(1, len(queries)), CHUNK)
    return [queries.take(slice(start, start + CHUNK)) for start in starts]


@lru_cache(maxsize=2)
def _open_model(content: bytes) -> Any:
    """Open a model. A worker keeps the last two open, because a model may have two views."""
    return Unpickler(content).load()


class Shelf:
    """The shared folder and the files in it. A file is deleted when its array is freed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._count = folder, 0
        self._stored: dict[int, tuple[Any, Path]] = {}

    def dump(self, model: Any) -> tuple[bytes, list[Any]]:
        """Return a model in the form that workers open, and what must not be freed meanwhile."""
        stream = io.BytesIO()
        pickler = _Pickler(stream, self)
        pickler.dump(model)
        return stream.getvalue(), pickler.kept

    def store(self, thing: npt.NDArray[Any] | str) -> Stored:
        """Return the file of an array or a text, writing it the first time."""
        key = id(thing)
        if key not in self._stored:
            path, self._count = self.folder / str(self._count), self._count + 1
            text = thing.encode() if isinstance(thing, str) else None
            with writing(path):
                path.write_bytes(np.ascontiguousarray(thing).data if text is None else text)
            # Texts do not support weak references. There are only a few: a model's trees.
            kept = weakref.ref(thing, lambda _: self._drop(key)) if text is None else thing
            self._stored[key] = kept, path
        path = self._stored[key][1]
        return str(path), path.stat().st_size, 0, 0

    def _drop(self, key: int) -> None:
        self._stored.pop(key)[1].unlink(missing_ok=True)


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, shelf: Shelf) -> None:
        super().__init__(stream, protocol=5)
        self._shelf, self._numbers, self.kept = shelf, dict[int, int](), list[Any]()

    def persistent_id(self, obj: Any) -> Any:
        """Return a number for an array or a large text. The first use includes its location."""
        is_text = isinstance(obj, str) and len(obj) >= LARGE
        if not is_text and not isinstance(obj, np.ndarray):
            return None
        if id(obj) in self._numbers:
            return (self._numbers[id(obj)],)
        self._numbers[id(obj)] = number = len(self.kept)
        self.kept.append(obj)
        if is_text:
            return number, self._shelf.store(obj), None, None
        is_small = obj.nbytes < LARGE
        where = obj.tobytes() if is_small else _mapped_from(obj) or self._shelf.store(obj)
        return number, where, obj.dtype, obj.shape

    def reducer_override(self, obj: Any) -> Any:
        """Include the values derived from a graph, which an ordinary pickle omits."""
        return (Derived, (), vars(obj)) if isinstance(obj, Derived) else NotImplemented


def _mapped_from(array: npt.NDArray[Any]) -> Stored | None:
    """Return the file that an array is mapped from, or None if it is only in memory."""
    root: Any = array
    while isinstance(root, np.ndarray) and not isinstance(root.base, mmap.mmap):
        root = root.base
    if not isinstance(root, np.memmap) or root.filename is None or not array.flags.c_contiguous:
        return None
    try:
        about = Path(root.filename).stat()
    except OSError:  # another model has replaced it
        return None
    offset = root.offset + array.ctypes.data - root.ctypes.data
    return str(root.filename), about.st_size, about.st_mtime_ns, offset


class Unpickler(pickle.Unpickler):
    """Opens in a worker what a shelf has dumped. All arrays are read-only."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content))
        self._opened: dict[int, Any] = {}

    def persistent_load(self, pid: Any) -> Any:
        """Return the array or text with this number. It is the same object each time."""
        number, *rest = pid
        if rest:
            self._opened[number] = _open(*rest)
        return self._opened[number]


def _open(content: bytes | Stored, dtype: Any, shape: Any) -> Any:
    if isinstance(content, bytes):
        return read_only(np.frombuffer(content, dtype).reshape(shape))
    path, size, changed, offset = content
    try:
        about = Path(path).stat()
        if about.st_size != size or (changed and about.st_mtime_ns != changed):
            raise ApptekError(f"{path} has changed since it was opened: try again")
        if dtype is None:
            return Path(path).read_bytes().decode()
        return read_only(np.asarray(np.memmap(path, dtype, "r", offset, shape)))
    except OSError as error:
        raise ApptekError(
            f"the worker on {platform.node()} does not see {path} ({error.strerror}): all "
            "workers need the same shared folder, under the same name"
        ) from None
