"""Two hosts: network namespaces with a shared folder, and a Ray cluster over both.

Only root can make them: others skip these tests. `make test-slow` runs them.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from model_folders import files_of

from apptek.predictor import Predictor
from apptek.synthetic.world import make_world, write_world

pytestmark = pytest.mark.slow
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
        for host, name in enumerate(names):
            if (
                name
                in subprocess.run(
                    ["ip", "netns"], capture_output=True, text=True, check=True
                ).stdout
            ):
                for pid in made.processes(host):
                    os.kill(pid, signal.SIGKILL)
                subprocess.run(["ip", "netns", "delete", name], check=True)
        shutil.rmtree(f"/tmp/ray-{os.getpid()}", ignore_errors=True)


def test_two_hosts_give_the_bytes_of_one_process_also_when_one_is_lost(hosts: Hosts) -> None:
    folder = hosts.folder
    world = make_world(6000, 5)
    write_world(world, folder / "world")
    Predictor.fit(folder / "world", folder=folder / "expected")
    found = hosts.run(0, str(folder / "hosts.py"), str(folder / "shared")).split()
    assert set(found) == set(ADDRESSES)
    program = ["-c", "from apptek.cli import main; main()", "fit", str(folder / "world")]
    hosts.run(0, *program, "--out", str(folder / "model"), "--engine", "ray")
    assert files_of(folder / "model") == files_of(folder / "expected")
    fit = hosts.start(0, *program, "--out", str(folder / "again"), "--engine", "ray")
    while not list(folder.glob(".again.work-????????/*")):
        assert fit.poll() is None, fit.communicate()
        time.sleep(0.02)
    for pid in hosts.processes(1):
        os.kill(pid, signal.SIGKILL)
    assert fit.communicate(timeout=600) is not None
    assert fit.returncode == 0
    assert files_of(folder / "again") == files_of(folder / "expected")
