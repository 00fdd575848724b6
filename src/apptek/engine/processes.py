"""Local processes as workers."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from apptek.engine.engine import DEATHS, TOO_MANY_DEATHS, Shard, run_shard
from apptek.errors import ApptekError

_set_mask = getattr(signal, "pthread_sigmask", lambda *_: None)  # not on every system


class Processes:
    """Processes on this machine, one per core, each with one thread."""

    def __init__(self) -> None:
        self.worker_count = os.cpu_count() or 1
        # Nothing is sent through the pipe: the workers exit when it is closed, or with the driver.
        self._held_by_workers, self._line = multiprocessing.Pipe(duplex=False)
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPoolExecutor:
        # Spawned, not forked, because the driver has threads.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(
            self.worker_count, context, initializer=begin, initargs=(self._held_by_workers,)
        )

    def run(self, shards: Sequence[Shard]) -> list[list[Any]]:
        """Return the results of each shard. Shards of crashed processes are repeated."""
        done: dict[int, list[Any]] = {}
        deaths = 0
        while len(left := set(range(len(shards))) - done.keys()):
            futures: dict[Future[list[Any]], int] = {}
            # Processes started here ignore Ctrl-C from the beginning.
            mask = _set_mask(signal.SIG_BLOCK, [signal.SIGINT])
            with suppress(BrokenProcessPool):
                futures.update((self._pool.submit(run_shard, shards[i]), i) for i in left)
            _set_mask(signal.SIG_SETMASK, mask)
            for future in as_completed(futures):
                if not isinstance(future.exception(), BrokenProcessPool):
                    done[futures[future]] = future.result()
            if len(done) < len(shards):  # a process has died, which breaks the pool
                deaths = deaths + 1 if left.isdisjoint(done) else 1
                if deaths == DEATHS:
                    raise ApptekError(TOO_MANY_DEATHS)
                self._pool.shutdown(wait=False, cancel_futures=True)
                self._pool = self._new_pool()
        return [done[number] for number in range(len(shards))]

    def close(self) -> None:
        """Stop the processes at once."""
        self._line.close()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._held_by_workers.close()


def begin(line: Connection) -> None:
    """Prepare a process: ignore Ctrl-C, which the driver handles, and exit with the driver."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    driver: Any = multiprocessing.parent_process()
    ends = [line, driver.sentinel]
    # The driver closes the line to stop the workers; the sentinel is ready if it is killed.
    threading.Thread(target=lambda: wait(ends) and os._exit(1), daemon=True).start()
