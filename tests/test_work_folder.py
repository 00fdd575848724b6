"""The work folder of a fit: who uses it, and what resuming from a damaged one comes to."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from command_line import apptek
from work_mutations import OTHER, REFUSED, run

from apptek.errors import CheckpointError
from apptek.files import sole_writer
from apptek.resuming import (
    arrays_checksum,
    check_arrays,
    open_work,
    read_sealed,
    seal,
    work_folder,
)

SEEDS = 24


@pytest.mark.slow
def test_no_damage_to_a_work_folder_crashes_or_changes_a_model() -> None:
    results = list(run(range(SEEDS)))
    assert [result for result in results if result[2] == OTHER] == []
    refused = [result[2] for result in results if result[2].startswith(REFUSED)]
    assert len(refused) > SEEDS // 2
    assert all(len(text.splitlines()) == 1 for text in refused)


def test_a_sealed_record_notices_every_change(tmp_path: Path) -> None:
    record, part = tmp_path / "record.json", tmp_path / "part"
    part.write_bytes(b"content")
    seal(record, {"episodes": 3}, [part])
    assert read_sealed(record, "start again") == {"episodes": 3}
    text = record.read_text()
    record.write_text(text.replace('"episodes": 3', '"episodes": 4'))
    with pytest.raises(CheckpointError, match=r"record\.json is damaged .*: start again"):
        read_sealed(record, "start again")
    record.write_text(text)
    part.write_bytes(b"Content")
    with pytest.raises(CheckpointError, match="part is damaged: start again"):
        read_sealed(record, "start again")
    part.unlink()
    with pytest.raises(CheckpointError, match="part cannot be read"):
        read_sealed(record, "start again")


def test_arrays_are_known_by_name_kind_shape_and_content() -> None:
    array = np.arange(6, dtype=np.int32)
    checksum = arrays_checksum({"a": array}, "text")
    check_arrays({"a": array.copy()}, "text", checksum)
    others: list[npt.NDArray[Any]] = [
        array.astype(np.int64),
        array.reshape(2, 3),
        array[:5],
        array.view(np.uint32),
    ]
    changes: list[dict[str, npt.NDArray[Any]]] = [{"b": array}, {}, *({"a": o} for o in others)]
    for changed in changes:
        with pytest.raises(ValueError, match="not as it was written"):
            check_arrays(changed, "text", checksum)
    with pytest.raises(ValueError, match="not as it was written"):
        check_arrays({"a": array}, "Text", checksum)


def test_a_fit_that_runs_is_not_called_stopped(tmp_path: Path, world: Path) -> None:
    with work_folder(tmp_path / "model") as work:
        open_work(work, {"seed": 0}, resume=False)
        for more in ((), ("--resume",)):
            done = apptek("fit", str(world), "--out", str(tmp_path / "model"), *more)
            assert done.returncode == 1
            told = done.stderr.splitlines()[-1]
            assert f"is used by a fit that is running (process {os.getpid()})" in told
            assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_work_folder_without_its_record_is_not_resumed(tmp_path: Path) -> None:
    (tmp_path / "train.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"fit\.json is missing: remove .* to start again"):
        open_work(tmp_path, {"seed": 0}, resume=True)


def test_a_fit_that_has_not_begun_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), work_folder(tmp_path / "model"):
        raise KeyboardInterrupt
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
