"""Full disks and little memory: one line says so, and nothing waits for ever."""

import subprocess
import sys
from pathlib import Path

import pytest

from apptek.arrays import available_memory
from apptek.errors import ApptekError
from apptek.models.fitting import linear_fit
from apptek.predictor import Predictor
from apptek.synthetic.world import make_world

MAIN = "from apptek.cli import main; main()"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("words", [("--version",), ("--help",), ("info", "MODEL", "--json")])
def test_an_output_that_cannot_be_written_is_one_line(
    served_model: Path, words: tuple[str, ...]
) -> None:
    named = [str(served_model) if word == "MODEL" else word for word in words]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", MAIN, *named],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "apptek: the output could not be written: No space left on device\n"


def test_a_limit_on_files_is_told_as_the_system_tells_it(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from apptek.errors import ApptekError\n"
        "from apptek.files import write_whole\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n"
        "    write_whole(Path(sys.argv[1]), bytes(32000))\n"
        "except ApptekError as error:\n"
        "    print(error)\n"
    )
    target = tmp_path / "a"
    done = subprocess.run(
        [sys.executable, "-c", code, str(target)], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith(f"{target} could not be written: ")
    assert "requested" not in done.stdout
    assert not target.exists()


def test_a_model_is_opened_without_threads_of_pyarrow(served_model: Path) -> None:
    """A thread that the memory of a process has no room for is waited for without end."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from apptek.models.model_folder import load_model\n"
        "load_model(Path(sys.argv[1]))\n"
        "sys.exit('pyarrow.dataset' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(served_model)], check=False)
    assert done.returncode == 0


def test_a_fit_that_needs_more_memory_than_there_is_is_refused_before_it_allocates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(linear_fit, "available_memory", lambda: 1_000_000_000)
    with pytest.raises(ApptekError) as refused:
        linear_fit.fits_at_once(90_000, 1_000, 3_000)
    assert str(refused.value) == (
        "the fit needs 1.5 GB of memory for 90,000 features x 1,000 predicates, and 1.0 GB is "
        "free: merge rare predicates, or use fewer features, such as --set "
        "'history.kernels=[\"ever\"]'"
    )
    assert linear_fit.fits_at_once(60_000, 1_000, 0) == 1  # one value of l2 after the other
    assert linear_fit.fits_at_once(421_200, 10_000, 3_000) == 1  # sparse weights
    assert linear_fit.fits_at_once(1_000, 10, 100) is None
    monkeypatch.setattr(linear_fit, "available_memory", lambda: None)
    assert linear_fit.fits_at_once(90_000, 1_000, 3_000) is None


def test_a_fit_looks_at_the_memory_before_it_makes_features(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(linear_fit, "available_memory", lambda: 1000)
    stages: list[str] = []
    with pytest.raises(ApptekError, match="GB of memory for"):
        Predictor.fit(make_world(600, 0).dataset, progress=lambda name, *_: stages.append(name))
    assert not [stage for stage in stages if "features" in stage]


def test_the_memory_of_a_container_counts(tmp_path: Path) -> None:
    def write(path: str, text: str) -> None:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    write("proc/meminfo", "MemTotal: 900 kB\nMemAvailable: 500 kB\nSwapFree: 100 kB\n")
    assert available_memory(tmp_path) == 600 * 1024
    write("proc/self/cgroup", "0::/some/unit\n")
    write("sys/fs/cgroup/some/unit/memory.stat", "anon 3000\nfile 90000\nshmem 500\n")
    write("sys/fs/cgroup/some/unit/memory.max", "max\n")
    assert available_memory(tmp_path) == 600 * 1024
    write("sys/fs/cgroup/some/unit/memory.max", "10000\n")
    assert available_memory(tmp_path) == 6500
