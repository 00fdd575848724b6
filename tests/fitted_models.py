"""Models that several test modules share: each is fitted once per run, by the first that asks.

A shared folder must not change. A test that writes takes `copy_of(folder, tmp_path)`.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from filelock import FileLock

from apptek.config import preset
from apptek.facts.facts import Dataset
from apptek.facts.splitting import Splitting, split_facts
from apptek.predictor import Predictor
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world


def one_file(data: Dataset, splitting: Splitting) -> Dataset:
    """Return the same facts as if they came as one file and were split."""
    none = data.test.first(0)
    return split_facts(replace(data, train=data.all_facts(), valid=none, test=none), splitting)


def _fit(data: Dataset, folder: Path, name: str, *settings: str, final: bool | None = None) -> None:
    config = with_settings(preset(name), list(settings))
    Predictor.fit(data, folder=folder, model=name, config=config, final=final)


def _fit_default(folder: Path) -> None:
    """Both views and forecasts, with the default settings."""
    _fit(make_world(4000, 1).dataset, folder, "default")


def _fit_past_only(folder: Path) -> None:
    """Only the past is visible."""
    _fit(make_world(4000, 1).dataset, folder, "default", "features.past_only=true")


def _fit_by_time(folder: Path) -> None:
    """Valid and test come after train, and the model answers from train alone."""
    data = one_file(make_world(4000, 1).dataset, Splitting(by="time"))
    _fit(data, folder, "default", final=False)


def _fit_forecast(folder: Path) -> None:
    """Only the past is visible; fitted on the first facts, and answers from all."""
    data = one_file(make_world(3000, 0).dataset, Splitting(by="time"))
    _fit(data, folder, "default", "classifier.epochs=1", "features.past_only=true")


def _fit_one_file(folder: Path) -> None:
    """Only the past is visible; the facts came as one file and were split at random."""
    data = one_file(make_world(3000, 0).dataset, Splitting())
    _fit(data, folder, "default", "classifier.epochs=1", "features.past_only=true")


def _fit_explored(folder: Path) -> None:
    """Both views and forecasts, quickly: what the tests of the page show."""
    _fit(make_world(4000, 0).dataset, folder, "default", "classifier.epochs=1")


def _fit_topologies(folder: Path) -> None:
    """The paper's method with random topologies in place of an agent."""
    settings = ["mining.policy=random", "classifier.epochs=3", "classifier.l2=[3.0]"]
    _fit(make_world(6000, 0).dataset, folder, "paper", *settings)


def _fit_trees(folder: Path) -> None:
    """The linear model of `default` with a small re-ranker."""
    settings = ["reranker.rounds=20", "reranker.least_rows=20", "reranker.candidates=6"]
    _fit(make_world(4000, 1).dataset, folder, "max", *settings)


SharedModel = Callable[[str], Path]  # the fixture `shared_model`

FITS: dict[str, Callable[[Path], None]] = {
    "default": _fit_default,
    "past_only": _fit_past_only,
    "by_time": _fit_by_time,
    "forecast": _fit_forecast,
    "one_file": _fit_one_file,
    "explored": _fit_explored,
    "topologies": _fit_topologies,
    "trees": _fit_trees,
}


def fitted_model(name: str, shelf: Path) -> Path:
    """Return the folder of a model on the shelf that all workers share; fit it if it is missing."""
    folder = shelf / name
    with FileLock(shelf / f"{name}.lock"):
        if not folder.exists():
            FITS[name](folder)
    return folder


def copy_of(folder: Path, place: Path) -> Path:
    """Return a copy of a model that a test may change."""
    return Path(shutil.copytree(folder, place / "copy"))
