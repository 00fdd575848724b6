"""What happens when workers, the driver, a disk or a cluster fails: the same bytes, or one line.

They take minutes: `make test-slow` runs them.
"""

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from model_folders import files_of

from apptek.predictor import Predictor
from apptek.synthetic.world import make_world, write_world

pytestmark = pytest.mark.slow
SHARED = ".model.work-????????/*"  # the files of the shared folder
ROOT = Path(__file__).parents[1]
# 127.0.0.1, ::1 and ::ffff:127.0.0.1, as /proc/net writes them
LOOPBACK = {"0100007F", "0" * 24 + "01000000", "0" * 16 + "FFFF00000100007F"}
_ENGINES = pytest.mark.parametrize("engine", ["processes", "ray"])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a world of 20,000 facts and the model that one process has fitted."""
    folder = tmp_path_factory.mktemp("faults")
    world = make_world(20_000, 5)
    write_world(world, folder / "world")
    Predictor.fit(folder / "world", folder=folder / "expected")
    return folder


class Fit:
    """A fit in a process of its own, which leads a session: what it started ends with it."""

    def __init__(self, place: Path, out: Path, *words: str, file_limit: int | None = None) -> None:
        def limit() -> None:
            if file_limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))

        self.out = out
        command = ["fit", str(place / "world"), "--out", str(out), *words]
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from apptek.cli import main; main()", *command],
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=limit,  # noqa: PLW1509  no thread of this test holds a lock
        )

    def wait_for_workers(self, least: int = 2) -> list[int]:
        """Wait until as many workers have work; return them."""
        until = time.monotonic() + 300
        while not (list(self.out.parent.glob(SHARED)) and len(found := self.workers()) >= least):
            assert self.process.poll() is None, self.process.communicate()[1]
            assert time.monotonic() < until
            time.sleep(0.02)
        return found

    def workers(self) -> list[int]:
        """The processes below this one that do tasks."""
        found, below = [], [self.process.pid]
        while below:
            pid = below.pop()
            try:
                for task in Path(f"/proc/{pid}/task").iterdir():
                    below += map(int, (task / "children").read_text().split())
                words = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:  # it has ended
                continue
            if b"spawn_main" in words or words.startswith((b"ray::run_shard", b"ray::IDLE")):
                found.append(pid)
        return found

    def end(self) -> str:
        """Waits for the end; returns what it told."""
        _, told = self.process.communicate(timeout=600)
        return told

    def stop(self, end: signal.Signals) -> None:
        """End the driver with a signal; its workers must end with it."""
        workers = self.workers()
        self.process.send_signal(end)
        assert self.process.wait(60) in (-signal.SIGKILL, 130)
        until = time.monotonic() + 60
        while any(Path(f"/proc/{pid}").exists() for pid in workers):
            assert time.monotonic() < until, "workers outlive their driver"
            time.sleep(0.1)
        self.process.communicate()


@_ENGINES
def test_a_worker_that_is_killed_changes_nothing(engine: str, place: Path, tmp_path: Path) -> None:
    fit = Fit(place, tmp_path / "model", "--engine", engine)
    os.kill(fit.wait_for_workers()[0], signal.SIGKILL)
    told = fit.end()
    assert fit.process.returncode == 0, told
    assert files_of(tmp_path / "model") == files_of(place / "expected")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
@_ENGINES
def test_a_driver_that_was_stopped_is_resumed(
    engine: str, end: signal.Signals, place: Path, tmp_path: Path
) -> None:
    fit = Fit(place, tmp_path / "model", "--engine", engine)
    fit.wait_for_workers()
    fit.stop(end)
    assert not (tmp_path / "model").exists()
    assert end == signal.SIGKILL or not list(tmp_path.glob(SHARED))
    Fit(place, tmp_path / "model", "--engine", engine, "--resume").end()
    assert files_of(tmp_path / "model") == files_of(place / "expected")


def test_a_full_disk_ends_with_one_line_and_can_be_resumed(place: Path, tmp_path: Path) -> None:
    """Files may have a hundred kilobytes, which Ray itself could not start with."""
    full = Fit(place, tmp_path / "model", "--engine", "processes", file_limit=100_000)
    *_, last = full.end().splitlines()
    assert full.process.returncode == 1
    assert last.startswith("apptek: ")
    assert last.endswith("could not be written: File too large")
    assert not (tmp_path / "model").exists()
    assert not list(tmp_path.glob(SHARED))
    Fit(place, tmp_path / "model", "--engine", "processes", "--resume").end()
    assert files_of(tmp_path / "model") == files_of(place / "expected")


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[list[int]]:
    """A Ray cluster at RAY_ADDRESS of a head and a node with these cores: both raylets."""
    folder = Path("/tmp") / f"ray-{os.getpid()}"  # Ray's sockets must have short paths
    address, cores = f"127.0.0.1:{20_000 + os.getpid() % 10_000}", request.param
    variables = {
        "RAY_ADDRESS": address, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64,
    }  # fmt: skip
    ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--disable-usage-stats"]
    head = ["--head", "--include-dashboard=false", f"--port={address.split(':')[1]}"]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        for words in (
            [*head, f"--temp-dir={folder}", f"--num-cpus={cores[0]}"],
            [f"--address={address}", f"--num-cpus={cores[1]}"],
        ):
            subprocess.run([*ray, *words], check=True, capture_output=True, timeout=120)
        yield processes(folder, b"raylet/raylet")
        for pid in processes(folder, b""):
            os.kill(pid, signal.SIGKILL)


def processes(folder: Path, words: bytes) -> list[int]:
    """The processes whose command lines name a folder and these words, in the order of start."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if words in command and bytes(folder) + b"/" in command:
                found.append(int(entry.name))
    return sorted(found)


def fit_without_the_node(place: Path, out: Path, raylets: list[int]) -> Fit:
    """Start a fit on a cluster, whose node is lost as soon as workers have work."""
    fit = Fit(place, out, "--engine", "ray")
    fit.wait_for_workers(0)  # they are not below this process
    os.kill(raylets[-1], signal.SIGKILL)
    return fit


@pytest.mark.parametrize("cluster", [(0, 2)], indirect=True)
def test_a_cluster_without_workers_ends_with_one_line_and_a_second_run_goes_on(
    cluster: list[int], place: Path, tmp_path: Path
) -> None:
    *_, last = fit_without_the_node(place, tmp_path / "model", cluster).end().splitlines()
    assert last == "apptek: the cluster no longer has any workers"
    assert not list(tmp_path.glob(SHARED))
    Fit(place, tmp_path / "model", "--engine", "processes", "--resume").end()
    assert files_of(tmp_path / "model") == files_of(place / "expected")


CLUSTER = """
import json, os, stat, tempfile
from contextlib import suppress
from pathlib import Path
from apptek.engine.ray_cluster import RayCluster
from benchmarks.report import process_tree

cluster = RayCluster()
[folder] = Path(tempfile.gettempdir()).glob("apptek-ray-*")
opened = set()
for pid in process_tree(os.getpid()):
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        with suppress(OSError):  # closed meanwhile
            opened.add(os.readlink(link))
rows = [line.split() for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
listening = [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in opened]
private = stat.S_IMODE(folder.stat().st_mode) == 0o700
print(json.dumps([listening, private, os.environ["http_proxy"], os.environ["RAY_AUTH_MODE"]]))
cluster.close()
"""


def test_a_cluster_of_its_own_asks_nobody_and_leaves_nothing() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,  # short: Ray has sockets below it
        socket.create_server(("127.0.0.1", 0)) as proxy,
    ):
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        outer = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        outer |= {"TMPDIR": folder, "http_proxy": address, "HTTP_PROXY": address}
        outer |= {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "src")))}
        words = [sys.executable, "-c", CLUSTER]
        done = subprocess.run(
            words, env=outer, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        listening, private, after, mode = json.loads(done.stdout)
        proxy.setblocking(False)
        with pytest.raises(BlockingIOError):  # no process asked the proxy
            proxy.accept()
        assert listening
        assert {port.rpartition(":")[0] for port in listening} <= LOOPBACK
        assert (private, after, mode) == (True, address, "token")
        assert list(Path(folder).iterdir()) == []


# Two hosts: network namespaces with a shared folder. Only root can make them: others skip the test


ADDRESSES = ("10.231.77.1", "10.231.77.2")
PORT = 6399
PYTHON = """
import sys, time
from pathlib import Path

def where(pause, queries):
    import ray
    if len(queries) > 1:
        time.sleep(pause)
    return ray.util.get_node_ip_address()

if __name__ == "__main__":
    import numpy as np
    from apptek.engine import map_queries, use_engine
    from apptek.facts.queries import Queries
    from hosts import where
    column = np.zeros(8 * 1024, np.int32)
    with use_engine("ray", Path(sys.argv[1])):
        print(*map_queries(0.5, Queries(column, column, column, column), where))
"""


@dataclass(frozen=True)
class Hosts:
    """Two hosts by the names of their namespaces, and a folder that both see."""

    names: tuple[str, str]
    folder: Path

    def start(self, host: int, *words: str) -> "subprocess.Popen[str]":
        """Start a Python program on a host."""
        paths = os.pathsep.join([str(self.folder), os.environ.get("PYTHONPATH", "")])
        variables = {
            "PYTHONPATH": paths,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": "0" * 64,
            "RAY_ADDRESS": f"{ADDRESSES[0]}:{PORT}",
        }
        return subprocess.Popen(
            ["ip", "netns", "exec", self.names[host], sys.executable, *words],
            env=os.environ | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, host: int, *words: str) -> str:
        """Run a Python program on a host; return what it has printed."""
        process = self.start(host, *words)
        out, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
        return out

    def processes(self, host: int) -> list[int]:
        """The processes of a host."""
        pids = subprocess.run(
            ["ip", "netns", "pids", self.names[host]], capture_output=True, text=True, check=True
        )
        return [int(pid) for pid in pids.stdout.split()]


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and `ip` to make network namespaces")
    names = (f"apptek-{os.getpid()}-1", f"apptek-{os.getpid()}-2")
    links = ("veth1", "veth2")
    commands = [["netns", "add", name] for name in names]
    peer = ["peer", "name", links[1], "netns", names[1]]
    commands.append(["link", "add", links[0], "netns", names[0], "type", "veth", *peer])
    for name, link, address in zip(names, links, ADDRESSES, strict=True):
        commands.append(["-n", name, "addr", "add", f"{address}/24", "dev", link])
        commands += [["-n", name, "link", "set", each, "up"] for each in ("lo", link)]
    made = Hosts(names, tmp_path)
    try:
        for words in commands:
            run = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
            if run.returncode != 0:
                pytest.skip(f"network namespaces cannot be made here: {run.stderr.strip()}")
        (tmp_path / "hosts.py").write_text(PYTHON, encoding="utf-8")
        ray = ["-m", "ray.scripts.scripts", "start", "--disable-usage-stats", "--num-cpus=1"]
        head = ["--head", "--include-dashboard=false", f"--port={PORT}"]
        folder = f"--temp-dir=/tmp/ray-{os.getpid()}"  # Ray's sockets must have short paths
        made.run(0, *ray, *head, folder, f"--node-ip-address={ADDRESSES[0]}")
        made.run(1, *ray, f"--address={ADDRESSES[0]}:{PORT}", f"--node-ip-address={ADDRESSES[1]}")
        yield made
    finally:
        found = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=False).stdout
        for host, name in enumerate(names):
            if name in found:
                for pid in made.processes(host):
                    os.kill(pid, signal.SIGKILL)
                subprocess.run(["ip", "netns", "delete", name], check=True)
        shutil.rmtree(f"/tmp/ray-{os.getpid()}", ignore_errors=True)


def test_two_hosts_give_the_bytes_of_one_process_also_when_one_is_lost(
    hosts: Hosts, place: Path
) -> None:
    folder = hosts.folder
    found = hosts.run(0, str(folder / "hosts.py"), str(folder / "shared")).split()
    assert set(found) == set(ADDRESSES)
    program = ["-c", "from apptek.cli import main; main()", "fit", str(place / "world")]
    hosts.run(0, *program, "--out", str(folder / "model"), "--engine", "ray")
    assert files_of(folder / "model") == files_of(place / "expected")
    fit = hosts.start(0, *program, "--out", str(folder / "again"), "--engine", "ray")
    while not list(folder.glob(".again.work-????????/*")):
        assert fit.poll() is None, fit.communicate()
        time.sleep(0.02)
    for pid in hosts.processes(1):
        os.kill(pid, signal.SIGKILL)
    assert fit.communicate(timeout=600) is not None
    assert fit.returncode == 0
    assert files_of(folder / "again") == files_of(place / "expected")
