"""Full disks and little memory: one line says so, and nothing waits for ever."""

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run_python

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
    done = run_python(code, str(target))
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
    run_python(code, str(served_model))
