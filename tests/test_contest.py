"""A contest of models on one's own data, and how its data is read."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from apptek.cli import app
from apptek.commands.reading_options import Reading
from apptek.errors import ApptekError
from apptek.models.registry import model_settings
from apptek.predictor import Predictor
from apptek.reading.reader import read_dataset
from apptek.research import contest as contests
from apptek.research.contest import run_contest
from apptek.research.result import read_result

QUICK = ("frequency", "pair")


@pytest.fixture(scope="module")
def events(world: Path) -> Path:
    """The same facts in a single file."""
    parts = [(world / f"{split}.tsv").read_text().splitlines() for split in ("train", "test")]
    path = world.parent / "events.tsv"
    path.write_text("\n".join([*parts[0], *parts[1][1:]]) + "\n")
    return path


def run(*words: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["research", "contest", *map(str, words)])
    if isinstance(done.exception, ApptekError):
        return 1, done.stdout, str(done.exception)
    return done.exit_code, done.stdout, done.stderr


def test_the_best_comes_first_and_the_others_are_held_against_it(
    events: Path, tmp_path: Path
) -> None:
    out = tmp_path / "contest"
    code, shown, told = run(events, "--out", out, "--models", "frequency,pair", "--json")
    assert code == 0, told
    first, second = json.loads(shown)["models"]
    assert first["metrics"]["mrr"] > second["metrics"]["mrr"]
    assert first["against_best"] is None
    against = second["against_best"]
    assert against["mean"] == pytest.approx(second["metrics"]["mrr"] - first["metrics"]["mrr"])
    assert against["low"] <= against["mean"] <= against["high"]
    for contestant in (first, second):
        fitted = Predictor.load(Path(contestant["folder"]))
        assert fitted.evaluate("test").metrics.mrr == contestant["metrics"]["mrr"]
        assert read_result(out / "results" / f"{contestant['name']}-seed0.json").split == "test"


def test_several_seeds_are_one_contestant(world: Path, tmp_path: Path) -> None:
    code, shown, told = run(
        world, "--out", tmp_path / "c", "--models", "pair,frequency", "--seeds", 2, "--json"
    )
    assert code == 0, told
    assert len(json.loads(shown)["models"]) == 2
    names = {path.name for path in (tmp_path / "c" / "results").glob("*.json")}
    assert names == {f"{name}-seed{seed}.json" for name in QUICK for seed in (0, 1)}
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "c" / "results").iterdir()}
    words = (world, "--out", tmp_path / "c", "--models", "pair,frequency,profile", "--seeds", 1)
    assert run(*words)[0] == 0  # another one joins, and what was done is not done again
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    assert run(*words[:3], "--models", "pair,pair")[0] == 2  # wrong usage


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--models", "oracle"], "there is no model 'oracle'; known: "),
        (["--read", "split=0.9/0.1/0"], "has no test facts"),
    ],
)
def test_what_cannot_be_held_is_refused(
    events: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    code, _, told = run(events, "--out", tmp_path / "c", "--models", "pair", *words)
    assert code == 1
    assert message in told
    assert not (tmp_path / "c").exists()


def test_a_folder_about_other_data_is_refused(world: Path, events: Path, tmp_path: Path) -> None:
    out = tmp_path / "c"
    assert run(events, "--out", out, "--models", "pair")[0] == 0
    for words in ([world], [events, "--split-by", "time"]):
        code, _, told = run(*words, "--out", out, "--models", "pair")
        assert code == 1
        assert "holds a contest on other data, another split or protocol" in told
    (out / "contest.json").write_text("{")
    assert "contest.json is damaged" in run(events, "--out", out, "--models", "pair")[2]


def test_a_failure_says_so_and_keeps_the_rest(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = read_dataset(world)

    def fail(*_: object) -> None:
        raise ApptekError("out of luck")

    with monkeypatch.context() as patched:
        patched.setattr(contests, "fit_and_evaluate", fail)
        with pytest.raises(
            ApptekError, match="frequency-seed0: out of luck; finished runs are kept"
        ):
            run_contest(data, QUICK, tmp_path / "c", lambda _: None)
    assert len(run_contest(data, QUICK, tmp_path / "c", lambda _: None)) == 2


def test_without_torch_the_others_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    assert contests.usual_models() == contests.USUAL
    monkeypatch.setattr("apptek.extras.find_spec", lambda _: None)
    assert contests.usual_models() == contests.WITHOUT_TORCH
    for name in contests.WITHOUT_TORCH:
        model_settings(name)


# Reading


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, []),
        (
            {"columns": "subject=A b", "skip_bad": True, "read": ["header=no"]},
            ["--columns", "subject=A b", "--skip-bad", "--read", "header=no"],
        ),
        (
            {"split_by": "time", "read": ["header=yes", "split=0.5/0.2/0.3"]},
            ["--split-by", "time", "--read", "header=yes", "--read", "split=0.5/0.2/0.3"],
        ),
    ],
)
def test_options_of_reading_can_be_written_again(given: dict[str, Any], words: list[str]) -> None:
    assert {field.name for field in fields(Reading)} >= set(given)
    assert Reading(**given).words() == words


def test_a_contest_names_how_its_data_was_read(events: Path, tmp_path: Path) -> None:
    out = tmp_path / "c"
    assert run(events, "--out", out, "--models", "pair", "--split-by", "time")[0] == 0
    command = read_result(out / "results" / "pair-seed0.json").command
    assert command is not None
    assert command.split(" && ")[0].endswith("--seed 0 --out pair-seed0 --split-by time")
    data = Predictor.load(out / "models" / "pair-seed0").model.dataset
    assert data.train.since.max() <= data.test.since.min()


def test_a_contest_has_the_protocol_that_is_asked_for(events: Path, tmp_path: Path) -> None:
    words = (events, "--out", tmp_path / "c", "--models", "pair", "--protocol")
    assert run(*words, "paper")[0] == 0
    assert read_result(tmp_path / "c" / "results" / "pair-seed0.json").protocol == "paper"
    assert "another split or protocol" in run(*words, "official")[2]
    assert "events has no protocol forecast" in run(*words, "forecast")[2]
