"""Who does the tasks: processes of this machine, or the workers of a Ray cluster.

Both take any tasks and return when all are done. A task whose worker died is done by another; one
that fails with an error ends the run. What is finished stays, so that a second run goes on.
"""

import logging
import multiprocessing
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal, Protocol

from apptek.compiling import limit_threads
from apptek.engine.tasks import Task, run_task
from apptek.errors import ApptekError
from apptek.extras import require_ray

EngineName = Literal["local", "ray"]
DEATHS = 5  # of workers without any task done in between, after which a run gives up
NOBODY = 60.0  # seconds without any worker in a cluster, after which a run gives up
LOOK = 5.0  # seconds between two looks at the cluster
Done = Callable[[], None]  # is called after each task
_GO_ON = "what is finished is kept: run the command again to go on"


class Runner(Protocol):
    """Does tasks."""

    def run(self, tasks: Sequence[Task], done: Done) -> None:
        """Returns when all tasks are done."""


class LocalRunner:
    """Processes of this machine, one for each core, each with one thread."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or os.cpu_count() or 1
        # Nothing is ever sent: the processes end when it is closed, by hand or with the driver.
        self._held_by_workers, self._line = multiprocessing.Pipe(duplex=False)
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPoolExecutor:
        # Spawned, not forked: the driver has threads.
        context = multiprocessing.get_context("spawn")
        line = (self._held_by_workers,)
        return ProcessPoolExecutor(
            self.workers, mp_context=context, initializer=_begin, initargs=line
        )

    def run(self, tasks: Sequence[Task], done: Done) -> None:
        """Returns when all tasks are done; the pool is replaced when one of its processes dies."""
        left, deaths = list(tasks), 0
        while left:
            futures: dict[Future[str], Task] = {}
            before = len(left)
            try:
                with _deaf_children():
                    futures.update((self._pool.submit(run_task, task), task) for task in left)
                for future in as_completed(futures):
                    future.result()
                    left.remove(futures[future])
                    done()
            except BrokenProcessPool:
                deaths = deaths + 1 if len(left) == before else 1
                self._pool.shutdown(wait=False, cancel_futures=True)
                if deaths == DEATHS:
                    text = f"worker processes died {DEATHS} times: is there enough memory?"
                    raise ApptekError(f"{text} {_GO_ON}") from None
                self._pool = self._new_pool()
            except BaseException as error:
                _cancel(futures)
                if not isinstance(error, Exception):  # Ctrl-C: nobody waits for tasks
                    self._line.close()
                raise

    def close(self) -> None:
        """Ends the processes."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._line.close()
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


def _begin(line: Connection) -> None:
    """What a process does first: it keeps to one thread, and leaves Ctrl-C to its driver."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_threads(1)
    threading.Thread(target=_end_with_driver, args=(line,), daemon=True).start()


def _end_with_driver(line: Connection) -> None:
    """Waits until the driver closes its end of the line, or is killed."""
    driver = multiprocessing.parent_process()
    assert driver is not None
    wait([line, driver.sentinel])
    os._exit(1)


def _cancel(futures: dict[Future[str], Task]) -> None:
    for future in futures:
        future.cancel()


class RayRunner:
    """The workers of a Ray cluster: of one that runs at `address`, or of one of its own.

    A cluster of its own has as many workers as this machine has cores. It listens on the loopback
    interface alone, wants a token from whoever connects, and has no dashboard.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        require_ray()
        if address is None:
            # Ray reads these when it is imported.
            os.environ.setdefault("RAY_AUTH_MODE", "token")
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
            os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # off: it stays on loopback
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        self._ray: Any = ray
        self._own_folder: Path | None = None
        own: dict[str, Any] = {}
        if address is None:
            # Ray opens its folder to everybody: it lies in one that only this user can enter. Not
            # in the storage folder, whose path may be too long for the sockets in it.
            self._own_folder = Path(tempfile.mkdtemp(prefix="apptek-ray-"))
            own = {"num_cpus": workers, "include_dashboard": False}
            own["_temp_dir"] = str(self._own_folder / "ray")
        try:
            with _offline() if address is None else nullcontext():
                ray.init(
                    address=address or "local",
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    **own,
                )
        except Exception as error:  # of many kinds, some of them bare
            self._remove_folder()
            what = f"Ray: {_first_line(error)}"
            if address is not None:
                what += "; are its address, RAY_AUTH_TOKEN and versions right?"
            raise ApptekError(what) from None
        self._head: str = ray.get_runtime_context().gcs_address
        self._run = ray.remote(num_cpus=1, max_retries=DEATHS, retry_exceptions=False)(_run_alone)

    def run(self, tasks: Sequence[Task], done: Done) -> None:
        """Returns when all tasks are done."""
        ray = self._ray
        with _plain_errors(ray):
            self._has_workers()
            left = [self._run.remote(task) for task in tasks]
            seen = looked = time.monotonic()
            while left:
                ended, left = ray.wait(left, timeout=LOOK)
                for reference in ended:
                    ray.get(reference)
                    done()
                now = time.monotonic()
                if now - looked > LOOK:
                    looked = now
                    seen = now if self._has_workers() else seen
                if now - seen > NOBODY:
                    raise ApptekError(f"the cluster has no workers any more; {_GO_ON}")

    def _has_workers(self) -> bool:
        """Whether a node of the cluster has a core; ApptekError where its head is gone.

        Left alone, Ray would end this process after a minute, without a word.
        """
        try:
            _knock(self._head)
        except OSError:
            raise ApptekError(f"the head of the cluster is gone; {_GO_ON}") from None
        return bool(self._ray.cluster_resources().get("CPU", 0) > 0)

    def close(self) -> None:
        """Leaves the cluster, or ends it where it is its own."""
        self._ray.shutdown()
        self._remove_folder()

    def _remove_folder(self) -> None:
        if self._own_folder is not None:
            shutil.rmtree(self._own_folder, ignore_errors=True)


@contextmanager
def _offline() -> Iterator[None]:
    """Processes that are started in the block send HTTP requests to a port where nobody listens.

    Ray's head asks the metadata services of three clouds where it runs, usage reports or not.
    """
    nowhere = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    wanted = nowhere | {"no_proxy": "localhost,127.0.0.1,::1"}
    wanted |= {name.upper(): value for name, value in wanted.items()}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _run_alone(task: Task) -> str:
    """A task in a worker that has one core."""
    limit_threads(1)
    return run_task(task)


def _knock(address: str) -> None:
    """OSError where nobody listens."""
    host, _, port = address.rpartition(":")
    socket.create_connection((host, int(port)), timeout=10).close()


def _check_address(address: str) -> None:
    """ApptekError where nobody listens: Ray itself would wait for long."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in address:
        raise ApptekError(
            f"--engine ray,address={address}: expected HOST:PORT of a Ray cluster, or auto"
        )
    try:
        _knock(address)
    except OSError as error:
        reason = error.strerror or error
        raise ApptekError(f"there is no Ray cluster at {address}: {reason}") from None


@contextmanager
def _plain_errors(ray: Any) -> Iterator[None]:
    """Turns the errors of Ray into one line; those of a task are what the task has raised."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, ApptekError):
            raise cause from None
        raise ApptekError(f"a worker failed: {_first_line(cause)}") from None
    except ray.exceptions.WorkerCrashedError:
        text = f"workers died {DEATHS} times at the same task: is there enough memory?"
        raise ApptekError(f"{text} {_GO_ON}") from None
    except (ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError) as error:
        raise ApptekError(f"Ray: {_first_line(error)}; {_GO_ON}") from None


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def check_runner(name: EngineName, address: str | None = None) -> None:
    """ApptekError for an address without Ray or without a cluster, and where Ray is missing."""
    if name == "ray":
        if address is not None and address != "auto":
            _check_address(address)
        require_ray()
    elif address is not None:
        raise ApptekError("address= is that of a Ray cluster: it goes with --engine ray")


def open_runner(
    name: EngineName, address: str | None = None, workers: int | None = None
) -> LocalRunner | RayRunner:
    """The runner of this name; ApptekError for an address without Ray."""
    check_runner(name, address)
    return RayRunner(address, workers) if name == "ray" else LocalRunner(workers)
