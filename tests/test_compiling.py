"""Where compiled code is kept: a state of the kernels never runs the code of another one."""

import os
import subprocess
import sys
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
    assert done.stderr == (
        "compiled code cannot be cached: /dev/null/none is not a folder that "
        "only you can write to; set NUMBA_CACHE_DIR to one\n"
    )


DIGEST = "d" * 16


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_folder_that_others_can_write_is_not_used(tmp_path: Path, mode: int) -> None:
    parent, folder = tmp_path / "cache", tmp_path / "cache" / DIGEST
    parent.mkdir()
    parent.chmod(mode)  # another folder could be put in its place
    assert cache_folder(DIGEST, parent) is None
    assert list(parent.iterdir()) == []  # nothing is created before the check
    parent.chmod(0o700)
    assert cache_folder(DIGEST, parent) == folder
    folder.chmod(mode)
    assert cache_folder(DIGEST, parent) is None


def test_a_link_in_the_place_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "planted").mkdir()
    (tmp_path / "cache").mkdir(mode=0o700)
    (tmp_path / "cache" / DIGEST).symlink_to(tmp_path / "planted")
    assert cache_folder(DIGEST, tmp_path / "cache") is None


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")
def test_a_folder_that_somebody_else_made_is_not_used(tmp_path: Path) -> None:
    folder = cache_folder(DIGEST, tmp_path / "cache")
    assert folder is not None
    for planted in (folder, folder.parent):
        os.chown(planted, 65534, 65534)
        assert cache_folder(DIGEST, tmp_path / "cache") is None
        os.chown(planted, 0, 0)
    assert cache_folder(DIGEST, tmp_path / "cache") == folder


def test_new_folders_are_readable_by_this_user_alone(tmp_path: Path) -> None:
    found = cache_folder(DIGEST, tmp_path / "a" / "cache")
    assert found is not None
    assert found.stat().st_mode & 0o777 == found.parent.stat().st_mode & 0o777 == 0o700
