"""The daily run: its project file, its steps, what it stores, and how it scores itself."""

import errno
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import answered, apptek, succeeds
from daily_projects import DailyProject, last_days, world_rows
from database_servers import PostgresServer, execute, insertion
from pyarrow import parquet

from apptek.daily import run as daily_run
from apptek.daily.scores import in_time
from apptek.errors import ApptekError
from apptek.files import sole_writer
from apptek.models.model import observed_text
from apptek.models.model_folder import load_model

ROWS = world_rows()
DAYS = last_days(ROWS, 3)
OUTPUTS = {
    "watch": ["watch.json", "sqlite:///out.db#watch"],
    "alerts": ["alerts.csv", "sqlite:///out.db#alerts"],
}
DATA = '[source]\ndata = "events.csv"\n'


@pytest.fixture(scope="module")
def first_day(tmp_path_factory: pytest.TempPathFactory) -> DailyProject:
    """A project after the run of its first day, which fitted the model. Tests take a copy."""
    project = DailyProject(tmp_path_factory.mktemp("first"))
    project.write_facts(ROWS)
    project.write(OUTPUTS)
    project.succeeds(DAYS[0])
    return project


@pytest.fixture
def project(first_day: DailyProject, tmp_path: Path) -> DailyProject:
    shutil.copytree(first_day.folder, tmp_path / "copy")
    return DailyProject(tmp_path / "copy")


def log_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def table(project: DailyProject, name: str) -> list[tuple[Any, ...]]:
    """The rows of a table that a run wrote, without the time of the run."""
    with closing(sqlite3.connect(project.folder / "out.db")) as connection:
        rows = connection.execute(f"select * from {name}").fetchall()
    return sorted((row[0], *row[2:]) for row in rows)


def brier_of(project: DailyProject, day: str) -> tuple[int, float]:
    """The number of pairs of a stored run with an event, and the Brier score, by definition."""
    stored = parquet.read_table(project.state / f"{day}.parquet")
    about = {key.decode(): value.decode() for key, value in stored.schema.metadata.items()}
    events = {(s, o) for s, _, o, when in ROWS if about["first"] <= when <= about["last"]}
    names = zip(stored["subject"].to_pylist(), stored["object"].to_pylist(), strict=True)
    happened = np.asarray([pair in events for pair in names])
    chances = stored["probability"].to_numpy().astype(np.float64)
    return int(happened.sum()), float(np.mean((chances - happened) ** 2))


def test_three_days_on_postgresql_score_the_forecasts_of_the_first(
    server: PostgresServer, tmp_path: Path
) -> None:
    project = DailyProject(tmp_path)
    execute(
        server.url, "create table events (subject text, predicate text, object text, time date)"
    )
    project.write_facts(ROWS)  # for the pairs
    outputs = {"watch": [f"{server.url}#watched"], "alerts": [f"{server.url}#alerts"]}
    project.write(outputs, f"{server.url}#events")
    before = ""
    for day in DAYS:
        execute(server.url, insertion("events", [row for row in ROWS if before < row[3] <= day]))
        before = day
        done = project.succeeds(day)
        read, *_ = log_of(done.stdout)
        assert read["run"] == day
    score = json.loads((project.state / "score.json").read_text())
    happened, brier = brier_of(project, DAYS[0])
    (run,) = score["runs"]
    assert run["day"] == DAYS[0]
    assert happened > 0
    assert run["happened"] == happened
    assert run["brier"] == pytest.approx(brier)
    assert score["groups"]["all"]["brier"] == pytest.approx(brier)
    query = "select run_date, subject, object, probability from watched order by 1, 2, 3"
    written = execute(server.url, query)
    assert list(dict.fromkeys(row[0] for row in written)) == DAYS
    files = project.contents()
    project.succeeds(DAYS[2])
    assert execute(server.url, query) == written
    assert len({row[:3] for row in written}) == len(written)
    assert project.contents() == files


def test_each_step_logs_a_line_and_a_late_fact_is_added(project: DailyProject) -> None:
    subject, predicate, object_, _ = ROWS[0]
    project.write_facts([*ROWS, (object_, predicate, subject, ROWS[9][3])])
    lines = log_of(project.run(DAYS[1]).stdout)
    assert [line["step"] for line in lines] == ["read", "update", "score", "forecast", "write"]
    assert all(line["run"] == DAYS[1] and line["project"] == "test" for line in lines)
    assert lines[1]["added"] == sum(row[3] == DAYS[1] for row in set(ROWS)) + 1
    assert lines[4]["written"][0] == f"model-forecasts/{DAYS[1]}.parquet"


def test_later_facts_of_the_source_are_not_used(project: DailyProject) -> None:
    """The source has the facts of all days: those after the observed end are of the future."""
    model = load_model(project.folder / "model")
    assert observed_text(model) == DAYS[0]
    assert len(model.graph.facts) == len({row for row in ROWS if row[3] <= DAYS[0]})


def test_an_empty_day_is_a_success_and_moves_the_observed_end(project: DailyProject) -> None:
    project.write_facts(ROWS, until=DAYS[0])
    done = project.succeeds(DAYS[1])
    assert log_of(done.stdout)[1]["added"] == 0
    assert observed_text(load_model(project.folder / "model")) == DAYS[1]
    (project.folder / "events.csv").write_text("subject,predicate,object,time\n")
    project.succeeds(DAYS[2])
    assert observed_text(load_model(project.folder / "model")) == DAYS[2]


def test_facts_of_unknown_predicates_are_counted_by_one_run(project: DailyProject) -> None:
    project.write_facts([*ROWS, ("A", "Unheard of", "B", DAYS[1])])
    for day in DAYS[1:]:
        logged = log_of(project.succeeds(day).stdout)[1]
        assert logged["unknown_predicates"] == 1  # the row is in the source each time
    found = answered("info", str(project.folder / "model"))
    assert found["left_out_since_the_fit"] == 1


def test_a_list_is_compared_with_that_of_the_run_before(project: DailyProject) -> None:
    project.succeeds(DAYS[1])
    rows = json.loads((project.folder / "watch.json").read_text())["rows"]
    assert {row["status"] for row in rows} <= {"new", "up", "down", "same"}
    assert any(row["status"] != "new" for row in rows)
    project.write(OUTPUTS, steps=3)  # lists of another length cannot be compared
    project.succeeds(DAYS[2])
    rows = json.loads((project.folder / "watch.json").read_text())["rows"]
    assert {row["status"] for row in rows} == {""}


def test_a_dry_run_writes_nothing(project: DailyProject) -> None:
    files = project.contents()
    done = project.succeeds(DAYS[2], "--dry-run")
    assert f"test, run of {DAYS[2]}" in done.stdout
    assert "update    model" in done.stdout
    assert project.contents() == files


@pytest.mark.parametrize("line", ['group = "war"', "days = 9000", 'alerts = ["group:war > 5"]'])
def test_a_dry_run_checks_window_filters_and_alerts(project: DailyProject, line: str) -> None:
    text = project.file.read_text(encoding="utf-8")
    text = text.replace("steps = 2\n", "").replace('alerts = ["chance > 0.5"]\n', "")
    project.file.write_text(text.replace("[watch]\n", f"[watch]\n{line}\n"), encoding="utf-8")
    for more in ([], ["--dry-run"]):
        done = project.run(DAYS[2], *more)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert "apptek.toml" in done.stderr


def test_a_run_on_facts_that_ended_long_ago_warns_unless_its_date_is_given(tmp_path: Path) -> None:
    today = datetime.now(UTC).date()
    last = today - timedelta(days=200)  # the longest fitted window is shorter
    shift = last - date.fromisoformat(ROWS[-1][3])
    rows = [(*row[:3], str(date.fromisoformat(row[3]) + shift)) for row in ROWS]
    project = DailyProject(tmp_path)
    project.write()
    project.write_facts(rows)
    done = succeeds("run", str(project.file))
    (_, fitted, *_) = log_of(done.stdout)
    assert fitted["warning"].startswith(f"the last fact is from {last}, ")
    assert f"warning: {fitted['warning']}" in done.stderr.splitlines()
    done = project.succeeds(str(today))
    assert all("warning" not in line for line in log_of(done.stdout))
    assert "warning" not in done.stderr


def test_temporary_files_of_a_killed_run_are_removed(project: DailyProject) -> None:
    left, other = (project.folder / name for name in (".how-good.html-0123abcd", ".how-good.html"))
    left.touch()
    other.touch()
    assert project.run(DAYS[2]).returncode == 0
    assert not left.exists()
    assert other.exists()


def test_alerts_can_set_the_exit_code_and_info_shows_the_score(project: DailyProject) -> None:
    assert project.run(DAYS[1], "--exit-code").returncode == 3
    model = str(project.folder / "model")
    assert "running_score" not in answered("info", model)
    project.succeeds(DAYS[2])
    facts = answered("info", model)
    assert facts["running_score"]["runs"] == 1
    assert facts["running_score"]["until"] == DAYS[2]
    page = (project.folder / "how-good.html").read_text()
    assert page.index("The last 30 days") < page.index("The five largest misses")


def test_a_refit_replaces_the_model_and_keeps_the_stored_forecasts(project: DailyProject) -> None:
    before = (project.state / f"{DAYS[0]}.parquet").read_bytes()
    lines = log_of(project.run(DAYS[2], "--refit").stdout)
    assert lines[1]["step"] == "fit"
    assert lines[2]["runs"] == 1
    assert (project.state / f"{DAYS[0]}.parquet").read_bytes() == before


@pytest.mark.gate
@pytest.mark.parametrize("moment", ["save_model", "staged", "score_runs"])
def test_a_run_that_fails_leaves_model_and_outputs_as_they_were(
    project: DailyProject, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    files, rows = project.contents(), table(project, "watch")

    def fail(*_: Any, **__: Any) -> None:
        raise ApptekError("no luck")

    monkeypatch.setattr(daily_run, moment, fail)
    done = project.run(DAYS[1])
    assert done.returncode == 1
    assert "no luck" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert project.contents() == files
    assert table(project, "watch") == rows


def test_a_full_disk_is_one_line_and_changes_nothing(
    project: DailyProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = project.contents()

    def full(path: Path, _: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    done = project.run(DAYS[1])
    monkeypatch.undo()
    assert done.returncode == 1
    assert "could not be written: No space left on device" in done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["error"] in done.stderr
    assert project.contents() == files


@pytest.mark.gate
@pytest.mark.parametrize("renames", [1, 4, 6])
def test_a_run_stopped_between_two_renames_is_completed_by_the_next(
    project: DailyProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    """A kill at the end leaves some outputs new and some old."""
    reference = DailyProject(tmp_path / "reference")
    shutil.copytree(project.folder, reference.folder)
    reference.succeeds(DAYS[1])
    replace, done = Path.replace, [0]

    def stopped(source: Path, target: Path) -> Path:
        done[0] += 1
        if done[0] >= renames:
            raise KeyboardInterrupt
        return replace(source, target)

    monkeypatch.setattr(Path, "replace", stopped)
    assert project.run(DAYS[1]).returncode != 0
    monkeypatch.undo()
    # Stored forecasts are in place before outputs: what was published will be scored.
    stored, page = (sorted(reference.folder.rglob(name)) for name in ("*.parquet", "*.html"))
    new = [project.folder / path.relative_to(reference.folder) for path in page]
    if any(a.exists() and a.read_bytes() == b.read_bytes() for a, b in zip(new, page, strict=True)):
        assert sorted(p.name for p in project.folder.rglob("*.parquet")) == [p.name for p in stored]
    project.succeeds(DAYS[1])
    assert same_but_for_run_json(project, reference)


def same_but_for_run_json(one: DailyProject, other: DailyProject) -> bool:
    """Whether two projects have the same outputs; run.json has times of day."""
    left, right = one.contents(), other.contents()
    ours = {"model/run.json", "model/manifest.json"}
    assert set(left) == set(right)
    different = {name for name in left if left[name] != right[name]} - ours
    assert not different
    assert table(one, "watch") == table(other, "watch")
    return table(one, "alerts") == table(other, "alerts")


@pytest.mark.slow
def test_a_run_killed_at_ten_random_moments_loses_nothing(
    project: DailyProject, tmp_path: Path
) -> None:
    reference = DailyProject(tmp_path / "reference")
    shutil.copytree(project.folder, reference.folder)
    code = "from apptek.cli import main; main()"

    def start(of: DailyProject) -> subprocess.Popen[bytes]:
        words = ["run", str(of.file), "--observed-until", DAYS[1]]
        command = [sys.executable, "-c", code, *words]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    began = time.perf_counter()
    assert start(reference).wait() == 0
    seconds, killed = time.perf_counter() - began, 0
    rng = random.Random(0)
    while killed < 10:
        with start(project) as process:
            time.sleep(rng.uniform(0, seconds))
            if process.poll() is None:
                killed += 1
            else:  # it was faster than the first one
                seconds *= 0.8
            process.send_signal(signal.SIGKILL)
    project.succeeds(DAYS[1])
    for left in project.folder.glob(".*"):  # of killed writers: the next one does not need them
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    assert same_but_for_run_json(project, reference)


@pytest.fixture
def unfitted(tmp_path: Path) -> DailyProject:
    project = DailyProject(tmp_path)
    project.write_facts(ROWS)
    project.write()
    return project


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ('[source]\ndata = "nowhere.csv"', "nowhere.csv"),
        ('[source]\ndata = "postgresql://u:secret@127.0.0.1:1/db#events"', "127.0.0.1"),
        (f'{DATA}[watch]\nalerts = ["rise"]', "alert 'rise': expected"),
        (f'{DATA}[watch]\npairs = "nowhere.csv"', "nowhere.csv: no such file"),
        (f'{DATA}[outputs]\nwatch = ["nowhere/watch.html"]', "there is no folder nowhere"),
        (f'{DATA}[outputs]\nalerts = ["alerts.html"]', "unknown kind of file"),
        (f'{DATA}[model]\nfolder = "."', "already exists"),
        (DATA, "but the last fact is from 2021-12-30: give --observed-until"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_one_line_before_the_fit(
    unfitted: DailyProject, section: str, said: str
) -> None:
    unfitted.file.write_text(f'name = "x"\n{section}\n')
    unfitted.write_facts(ROWS[-300:])  # so that they end long ago, for how long they last
    done = apptek("run", str(unfitted.file))
    is_of_file = any(name in section for name in ("[watch]", "[outputs]", "[model]"))
    assert done.returncode == (2 if is_of_file else 1)  # else the source is at fault
    assert said in done.stderr
    assert "secret" not in done.stderr + done.stdout
    assert len(done.stderr.splitlines()) == 1
    assert not (unfitted.folder / "model").exists()


@pytest.mark.parametrize(
    ("day", "said"),
    [
        ("?", "--observed-until ?: expected"),
        (ROWS[-100][3], f"but the model's data runs through {DAYS[0]}: a run cannot go back"),
    ],
)
def test_a_day_that_cannot_be_next_is_refused(project: DailyProject, day: str, said: str) -> None:
    files = project.contents()
    done = project.run(day)
    assert done.returncode == 1
    assert said in done.stderr
    assert project.contents() == files


def test_a_first_day_before_all_facts_is_refused(unfitted: DailyProject) -> None:
    assert "the run is for 1999-01-01, but all facts are later" in unfitted.run("1999-01-01").stderr


def test_a_model_of_another_project_is_refused(project: DailyProject, default_model: Path) -> None:
    text = project.file.read_text().replace('name = "test"', 'name = "other"')
    project.file.write_text(text)
    assert "model belongs to the project 'test', not 'other'" in project.run(DAYS[1]).stderr
    shutil.rmtree(project.folder / "model")
    shutil.copytree(default_model, project.folder / "model")
    assert "model was not created by `apptek run`" in project.run(DAYS[1]).stderr


def test_two_runs_at_once_are_refused(project: DailyProject) -> None:
    with sole_writer(project.state):
        done = project.run(DAYS[1])
    assert done.returncode == 1
    assert "is being changed by another process" in done.stderr
    assert done.stdout == ""


def test_a_damaged_stored_forecast_is_named(project: DailyProject) -> None:
    (project.state / f"{DAYS[0]}.parquet").write_bytes(b"nothing")
    done = project.run(DAYS[1])
    assert done.returncode == 1
    assert f"{DAYS[0]}.parquet is not a stored forecast" in done.stderr


def test_numbers_of_steps_are_in_order_of_time() -> None:
    assert sorted(["10", "9", "100"], key=in_time) == ["9", "10", "100"]
    assert sorted(["2014-12-01", "2014-02-11"], key=in_time) == ["2014-02-11", "2014-12-01"]


def test_a_damaged_score_is_computed_again(project: DailyProject) -> None:
    project.succeeds(DAYS[1])
    (project.state / "score.json").write_text("{}")
    project.succeeds(DAYS[2])
    assert json.loads((project.state / "score.json").read_text())["scored"] == 1
