import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_folders import Killed, files_of
from plain_queries import query_about

from apptek.config import preset
from apptek.errors import ApptekError, CheckpointError, DataError
from apptek.evaluation.calibration import Calibration
from apptek.facts.facts import SPLITS, Dataset
from apptek.facts.protocols import apply_protocol
from apptek.facts.queries import held_out_queries
from apptek.models.model import summarize
from apptek.predictor import Predictor
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world

SETTINGS = ["agent.tknn=8", "agent.epochs=0.5", "classifier.epochs=2", "classifier.l2=[3.0, 10.0]"]
CONFIG = with_settings(preset("paper"), SETTINGS)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_world(3000, 0).dataset


@dataclass(frozen=True)
class Fit:
    """A fit, what came of it in memory, and the folder in which that was saved."""

    data: Dataset
    options: dict[str, Any]
    predictor: Predictor
    folder: Path


@pytest.fixture(scope="module")
def fits(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Fit]:
    found = {}
    tasks: dict[str, tuple[Dataset, dict[str, Any]]] = {
        "default": (make_world(800, 1).dataset, {}),
        "paper": (data, {"model": "paper", "config": CONFIG}),
    }
    for name, (facts, options) in tasks.items():
        saved = tmp_path_factory.mktemp("models") / name
        predictor = Predictor.fit(facts, **options)
        predictor.save(saved)
        found[name] = Fit(facts, options, predictor, saved)
    return found


MODELS = pytest.mark.parametrize("name", ["default", "paper"])


@MODELS
def test_a_loaded_model_answers_as_the_fitted_one(fits: dict[str, Fit], name: str) -> None:
    fit, loaded = fits[name], Predictor.load(fits[name].folder)
    fitted, queries = fit.predictor, held_out_queries(fit.data.test)
    assert loaded.model is not fitted.model
    scores = [one.answerer.main.scores(queries).tobytes() for one in (loaded, fitted)]
    assert scores[0] == scores[1]
    for query in (query_about(fit.data, fit.data.test, 0), ("a", "b", "2019-05-05")):
        one, other = (each.predict([query]) for each in (loaded, fitted))
        assert one == other
    query = query_about(fit.data, fit.data.test, 0)
    assert loaded.explain(query) == fitted.explain(query)
    found = loaded.evaluate("test")
    assert found.metrics == fitted.evaluate("test").metrics
    assert found.metrics.queries == len(fit.data.test)
    assert json.loads(json.dumps(found.as_json()))["mrr"] == found.metrics.mrr


@MODELS
@pytest.mark.gate
def test_the_same_seed_gives_the_same_bytes(
    fits: dict[str, Fit], name: str, tmp_path: Path
) -> None:
    fit = fits[name]
    Predictor.fit(fit.data, folder=tmp_path / "again", **fit.options)
    assert files_of(tmp_path / "again") == files_of(fit.folder)
    assert not list(tmp_path.glob(".again*"))
    if name == "default":
        Predictor.fit(fit.data, folder=tmp_path / "other", seed=1)
        assert files_of(tmp_path / "other") != files_of(fit.folder)


STAGES = {
    "default": [
        "index", "features of train, all_facts", "fit the classifier, all_facts",
        "features of train, past_only",
    ],
    "paper": ["train the agent", "mine", "fit the classifier, all_facts"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "stage"), [(name, stage) for name, stages in STAGES.items() for stage in stages]
)
@pytest.mark.gate
def test_a_fit_that_was_stopped_at_any_stage_resumes(
    fits: dict[str, Fit], name: str, stage: str, tmp_path: Path
) -> None:
    def stop(stage_now: str, _done: int, _total: int) -> None:
        if stage_now == stage:
            raise Killed

    fit, place = fits[name], tmp_path / "model"
    with pytest.raises(Killed):
        Predictor.fit(fit.data, folder=place, progress=stop, **fit.options)
    assert not place.exists()
    with pytest.raises(CheckpointError, match="continue it with --resume"):
        Predictor.fit(fit.data, folder=place, **fit.options)
    other: dict[str, Any] = {"types": {"a": {"b": "c"}}}
    if name == "paper":
        other = {"config": with_settings(CONFIG, ["mining.top=3"])}
    with pytest.raises(CheckpointError, match="belongs to another run"):
        Predictor.fit(fit.data, folder=place, resume=True, **fit.options | other)
    Predictor.fit(fit.data, folder=place, resume=True, **fit.options)
    assert files_of(place) == files_of(fit.folder)


@pytest.mark.parametrize("policy", ["random", "one-step"])
def test_controls_fit_too(data: Dataset, tmp_path: Path, policy: str) -> None:
    config = with_settings(CONFIG, [f"mining.policy={policy}"])
    predictor = Predictor.fit(data, folder=tmp_path / "model", model="paper", config=config)
    assert predictor.model.main.report["features"]["topologies"] > 0
    assert not (tmp_path / "model" / "agent.safetensors").exists()


@pytest.mark.parametrize("name", ["default", "max"])
def test_without_valid_facts_nothing_is_tuned_or_calibrated(tmp_path: Path, name: str) -> None:
    data = make_world(1000, 0).dataset
    none = data.valid.take(np.arange(0))
    all_train = replace(data, train=data.all_facts(), valid=none, test=none)
    config = with_settings(preset(name), ["reranker.rounds=5"])
    fitted = Predictor.fit(all_train, folder=tmp_path / "model", model=name, config=config)
    loaded = Predictor.load(tmp_path / "model")
    for view, of_view in loaded.model.views.items():
        assert of_view.classifier.calibration == Calibration()
        report = of_view.report
        assert report["epoch"] == fitted.model.config.classifier.epochs
        assert report["valid_mrr"] is None
        expected = fitted.model.views[view].classifier.weights
        assert np.array_equal(of_view.classifier.weights, expected)
    assert not loaded.model.calibrated
    assert summarize(loaded.model)["calibrated"] is False
    with pytest.raises(DataError, match="there are no queries to evaluate"):
        loaded.evaluate("test")
    with pytest.raises(ApptekError, match="no prediction sets"):
        loaded.predict(query_about(data, data.test, 0), coverage=0.9)


def test_under_the_papers_protocol_valid_and_test_are_exchanged(
    data: Dataset, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    fitted = Predictor.fit(data, folder=folder, model="frequency", protocol="paper").model
    expected = apply_protocol(data, "paper")
    for split in SPLITS:
        assert fitted.dataset.split(split).digest() == expected.split(split).digest()
    assert 0 < len(fitted.dataset.test) <= len(data.valid)
    assert Predictor.load(folder).model.protocol == "paper"
