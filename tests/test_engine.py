"""Engines: the same bytes as threads, and one clear line where that cannot be."""

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import apptek, succeeds
from fact_files import in_words, write
from fitted_models import SharedModel
from model_folders import files_of

from apptek.config import VIEWS
from apptek.engine import engine, map_queries, ray_cluster
from apptek.engine.engine import CHUNK, Shelf, Unpickler, run_shard
from apptek.engine.processes import Processes
from apptek.engine.ray_cluster import RayCluster
from apptek.errors import ApptekError
from apptek.facts.facts import Dataset
from apptek.facts.queries import Queries, training_queries
from apptek.predictor import Predictor
from apptek.synthetic.world import make_world


class Counted:
    """The workers of an engine, which count how often they were asked."""

    def __init__(self, runner: Any, folder: Path) -> None:
        self.runner, self.shelf, self.asked = runner, Shelf(folder), 0

    def __call__(self) -> tuple[Any, Shelf]:
        self.asked += 1
        return self.runner, self.shelf


@pytest.fixture(scope="module", params=["processes", pytest.param("ray", marks=pytest.mark.slow)])
def started(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Counted]:
    """The workers of an engine, started once for all tests."""
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", paths)  # workers import this module
        open_runner = Processes if request.param == "processes" else RayCluster
        with closing(open_runner()) as runner:
            yield Counted(runner, tmp_path_factory.mktemp("shared"))


@pytest.fixture
def workers(started: Counted) -> Counted:
    started.asked = 0
    return started


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_world(4000, 1).dataset


def on(workers: Counted | None, patch: pytest.MonkeyPatch) -> None:
    """Let these workers do what follows; None: threads."""
    patch.setattr(engine, "_start", workers)


def test_a_fit_gives_the_same_bytes(
    workers: Counted,
    data: Dataset,
    shared_model: SharedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = shared_model("default")  # of the same data, by threads
    on(workers, monkeypatch)
    Predictor.fit(data, folder=tmp_path / "model")
    assert workers.asked >= 2  # the training queries of each view
    assert files_of(tmp_path / "model") == files_of(expected)


@pytest.mark.parametrize("name", ["default", "trees", "topologies"])
def test_every_model_gives_the_same_features_and_scores(
    workers: Counted, name: str, shared_model: SharedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    predictor = Predictor.load(shared_model(name))
    queries = training_queries(predictor.model.dataset.train)
    found = []
    for engine_ in (None, workers):
        on(engine_, monkeypatch)
        views = [predictor.answerer.view_in_use(view) for view in VIEWS]
        found.append([view.scores(queries).tobytes() for view in views])
        found[-1] += [view.space.rows(queries).columns.tobytes() for view in views]
    assert workers.asked == 4
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("default", "evaluate MODEL --json"),
        ("default", "predict MODEL --queries ASKED --top 3 --out OUT"),
        ("default", "audit MODEL --reasons 0 --out OUT"),
        ("forecast", "evaluate MODEL --forecasts --every 90 --json"),
    ],
)
def test_a_command_prints_and_writes_the_same(
    workers: Counted,
    name: str,
    words: str,
    shared_model: SharedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = in_words(Predictor.load(shared_model("default")).model.dataset)
    lines = [f"{subject}\t{object_}\t{since}\n" for subject, _, object_, since, _ in facts]
    asked = write(tmp_path / "asked.tsv", "".join([*lines, "Nobody\tNowhere\t2031-01-01\n"]))
    if words == "evaluate MODEL --json":  # its test split is one chunk: train takes its place
        monkeypatch.setattr(Dataset, "split", lambda data, _: data.train)
    out, told = tmp_path / "out.parquet", []
    places = {"MODEL": str(shared_model(name)), "ASKED": str(asked), "OUT": str(out)}
    for engine_ in (None, workers):
        on(engine_, monkeypatch)
        done = succeeds(*(places.get(word, word) for word in words.split()))
        told.append((done.stdout, out.read_bytes() if "OUT" in words else b""))
        out.unlink(missing_ok=True)
    assert workers.asked > 0
    assert told[0] == told[1]


def test_the_command_starts_workers_and_leaves_nothing(
    shared_model: SharedModel, tmp_path: Path
) -> None:
    out, again = tmp_path / "audit.csv", tmp_path / "again.csv"
    words = ["audit", str(shared_model("default")), "--reasons", "0", "--out"]
    for run in (apptek(*words, str(out)), apptek(*words, str(again), "--engine", "processes")):
        assert run.returncode == 0, run.stderr
    assert out.read_bytes() == again.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.csv", "audit.csv"]


# What workers open


def test_a_shared_object_has_the_same_arrays_mapped_and_read_only(tmp_path: Path) -> None:
    mapped, memory = np.arange(50_000), np.arange(60_000.0)
    np.save(tmp_path / "mapped.npy", mapped)
    opened = np.asarray(np.load(tmp_path / "mapped.npy", mmap_mode="r"))
    text = "trees" * 20_000
    shared = {"a": opened[1000:], "b": memory, "c": memory, "d": np.arange(3), "e": text}
    (tmp_path / "shelf").mkdir()
    shelf = Shelf(tmp_path / "shelf")
    content, kept = shelf.dump(shared)
    assert len(content) < 2000
    assert len(list(shelf.folder.iterdir())) == 2  # the mapped array has its file already
    loaded = Unpickler(content).load()
    assert loaded["b"] is loaded["c"]
    for name in "abcd":
        assert not loaded[name].flags.writeable
        assert loaded[name].tobytes() == shared[name].tobytes()  # type: ignore[attr-defined]
    assert loaded["e"] == text
    assert shelf.dump(shared)[0] == content
    del memory, kept, shared["b"], shared["c"]
    assert len(list(shelf.folder.iterdir())) == 1  # a file goes with its array


def test_a_folder_that_a_worker_does_not_see_and_a_changed_file_are_told(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    content, _kept = shelf.dump(np.zeros(20_000))
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"short")
    with pytest.raises(ApptekError, match="has changed since it was opened"):
        Unpickler(content).load()
    file.unlink()
    with pytest.raises(ApptekError, match=r"the worker on .* does not see .*: all workers need"):
        Unpickler(content).load()


def test_a_full_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "LARGE", 10)
    shelf = Shelf(tmp_path / "gone")
    with pytest.raises(ApptekError, match="could not be written: No such file or directory"):
        shelf.dump("a text that is large")


def test_a_worker_of_another_version_says_so() -> None:
    words = "the worker on .* has apptek .* with Python .*, this machine has apptek 9.9: install"
    with pytest.raises(ApptekError, match=words):
        run_shard(("apptek 9.9", b"", None))


# Faults


def die_once(folder: Path, queries: Queries) -> int:
    """Note each chunk; the process of the chunk in the middle dies the first time."""
    first = int(queries.subjects[0])
    with (folder / str(first)).open("a", encoding="ascii") as file:
        file.write("x")
    if first == 8 * CHUNK and (folder / str(first)).stat().st_size == 1:
        time.sleep(0.5)  # the shards before it are done by then
        os.kill(os.getpid(), signal.SIGKILL)
    return first


@pytest.mark.slow
def test_only_lost_shards_are_done_again(
    workers: Counted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    column = np.arange(16 * CHUNK, dtype=np.int32)
    queries = Queries(column, column, column, column)
    on(workers, monkeypatch)
    found = map_queries(tmp_path, queries, die_once)
    assert found == list(range(0, len(queries), CHUNK))
    counts = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert counts.pop("0") >= 2  # and once in the driver
    assert counts[str(8 * CHUNK)] == 2
    again = [name for name, count in counts.items() if count > 1]
    assert len(again) <= 4  # with two workers, at most two shards of two chunks are lost


def always_die(_: None, queries: Queries) -> None:
    if len(queries) > 1:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_workers_that_die_again_and_again_end_the_run(
    workers: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    column = np.zeros(2 * CHUNK, np.int32)
    on(workers, monkeypatch)
    with pytest.raises(ApptekError, match="workers died 5 times: is there"):
        map_queries(None, Queries(column, column, column, column), always_die)


# Bad input


def test_without_ray_it_says_what_to_install(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(ray_cluster, "find_spec", lambda _: None)
    run = apptek("evaluate", str(tmp_path), "--engine", "ray")
    assert run.stderr == "apptek: --engine ray needs Ray: pip install 'apptek[ray]'\n"


@pytest.mark.parametrize(
    ("address", "reason"),
    [("local", "expected HOST:PORT, or auto"), ("127.0.0.1:PORT", "Connection refused")],
)
def test_an_address_without_a_cluster_ends_with_one_line(
    address: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_cluster, "find_spec", lambda _: "there")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = address.replace("PORT", str(closed.getsockname()[1]))
    out = str(tmp_path / "model")
    run = apptek("fit", "nowhere", "--out", out, "--engine", "ray", RAY_ADDRESS=address)
    line = f"apptek: no Ray cluster is at RAY_ADDRESS={address}: {reason}\n"
    assert (run.returncode, run.stderr) == (1, line)
    assert not list(tmp_path.iterdir())
