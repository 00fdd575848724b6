"""Local processes as workers."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any

from apptek.engine.workers import DEATHS, TOO_MANY_DEATHS, Shard, run_shard
from apptek.errors import ApptekError


class Processes:
    """Processes of this machine, one for each core, each with one thread."""

    def __init__(self) -> None:
        self.worker_count = os.cpu_count() or 1
        # Nothing is ever sent: the processes end when it is closed, by hand or with the driver.
        self._held_by_workers, self._line = multiprocessing.Pipe(duplex=False)
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPoolExecutor:
        # Spawned, not forked: the driver has threads.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(
            self.worker_count, context, initializer=begin, initargs=(self._held_by_workers,)
        )

    def run(self, shards: Sequence[Shard]) -> list[list[Any]]:
        """Return the results of each shard; a shard whose process has died is done again."""
        done: dict[int, list[Any]] = {}
        deaths = 0
        while len(done) < len(shards):
            before = len(done)
            futures: dict[Future[list[Any]], int] = {}
            try:
                with _deaf_children():
                    for number in set(range(len(shards))) - done.keys():
                        futures[self._pool.submit(run_shard, shards[number])] = number
                for future in as_completed(futures):
                    done[futures[future]] = future.result()
            except BrokenProcessPool:
                deaths = deaths + 1 if len(done) == before else 1
                self._pool.shutdown(wait=False, cancel_futures=True)
                if deaths == DEATHS:
                    raise ApptekError(TOO_MANY_DEATHS) from None
                self._pool = self._new_pool()
        return [done[number] for number in range(len(shards))]

    def close(self) -> None:
        """End the processes at once."""
        self._line.close()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._held_by_workers.close()


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes that are started in the block do not hear Ctrl-C, from their first moment on."""
    if not hasattr(signal, "pthread_sigmask"):  # not on every system
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin(line: Connection) -> None:
    """Prepare a process: it leaves Ctrl-C to its driver, and ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_driver, args=(line,), daemon=True).start()


def _end_with_driver(line: Connection) -> None:
    """Wait until the driver closes its end of the line, or is killed."""
    driver = multiprocessing.parent_process()
    assert driver is not None
    wait([line, driver.sentinel])
    os._exit(1)
