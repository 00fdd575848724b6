import json
import re
from importlib.util import find_spec
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from command_line import apptek

from apptek.predictor import Predictor, Query
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


def test_evaluate_prints_what_scripts_rely_on(folder: Path) -> None:
    done = apptek("evaluate", str(folder / "model"), "--json", "--result", str(folder / "r.json"))
    assert done.returncode == 0, done.stderr
    assert "next:" not in done.stderr
    metrics = json.loads(done.stdout)
    keys = {"dataset", "split", "protocol", "queries", "mrr", "hits_at_1", "hits_at_3", "ece"}
    assert keys | {"hits_at_10"} <= set(metrics)
    for group in (
        "seen_pair", "unseen_pair", "unseen_entity", "mirrored", "not_mirrored", "dated", "undated",
    ):  # fmt: skip
        assert metrics[group] is None or metrics[group]["queries"] > 0
    result = json.loads((folder / "r.json").read_text())
    assert result["metrics"]["mrr"] == metrics["mrr"]
    assert result["model"] == "apptek_paper"
    assert " fit " in result["command"]
    assert " && " in result["command"]
    assert {"settings", "seconds", "machine", "commit", "format", "seed"} <= set(result)


def test_predict_and_explain_answer_the_same(folder: Path) -> None:
    query = query_of(folder)
    done = apptek("predict", str(folder / "model"), *query, "--top", "3", "--json")
    answer = json.loads(done.stdout)
    assert len(answer["predicates"]) == 3
    why = apptek(
        "explain", str(folder / "model"), *query, "--json", "--html", str(folder / "w.html")
    )
    assert why.returncode == 0, why.stderr
    explanation = json.loads(why.stdout)
    assert explanation["predicate"] == answer["predicates"][0]
    assert "<svg" in (folder / "w.html").read_text() or not explanation["reasons"]
    text = apptek("explain", str(folder / "model"), *query, COLUMNS="50")
    assert explanation["paragraph"] in " ".join(text.stdout.split())


def test_a_misspelt_name_is_refused_with_names_that_may_be_meant(folder: Path) -> None:
    subject, object_, time = query_of(folder)
    for command in ("predict", "explain"):
        words = (command, str(folder / "model"), f"{subject}q", object_, time)
        refused = apptek(*words, "--top", "1")
        assert (refused.returncode, refused.stdout) == (1, "")
        said = f"apptek: '{subject}q' is not in this data. Did you mean "
        assert refused.stderr.startswith(said)
        assert refused.stderr.count("\n") == 1
        assert repr(subject) in refused.stderr
        done = apptek(*words, "--top", "1", "--allow-unknown", COLUMNS="200")
        assert done.returncode == 0, done.stderr
        first = f"General answer: {subject}q is not in the facts of the model."
        assert done.stdout.splitlines()[0] == first
        (similar,) = [line for line in done.stdout.splitlines() if line.startswith("Similar to")]
        assert similar.startswith(f"Similar to {subject}q: ")
        assert subject in similar.split(": ")[1]
        right = apptek(command, str(folder / "model"), subject, object_, time)
        assert "Similar" not in right.stdout


def test_predict_says_what_the_training_facts_hold(folder: Path) -> None:
    data = read_dataset(folder / "world")
    subject, predicate, object_, time = data.describe(data.train, 5).split(" | ")[:4]
    answer = json.loads(
        apptek("predict", str(folder / "model"), subject, object_, time, "--json").stdout
    )
    assert predicate in answer["known"]


def test_a_file_of_queries_is_answered(folder: Path) -> None:
    (folder / "asked.csv").write_text("subject,object,time\na,b,2019-05-05\nc,d,nonsense\n")
    words = ("predict", str(folder / "model"), "--queries", str(folder / "asked.csv"))
    refused = apptek(*words, "--out", str(folder / "answers.csv"))
    assert refused.returncode == 1
    assert "asked.csv:3: time 'nonsense'" in refused.stderr
    assert not (folder / "answers.csv").exists()
    done = apptek(*words, "--out", str(folder / "answers.csv"), "--skip-bad", "--top", "1")
    assert done.returncode == 0, done.stderr
    assert "1 query answered, 1 skipped" in done.stderr
    assert len((folder / "answers.csv").read_text().splitlines()) == 2


def test_topologies_are_listed(folder: Path) -> None:
    by_predicate = json.loads(
        apptek("paper", "topologies", str(folder / "model"), "--json", "--top", "2").stdout
    )
    assert by_predicate
    assert all(len(learned["mined"]) <= 2 for learned in by_predicate.values())
    assert all(len(learned["strongest"]) <= 2 for learned in by_predicate.values())
    name, first = next(
        (name, learned["mined"][0]) for name, learned in by_predicate.items() if learned["mined"]
    )
    assert 0 < first["share"] <= 1
    assert first["connected"] >= len(first["examples"]) > 0
    assert any(feature["weight"] > 0 for feature in by_predicate[name]["strongest"])


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


def cited(done: CompletedProcess[str]) -> list[int]:
    """The distances of the dated facts that are cited, below 0 before the query."""
    assert done.returncode == 0, done.stderr
    return [
        fact["distance"]
        for side in ("reasons", "against")
        for reason in json.loads(done.stdout)[side]
        for fact in reason["facts"]
        if fact["distance"] is not None
    ]


def test_a_forecast_is_explained_by_the_past(folder: Path, forecast: Path) -> None:
    query = query_of(folder, row=100)
    done = apptek("explain", str(forecast), *query, "--top", "99", "--json")
    assert cited(done)
    assert all(distance < 0 for distance in cited(done))
    sentences = [part["sentence"] for part in json.loads(done.stdout)["further"]]
    assert any(" has the length '" in sentence for sentence in sentences)


def test_as_of_then_any_model_answers_from_the_past(folder: Path) -> None:
    model, query = folder / "default", query_of(folder, row=100)
    fitted = Predictor.fit(read_dataset(folder / "world"), folder=model)
    past = Predictor.load(model, past_only=True)
    explained = apptek("explain", str(model), *query, "--top", "99", "--json", "--past-only")
    assert cited(explained)
    assert all(distance < 0 for distance in cited(explained))
    facts = [
        fact
        for reason in fitted.explain(Query(*query), most=99).all_reasons()
        for fact in reason.facts
    ]
    assert any(fact.distance is not None and fact.distance >= 0 for fact in facts)
    answer = json.loads(apptek("predict", str(model), *query, "--json", "--past-only").stdout)
    expected, other = (
        predictor.predict([Query(*query)])[0].probabilities for predictor in (past, fitted)
    )
    assert answer["probabilities"] == pytest.approx(expected)
    assert answer["probabilities"] != pytest.approx(other)
    evaluated = json.loads(apptek("evaluate", str(model), "--json").stdout)
    assert evaluated["view"] == "all_facts"
    assert evaluated["mrr"] == evaluated["all_facts"]["mrr"] == fitted.evaluate("test").metrics.mrr
    assert evaluated["past_only"]["mrr"] == past.evaluate("test").metrics.mrr < evaluated["mrr"]
    ahead = json.loads(apptek("evaluate", str(model), "--json", "--past-only").stdout)
    assert (ahead["view"], ahead["all_facts"]) == ("past_only", None)
    assert ahead["mrr"] == evaluated["past_only"]["mrr"]


def test_topologies_of_a_default_model_are_its_histories(forecast: Path) -> None:
    done = apptek("paper", "topologies", str(forecast), "--json", "--top", "2")
    assert done.returncode == 0, done.stderr
    by_predicate = json.loads(done.stdout)
    assert all(learned["mined"] == [] for learned in by_predicate.values())
    features = [feature for learned in by_predicate.values() for feature in learned["strongest"]]
    assert features
    assert {feature["part"] for feature in features} == {"history"}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("no-header.csv", "", "no-header.csv: expected a header"),
        ("ragged.csv", "entity,a\nx,1,2\n", "ragged.csv:2: found 3 cells, expected 2"),
        ("types.json", "{}", "types.json: expected a .csv, .tsv, .txt or .parquet file"),
        ("nowhere.csv", None, "nowhere.csv cannot be read"),
    ],
)
def test_a_bad_table_of_types_is_refused_in_one_line(
    folder: Path, tmp_path: Path, name: str, content: str | None, said: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    words = ("fit", str(folder / "world"), "--out", str(tmp_path / "model"))
    done = apptek(*words, "--types", str(tmp_path / name))
    assert done.returncode == 1
    assert said in " ".join(done.stderr.split())
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "model").exists()


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
    again = apptek(*words)
    assert again.returncode == 1
    assert "holds a trained agent already" in again.stderr


def test_the_controls_connect_more_where_a_query_sees_its_own_fact(folder: Path) -> None:
    rewards = {}
    for hides in ("true", "false"):
        words = (
            "paper",
            "train",
            str(folder / "world"),
            "--out",
            str(folder / f"controls-{hides}"),
        )
        done = apptek(*words, "--controls", "--set", f"agent.hide_query={hides}", "--json")
        assert done.returncode == 0, done.stderr
        rewards[hides] = json.loads(done.stdout)["metrics"]
    assert rewards["false"]["train"]["random"] > rewards["true"]["train"]["random"]
    assert rewards["false"]["valid"] == rewards["true"]["valid"]


@pytest.mark.skipif(find_spec("tensorboard") is not None, reason="TensorBoard is installed")
def test_tensorboard_is_asked_for_where_it_is_missing(folder: Path) -> None:
    words = ("paper", "train", str(folder / "world"), "--out", str(folder / "watched"))
    done = apptek(*words, "--tensorboard", str(folder / "board"))
    assert done.returncode == 1
    assert "pip install 'apptek[tensorboard]'" in done.stderr
    assert not (folder / "watched").exists()


def test_a_model_that_was_not_fitted_to_look_ahead_says_so_beyond_the_last_fact(
    folder: Path,
) -> None:
    said = [
        apptek("predict", str(folder / "model"), *query_of(folder)[:2], day).stderr
        for day in ("2019-06-01", "2022-06-01")
    ]
    assert ["was not fitted on the past alone" in text for text in said] == [False, True]


def test_fit_says_how_good_it_is_and_nothing_of_the_past_without_dates(tmp_path: Path) -> None:
    rows = sorted({f"a{n % 7}\t{'ab'[n % 2]}\tb{n * n % 11}\t" for n in range(200)})
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.tsv").write_text("\n".join(rows[: 9 if split == "valid" else 99]))
    told = apptek("fit", str(tmp_path), "--out", str(tmp_path / "model")).stderr
    assert re.search(r"With all facts: the top prediction was correct for \d of 9 held-out", told)
    assert "Only the past" not in told
