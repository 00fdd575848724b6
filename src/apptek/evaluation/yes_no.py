"""The figures of forecasts that something happens or not: are they sharp, and do they hold?"""

import numpy as np

from apptek.arrays import Bools, Doubles
from apptek.evaluation.calibration import expected_calibration_error
from apptek.results import ReliabilityBin, YesNoFigures

BIN_EDGES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def yes_no_figures(probabilities: Doubles, happened: Bools) -> YesNoFigures:
    """Return the metrics of some forecasts; ValueError if there is none."""
    chances = np.clip(probabilities, 1e-12, 1 - 1e-12)
    logs = np.where(happened, np.log(chances), np.log1p(-chances))
    return YesNoFigures(
        forecasts=len(happened),
        share=float(happened.mean()),
        log_loss=-float(logs.mean()),
        brier=float(np.mean((probabilities - happened) ** 2)),
        auc=area_under_curve(probabilities, happened),
        calibration_error=expected_calibration_error(probabilities, happened),
    )


def area_under_curve(values: Doubles, happened: Bools) -> float | None:
    """P(value of one that happened > value of one that did not), ties counting one half."""
    hits = int(happened.sum())
    misses = len(happened) - hits
    if not hits or not misses:
        return None
    _, groups, sizes = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[groups]  # mean rank over ties
    return float((ranks[happened].sum() - hits * (hits + 1) / 2) / (hits * misses))


def reliability(probabilities: Doubles, happened: Bools) -> list[ReliabilityBin]:
    """The bins of a reliability diagram that are not empty; finer near 0, where most forecasts are.

    A bin includes its lower end, and the last one includes 1.
    """
    places = np.clip(np.searchsorted(BIN_EDGES, probabilities, "right") - 1, 0, len(BIN_EDGES) - 2)
    bins = []
    for place in np.unique(places).tolist():
        rows = places == place
        bins.append(
            ReliabilityBin(
                BIN_EDGES[place],
                BIN_EDGES[place + 1],
                int(rows.sum()),
                float(probabilities[rows].mean()),
                float(happened[rows].mean()),
            )
        )
    return bins
