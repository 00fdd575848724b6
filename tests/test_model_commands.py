import json
import re
from pathlib import Path

from command_line import apptek, succeeds
from fact_files import write

from apptek.reading.reader import read_dataset
from apptek.server.served_model import ServedModel


def test_fit_takes_the_default_preset_types_and_the_past_alone(world: Path, tmp_path: Path) -> None:
    names, model = read_dataset(world).entities, tmp_path / "model"
    lines = [f"{name}\t{'even' if len(name) % 2 == 0 else 'odd'}" for name in names]
    types = write(tmp_path / "types.tsv", "\n".join(["entity\tlength", *lines]))
    succeeds("fit", str(world), "--out", str(model), "--past-only", "--types", str(types))
    about = json.loads((model / "model.json").read_text())
    assert about["preset"] == "default"
    assert about["settings"]["features"]["past_only"] is True
    assert "history" in about["settings"]["features"]["parts"]
    kind = {"name": "length", "values": ["even", "odd"], "origin": "table"}
    assert about["views"]["past_only"]["kinds"][0] == kind


def test_an_agent_is_trained_and_compared(world: Path, tmp_path: Path) -> None:
    words = ("paper", "train", str(world), "--set", "agent.epochs=0.2", "--json", "--out")
    done = succeeds(*words, str(tmp_path / "agent"))
    metrics = json.loads(done.stdout)["metrics"]
    assert {"train", "valid"} == set(metrics)
    assert 0 <= metrics["valid"]["agent"] <= 1
    assert json.loads((tmp_path / "agent" / "result.json").read_text())["metrics"] == metrics
    more = (str(tmp_path / "shown"), "--set", "agent.hide_query=false")
    shown = json.loads(succeeds(*words, *more).stdout)["metrics"]
    assert shown["train"]["random"] > metrics["train"]["random"]  # it sees its own fact
    assert shown["valid"]["random"] == metrics["valid"]["random"]


def test_a_model_that_was_not_fitted_to_look_ahead_says_so_beyond_the_last_fact(
    served: ServedModel, served_model: Path
) -> None:
    pair = (served.sample.subject, served.sample.object)
    said = [
        apptek("predict", str(served_model), *pair, day).stderr
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
