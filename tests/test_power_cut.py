"""What is on the disk when the power is cut: the order of syncs, renames and removals.

No test can cut the power, but the rules of a file system are known: a file's content is safe once
the file is synced, its name once its folder is synced afterwards.
"""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apptek.commands.answer_file import answer_file
from apptek.config import preset
from apptek.errors import ApptekError
from apptek.facts.facts import Dataset
from apptek.files import new_file, new_folder, sync, write_whole
from apptek.predictor import Predictor
from apptek.resuming import StageCache, open_work
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world

Event = tuple[str, Path]


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_world(600, 0).dataset


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """Every sync, rename (by its new name) and removal of a folder, in order."""
    recorded: list[Event] = []
    fsync, replace, rmtree = os.fsync, os.replace, shutil.rmtree

    def synced(handle: int) -> None:
        fsync(handle)
        recorded.append(("sync", Path(f"/proc/self/fd/{handle}").readlink()))

    def renamed(source: Path, target: Path) -> None:
        replace(source, target)
        recorded.append(("rename", Path(target)))
        # A renamed folder takes its files along: what was synced under the old name, is so now.
        for place, (what, path) in enumerate(recorded):
            if what == "sync" and path.is_relative_to(source):
                recorded[place] = (what, Path(target) / path.relative_to(source))

    def removed(folder: Path, **how: Any) -> None:
        recorded.append(("remove", Path(folder)))
        rmtree(folder, **how)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    monkeypatch.setattr(shutil, "rmtree", removed)
    return recorded


def assert_safe(events: list[Event], target: Path) -> int:
    """Content and name of a file or folder are safe; when its name was, as a place in `events`."""
    renamed = max(place for place, event in enumerate(events) if event == ("rename", target))
    before, after = events[:renamed], events[renamed:]
    for path in (target, *target.rglob("*")):
        assert ("sync", path) in before, path
    assert ("sync", target.parent) in after
    return renamed + after.index(("sync", target.parent))


def fit_default(data: Dataset, folder: Path) -> None:
    config = with_settings(preset("default"), ["classifier.epochs=1", "classifier.l2=[3.0]"])
    Predictor.fit(data, config=config, folder=folder)


def fit_baseline(data: Dataset, folder: Path) -> None:
    Predictor.fit(data, model="pair", folder=folder)


@pytest.mark.parametrize("fit", [fit_default, fit_baseline])
def test_a_fit_is_safe_before_its_work_folder_is_removed(
    fit: Callable[[Dataset, Path], None], data: Dataset, events: list[Event], tmp_path: Path
) -> None:
    model = tmp_path / "models" / "mine"
    fit(data, model)
    assert (model / "manifest.json").is_file()
    safe = assert_safe(events, model)
    assert events.index(("remove", tmp_path / "models" / ".mine-fit")) > safe
    assert ("sync", tmp_path) in events  # which got the folder `models`


def test_the_record_of_a_run_is_safe_before_the_run_begins(
    events: list[Event], tmp_path: Path
) -> None:
    work = tmp_path / ".model-fit"
    open_work(work, {"seed": 1}, resume=False)
    assert events[0] == ("sync", tmp_path)
    assert_safe(events, work / "fit.json")


def write_answers(path: Path, data: Dataset) -> None:
    queries = path.with_name("queries.csv")
    queries.write_text(f"{data.entities[0]},{data.entities[1]},2019-05-05\n")
    answer_file(Predictor.fit(data, model="pair"), queries, path)


WRITERS: dict[str, Callable[[Path, Dataset], object]] = {
    "answers.csv": write_answers,
    "answers.tsv": write_answers,
    "answers.parquet": write_answers,
    "whole": lambda path, _: write_whole(path, b"some bytes"),
    "stage.safetensors": lambda path, _: StageCache(path.parent).save("stage", {"a": np.arange(3)}),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_written_file_is_safe(
    name: str, data: Dataset, events: list[Event], tmp_path: Path
) -> None:
    WRITERS[name](tmp_path / name, data)
    assert_safe(events, tmp_path / name)


def test_folders_within_folders_are_safe(events: list[Event], tmp_path: Path) -> None:
    target = tmp_path / "a" / "b" / "c"
    with new_folder(target) as building:
        (building / "d" / "e").mkdir(parents=True)
        (building / "d" / "e" / "file").write_text("text")
        with new_folder(building / "inner") as inner:
            (inner / "file").write_text("text")
    assert_safe(events, target)
    assert {("sync", tmp_path), ("sync", tmp_path / "a")} <= set(events)


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_new_files_and_folders_obey_the_umask(umask: int, data: Dataset, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        write_whole(tmp_path / "whole", b"")
        write_answers(tmp_path / "answers.csv", data)
        with new_folder(tmp_path / "folder") as building:
            (building / "file").write_text("text")
    finally:
        os.umask(before)
    for name, rights in (("whole", 0o666), ("answers.csv", 0o666), ("folder", 0o777)):
        assert (tmp_path / name).stat().st_mode & 0o777 == rights & ~umask


def test_a_disk_that_refuses_to_sync_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("old")

    def refuse(_handle: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", refuse)
    said = "could not be written: Input/output error"
    with pytest.raises(ApptekError, match=f"file {said}"):
        write_whole(tmp_path / "file", b"new")
    with pytest.raises(ApptekError, match=f"file {said}"), new_file(tmp_path / "file") as temporary:
        temporary.write_text("new")
    with pytest.raises(ApptekError, match=f"folder {said}"), new_folder(tmp_path / "folder"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_a_file_system_that_cannot_sync_folders_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_handle: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", refuse)
    sync(tmp_path)
    (tmp_path / "file").write_text("text")
    with pytest.raises(OSError, match="Invalid argument"):
        sync(tmp_path / "file")


def test_what_fails_while_reading_is_not_blamed_on_writing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="the disk of the queries"), new_file(tmp_path / "file"):
        raise OSError("the disk of the queries")
    assert not list(tmp_path.iterdir())
