"""What a worker does: open the model that the driver shares, and work on a shard of queries."""

import platform
from functools import lru_cache
from importlib import import_module
from typing import Any

from apptek.compiling import limit_threads
from apptek.engine.sharing import Unpickler
from apptek.errors import ApptekError
from apptek.facts.queries import Queries

CHUNK = 1024  # queries of one call of the work, whoever does it
DEATHS = 5  # of workers without any shard done in between, after which a run gives up
TOO_MANY_DEATHS = f"workers died {DEATHS} times: is there enough memory?"
Shard = tuple[str, bytes, Any]  # version of the driver, model and work, queries


def version() -> str:
    """Return what must be the same for the driver and its workers."""
    python = ".".join(platform.python_version_tuple()[:2])
    return f"apptek {import_module('apptek').__version__} with Python {python}"


def run_shard(shard: Shard) -> list[Any]:
    """Return the results of the work on each chunk of a shard."""
    limit_threads(1)
    wanted, content, columns = shard
    if version() != wanted:
        words = f"the worker on {platform.node()} has {version()}, this machine has {wanted}"
        raise ApptekError(f"{words}: install the same on all")
    model, work = _open(content)
    return [work(model, part) for part in chunks_of(Queries(*columns))]


def chunks_of(queries: Queries) -> list[Queries]:
    """Cut queries into chunks; without queries, there is one that is empty."""
    starts = range(0, max(1, len(queries)), CHUNK)
    return [queries.part(slice(start, start + CHUNK)) for start in starts]


@lru_cache(maxsize=2)
def _open(content: bytes) -> Any:
    """A worker keeps the last two models open: those of two views."""
    return Unpickler(content).load()
