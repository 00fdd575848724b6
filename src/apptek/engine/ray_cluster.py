"""The workers of a Ray cluster: the one at $RAY_ADDRESS, or a new one."""

import os
import secrets
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stdout
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

from apptek.engine.engine import DEATHS, TOO_MANY_DEATHS, Shard, run_shard
from apptek.errors import ApptekError

NOBODY = 60.0  # seconds without any worker in a cluster after which a run gives up
LOOK = 5.0  # seconds between two checks of the cluster
# Ray's head asks three clouds' metadata services where it runs: redirect the requests to nowhere.
_PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
_OFFLINE = dict.fromkeys(_PROXIES, "http://127.0.0.1:9")
_OFFLINE |= dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1")
_OFFLINE["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # off: it stays on loopback


class RayCluster:
    """Sends shards to a cluster's workers as Ray tasks. Ray repeats lost tasks.

    A new cluster has as many workers as this machine has cores. It listens only on the loopback
    interface, requires a token for connections, and has no dashboard.
    """

    @staticmethod
    def check() -> None:
        """Raise ApptekError if Ray is not installed, or no cluster listens at $RAY_ADDRESS."""
        if find_spec("ray") is None:
            raise ApptekError("--engine ray needs Ray: pip install 'apptek[ray]'")
        address = os.environ.get("RAY_ADDRESS", "auto")
        try:
            if address != "auto":
                _knock(address)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "expected HOST:PORT, or auto"
            raise ApptekError(f"no Ray cluster is at RAY_ADDRESS={address}: {reason}") from None

    def __init__(self) -> None:
        address, self._stack = os.environ.get("RAY_ADDRESS"), ExitStack()
        how: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if address is None:
            # Ray reads these variables when it is imported.
            os.environ.setdefault("RAY_AUTH_MODE", "token")
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
            # Everyone can access Ray's folder, so it is inside a folder only for this user. It is
            # not in the shared folder, whose path may be too long for the sockets in it.
            private = tempfile.TemporaryDirectory(prefix="apptek-ray-", ignore_cleanup_errors=True)
            how["_temp_dir"] = f"{self._stack.enter_context(private)}/ray"
            how["include_dashboard"] = False
        try:
            with patch.dict(os.environ, {} if address else _OFFLINE):
                import ray

                ray.init(address or "local", **how)
        except Exception as error:  # many types, some without a message
            self._stack.close()
            hint = "; check RAY_ADDRESS, RAY_AUTH_TOKEN and the versions" if address else ""
            raise ApptekError(f"Ray: {_first_line(error)}{hint}") from None
        self._ray: Any = ray
        self._stack.callback(ray.shutdown)
        self._head: str = ray.get_runtime_context().gcs_address
        self.worker_count = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._run = ray.remote(num_cpus=1, max_retries=DEATHS, retry_exceptions=False)(run_shard)

    def run(self, shards: Sequence[Shard]) -> list[list[Any]]:
        """Return the results of each shard."""
        ray = self._ray
        try:
            # Ray reports dead workers on stdout, which is reserved for results.
            with redirect_stdout(sys.stderr):
                self._has_workers()
                tasks = [self._run.remote(shard) for shard in shards]
                left, seen = tasks, time.monotonic()
                while left:
                    ended, left = ray.wait(left, num_returns=len(left), timeout=LOOK)
                    ray.get(ended)  # raises the task's error
                    seen = time.monotonic() if not left or self._has_workers() else seen
                    if time.monotonic() - seen > NOBODY:
                        raise ApptekError("the cluster no longer has any workers")
                return list(ray.get(tasks))
        except (ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError) as error:
            cause = getattr(error, "cause", error)  # the task's error
            if isinstance(cause, ApptekError):
                raise cause from None
            died = isinstance(error, ray.exceptions.WorkerCrashedError)
            raise ApptekError(TOO_MANY_DEATHS if died else f"Ray: {_first_line(cause)}") from None

    def _has_workers(self) -> bool:
        """Return whether a node in the cluster has a core. Raise ApptekError if its head is lost.

        Otherwise, Ray would end this process after a minute without a message.
        """
        try:
            _knock(self._head)
        except OSError:
            raise ApptekError("the head of the cluster is not responding") from None
        return bool(self._ray.cluster_resources().get("CPU", 0) > 0)

    def close(self) -> None:
        """Disconnect from the cluster, or shut it down if we started it."""
        self._stack.close()


def _knock(address: str) -> None:
    """Raise OSError if the address does not respond. Ray itself would wait for a long time."""
    host, _, port = address.rpartition(":")
    socket.create_connection((host, int(port)), timeout=10).close()


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
