"""Where compiled code is kept: a state of the kernels never runs the code of another one."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from apptek.compiling import cache_folder, kernels_digest

KERNEL = "from apptek.other import LIMIT\n\n\n@kernel\ndef f(x):\n    return x + LIMIT\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "kernels.py").write_text(KERNEL)
    (tmp_path / "other.py").write_text("LIMIT = 1\n")
    (tmp_path / "prose.py").write_text("TEXT = 'no kernel'\n")
    return tmp_path


def test_an_edit_of_a_kernel_or_of_what_it_imports_is_another_state(package: Path) -> None:
    digest = kernels_digest(package)
    assert digest == kernels_digest(package)
    (package / "prose.py").write_text("TEXT = 'changed'\n")
    assert digest == kernels_digest(package)
    (package / "other.py").write_text("LIMIT = 2\n")
    assert digest != kernels_digest(package)
    (package / "other.py").write_text("LIMIT = 1\n")
    (package / "some" / "kernels.py").write_text(KERNEL.replace("+", "-"))
    assert digest != kernels_digest(package)


def test_the_first_folder_that_can_be_written_is_taken(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused, usable = tmp_path / "file", tmp_path / "usable"
    assert cache_folder("0" * 16, [refused, usable]) == usable / ("0" * 16)
    assert cache_folder("0" * 16, [refused]) is None


def test_only_caches_that_were_not_used_for_long_are_removed(tmp_path: Path) -> None:
    old, recent, strange = (tmp_path / name for name in ("a" * 16, "b" * 16, "notes"))
    for folder in (old, recent, strange):
        folder.mkdir()
    for folder in (old, strange):
        os.utime(folder, (0, time.time() - 40 * 24 * 3600))
    cache_folder("c" * 16, [tmp_path])
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["b" * 16, "c" * 16, "notes"]


def test_without_any_cache_folder_kernels_work_and_one_line_says_so() -> None:
    script = (
        "from apptek.compiling import kernel\n@kernel\ndef f(x):\n    return x + 1\nprint(f(1))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"NUMBA_CACHE_DIR": "/dev/null/none"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "2\n"
    assert done.stderr == "compiled code cannot be kept: no cache folder can be written\n"
