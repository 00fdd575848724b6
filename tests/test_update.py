"""Facts added to a fitted model: what it answers, and what stays as it was."""

import json
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from command_line import refusal, succeeds
from fact_files import write
from fitted_models import SharedModel

from apptek import Predictor, Query
from apptek.errors import ApptekError
from apptek.facts.facts import Dataset, Names
from apptek.facts.queries import held_out_queries
from apptek.files import sole_writer
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.manifest import model_digest
from apptek.models.model_folder import load_model
from apptek.models.updating import update_model
from apptek.reading.reader import read_dataset

MODEL = "by_time"


@pytest.fixture(scope="module")
def folder(shared_model: SharedModel) -> Path:
    return shared_model(MODEL)


def read(folder: Path, *lines: str) -> Dataset:
    """The facts of a file with these lines: subject, predicate, object, time."""
    return read_dataset(write(folder / "facts.tsv", "\n".join(lines) + "\n"))


def only(data: Dataset, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Dataset:
    """A data set of some of the facts of test."""
    nothing = data.test.take(np.arange(0))
    return replace(data, train=data.test.take(mask), valid=nothing, test=nothing)


def test_the_answers_are_those_of_a_graph_built_at_once(
    data: Dataset, predictor: Predictor
) -> None:
    added = replace(data, train=data.valid, valid=data.test)
    updated, report = predictor.update(replace(added, test=data.test.take(np.arange(0))))
    assert (report.added, report.known) == (len(data.valid) + len(data.test), 0)
    assert (report.new_entities, report.unknown_predicates) == (0, {})
    model = predictor.model
    at_once = Predictor(
        replace(model, graph=TemporalGraph.of(replace(data, train=data.all_facts())))
    )
    queries = held_out_queries(data.test.take(np.arange(200)))
    for view in ("all_facts", "past_only"):
        ours, theirs = (p.answerer.view_in_use(view) for p in (updated, at_once))
        assert np.array_equal(ours.scores(queries), theirs.scores(queries))


def test_updating_day_by_day_is_rolling(data: Dataset, predictor: Predictor) -> None:
    rolled = predictor._evaluated_view("test", None, rolling=True)
    nothing = data.valid.take(np.arange(0))
    updated, _ = predictor.update(replace(data, train=data.valid, valid=nothing, test=nothing))
    days = np.unique(data.test.times[data.test.dated])[:6]
    for day in days:
        today = data.test.times == day
        queries = held_out_queries(data.test.take(today))
        assert np.array_equal(
            updated.answerer.view_in_use("past_only").scores(queries), rolled.scores(queries)
        )
        updated, report = updated.update(only(data, today))
        assert report.added == today.sum()


def test_a_new_fact_of_yesterday_is_cited_today(
    data: Dataset, predictor: Predictor, tmp_path: Path
) -> None:
    last = int(data.axis.positions(data.all_facts().times).max())
    yesterday, today = (data.axis.format(last + days) for days in (50, 51))
    names, predicate = (data.entities[3], data.entities[9]), data.predicates[0]
    new = read(tmp_path, "\t".join([names[0], predicate, names[1], yesterday]))
    updated, _ = predictor.update(new)
    updated.save(tmp_path / "updated")
    loaded = Predictor.load(tmp_path / "updated")
    for rolling in (False, True):  # the metrics are still those of the fit
        expected = predictor.evaluate("test", rolling=rolling).ranks
        assert np.array_equal(loaded.evaluate("test", rolling=rolling).ranks, expected)
    explanation = loaded.explain(Query(*names, today), most=99)
    assert explanation.view == "past_only"
    assert yesterday in {fact.date for reason in explanation.all_reasons() for fact in reason.facts}
    past = Predictor.load(tmp_path / "updated", past_only=True)
    before = past.explain(Query(*names, yesterday), most=99)
    assert yesterday not in {fact.date for reason in before.all_reasons() for fact in reason.facts}


def test_entities_may_be_new_and_predicates_may_not(
    data: Dataset, predictor: Predictor, tmp_path: Path
) -> None:
    known, predicate, day = data.entities[0], data.predicates[1], "2030-01-01"
    new = read(
        tmp_path,
        f"Somebody New\t{predicate}\t{known}\t{day}",
        f"Somebody New\tSing for\t{known}\t{day}",
        f"Aaron Newer\t{predicate}\tSomebody New\t{day}",
        f"Aaron Newer\t{predicate}\tSomebody New\t2030-01-02",
    )
    updated, report = predictor.update(new)
    assert (report.added, report.new_entities) == (3, 2)
    assert report.unknown_predicates == {"Sing for": 1}
    names = updated.model.dataset.entities
    assert [names[i] for i in range(len(data.entities))] == list(data.entities)
    assert names.find("Aaron Newer") is not None
    assert names.find("Nobody") is None
    (answer,) = updated.predict([Query("Aaron Newer", "Somebody New", "2030-01-03")])
    assert not answer.unseen_subject
    assert "Sing for" not in answer.predicates
    again, second = updated.update(new)
    assert (second.added, second.known, second.new_entities) == (0, 3, 0)
    assert len(again.model.updates) == 2


def test_many_names_are_found_before_and_after_new_ones() -> None:
    many = [f"name {number:07d}" for number in range(100_050)]
    names = Names(pa.array(many, pa.string())).extended(["zoe", "abel"])
    places = {"name 0000000": 0, "name 0100049": 100_049, "zoe": 100_050, "abel": 100_051}
    assert {name: names.find(name) for name in (*places, "nobody")} == {**places, "nobody": None}


def test_an_undated_fact_may_come_to_a_model_of_dated_ones() -> None:
    facts = [(f"e{n % 5}", f"p{n % 3}", f"e{n % 4}", 2001 + n % 9) for n in range(90)]
    fitted = Predictor.fit(read_dataset(facts))
    updated, report = fitted.update([("e1", "p1", "e4", None)])
    assert report.added == 1
    (answer,) = updated.predict(("e1", "e4", None))
    assert "p1" in answer.known
    again, _ = updated.update(retract=[("e1", "p1", "e4", None)])
    assert again.predict(("e1", "e4", 2003)) == fitted.predict(("e1", "e4", 2003))


def test_facts_that_are_taken_out_are_seen_no_more(
    folder: Path, data: Dataset, predictor: Predictor, tmp_path: Path
) -> None:
    rows = np.flatnonzero(data.train.dated & (data.train.since == data.train.until))[:3]
    lines = [data.describe(data.train, int(row)).replace(" | ", "\t") for row in rows]
    wrong = "\t".join([data.entities[0], data.predicates[0], data.entities[1], "1999-09-09"])
    read(tmp_path, *lines, wrong)
    shutil.copytree(folder, tmp_path / "model")
    words = ("update", str(tmp_path / "model"), "--in-place", "--retract")
    done = succeeds(*words, str(tmp_path / "facts.tsv"))
    assert "facts removed: 3; not found: 1" in done.stderr
    updated = Predictor.load(tmp_path / "model")
    assert len(updated.model.graph.facts) == len(data.train) - 3
    assert updated.model.dataset.train.digest() == data.train.digest()
    expected = predictor.evaluate("test").ranks
    assert np.array_equal(updated.evaluate("test").ranks, expected)
    subject, predicate, object_, time = lines[0].split("\t")
    (answer,) = updated.predict([Query(subject, object_, time)])
    assert predicate in predictor.predict([Query(subject, object_, time)])[0].known
    assert predicate not in answer.known
    again, report = updated.update(read(tmp_path, *lines))
    assert report.added == 3
    assert len(again.model.graph.facts) == len(data.train)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["facts.tsv", "model"]


def test_two_updates_in_place_do_not_lose_each_others_facts(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(folder, model)
    before = sorted(path.name for path in model.iterdir())
    with sole_writer(model):
        said = refusal("update", str(model), str(folder / "nothing.tsv"), "--in-place")
    assert said == f"apptek: {model} is being changed by another process: try again later\n"
    assert sorted(path.name for path in model.iterdir()) == before
    with sole_writer(model):  # the lock of the first has ended
        pass


def test_what_cannot_be_updated_stays_as_it_was(
    folder: Path, data: Dataset, tmp_path: Path
) -> None:
    facts = tmp_path / "facts.tsv"
    facts.write_text("A\tvisits\tB\t5\n")
    damaged, baseline = tmp_path / "damaged", tmp_path / "baseline"
    shutil.copytree(folder, damaged)
    weights = damaged / "arrays.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    Predictor.fit(data, model="frequency", folder=baseline)
    for model, said in (
        (damaged, "damaged"),
        (baseline, "is the baseline frequency"),
        (tmp_path / "no", ""),
    ):
        before = {path: path.read_bytes() for path in model.rglob("*") if path.is_file()}
        told = refusal("update", str(model), str(facts), "--in-place")
        assert told.count("\n") == 1
        assert said in told
        assert {path: path.read_bytes() for path in model.rglob("*") if path.is_file()} == before
    assert not list(tmp_path.glob(".*"))


def test_an_updated_predictor_answers_as_the_old_one_was_asked_to(
    folder: Path, tmp_path: Path
) -> None:
    new = read(tmp_path, "A\tvisits\tB\t2030-01-01")
    kept, _ = Predictor.load(folder, past_only=True).update(new)
    assert kept.answerer.past_only
    (answer,) = kept.predict([Query("Somebody", "Else", "1990-01-01")])
    assert answer.view == "past_only"


def test_a_link_stays_a_link_and_the_runs_are_remembered(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "model")
    (tmp_path / "link").symlink_to("model")
    read(tmp_path, "A\tvisits\tB\t2030-01-01")
    fitted = json.loads((tmp_path / "model" / "run.json").read_text())
    for _ in range(2):
        succeeds("update", str(tmp_path / "link"), str(tmp_path / "facts.tsv"), "--in-place")
    assert (tmp_path / "link").is_symlink()
    run = json.loads((tmp_path / "model" / "run.json").read_text())
    assert run["seconds"] == fitted["seconds"]
    assert len(run["updates"]) == 2
    assert all(update["finished"].startswith("20") for update in run["updates"])


def test_what_a_killed_writer_left_is_removed_by_the_next(folder: Path, tmp_path: Path) -> None:
    model, debris = tmp_path / "model", tmp_path / ".model.new"
    (debris / "trees").mkdir(parents=True)
    (debris / "file").write_text("x")
    predictor = Predictor.load(folder)
    with sole_writer(debris), pytest.raises(ApptekError, match="by another process: try again"):
        predictor.save(model)
    assert (debris / "file").exists()  # its writer still writes
    predictor.save(model)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert model_digest(model) == model_digest(folder)


@pytest.mark.slow
def test_an_update_that_is_killed_leaves_the_old_model_or_the_new(
    folder: Path, data: Dataset, tmp_path: Path
) -> None:
    model, facts = tmp_path / "model", tmp_path / "facts.tsv"
    shutil.copytree(folder, model)
    rows = np.flatnonzero(data.test.dated & (data.test.since == data.test.until)).tolist()
    new = read(tmp_path, *(data.describe(data.test, row).replace(" | ", "\t") for row in rows))
    old = load_model(model)
    counts = {len(old.graph.facts), len(update_model(old, new)[0].graph.facts)}
    words = [sys.executable, "-c", "from apptek.cli import main; main()", "update"]
    for tenths in range(0, 20, 4):
        process = subprocess.Popen([*words, str(model), str(facts), "--in-place"])
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.5 + tenths / 10)
        process.kill()
        process.wait()
        assert len(load_model(model).graph.facts) in counts
