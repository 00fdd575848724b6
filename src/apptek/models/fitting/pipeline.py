"""The stages of a fit: index, parts that families add, features, weights, re-ranker.

Results that take long to compute are stored in a work folder next to the model: the agent, its
topologies, and the features of large data. A fit that was stopped can then resume without computing
them again. The model folder appears only at the end, complete.
"""

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from apptek.config import View
from apptek.errors import ConfigError, DataError
from apptek.evaluation.ranking import MOST_CALIBRATED, TuningQueries
from apptek.extras import require_trees
from apptek.facts.facts import SPLITS, Dataset
from apptek.facts.protocols import apply_protocol
from apptek.features.clock import Clock
from apptek.features.space import AddedPart, FamilyFit, Found, find_family
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.fitting.stages import Fit, FitOptions
from apptek.models.fitting.view_fit import fit_view
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.model import FittedView, Model
from apptek.models.registry import find_baseline, views_of
from apptek.models.scorers import FitTask
from apptek.resuming import open_work


def fit_model(data: Dataset, options: FitOptions, work: Path) -> tuple[Model, dict[str, Any]]:
    """Return a fitted model and the duration of each stage in seconds.

    The results of the stages are stored in `work`. Tuning and early stopping use the protocol's
    validation set. Without one, the fit runs the number of epochs in the preset, and its
    probabilities are not calibrated. A baseline needs a validation set.
    """
    dataset = apply_protocol(data.labelled(), options.protocol)
    (_check_baseline if options.baseline else _check_model)(dataset, options)
    identity = {
        "data": {split: dataset.split(split).digest() for split in SPLITS},
        "preset": options.preset,
        "protocol": options.protocol,
        "seed": options.seed,
        "settings": asdict(options.config),
    }
    if options.baseline:
        identity |= {"baseline": options.baseline}
    else:
        identity |= {"types": options.types, "final": options.final}
    open_work(work, identity, resume=options.resume)
    fit = Fit(dataset, options, work)
    return (_fit_baseline(fit) if options.baseline else _fit(fit)), fit.seconds


def _check_model(data: Dataset, options: FitOptions) -> None:
    """Raise an error if the data cannot be fitted with these settings."""
    if options.config.reranker.rounds:
        require_trees("the re-ranker needs")
        if len(data.predicates) < 2:
            raise DataError("there is nothing to re-rank: the data has a single predicate")
    if not options.config.agent.hide_query:
        raise ConfigError(
            "agent.hide_query=false is only for `paper train`: here, features would contain the "
            "answers"
        )
    if not np.any(data.train.subjects != data.train.objects):
        raise DataError("there is no query to fit on: subject and object are always the same")


def _check_baseline(data: Dataset, options: FitOptions) -> None:
    if not len(data.valid):
        raise DataError(
            f"{options.baseline} chooses its settings on validation facts, but there are none"
        )


def _new_model(fit: Fit, graph: TemporalGraph, **more: Any) -> Model:
    """Return a model whose views are not fitted yet."""
    options = fit.options
    return Model(
        preset=options.preset,
        protocol=options.protocol,
        seed=options.seed,
        config=options.config,
        dataset=fit.dataset,
        graph=graph,
        clock=Clock.of(graph),
        views={},
        **more,
    )


def _fit_baseline(fit: Fit) -> Model:
    """Fit each view's registered scorer, and calibrate it on the validation set."""
    started, name, views = time.monotonic(), fit.options.baseline, dict[View, FittedView]()
    model = _new_model(
        fit, TemporalGraph.of(fit.dataset), baseline=name, no_forecasts=f"it is the baseline {name}"
    )
    width, tuning = len(fit.dataset.predicates), TuningQueries.of(fit.dataset, MOST_CALIBRATED)
    for view in fitted_views(name, fit.dataset):
        task = FitTask(
            dataset=fit.dataset,
            graph=model.graph.seen_in(view),
            config=fit.config,
            seed=fit.options.seed,
            work=fit.work,
            progress=fit.options.progress,
        )
        scorer, report = find_baseline(name).fit(task)
        no_weights = np.zeros((0, width), np.float32), np.zeros(width, np.float32)
        calibration = tuning.calibration(scorer.scores(tuning.queries))
        classifier = LinearSoftmax(*no_weights, calibration)
        views[view] = FittedView(classifier=classifier, kinds=(), report=report, scorer=scorer)
    # A resumed run's clock excludes the time before it was stopped.
    fit.seconds["fit"] = None if fit.options.resume else time.monotonic() - started
    return replace(model, views=views)


def fitted_views(name: str, dataset: Dataset) -> tuple[View, ...]:
    """Return the views to fit.

    If the validation set is later than the training set, nothing can be tuned for all_facts.
    """
    views = views_of(name)
    return ("past_only",) if len(views) > 1 and dataset.lies_beyond_train("valid") else views


def _fit(fit: Fit) -> Model:
    """Fit one view after another, so that only one view's features are in memory."""
    with fit.stage("index"):
        model = _new_model(fit, TemporalGraph.of(fit.dataset))
    model = replace(model, added=_find_added(fit, model.graph))
    model = replace(model, views={view: fit_view(fit, model, view) for view in fit.config.views})
    if fit.options.final:
        with fit.stage("index all facts"):
            everything = replace(fit.dataset, train=fit.dataset.all_facts())
            model = replace(model, graph=TemporalGraph.of(everything))
    return model


def _find_added(fit: Fit, graph: TemporalGraph) -> tuple[AddedPart, ...]:
    """Return the parts that feature families derive from the training facts."""
    config, options = fit.config, fit.options
    visible = graph.past_view() if config.features.past_only else graph
    return tuple(
        find_family(name).fit(
            FamilyFit(
                found=Found(visible, fit.dataset.predicates, config),
                train=fit.dataset.train,
                seed=options.seed,
                folder=fit.work / name,
                stage=fit.stage,
                progress=options.progress,
                agent=options.agent,
            )
        )
        for name in config.features.parts
        if name not in ("history", "traits")
    )
