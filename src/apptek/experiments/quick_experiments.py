"""The same experiments on a small planted world, with settings that take seconds."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from apptek.data.reading.reader import read_dataset
from apptek.data.synthetic.world import make_world, write_world
from apptek.experiments.experiment import Cell

FACTS = 2_000
MINUTES = 0.01  # of a search
TOPOLOGIES = 3  # predicates whose topologies are shown

_TRAINED = {"training.epochs": "2", "training.batch_size": "500"}
_DIACHRONIC = {**_TRAINED, "model.size": "16"}
_BASELINES = {
    "tnt_complex": {**_TRAINED, "model.rank": "16"},
    "de_transe": _DIACHRONIC,
    "de_distmult": _DIACHRONIC,
    "de_simple": _DIACHRONIC,
    "re_gcn": {**_TRAINED, "model.size": "16", "model.channels": "4", "model.history": "2"},
}
_PRESETS = {
    "paper": {"classifier.epochs": "2", "classifier.l2": "[3.0]", "mining.rollouts": "1"},
    "default": {"classifier.epochs": "1"},
    "max": {"classifier.epochs": "1", "reranker.rounds": "5"},
}


def quick_cells(cells: Sequence[Cell], root: Path) -> list[Cell]:
    """The cells on a world that is written below `root`, each kind once."""
    world = root / "world"
    if not world.exists():
        write_world(make_world(FACTS, 0), world)
    predicates = _commonest(world)
    found: dict[str, Cell] = {}
    for cell in sorted(cells, key=lambda cell: cell.dataset != "icews14"):
        name = cell.name.replace(cell.dataset, world.name)
        quick = replace(
            cell,
            name=name,
            dataset=str(world),
            seeds=cell.seeds[:1],
            settings=_quick_settings(cell),
            predicates=predicates if cell.predicates else (),
            minutes=min(cell.minutes, MINUTES),
        )
        found.setdefault(name, quick)
    return list(found.values())


def _quick_settings(cell: Cell) -> tuple[str, ...]:
    small = _BASELINES.get(cell.baseline, {}) if cell.baseline else _PRESETS.get(cell.preset, {})
    own = dict(text.split("=", 1) for text in cell.settings)
    return tuple(f"{key}={value}" for key, value in (own | small).items())


def _commonest(world: Path) -> tuple[str, ...]:
    data = read_dataset(str(world))
    counts = np.bincount(data.train.predicates, minlength=len(data.predicates))
    order = np.argsort(-counts, kind="stable")[:TOPOLOGIES]
    return tuple(data.predicates[int(row)] for row in order)
