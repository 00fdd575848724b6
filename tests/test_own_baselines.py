"""A model of one's own takes part in baseline, evaluate, predict, contest and search."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from apptek import Evaluator, Predictor, read_dataset, register_baseline
from apptek.arrays import Matrix
from apptek.cli import app
from apptek.config import VIEWS, View, no_progress
from apptek.errors import ApptekError, ConfigError, ModelError
from apptek.facts.facts import Dataset
from apptek.facts.queries import Queries
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models import registry
from apptek.models.registry import baseline_names, find_baseline, preset_of
from apptek.models.scorers import FitTask, SavedScorer, own_baseline
from apptek.research.result import read_result
from apptek.research.search import Search, run_trials


class Smoothed:
    """How often each predicate leaves the subject, smoothed by its frequency."""

    def __init__(self, counts: Matrix, smoothing: float) -> None:
        self.counts, self.smoothing = counts, smoothing

    def scores(self, queries: Queries) -> Matrix:
        base = self.counts.sum(axis=0) / self.counts.sum()
        scores: Matrix = np.log(self.counts[queries.subjects] + self.smoothing * base + 1e-9)
        return scores

    def save(self, folder: Path, view: View) -> None:
        np.save(folder / f"counts-{view}.npy", self.counts)

    def with_facts(self, graph: TemporalGraph) -> "Smoothed":
        return Smoothed(counts_of(graph), self.smoothing)


def counts_of(graph: TemporalGraph) -> Matrix:
    counts = np.zeros((graph.entity_count, graph.predicate_count))
    np.add.at(counts, (graph.facts.subjects, graph.facts.predicates), 1)
    return counts


def fit(task: FitTask) -> Smoothed:
    return Smoothed(counts_of(task.graph), task.config.model.smoothing)


def load(saved: SavedScorer) -> Smoothed:
    counts = np.load(saved.folder / f"counts-{saved.view}.npy")
    return Smoothed(counts, saved.config.model.smoothing)


OWN: dict[str, Any] = {
    "settings": {"model": {"smoothing": 1.0, "kind": "plain"}},
    "space": {"model.smoothing": (0.1, 1.0, 10.0), "model.kind": ("plain", "other")},
}


@pytest.fixture(autouse=True)
def nothing_stays_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", {})


@pytest.fixture
def data(world: Path) -> Dataset:
    return read_dataset(str(world))


def run(*words: Any) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_function_is_enough(data: Dataset, tmp_path: Path) -> None:
    def constant(task: FitTask) -> Any:
        scores = np.bincount(task.dataset.train.predicates, minlength=len(task.dataset.predicates))
        return lambda queries: np.tile(scores, (len(queries), 1))

    register_baseline("constant", constant)
    fitted = Predictor.fit(data, model="constant", folder=tmp_path / "model")
    frequency = Predictor.fit(data, model="frequency")
    assert fitted.evaluate().metrics.mrr == frequency.evaluate().metrics.mrr
    assert fitted.model.main.report["valid_mrr"] == frequency.model.main.report["valid_mrr"]
    opened = Predictor.load(tmp_path / "model")  # nothing was saved: it is fitted again
    assert np.array_equal(opened.evaluate().ranks, fitted.evaluate().ranks)
    assert Evaluator(data).evaluate(opened).metrics == fitted.evaluate().metrics
    registry._REGISTERED.clear()
    with pytest.raises(ModelError, match="has the baseline 'constant', which is not known here"):
        Predictor.load(tmp_path / "model")


def test_it_takes_part_in_every_command(world: Path, tmp_path: Path) -> None:
    register_baseline("smoothed", fit, load=load, views=VIEWS, **OWN)
    assert baseline_names()[-1] == "smoothed"
    model, result = tmp_path / "model", tmp_path / "smoothed.json"
    run("fit", world, "--model", "smoothed", "--out", model, "--set", "model.smoothing=3.0")
    shown = json.loads(run("evaluate", model, "--result", result, "--json"))
    assert shown["all_facts"]["mrr"] > 0
    assert shown["past_only"]["mrr"] > 0
    assert read_result(result).changed == {"model.smoothing": 3.0}
    opened = Predictor.load(model)
    assert opened.evaluate("test").metrics.mrr == shown["all_facts"]["mrr"]
    assert opened.evaluate("test", rolling=True).metrics.mrr > 0
    assert "%" in run(
        "predict", model, "nobody", "no one", "2019-01-01", "--top", 1, "--allow-unknown"
    )
    words = ("--models", "smoothed,frequency", "--out", tmp_path / "contest", "--json")
    assert "smoothed" in run("research", "contest", world, *words)
    found = run("research", "search", "smoothed", world, "--minutes", 0.0001)
    assert shlex.split(found)[:5] == ["apptek", "fit", str(world), "--model", "smoothed"]


def test_an_entry_point_of_a_package_adds_one(
    tmp_path: Path, data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "theirs-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[apptek.baselines]\ntheirs = theirs:fit\nbroken = theirs:nothing\n"
    )
    (tmp_path / "theirs.py").write_text(
        "import numpy as np\n"
        "def fit(task):\n"
        "    return lambda queries: np.zeros((len(queries), len(task.dataset.predicates)))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert set(baseline_names()) >= {"theirs", "broken"}
    middle = (len(data.predicates) + 1) / 2
    ranks = Predictor.fit(data, model="theirs").evaluate().ranks
    assert ranks.max() == middle
    with pytest.raises(ApptekError, match="the baseline 'broken' of theirs:nothing fails"):
        find_baseline("broken")
    sys.modules.pop("theirs")


@pytest.mark.parametrize("name", ["default", "recency", "two words", "", "1"])
def test_a_name_that_is_taken_or_none_is_refused(name: str) -> None:
    with pytest.raises(ApptekError, match=r"already|may contain only letters"):
        register_baseline(name, fit)


def test_what_is_no_baseline_is_refused(data: Dataset) -> None:
    with pytest.raises(ApptekError, match="expected a function of a FitTask"):
        register_baseline("mine", 5)
    register_baseline("mine", lambda _: 5)
    with pytest.raises(ApptekError, match="must return a function of queries"):
        Predictor.fit(data, model="mine")
    register_baseline("mine", own_baseline(lambda _: lambda q: np.zeros((len(q), 1))))
    with pytest.raises(ApptekError, match=r"the scorer returned shape \(\d+, 1\)"):
        Predictor.fit(data, model="mine")
    with pytest.raises(ApptekError, match=r"there is no model 'yours'; known: default, .*mine"):
        find_baseline("yours")
    with pytest.raises(ConfigError, match="mine has nothing to search for"):
        run("research", "search", "mine", "icews14")


@pytest.mark.parametrize("views", [("past_only",), ("all_facts",)])
def test_a_search_shows_each_view_what_it_may_see(
    world: Path, views: tuple[View, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    saw: list[bool] = []

    def watched(task: FitTask) -> Smoothed:
        saw.append(task.graph.past_only)
        return fit(task)

    register_baseline("own", watched, load=load, views=views, **OWN)
    dataset = read_dataset(str(world))
    search = Search(baseline="own", config=preset_of("own", "default"), minutes=1e-9)
    assert len(list(run_trials(search, dataset, no_progress))) == 1
    assert saw == [views == ("past_only",)]
