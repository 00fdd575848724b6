"""Fitting the linear softmax: l2, epoch, counting weight and temperature, chosen on valid."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from apptek.arrays import Floats
from apptek.compiling import in_threads
from apptek.config import ClassifierConfig
from apptek.evaluation.ranking import calibrate, filtered_mrr
from apptek.features.history import Copies
from apptek.models.fitting.descent import MOST_DENSE, Descent, Pass, descend, shuffled_pass
from apptek.models.fitting.examples import Examples
from apptek.models.linear_softmax import LinearSoftmax

LEAST_TUNING = 50  # with fewer validation queries, nothing is chosen on them


@dataclass(frozen=True, slots=True)
class EpochReport:
    """The filtered validation MRR after an epoch, with the best counting weight for it."""

    l2: float
    epoch: int  # counted from 1; 0 means counting alone
    valid_mrr: float
    counting: float


@dataclass(frozen=True, slots=True)
class FitReport:
    """The values chosen on the validation queries, their metrics, and all values tried."""

    l2: float
    epoch: int  # 0 means counting alone
    counting: float  # the weight of counting
    valid_mrr: float | None = None
    ece_before: float | None = None  # on the validation queries, at temperature 1
    ece_after: float | None = None
    tried: tuple[EpochReport, ...] = ()


def fit_linear_softmax(
    train: Sequence[Examples],
    valid: Examples | None,
    *,
    class_count: int,
    config: ClassifierConfig,
    rng: np.random.Generator,
    copies: Copies | None = None,
    counted: Floats | None = None,
) -> tuple[LinearSoftmax, FitReport]:
    """Return the classifier with the best ranks on `valid`, calibrated there, and a report.

    counted  log P of each predicate from counting, for the queries in `valid`: (n, R)

    The training examples are read one shard at a time. Values of l2 are tried in parallel threads.
    Every thread uses the same order of examples, so the same seed gives the same bytes. With fewer
    than LEAST_TUNING queries in `valid`, nothing is chosen: the fit runs all epochs with the first
    l2 and the first counting weight. Without any queries, the temperature is 1.
    """
    passes = [shuffled_pass(train, rng) for _ in range(config.epochs)]
    if valid is None or len(valid) < LEAST_TUNING:
        model = descend(train, class_count, config, config.l2[0], passes, copies)
        report = FitReport(config.l2[0], config.epochs, config.counting[0])
        return (model, report) if valid is None else calibrated(model, report, valid, counted)

    def fit(number: int) -> tuple[LinearSoftmax, EpochReport, list[EpochReport]]:
        descent = Descent(train, class_count, config, config.l2[number], copies)
        return _best_epoch(descent, valid, passes, counted)

    at_once = max(1, MOST_DENSE // max(1, train[0].rows.width * class_count))
    threads = None if at_once >= len(config.l2) else at_once
    fits = in_threads(fit, range(len(config.l2)), threads)
    model, best, _ = max(fits, key=lambda fit: fit[1].valid_mrr)
    tried = tuple(epoch for _, _, epochs in fits for epoch in epochs)
    report = FitReport(best.l2, best.epoch, best.counting, tried=tried)
    return calibrated(model, report, valid, counted)


def calibrated(
    model: LinearSoftmax, report: FitReport, valid: Examples, counted: Floats | None
) -> tuple[LinearSoftmax, FitReport]:
    """Return the classifier calibrated on `valid` together with counting, and its metrics there."""
    scores = beside(model.scores(valid.rows), counted, report.counting)
    calibration, before, after = calibrate(scores, valid.labels, valid.others)
    mrr = filtered_mrr(scores, valid.labels, valid.others)
    report = replace(report, valid_mrr=mrr, ece_before=before, ece_after=after)
    return replace(model, calibration=calibration), report


def beside(scores: Floats, counted: Floats | None, weight: float) -> Floats:
    """Return the scores from features plus the counting scores with this weight: (n, R)."""
    return scores if counted is None or not weight else scores + np.float32(weight) * counted


def _best_epoch(
    descent: Descent, valid: Examples, passes: list[Pass], counted: Floats | None
) -> tuple[LinearSoftmax, EpochReport, list[EpochReport]]:
    """Return the weights after the epoch with the best ranks, its report, and all reports.

    Epoch 0 is counting alone.
    """
    config, l2 = descent.config, descent.l2

    def mrr(scores: Floats, weight: float) -> float:
        return filtered_mrr(beside(scores, counted, weight), valid.labels, valid.others)

    kept, best = descent.model(), EpochReport(l2, 0, 0.0, 0.0)
    if counted is not None and any(config.counting):
        best = EpochReport(l2, 0, filtered_mrr(counted, valid.labels, valid.others), 1.0)
    epochs = [best] if best.valid_mrr else []
    weights = (0.0,) if counted is None else config.counting
    for epoch, shuffled in enumerate(passes, start=1):
        descent.run_epoch(shuffled)
        model = descent.model()
        scores = model.scores(valid.rows)
        found = [EpochReport(l2, epoch, mrr(scores, weight), weight) for weight in weights]
        epochs.append(max(found, key=lambda each: each.valid_mrr))
        if epochs[-1].valid_mrr > best.valid_mrr:
            kept, best = model, epochs[-1]
        if epoch - best.epoch >= config.patience:
            break
    return kept, best, epochs
