"""The benchmark of forecasts: whether a pair has an event next week, on ICEWS14 as one file.

Snapshots are weekly, with windows of 7 days. The pairs are all ordered pairs with an earlier fact
in either direction. Days count from the first day: the model is fitted on the snapshots of days 120
to 269, and tested on the snapshots of days 277 to 357.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from apptek.arrays import Doubles
from apptek.config import DEFAULT, preset
from apptek.evaluation.calibration import yes_no_figures
from apptek.features.clock import Clock
from apptek.forecast.backtest import BASELINES
from apptek.forecast.forecaster import Forecaster
from apptek.forecast.pairs import forecast_pairs
from apptek.forecast.window import Length
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.model import Model
from apptek.models.occurrence.fitting import fit_horizon
from apptek.models.occurrence.horizon import Horizon
from apptek.models.occurrence.pair_counts import Events, PairCounts
from apptek.models.occurrence.snapshots import draw_acquainted
from apptek.predictor import Predictor
from apptek.seeding import generator
from apptek.setting_rules import with_settings
from benchmarks.report import BenchReport, bench_dataset, seconds

ALL = 10**9  # pairs to draw: no sampling
WINDOW = 7
FIT_SHARES, TEST_SHARES = (120 / 365, 270 / 365), (277 / 365, 358 / 365)
PAIRS = 5_000
QUICK = ["features.past_only=true", "classifier.epochs=1"]  # does not affect the time of a forecast
MAX = ("log_loss", "auc", "brier", "calibration_error", "pairs_per_s")
CALIBRATION_SNAPSHOTS = 2  # the last fitted snapshots
TARGETS = {
    "log_loss": "at most 0.0680",
    "log_loss_max": "at most 0.0660",
    "auc": "at least 0.861",
    "auc_max": "at least 0.871",
    "calibration_error": "at most 0.005",
    "calibration_error_max": "at most 0.005",
    "pairs_per_s": "at least 2000",
}


def bench_forecast(*, quick: bool = False) -> BenchReport:
    """Measure the occurrence model and two simple rules."""
    data = bench_dataset(quick)
    facts = data.all_facts()
    events = Events.of(facts, data.axis, len(data.entities))
    start, days = int(events.times[0]), int(events.times[-1] - events.times[0]) + 1
    fit, test = (
        [start + day for day in range(round(low * days), round(high * days), WINDOW)]
        for low, high in (FIT_SHARES, TEST_SHARES)
    )
    known = facts.take(data.axis.positions(facts.times) < fit[-1] + WINDOW)
    graph = TemporalGraph.build(known, data.axis, len(data.entities), len(data.predicates))
    counts = PairCounts(events, Clock.of(graph))
    moments = fit[:-CALIBRATION_SNAPSHOTS], fit[-CALIBRATION_SNAPSHOTS:]
    outcomes = draw_acquainted(events, test, WINDOW, rng=generator(0, "test"), most=ALL)
    features, met = counts.features(outcomes.pairs), np.ones(len(outcomes.pairs), np.bool_)
    figures: dict[str, Any] = {"pair_windows": len(met), "share": float(outcomes.hits.mean())}

    def add(name: str, probabilities: Doubles) -> None:
        of_forecasts = yes_no_figures(probabilities, outcomes.hits)
        for key in ("log_loss", "auc", "brier", "calibration_error"):
            figures[f"{key}{name}"] = getattr(of_forecasts, key)

    predictor = Predictor.fit(data, config=with_settings(preset(DEFAULT), QUICK))
    horizon = fit_horizon(counts, WINDOW, moments, seed=0)
    if horizon is None:
        raise ValueError("too little happens to measure forecasts on")
    add("", 1 / (1 + np.exp(-horizon.log_odds(features, met))))
    figures["pairs_per_s"] = _pairs_per_second(predictor.model, horizon)
    # The model `max` has the same occurrence model.
    figures |= {f"{key}_max": figures[key] for key in MAX}
    for name, rate in BASELINES.items():
        add(f"_{name}", rate(events, outcomes.pairs, WINDOW))
    return BenchReport(ratios={}, figures=figures, targets=TARGETS)


def _pairs_per_second(model: Model, horizon: Horizon) -> float:
    """Time forecasts of 5,000 pairs in one call, with predicates and reasons, both directions."""
    assert model.occurrence is not None
    occurrence = replace(model.occurrence, horizons=(horizon,))
    forecaster = Forecaster(replace(model, occurrence=occurrence))
    facts, names = forecaster.model.graph.facts, model.dataset.entities
    rows = np.linspace(0, len(facts) - 1, PAIRS).astype(int)
    pairs = [(names[int(facts.subjects[row])], names[int(facts.objects[row])]) for row in rows]
    window = forecaster.window(None, Length(steps=WINDOW))
    forecast_pairs(forecaster, pairs[:10], window)  # compiles
    return len(pairs) / seconds(lambda: forecast_pairs(forecaster, pairs, window))
