"""Where queries are worked on: threads of this process, local processes, or a Ray cluster.

Queries are independent of each other, so each chunk of them can be worked on anywhere. The chunks
are the same for every engine, and so are the results, byte for byte.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from apptek.compiling import in_threads
from apptek.engine.sharing import Shelf
from apptek.engine.workers import CHUNK, Shard, chunks_of, versions
from apptek.facts.queries import Queries
from apptek.files import folder_beside

EngineName = Literal["threads", "processes", "ray"]
MOST_CHUNKS = 16  # of a shard
SHARDS = 4  # for each worker, where there are enough chunks: the last ones end at the same time
Model = TypeVar("Model")
Result = TypeVar("Result")


def map_queries(
    model: Model, queries: Queries, work: Callable[[Model, Queries], Result]
) -> list[Result]:
    """Return work(model, chunk) of each chunk of the queries, in their order.

    model  anything that answers queries; workers map its arrays from files
    work   a function or method of a module, of which the result of a query depends on no other
    """
    if _workers is None or len(queries) <= CHUNK:
        chunks = chunks_of(queries)
        return in_threads(lambda number: work(model, chunks[number]), range(len(chunks)))
    return _workers.map(model, queries, work)


class Runner(Protocol):
    """Gives shards to workers."""

    worker_count: int

    def run(self, shards: Sequence[Shard]) -> list[list[Any]]:
        """Return the results of each shard, in order."""

    def close(self) -> None:
        """End the workers."""


class Workers:
    """The workers of an engine, started when there is the first work for them."""

    def __init__(self, open_runner: Callable[[], Runner], beside: Path) -> None:
        self._open_runner, self._beside, self._stack = open_runner, beside, ExitStack()
        self._started: tuple[Runner, Shelf] | None = None

    def map(
        self, model: Model, queries: Queries, work: Callable[[Model, Queries], Result]
    ) -> list[Result]:
        """Return the results of all chunks."""
        runner, shelf = self._start()
        work(model, queries.part(slice(0, 1)))  # what it derives from the graph is shared, too
        content, kept = shelf.dump((model, work))
        chunk_count = -(-len(queries) // CHUNK)
        size = CHUNK * min(-(-chunk_count // (SHARDS * runner.worker_count)), MOST_CHUNKS)
        parts = (queries.part(slice(at, at + size)) for at in range(0, len(queries), size))
        shards = [(versions(), content, np.stack(part.columns())) for part in parts]
        results = [result for of_shard in runner.run(shards) for result in of_shard]
        del kept
        return results

    def _start(self) -> tuple[Runner, Shelf]:
        if self._started is None:
            shelf = Shelf(self._stack.enter_context(folder_beside(self._beside)))
            runner = self._open_runner()
            self._stack.callback(runner.close)
            self._started = runner, shelf
        return self._started

    def close(self) -> None:
        """End the workers and remove the shared folder."""
        self._stack.close()


_workers: Workers | None = None  # of this process; None: threads


@contextmanager
def use_engine(name: EngineName, beside: Path) -> Iterator[None]:
    """Let an engine work on the queries that are asked within the block.

    beside  the shared folder is made beside this path, and removed at the end. All workers must see
            it, and the model folder, under the same names.
    """
    global _workers  # noqa: PLW0603  a property of the process, as the number of threads is
    before, workers = _workers, None
    if name == "processes":
        from apptek.engine.processes import Processes

        workers = Workers(Processes, beside.absolute())
    if name == "ray":
        from apptek.engine.ray_cluster import RayCluster, check_ray

        check_ray()
        workers = Workers(RayCluster, beside.absolute())
    _workers = workers
    try:
        yield
    finally:
        _workers = before
        if workers is not None:
            workers.close()
