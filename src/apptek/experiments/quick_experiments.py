"""Quick versions of experiments: on a small invented world, with settings that take seconds."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from apptek.baselines.registry import find_baseline
from apptek.data.reading.reader import read_dataset
from apptek.data.synthetic.world import make_world, write_world
from apptek.experiments.experiment import Experiment
from apptek.setting_rules import setting_texts

FACTS = 2_000
MINUTES = 0.01  # for a search
TOPOLOGIES = 3  # predicates whose topologies are shown

_PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"classifier.epochs": 2, "classifier.l2": [3.0], "mining.rollouts": 1},
    "default": {"classifier.epochs": 1},
    "max": {"classifier.epochs": 1, "reranker.rounds": 5},
}


def quick_versions(experiments: Sequence[Experiment], root: Path) -> list[Experiment]:
    """The experiments with one seed each, on a small world that is written below `root`."""
    world = root / "world"
    if not world.exists():
        write_world(make_world(FACTS, 0), world)
    predicates = _commonest_predicates(world)
    quick: dict[str, Experiment] = {}
    # Experiments that differ only in their data become one: that on ICEWS14 is taken.
    for experiment in sorted(experiments, key=lambda experiment: experiment.dataset != "icews14"):
        name = experiment.name.replace(experiment.dataset, world.name)
        version = replace(
            experiment,
            name=name,
            dataset=str(world),
            # The world has no published dates to cut at; its splits are as good to try a run.
            protocol="official" if experiment.protocol == "forecast" else experiment.protocol,
            seeds=experiment.seeds[:1],
            settings=_quick_settings(experiment),
            predicates=predicates if experiment.predicates else (),
            minutes=min(experiment.minutes, MINUTES),
        )
        quick.setdefault(name, version)
    return list(quick.values())


def _quick_settings(experiment: Experiment) -> tuple[str, ...]:
    """The experiment's own settings, with those replaced that would take long."""
    if experiment.baseline:
        small = find_baseline(experiment.baseline).quick_settings
    else:
        small = _PRESETS.get(experiment.preset, {})
    texts = {text.split("=", 1)[0]: text for text in (*experiment.settings, *setting_texts(small))}
    return tuple(texts.values())


def _commonest_predicates(world: Path) -> tuple[str, ...]:
    data = read_dataset(str(world))
    counts = np.bincount(data.train.predicates, minlength=len(data.predicates))
    order = np.argsort(-counts, kind="stable")[:TOPOLOGIES]
    return tuple(data.predicates[int(row)] for row in order)
