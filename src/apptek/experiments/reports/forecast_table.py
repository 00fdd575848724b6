"""Forecasts on the splits of the literature: what was known before, static or rolling."""

import statistics
from collections.abc import Sequence

from apptek.experiments.experiment import Experiment
from apptek.experiments.matching import results_of
from apptek.experiments.reports.markdown import Results, markdown, title_of
from apptek.experiments.result import Result

FIGURES = {
    "raw_r": "R raw",
    "filtered_r": "R filtered",
    "raw_2r": "2R raw",
    "filtered_2r": "2R filtered",
}
# RE-GCN's paper: relation prediction, raw, both directions, with the history rolling on.
PRINTED = {"icews14": 0.4106, "icews05-15": 0.4063}


def table_forecast(experiments: Sequence[Experiment], results: Results) -> str:
    """The MRR of each model and data set by figure, beside what RE-GCN's paper prints."""
    rows = []
    for experiment in sorted(experiments, key=_position):
        recorded = results_of(experiment, results)
        if recorded:
            rows.append(_row(experiment, recorded))
    rows += [
        [title_of(dataset), "RE-GCN, as printed", "rolling", "", "", f"{mrr:.4f}", "", "", ""]
        for dataset, mrr in PRINTED.items()
        if any(row[0] == title_of(dataset) for row in rows)
    ]
    rows.sort(key=lambda row: row[0])  # stable: the printed number after ours
    header = ("data", "model", "facts known", *FIGURES.values(), "ECE", "seeds")
    return markdown(header, rows)


def _position(experiment: Experiment) -> tuple[str, bool, str]:
    return experiment.dataset, experiment.rolling, experiment.model


def _row(experiment: Experiment, recorded: Sequence[Result]) -> list[str]:
    figures = [
        f"{statistics.mean(values):.4f}" if (values := _mrr(recorded, figure)) else ""
        for figure in FIGURES
    ]
    return [
        title_of(experiment.dataset),
        experiment.model,
        "rolling" if experiment.rolling else "train",
        *figures,
        f"{statistics.mean(result.metrics['ece'] for result in recorded):.4f}",
        str(len(recorded)),
    ]


def _mrr(recorded: Sequence[Result], figure: str) -> list[float]:
    return [result.forecast[figure]["mrr"] for result in recorded if result.forecast]
