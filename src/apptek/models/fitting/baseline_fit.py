"""Fitting a baseline: the registered scorer of each view, calibrated on valid."""

import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

from apptek.config import View
from apptek.errors import DataError
from apptek.evaluation.tuning import calibrate
from apptek.facts.facts import SPLITS, Dataset
from apptek.facts.protocols import apply_protocol
from apptek.features.clock import Clock
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.fitting.stages import FitOptions
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.model import FeatureSources, FittedView, Model
from apptek.models.registry import find_baseline, views_of
from apptek.models.scorers import FitTask
from apptek.resuming import open_work


def fit_baseline(
    data: Dataset, options: FitOptions, work: Path
) -> tuple[Model, dict[str, float | None]]:
    """Fit the baseline that the options name; a stopped run can be resumed. Also the seconds."""
    started, name = time.monotonic(), options.baseline
    dataset = apply_protocol(data.labelled(), options.protocol)
    if not len(dataset.valid):
        raise DataError(f"{name} chooses its settings on valid, but there are no valid facts")
    identity = {
        "baseline": name,
        "data": {split: dataset.split(split).digest() for split in SPLITS},
        "preset": options.preset,
        "protocol": options.protocol,
        "seed": options.seed,
        "settings": asdict(options.config),
    }
    open_work(work, identity, resume=options.resume)
    graph = TemporalGraph.of(dataset)
    model = Model(
        baseline=name,
        preset=options.preset,
        protocol=options.protocol,
        seed=options.seed,
        sources=FeatureSources(
            config=options.config, dataset=dataset, graph=graph, clock=Clock.of(graph)
        ),
        views={view: _fit_view(dataset, graph, view, options, work)
               for view in fitted_views(name, dataset)},
        no_forecasts=f"it is the baseline {name}",
    )  # fmt: skip
    # The clock of a resumed run knows nothing of the time before it was stopped.
    return model, {"fit": None if options.resume else time.monotonic() - started}


def _fit_view(
    dataset: Dataset, graph: TemporalGraph, view: View, options: FitOptions, work: Path
) -> FittedView:
    task = FitTask(
        dataset=dataset,
        graph=graph.seen_in(view),
        config=options.config,
        seed=options.seed,
        work=work,
        progress=options.progress,
    )
    scorer, report = find_baseline(options.baseline).fit(task)
    calibration, width = calibrate(scorer.scores, dataset), len(dataset.predicates)
    no_weights = np.zeros((0, width), np.float32), np.zeros(width, np.float32)
    classifier = LinearSoftmax(*no_weights, calibration)
    return FittedView(classifier=classifier, kinds=(), report=report, scorer=scorer)


def fitted_views(name: str, dataset: Dataset) -> tuple[View, ...]:
    """Return the views to fit. If valid lies beyond train, nothing can be chosen for all_facts."""
    views = views_of(name)
    return ("past_only",) if len(views) > 1 and dataset.lies_beyond_train("valid") else views
