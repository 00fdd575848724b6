"""The work folder of a fit: who uses it, and what resuming from a damaged one comes to."""

from pathlib import Path

import numpy as np
import pytest
from command_line import refusal

from apptek.errors import CheckpointError
from apptek.files import sole_writer
from apptek.resuming import StageCache, open_work, work_folder


def test_a_stage_is_loaded_as_it_was_saved(tmp_path: Path) -> None:
    cache, array = StageCache(tmp_path), np.arange(6, dtype=np.int32)
    assert cache.load("training") is None
    cache.save("training", {"a": array}, {"epoch": 1})
    arrays, record = cache.load("training") or ({}, {})
    assert (arrays["a"].tolist(), record) == (array.tolist(), {"epoch": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["training.safetensors"]


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_stage_is_refused(tmp_path: Path, damage: str) -> None:
    cache = StageCache(tmp_path)
    cache.save("training", {"a": np.arange(6)})
    path = cache.path("training")
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        content[-1] ^= 0x40
    path.write_bytes(content[: {"cut": -10, "flipped": None, "empty": 0}[damage]])
    with pytest.raises(CheckpointError, match=r"training\.safetensors is damaged .*: remove"):
        cache.load("training")


def test_a_fit_that_runs_is_not_called_stopped(tmp_path: Path, world: Path) -> None:
    with work_folder(tmp_path / "model") as work:
        open_work(work, {"seed": 0}, resume=False)
        for more in ((), ("--resume",)):
            said = refusal("fit", str(world), "--out", str(tmp_path / "model"), *more)
            last = said.splitlines()[-1]
            assert "-fit is being changed by another process: try again later" in last
            assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_work_folder_without_its_record_is_not_resumed(tmp_path: Path) -> None:
    (tmp_path / "train.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"fit\.json is missing: remove .* to start again"):
        open_work(tmp_path, {"seed": 0}, resume=True)


def test_a_fit_that_has_not_begun_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), work_folder(tmp_path / "model"):
        raise KeyboardInterrupt
    with work_folder(tmp_path / "model"):  # nor does one that ends well without a record
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno
    import fcntl

    def without(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", without)
    with sole_writer(tmp_path), sole_writer(tmp_path):
        pass
