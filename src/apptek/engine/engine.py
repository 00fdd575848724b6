"""Where queries are processed: threads in this process, local processes, or a Ray cluster.

Queries are independent of each other, so each chunk can be processed anywhere. The chunks are the
same for every engine, and so are the results, byte for byte.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from apptek.compiling import in_threads
from apptek.engine.sharing import CHUNK, Shelf, chunks_of, version
from apptek.facts.queries import Queries
from apptek.files import folder_beside

EngineName = Literal["threads", "processes", "ray"]
MOST_CHUNKS = 16  # per shard
SHARDS = 4  # per worker, if there are enough chunks, so that all workers finish at the same time
Start = Callable[[], tuple[Any, Shelf]]  # Processes or RayCluster, and the shared folder
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
