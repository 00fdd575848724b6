"""Random damage to the work folders of stopped fits, and the outcome of resuming them.

As a program, it works through a range of seeds and prints a line for each:

python work_mutations.py first last
"""

import json
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from learned_parts import fifty_facts, settings_of
from model_folders import Killed, files_of
from mutations import DAMAGES

from apptek.baselines import embedding_baseline
from apptek.config import preset
from apptek.errors import CheckpointError
from apptek.paper.features import STAGE
from apptek.predictor import Predictor
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world

REFUSED, SAME, OTHER = "refused", "the same model", "another model"
Fit = Callable[..., Any]  # folder=, resume=, and where to stop it
_AGENT = ["agent.tknn=8", "agent.epochs=0.5", "classifier.epochs=1", "classifier.l2=[3.0]"]


def _fit_paper(stop: str) -> Fit:
    """A fit with an agent, killed at the beginning of a stage or during training."""
    data, config = make_world(600, 0).dataset, with_settings(preset("paper"), _AGENT)

    def fit(folder: Path, *, resume: bool = False, kill: bool = False) -> None:
        def progress(name: str, done: int, _total: int) -> None:
            if kill and (name == stop or (stop == "in training" and name == STAGE and done)):
                raise Killed

        Predictor.fit(
            data, model="paper", config=config, folder=folder, resume=resume, progress=progress
        )

    return fit


def _fit_embedding(folder: Path, *, resume: bool = False, kill: bool = False) -> None:
    def progress(_: str, done: int, __: int) -> None:
        if kill and done == 2:
            raise Killed

    config = settings_of("de_distmult", "training.epochs=4", "training.patience=4")
    Predictor.fit(
        fifty_facts(),
        model="de_distmult",
        config=config,
        folder=folder,
        resume=resume,
        progress=progress,
    )


def stopped_fits(place: Path) -> list[tuple[Fit, Path, dict[str, bytes]]]:
    """Fits, the folder of each stopped fit, and the result that each should have had."""
    embedding_baseline.CHECKPOINT_SECONDS = 0.0
    fits = [_fit_paper("in training"), _fit_paper("fit the classifier, all_facts"), _fit_embedding]
    stopped = []
    for number, fit in enumerate(fits):
        whole, folder = place / f"whole-{number}", place / f"stopped-{number}" / "model"
        fit(whole)
        folder.parent.mkdir()
        try:
            fit(folder, kill=True)
        except Killed:
            stopped.append((fit, folder, files_of(whole)))
    assert len(stopped) == len(fits)
    return stopped


def resume_damaged(stopped: tuple[Fit, Path, dict[str, bytes]], seed: int) -> tuple[str, str]:
    """Damage a copy of a work folder and resume; return the damage and the outcome."""
    fit, folder, expected = stopped
    with TemporaryDirectory() as temporary:
        place = Path(shutil.copytree(folder.parent, Path(temporary) / "fit"))
        damage = DAMAGES[seed % len(DAMAGES)]
        done = damage(place / f".{folder.name}-fit", np.random.default_rng(seed))
        try:
            fit(place / folder.name, resume=True)
        except CheckpointError as error:
            return done, f"{REFUSED}: {error}"
        return done, SAME if files_of(place / folder.name) == expected else OTHER


def run(seeds: Iterable[int]) -> Iterable[tuple[int, str, str]]:
    """Each seed with its damage and outcome."""
    with TemporaryDirectory() as place:
        stopped = stopped_fits(Path(place))
        for seed in seeds:
            yield seed, *resume_damaged(stopped[seed % len(stopped)], seed)


if __name__ == "__main__":
    for line in run(range(int(sys.argv[1]), int(sys.argv[2]))):
        print(json.dumps(line), flush=True)  # noqa: T201
