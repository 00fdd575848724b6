import json
import re
from pathlib import Path

import pytest
from command_line import apptek

from apptek.reading.reader import read_dataset

QUICK = [
    "--set", "agent.tknn=8", "--set", "agent.epochs=0.3", "--set", "classifier.epochs=2",
    "--set", "classifier.l2=[3.0]",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world and a model of it, made by commands."""
    folder = tmp_path_factory.mktemp("commands")
    made = apptek("data", "make-world", str(folder / "world"), "--facts", "2000")
    assert made.returncode == 0, made.stderr
    fitted = apptek(
        "fit", str(folder / "world"), "--out", str(folder / "model"), "--model", "paper", *QUICK
    )
    assert fitted.returncode == 0, fitted.stderr
    assert fitted.stdout == ""
    return folder


def query_of(folder: Path, row: int = 0) -> tuple[str, str, str]:
    """A test fact as a query. They ascend in time: the first ones have no past."""
    data = read_dataset(folder / "world")
    test = data.test
    names = (data.entities[int(test.subjects[row])], data.entities[int(test.objects[row])])
    return (*names, data.axis.format(int(test.times[row])))


# The default preset


@pytest.fixture(scope="module")
def forecast(folder: Path) -> Path:
    """A model of the default preset with types of its own, fitted to forecast."""
    data = read_dataset(folder / "world")
    lines = [f"{name}\t{'even' if len(name) % 2 == 0 else 'odd'}" for name in data.entities]
    (folder / "types.tsv").write_text("\n".join(["entity\tlength", *lines]) + "\n")
    model = folder / "forecast"
    words = ("fit", str(folder / "world"), "--out", str(model), "--past-only")
    fitted = apptek(*words, "--types", str(folder / "types.tsv"))
    assert fitted.returncode == 0, fitted.stderr
    return model


def test_fit_takes_the_default_preset_types_and_the_past_alone(forecast: Path) -> None:
    about = json.loads((forecast / "model.json").read_text())
    assert about["preset"] == "default"
    assert about["settings"]["features"]["past_only"] is True
    assert "history" in about["settings"]["features"]["parts"]
    kind = {"name": "length", "values": ["even", "odd"], "origin": "table"}
    assert about["views"]["past_only"]["kinds"][0] == kind


def test_an_agent_is_trained_and_compared(folder: Path) -> None:
    words = ("paper", "train", str(folder / "world"), "--out", str(folder / "agent"))
    done = apptek(*words, "--set", "agent.epochs=0.2", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert {"train", "valid"} == set(result["metrics"])
    assert 0 <= result["metrics"]["valid"]["agent"] <= 1
    assert (
        json.loads((folder / "agent" / "result.json").read_text())["metrics"] == result["metrics"]
    )
    more = (str(folder / "controls"), "--controls", "--set", "agent.hide_query=false", "--json")
    shown = json.loads(apptek(*words[:-1], *more).stdout)["metrics"]
    assert shown["train"]["random"] > result["metrics"]["train"]["random"]  # it sees its own fact
    assert shown["valid"]["random"] == result["metrics"]["valid"]["random"]


def test_a_model_that_was_not_fitted_to_look_ahead_says_so_beyond_the_last_fact(
    folder: Path,
) -> None:
    said = [
        apptek("predict", str(folder / "model"), *query_of(folder)[:2], day).stderr
        for day in ("2019-06-01", "2022-06-01")
    ]
    assert ["was not fitted for --past-only" in text for text in said] == [False, True]


def test_fit_says_how_good_it_is_and_nothing_of_the_past_without_dates(tmp_path: Path) -> None:
    rows = sorted({f"a{n % 7}\t{'ab'[n % 2]}\tb{n * n % 11}\t" for n in range(200)})
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.tsv").write_text("\n".join(rows[: 9 if split == "valid" else 99]))
    told = apptek("fit", str(tmp_path), "--out", str(tmp_path / "model")).stderr
    assert re.search(r"With all facts: the top prediction was correct for \d of 9 held-out", told)
    assert "Only the past" not in told
