"""Fitting the linear softmax: per-example Adagrad, L2 and stopping chosen on valid, temperature.

The objective is the sum over examples of -log p(label), where the other training predicates of the
same (u, v, t) are left out of p's denominator, plus l2 / 2 * the sum of squared weights (not of the
bias). An example sees l2 divided by the number of examples in which a feature is active, for its
active features alone: over an epoch this is the whole penalty, and idle features cost nothing.
"""

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numba import njit

from apptek.data.facts import read_only
from apptek.data.times import Ints, Longs
from apptek.errors import ConfigError, DataError
from apptek.prediction.calibration import (
    Matrix,
    expected_calibration_error,
    fit_temperature,
    softmax,
    top_predictions,
)
from apptek.prediction.classifier import LinearSoftmax
from apptek.prediction.known import Known
from apptek.prediction.ranking import expected_ranks
from apptek.prediction.sparse import Floats, SparseRows

_MASKED = np.float32(-1e30)  # finite, as the kernels are compiled with fastmath


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierConfig:
    """How the classifier is fitted."""

    epochs: int = 5  # the learning rate falls linearly to 0 over all of them
    learning_rate: float = 0.1
    accumulator: float = 1.0  # squared gradients before the first example
    l2: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0)  # tried on valid; 1 / C of scikit-learn
    patience: int = 2  # epochs without a better MRR on valid before stopping

    def __post_init__(self) -> None:
        for name in ("epochs", "patience"):
            self._require(name, getattr(self, name) >= 1, "at least 1")
        for name in ("learning_rate", "accumulator"):
            self._require(name, 0 < getattr(self, name) < math.inf, "above 0")
        self._require("l2", len(self.l2) > 0, "at least one value to try")
        self._require("l2", all(0 <= value < math.inf for value in self.l2), "at least 0")
        self._require("l2", len(set(self.l2)) == len(self.l2), "different values")

    def _require(self, name: str, holds: bool, what: str) -> None:
        if not holds:
            raise ConfigError(f"classifier.{name} must be {what}, not {getattr(self, name)!r}")


@dataclass(frozen=True, slots=True)
class Examples:
    """Queries as features, with their predicates and the other known ones of the same (u, v, t).

    In training the others are left out of the loss, and only training facts may name them; in
    validation they are the filter of the ranks.
    """

    rows: SparseRows
    labels: Ints
    others: Known

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.labels) == len(self.others):
            raise ValueError("rows, labels and others are of different numbers of examples")
        if self.others.contains(self.labels).any():
            raise ValueError("an example's own label is not among its others")
        read_only(self.labels)

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class EpochReport:
    """The filtered MRR on valid after an epoch with this regularisation."""

    l2: float
    epoch: int  # from 1
    valid_mrr: float


@dataclass(frozen=True, slots=True)
class FitReport:
    """What was chosen on valid, and everything that was tried."""

    l2: float
    epoch: int
    valid_mrr: float
    temperature: float
    ece_before: float  # on valid, at temperature 1
    ece_after: float
    tried: tuple[EpochReport, ...]


def fit_linear_softmax(
    train: Examples,
    valid: Examples,
    *,
    class_count: int,
    config: ClassifierConfig,
    rng: np.random.Generator,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> tuple[LinearSoftmax, FitReport]:
    """The classifier that ranks valid best, calibrated there, and how it was found.

    One thread per value of l2, all in the same order of examples: the same seed gives the same
    bytes. `on_epoch` hears of progress, from these threads.
    """
    for name, part in (("training", train), ("valid", valid)):
        _check(part, name, train.rows.feature_count, class_count)
    orders = [rng.permutation(len(train)).astype(np.int32) for _ in range(config.epochs)]
    fit = partial(_fit_one, train, valid, class_count, config, orders, on_epoch)
    with ThreadPoolExecutor(min(os.cpu_count() or 1, len(config.l2))) as pool:
        runs = list(pool.map(fit, config.l2))
    model, best = max((run[:2] for run in runs), key=lambda run: run[1].valid_mrr)
    temperature, before, after = _calibrate(model.scores(valid.rows), valid)
    tried = tuple(epoch for run in runs for epoch in run[2])
    report = FitReport(best.l2, best.epoch, best.valid_mrr, temperature, before, after, tried)
    return LinearSoftmax(model.weights, model.bias, temperature), report


def _check(examples: Examples, name: str, feature_count: int, class_count: int) -> None:
    if not len(examples):
        raise DataError(f"there are no {name} queries to fit the classifier with")
    if examples.rows.feature_count != feature_count:
        raise ValueError("training and valid rows have different features")
    for named in (examples.labels, examples.others.predicates):
        if named.dtype != np.int32 or named.min(initial=0) < 0:
            raise ValueError("predicates are int32, from 0")
        if named.max(initial=-1) >= class_count:
            raise ValueError(f"a predicate is not among the {class_count} classes")


def _fit_one(
    train: Examples,
    valid: Examples,
    class_count: int,
    config: ClassifierConfig,
    orders: list[Ints],
    on_epoch: Callable[[EpochReport], None] | None,
    l2: float,
) -> tuple[LinearSoftmax, EpochReport, list[EpochReport]]:
    """The best epoch with one value of l2, and all of its epochs."""
    descent = Descent(train, class_count, config, l2)
    kept, best = descent.model(), EpochReport(l2, 0, 0.0)
    tried: list[EpochReport] = []
    for epoch, order in enumerate(orders, start=1):
        descent.run_epoch(order)
        model = descent.model()
        ranks = expected_ranks(model.scores(valid.rows), valid.labels, valid.others)
        tried.append(EpochReport(l2, epoch, float(np.mean(1 / ranks))))
        if on_epoch is not None:
            on_epoch(tried[-1])
        if tried[-1].valid_mrr > best.valid_mrr:
            kept, best = model, tried[-1]
        if epoch - best.epoch >= config.patience:
            break
    return kept, best, tried


def _calibrate(scores: Matrix, valid: Examples) -> tuple[float, float, float]:
    """The temperature for these scores, and the calibration error without and with it."""
    best, before = top_predictions(softmax(scores))
    correct = (best == valid.labels) | valid.others.contains(best)
    temperature = fit_temperature(scores, correct)
    _, after = top_predictions(softmax(scores, temperature))
    error_before = expected_calibration_error(before, correct)
    return temperature, error_before, expected_calibration_error(after, correct)


class Descent:
    """Weights on their way, with each weight's sum of squared gradients."""

    def __init__(
        self, train: Examples, class_count: int, config: ClassifierConfig, l2: float
    ) -> None:
        rows = train.rows
        self.train, self.config, self.step = train, config, 0
        self.weights = np.zeros((rows.feature_count, class_count), np.float32)
        self.sums = np.full_like(self.weights, config.accumulator)
        self.bias = np.zeros(class_count, np.float32)
        self.bias_sums = np.full_like(self.bias, config.accumulator)
        active = rows.columns[rows.offsets[0] : rows.offsets[-1]]
        counts = np.bincount(active, minlength=rows.feature_count)
        self.decay = (l2 / np.maximum(counts, 1)).astype(np.float32)

    def run_epoch(self, order: Ints) -> None:
        """Learns from each example once, in this order."""
        train, total = self.train, self.config.epochs * len(order)
        _run_epoch(
            order, train.rows.offsets, train.rows.columns, train.rows.flat_values,
            train.labels, train.others.offsets, train.others.predicates,
            self.decay, self.weights, self.sums, self.bias, self.bias_sums,
            self.config.learning_rate, self.step, total,
        )  # fmt: skip
        self.step += len(order)

    def model(self) -> LinearSoftmax:
        """The weights as they are now."""
        return LinearSoftmax(self.weights.copy(), self.bias.copy())


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _run_epoch(
    order: Ints, offsets: Longs, columns: Ints, values: Floats,
    labels: Ints, other_offsets: Longs, others: Ints,
    decay: Floats, weights: Floats, sums: Floats, bias: Floats, bias_sums: Floats,
    learning_rate: float, step: int, total: int,
) -> None:  # fmt: skip
    """Adagrad, example by example; the penalty as a proximal step, which cannot overshoot."""
    class_count = bias.size
    gradient = np.empty(class_count, np.float32)
    for number in range(order.size):
        example = order[number]
        rate = np.float32(learning_rate * (1.0 - (step + number) / total))
        gradient[:] = bias
        for place in range(offsets[example], offsets[example + 1]):
            feature = columns[place]
            value = values[place] if values.size else np.float32(1.0)
            for r in range(class_count):
                gradient[r] += value * weights[feature, r]
        for place in range(other_offsets[example], other_offsets[example + 1]):
            gradient[others[place]] = _MASKED
        softmax_gradient(gradient, labels[example])
        for r in range(class_count):
            bias_sums[r] += gradient[r] * gradient[r]
            bias[r] -= rate * gradient[r] / np.sqrt(bias_sums[r])
        for place in range(offsets[example], offsets[example + 1]):
            feature = columns[place]
            value = values[place] if values.size else np.float32(1.0)
            shrinking = rate * decay[feature]
            for r in range(class_count):
                slope = value * gradient[r]
                square = sums[feature, r] + slope * slope
                sums[feature, r] = square
                root = np.sqrt(square)
                weights[feature, r] = (weights[feature, r] * root - rate * slope) / (
                    root + shrinking
                )


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def softmax_gradient(logits: Floats, label: int) -> None:
    """Turns logits into the gradient of -log p(label) by them: p, minus 1 at the label."""
    largest = logits.max()
    total = np.float32(0.0)
    for r in range(logits.size):
        logits[r] = np.exp(logits[r] - largest)
        total += logits[r]
    for r in range(logits.size):
        logits[r] /= total
    logits[label] -= np.float32(1.0)
