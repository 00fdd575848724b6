"""Parts and workers: the same bytes as one process, and one clear line where it cannot be."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import apptek
from model_folders import Killed, files_of

from apptek import extras
from apptek.audit.audit import audit_facts
from apptek.audit.judge import all_in_train, cross_fit
from apptek.commands.asking.answer_file import UnknownNames, answer_file
from apptek.config import VIEWS
from apptek.engine import engine as engine_module
from apptek.engine.engine import Engine, open_engine
from apptek.engine.parted_space import open_history
from apptek.engine.runners import LocalRunner, RayRunner
from apptek.engine.tasks import Task, run_task
from apptek.errors import ApptekError, DataError
from apptek.facts.facts import Dataset, join_facts
from apptek.facts.queries import training_queries
from apptek.models.fitting import examples as shards
from apptek.models.fitting.stages import time_left
from apptek.predictor import Predictor
from apptek.synthetic.world import make_world, write_world

PARTS, SIZE = 4, 700


class InThisProcess:
    """A runner without processes, which remembers what it did, and stops where it is told to."""

    def __init__(self, stop: int = -1) -> None:
        self.done: list[Task] = []
        self.stop = stop

    def run(self, tasks: Sequence[Task], done: Callable[[], None]) -> None:
        for task in tasks:
            if len(self.done) == self.stop:
                raise Killed
            run_task(task)
            self.done.append(task)
            done()


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_world(3000, 1).dataset


@pytest.fixture(scope="module")
def fitted(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that one process has fitted, its training queries in two shards."""
    folder = tmp_path_factory.mktemp("engine") / "plain"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "SHARD", 1500)
        Predictor.fit(data, folder=folder)
    return folder


@pytest.fixture(params=["local", pytest.param("ray", marks=pytest.mark.slow)])
def two_workers(request: pytest.FixtureRequest) -> Iterator[LocalRunner | RayRunner]:
    runner = LocalRunner(2) if request.param == "local" else RayRunner(workers=2)
    yield runner
    runner.close()


@pytest.mark.slow
def test_two_workers_and_four_parts_give_the_bytes_of_one_process(
    two_workers: LocalRunner | RayRunner,
    data: Dataset,
    fitted: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shards, "SHARD", 1500)
    engine = Engine(two_workers, tmp_path / "storage", PARTS, size=SIZE)
    Predictor.fit(data, folder=tmp_path / "model", engine=engine)
    assert files_of(tmp_path / "model") == files_of(fitted)
    alone = Predictor.load(fitted)
    spread = alone.on_engine(engine)
    for view in VIEWS:
        one, other = (predictor.evaluate("test", view) for predictor in (alone, spread))
        assert one.ranks.tobytes() == other.ranks.tobytes()
        assert one.as_json() == other.as_json()
    asked = tmp_path / "asked.tsv"
    names = data.entities
    queries = [
        f"{names[int(s)]}\t{names[int(o)]}\t{data.axis.format(int(t))}\n"
        for s, o, t in zip(data.test.subjects, data.test.objects, data.test.times, strict=True)
    ]
    asked.write_text("".join([*queries, "Nobody\tNowhere\t2031-01-01\n"]), encoding="utf-8")
    unknown = UnknownNames(), UnknownNames()
    answer_file(alone, asked, tmp_path / "alone.parquet", top=3, unknown=unknown[0])
    answer_file(
        spread,
        asked,
        tmp_path / "spread.parquet",
        unknown=unknown[1],
        at_once=20_000,
        top=3,
    )
    both = [(tmp_path / f"{name}.parquet").read_bytes() for name in ("alone", "spread")]
    assert both[0] == both[1]
    assert unknown[0] == unknown[1]
    assert (unknown[0].names, unknown[0].queries) == ({"Nobody": 1, "Nowhere": 1}, 1)


@pytest.mark.parametrize("parts", [1, 3])
def test_the_figures_of_forecasts_do_not_depend_on_parts(
    data: Dataset, parts: int, tmp_path: Path
) -> None:
    facts = join_facts(data.train, data.valid, data.test)
    facts = facts.take(np.flatnonzero(facts.dated))
    facts = facts.take(np.argsort(data.axis.positions(facts.times), kind="stable"))
    cuts = [range(2000), range(2000, 2200), range(2200, len(facts))]
    train, valid, test = (facts.take(np.asarray(rows)) for rows in cuts)
    model = Predictor.fit(replace(data, train=train, valid=valid, test=test))
    spread = model.on_engine(Engine(InThisProcess(), tmp_path, parts, size=SIZE))
    assert model.model.dataset.lies_beyond_train("test")
    for rolling in (False, True):
        figures = (m.evaluate_forecast("test", rolling=rolling) for m in (model, spread))
        assert next(figures) == next(figures)


def test_an_audit_does_not_depend_on_parts(data: Dataset, tmp_path: Path) -> None:
    engine = Engine(InThisProcess(), tmp_path, 3, size=SIZE)
    facts = all_in_train(data)
    alone = audit_facts(cross_fit(facts, folds=2))
    spread = audit_facts(cross_fit(facts, folds=2, engine=engine).on_engine(engine))
    assert alone.predicate_odds.tobytes() == spread.predicate_odds.tobytes()
    assert alone.direction_odds.tobytes() == spread.direction_odds.tobytes()


def test_a_run_that_was_stopped_goes_on_where_it_was(
    data: Dataset, fitted: Path, tmp_path: Path
) -> None:
    space = Predictor.load(fitted).answerer.main.space
    queries = training_queries(data.train)
    first = InThisProcess(stop=PARTS + 1)
    with pytest.raises(Killed):
        Engine(first, tmp_path, PARTS, size=SIZE).make(space, {"train": queries})
    second = InThisProcess()
    engine = Engine(second, tmp_path, PARTS, size=SIZE)
    engine.make(space, {"train": queries})
    count = -(-len(queries) // SIZE)
    assert [task.kind for task in second.done] == ["part"] * PARTS + ["rows"] * (count - 1)
    rows, cuts = engine.take("train")
    expected = space.counted_rows(queries)
    assert cuts == expected[1]
    assert rows.columns.tobytes() == expected[0].columns.tobytes()
    assert not list(tmp_path.glob("*/job-*"))


def test_a_damaged_piece_is_made_again(data: Dataset, fitted: Path, tmp_path: Path) -> None:
    space = Predictor.load(fitted).answerer.main.space
    queries = training_queries(data.train)
    engine = Engine(InThisProcess(), tmp_path, PARTS, size=SIZE)
    engine.make(space, {"train": queries})
    (piece,) = tmp_path.glob("*/job-*/1.npz")
    piece.write_bytes(piece.read_bytes()[:-500])
    rows, _ = engine.take("train")
    assert rows.columns.tobytes() == space.rows(queries).columns.tobytes()


def test_a_part_that_is_damaged_on_the_way_stops_the_run_and_the_next_run_mends_it(
    data: Dataset, fitted: Path, tmp_path: Path
) -> None:
    space = Predictor.load(fitted).answerer.main.space
    queries = training_queries(data.train)
    engine = Engine(InThisProcess(), tmp_path, PARTS, size=SIZE)
    engine.make(space, {"some": queries.part(slice(0, 10))})
    for path in tmp_path.glob("*/parts-4/*/rows.npy"):
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    open_history.cache_clear()  # as in a worker that opens it only now
    with pytest.raises(ApptekError, match=r"rows\.npy is not as it was written; run the command"):
        engine.make(space, {"train": queries})
    engine = Engine(InThisProcess(), tmp_path, PARTS, size=SIZE)
    engine.make(space, {"train": queries})
    assert engine.take("train")[0].columns.tobytes() == space.rows(queries).columns.tobytes()


# Bad input


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": "9.9"}, "has apptek .*, this machine 9.9: install the same on all"),
        ({"python": "2.7"}, "has Python .*, this machine 2.7: install the same on all"),
        ({"token": "another"}, "does not see .*: give storage= a folder that all workers see"),
        ({"storage": "/nowhere"}, "does not see /nowhere: give storage= a folder"),
    ],
)
def test_a_worker_that_does_not_fit_says_so(
    changes: dict[str, Any], words: str, data: Dataset, fitted: Path, tmp_path: Path
) -> None:
    runner = InThisProcess()
    space = Predictor.load(fitted).answerer.main.space
    Engine(runner, tmp_path, 1).make(space, {"train": training_queries(data.train)})
    task = replace(runner.done[0], setting=replace(runner.done[0].setting, **changes))
    with pytest.raises(ApptekError, match=f"the worker on .* {words}"):
        run_task(task)


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [
        (["--engine", "processes,parts=99999"], "too few for 99,999 parts; give at most", 1),
        (["--engine", "processes,parts=0"], "parts must be a number from 1", 2),
        (["--engine", "processes,address=auto"], "it goes with --engine ray", 1),
        (["--engine", "ray,address=cluster"], "expected HOST:PORT", 1),
        (["--engine", "ray,address=ray://host:1"], "expected HOST:PORT", 1),
        (["--engine", "threads,parts=2"], "after processes or ray", 2),
        (["--engine", "processes,part=2"], "expected parts=VALUE, storage=VALUE", 2),
        (
            ["--engine", f"processes,storage={__file__}"],
            "test_engine.py is a file, not a folder",
            1,
        ),
        (["--engine", f"processes,storage={__file__}/x"], "_engine.py is a file, not a", 1),
        (["--engine", "spark"], "'spark': expected one of threads, processes, ray", 2),
    ],
)
def test_options_that_cannot_be_meant_end_with_one_line(
    words: list[str], message: str, code: int, fitted: Path
) -> None:
    run = apptek("evaluate", str(fitted), *words)
    assert (run.returncode, run.stdout) == (code, "")
    assert message in run.stderr
    assert run.stderr.count("apptek: ") == 1
    assert not list(fitted.parent.glob(".*-engine"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--engine", "threads,parts=2"], "after processes or ray"),
        (["--engine", "processes,address=auto"], "it goes with --engine ray"),
        (["--engine", f"processes,storage={__file__}"], "is a file, not a folder"),
    ],
)
def test_options_are_looked_at_before_the_data(
    words: list[str], message: str, tmp_path: Path
) -> None:
    nowhere, out = str(tmp_path / "nowhere"), str(tmp_path / "out.csv")
    for command in (
        ["fit", nowhere, "--out", out],
        ["evaluate", nowhere],
        ["predict", nowhere, "--queries", nowhere, "--out", out],
        ["audit", nowhere, "--out", out],
    ):
        assert message in apptek(*command, *words).stderr, command
    assert not list(tmp_path.iterdir())


def test_a_storage_is_used_by_one_command_at_a_time(fitted: Path, tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    words = ["evaluate", str(fitted), "--engine", f"processes,storage={storage}"]
    with open_engine("local", storage) as engine:
        (engine.storage / "part").touch()
        run = apptek(*words)
        with pytest.raises(ApptekError, match="another command is using"):
            open_engine("local", storage).__enter__()
        assert (engine.storage / "part").exists()
    assert run.stderr == (
        f"apptek: another command is using the storage {storage}: wait for it, or give another "
        "storage=FOLDER\n"
    )
    with open_engine("local", storage):  # the lock has ended
        pass


DRIVER = """
import sys, time
from pathlib import Path
from apptek.engine import runners

def work(path):
    Path(path).touch()
    time.sleep(600)

if __name__ == "__main__":
    runners.run_task = work
    runner = runners.LocalRunner(2)
    try:
        runner.run(sys.argv[1:], lambda: None)
    except KeyboardInterrupt:
        runner.close()
        print("stopped")
"""


@pytest.mark.slow
@pytest.mark.parametrize("when", ["starting", "working"])
def test_workers_leave_an_interrupt_to_the_driver(when: str, tmp_path: Path) -> None:
    script, tasks = tmp_path / "driver.py", [tmp_path / name for name in "abc"]
    script.write_text(DRIVER, encoding="utf-8")
    driver = subprocess.Popen(
        [sys.executable, str(script), *map(str, tasks)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )

    def is_so() -> bool:
        if when == "working":
            return all(path.exists() for path in tasks[:2])
        workers = Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()
        words = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in workers]
        return sum(b"spawn_main" in each for each in words) == 2

    while not is_so():
        assert driver.poll() is None, driver.communicate()
        time.sleep(0.01)
    time.sleep(0.1 if when == "starting" else 0)
    os.killpg(driver.pid, signal.SIGINT)
    assert driver.communicate(timeout=300) == ("stopped\n", "")


def test_an_address_without_a_cluster_ends_with_one_line(fitted: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    run = apptek("evaluate", str(fitted), "--engine", f"ray,address={address}")
    assert run.stderr == f"apptek: there is no Ray cluster at {address}: Connection refused\n"


def test_without_ray_it_says_what_to_install(fitted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    run = apptek("evaluate", str(fitted), "--engine", "ray")
    assert run.stderr == "apptek: --engine ray needs Ray: pip install 'apptek[ray]'\n"


@pytest.mark.parametrize("preset", ["paper", "max"])
def test_presets_of_one_machine_are_refused(preset: str, tmp_path: Path) -> None:
    write_world(make_world(600, 0), tmp_path / "world")
    words = ["--model", preset, "--engine", "processes"]
    run = apptek("fit", str(tmp_path / "world"), "--out", str(tmp_path / "model"), *words)
    assert run.returncode in (1, 2)
    assert "the models paper and max are refused with --engine" in run.stderr


def test_a_model_with_trees_and_a_baseline_are_refused(fitted: Path, tmp_path: Path) -> None:
    view = Predictor.load(fitted).answerer.main
    trees: Any = "trees"
    with pytest.raises(ApptekError, match="a model paper or max is refused with --engine"):
        Engine(InThisProcess(), tmp_path).view(
            replace(view, fitted=replace(view.fitted, reranker=trees))
        )
    write_world(make_world(600, 0), tmp_path / "world")
    apptek(
        "fit", str(tmp_path / "world"), "--model", "frequency", "--out", str(tmp_path / "counted")
    )
    run = apptek("evaluate", str(tmp_path / "counted"), "--engine", "processes")
    assert run.stderr == "apptek: a baseline stays on one machine: leave out --engine\n"


def test_the_storage_goes_when_all_is_well_unless_it_is_to_stay(tmp_path: Path) -> None:
    for keep in (False, True):
        with open_engine("local", tmp_path / "storage", keep=keep) as engine:
            (engine.storage / "part").touch()
        assert (tmp_path / "storage").exists() == keep


@pytest.mark.parametrize(
    ("error", "stays"), [(ApptekError("full"), True), (Killed(), True), (DataError("bad"), False)]
)
def test_after_an_error_the_storage_stays_if_a_second_run_can_go_on(
    error: BaseException, stays: bool, tmp_path: Path
) -> None:
    def fail() -> None:
        with open_engine("local", tmp_path / "storage") as engine:
            (engine.storage / "part").touch()
            raise error

    with pytest.raises(type(error)):
        fail()
    assert (tmp_path / "storage").exists() == stays


def test_the_time_left_is_told_in_words(
    data: Dataset, fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "TOLD", 0.0)
    told: list[str] = []
    space = Predictor.load(fitted).answerer.main.space
    engine = Engine(InThisProcess(), tmp_path, 2, size=SIZE, tell=told.append)
    engine.make(space, {"train": training_queries(data.train)})
    assert told[0] == "parts: 1 of 2 tasks, less than a minute left"
    assert [time_left(seconds) for seconds in (0.0, 59.9, 60.0, 91.0)] == [
        "less than a minute left",
        "less than a minute left",
        "about 1 min left",
        "about 2 min left",
    ]


def test_one_part_is_told(fitted: Path) -> None:
    run = apptek("evaluate", str(fitted), "--engine", "processes,parts=1", "--json")
    assert run.stderr == "there is one part: every worker opens all facts\n"
    assert run.stdout == apptek("evaluate", str(fitted), "--json").stdout
