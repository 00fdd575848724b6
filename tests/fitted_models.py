"""Models that several test modules share; each is fitted once per run, on first use.

A shared folder must not change. Tests that write must use a copy.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock

from apptek.facts.facts import Dataset
from apptek.facts.protocols import Splitting, split_facts
from apptek.models.registry import model_settings
from apptek.predictor import Predictor
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world


def one_file(data: Dataset, splitting: Splitting) -> Dataset:
    """Return the same facts as if they had come as one file and been split."""
    none = data.test.first(0)
    return split_facts(replace(data, train=data.all_facts(), valid=none, test=none), splitting)


@dataclass(frozen=True)
class SharedFit:
    """A model, its settings, and its synthetic dataset, which may come as one file."""

    facts: int
    seed: int
    settings: tuple[str, ...] = ()
    model: str = "default"
    splitting: Splitting | None = None
    final: bool | None = None


PAST_ONLY, QUICK = "features.past_only=true", "classifier.epochs=1"
FITS = {
    # Both views and forecasts, with the default settings.
    "default": SharedFit(4000, 1),
    "past_only": SharedFit(4000, 1, (PAST_ONLY,)),
    # The validation and test sets are later, and the model answers from training facts only.
    "by_time": SharedFit(4000, 1, splitting=Splitting(by="time"), final=False),
    # Only the past is visible; fitted on the first facts, and answers from all.
    "forecast": SharedFit(3000, 0, (QUICK, PAST_ONLY), splitting=Splitting(by="time")),
    # Only the past is visible; the facts came as one file and were split at random.
    "one_file": SharedFit(3000, 0, (QUICK, PAST_ONLY), splitting=Splitting()),
    # Both views and forecasts, quickly: what the tests of the page show.
    "explored": SharedFit(4000, 0, (QUICK,)),
    # The paper's method with random topologies in place of an agent.
    "topologies": SharedFit(
        6000, 0, ("mining.policy=random", "classifier.epochs=3", "classifier.l2=[3.0]"), "paper"
    ),
    # The linear model of `default` with a small re-ranker.
    "trees": SharedFit(
        4000, 1, ("reranker.rounds=20", "reranker.least_rows=20", "reranker.candidates=6"), "max"
    ),
    "recency": SharedFit(2000, 0, model="recency"),
    "frequency": SharedFit(2000, 0, model="frequency"),
}
SharedModel = Callable[[str], Path]  # the fixture `shared_model`


def fitted_model(name: str, shelf: Path) -> Path:
    """Return a model folder that all workers share; fit the model if it is missing."""
    folder, fit = shelf / name, FITS[name]
    with FileLock(shelf / f"{name}.lock"):
        if not folder.exists():
            data = make_world(fit.facts, fit.seed).dataset
            if fit.splitting is not None:
                data = one_file(data, fit.splitting)
            config = with_settings(model_settings(fit.model), fit.settings)
            Predictor.fit(data, folder=folder, model=fit.model, config=config, final=fit.final)
    return folder
