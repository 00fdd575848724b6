"""Fitting the linear softmax: per-example Adagrad; L2, stopping and temperature by valid.

The objective is the sum over examples of -log p(label), plus l2 / 2 * the sum of squared weights
(not of the bias). The other training predicates of the same (u, v, t) are masked in p's
denominator. For an example, the l2 of an active feature is divided by the number of examples in
which the feature is active. Over an epoch this is the whole penalty, and inactive features cost
nothing.

Features that have a predicate may share *copy weights*: one number for a whole group of features.
Each feature adds it to its weight for its own predicate ("what happened tends to happen again").
Copy weights are learned beside the weights, without penalty, and are added to the weights at the
end of the fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from apptek.arrays import Floats, Ints, Longs
from apptek.compiling import fast, in_threads
from apptek.config import ClassifierConfig
from apptek.evaluation.ranking import calibrate, filtered_mrr
from apptek.features.history import Copies
from apptek.models.fitting.examples import Examples
from apptek.models.linear_softmax import LinearSoftmax, SparseWeights

Pass = list[tuple[int, Ints]]  # one epoch: shards, and the order of the examples in each
LEAST_TUNING = 50  # with fewer queries of valid, nothing is chosen on them
# Weights of all fits that run at once; where one needs more, only those of what was seen together
# are kept.
MOST_DENSE = 100_000_000
LEAST_TOGETHER = 3  # training queries that a feature and a predicate need for a weight
_MASKED = np.float32(-1e30)  # finite, so that differences are no NaN


@dataclass(frozen=True, slots=True)
class EpochReport:
    """The filtered MRR on valid after an epoch, with the best weight of counting beside it."""

    l2: float
    epoch: int  # from 1; 0: counting alone
    valid_mrr: float
    counting: float


@dataclass(frozen=True, slots=True)
class FitReport:
    """The values chosen on valid, and everything that was tried; None without valid."""

    l2: float
    epoch: int  # 0: counting alone
    counting: float  # the weight of counting
    valid_mrr: float | None = None
    ece_before: float | None = None  # on valid, at temperature 1
    ece_after: float | None = None
    tried: tuple[EpochReport, ...] = ()


def shuffled_pass(train: Sequence[Examples], rng: np.random.Generator) -> Pass:
    """Draw every example once: the shards in a random order, and so the examples within each."""
    shards = rng.permutation(len(train)).tolist()
    return [(shard, rng.permutation(len(train[shard])).astype(np.int32)) for shard in shards]


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
    """Return the classifier that ranks valid best, calibrated there, and how it was found.

    counted  log P of each predicate by counting, of the queries of valid: (n, R)

    The training examples come in shards and are read one shard at a time. Values of l2 are
    tried in threads, all in the same order of examples: the same seed gives the same bytes. With
    fewer than LEAST_TUNING queries nothing is chosen: all epochs with the first l2 and the first
    weight of counting. Without any, the temperature is 1.
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
    """Return the classifier calibrated on valid beside counting, and how good it is there."""
    scores = beside(model.scores(valid.rows), counted, report.counting)
    calibration, before, after = calibrate(scores, valid.labels, valid.others)
    mrr = filtered_mrr(scores, valid.labels, valid.others)
    report = replace(report, valid_mrr=mrr, ece_before=before, ece_after=after)
    return replace(model, calibration=calibration), report


def beside(scores: Floats, counted: Floats | None, weight: float) -> Floats:
    """Return the scores of features with those of counting, of this weight: (n, R)."""
    return scores if counted is None or not weight else scores + np.float32(weight) * counted


def descend(
    train: Sequence[Examples],
    class_count: int,
    config: ClassifierConfig,
    l2: float,
    passes: Sequence[Pass],
    copies: Copies | None = None,
) -> LinearSoftmax:
    """Return the weights after these passes, not calibrated."""
    descent = Descent(train, class_count, config, l2, copies)
    for shuffled in passes:
        descent.run_epoch(shuffled)
    return descent.model()


def _best_epoch(
    descent: "Descent", valid: Examples, passes: list[Pass], counted: Floats | None
) -> tuple[LinearSoftmax, EpochReport, list[EpochReport]]:
    """Return the weights of the epoch that ranks valid best, its report, and all reports.

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


class Descent:
    """Weights during training, with each weight's sum of squared gradients."""

    def __init__(
        self,
        train: Sequence[Examples],
        class_count: int,
        config: ClassifierConfig,
        l2: float,
        copies: Copies | None = None,
    ) -> None:
        feature_count = train[0].rows.width
        self.train, self.config, self.l2, self.step = train, config, l2, 0
        self.copied, self.groups = np.full((2, feature_count), -1, np.int32)
        if copies is not None and config.copies:
            count = len(copies.groups)
            self.copied[:count], self.groups[:count] = copies.predicates, copies.groups
        self.pattern = None
        shape: tuple[int, ...] = (feature_count, class_count)
        if feature_count * class_count > MOST_DENSE:
            self.pattern = seen_together(train, class_count, self.copied)
            shape = (len(self.pattern[1]),)
        self.weights = np.zeros(shape, np.float32)
        self.sums = np.full_like(self.weights, config.accumulator)
        self.bias = np.zeros(class_count, np.float32)
        self.bias_sums = np.full_like(self.bias, config.accumulator)
        self.shared = np.zeros(1 + int(self.groups.max(initial=-1)), np.float32)
        self.shared_sums = np.full_like(self.shared, config.accumulator)
        self.decay = np.zeros(feature_count, np.float32)
        if l2:
            columns = (shard.rows.flat_columns for shard in train)
            counts = sum(np.bincount(active, minlength=feature_count) for active in columns)
            self.decay[:] = l2 / np.maximum(counts, 1)

    def run_epoch(self, shuffled: Pass) -> None:
        """Learn from each example once, in this order."""
        total = self.config.epochs * sum(len(order) for _, order in shuffled)
        for shard, order in shuffled:
            train = self.train[shard]
            asked: Any = (
                order, train.rows.offsets, train.rows.columns, train.rows.flat_values,
                train.labels, train.others.offsets, train.others.columns,
                self.copied, self.groups, self.decay, *(self.pattern or ()), self.weights,
                self.sums, self.bias, self.bias_sums, self.shared, self.shared_sums,
                self.config.learning_rate, self.step, total,
            )  # fmt: skip
            (_run_epoch if self.pattern is None else _run_sparse_epoch)(*asked)
            self.step += len(order)

    def model(self) -> LinearSoftmax:
        """Return the current weights, including the copy weights."""
        weights, copying = self.weights.copy(), np.flatnonzero(self.groups >= 0)
        shared = self.shared[self.groups[copying]]
        if self.pattern is None:
            weights[copying, self.copied[copying]] += shared
            return LinearSoftmax(weights, self.bias.copy())
        starts, kept = self.pattern
        features = np.repeat(np.arange(len(self.groups)), np.diff(starts))
        weights[kept == self.copied[features]] += shared  # each has exactly one
        return LinearSoftmax(SparseWeights(starts, kept, weights, len(self.bias)), self.bias.copy())


def seen_together(train: Sequence[Examples], class_count: int, copied: Ints) -> tuple[Longs, Ints]:
    """Return the predicates that each feature was seen with at least LEAST_TOGETHER times.

    As offsets (F + 1,) and predicates; the one that a feature speaks of is always among them.
    """
    keys, counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for shard in train:
        labels = np.repeat(shard.labels.astype(np.int64), np.diff(shard.rows.offsets))
        found = shard.rows.columns.astype(np.int64) * class_count + labels
        new, repeats = np.unique(found, return_counts=True)
        keys, places = np.unique(np.concatenate([keys, new]), return_inverse=True)
        counts = np.bincount(places, np.concatenate([counts, repeats])).astype(np.int64)
    speaking = np.flatnonzero(copied >= 0)
    own = speaking * np.int64(class_count) + copied[speaking]
    kept = np.union1d(keys[counts >= LEAST_TOGETHER], own)
    starts = np.searchsorted(kept, np.arange(len(copied) + 1) * np.int64(class_count))
    return starts.astype(np.int64), (kept % class_count).astype(np.int32)


@fast
def _run_epoch(
    order: Ints, offsets: Longs, columns: Ints, values: Floats,
    labels: Ints, other_offsets: Longs, others: Ints, copied: Ints, groups: Ints,
    decay: Floats, weights: Floats, sums: Floats, bias: Floats, bias_sums: Floats,
    shared: Floats, shared_sums: Floats, learning_rate: float, step: int, total: int,
) -> None:  # fmt: skip
    """Run Adagrad example by example; the penalty is a proximal step, which cannot overshoot."""
    class_count = bias.size
    gradient = np.empty(class_count, np.float32)
    slopes = np.zeros(shared.size, np.float32)
    for number in range(order.size):
        example = order[number]
        rate = np.float32(learning_rate * (1.0 - (step + number) / total))
        # Forward: `gradient` first holds the logits, which saves a second array.
        gradient[:] = bias
        for entry in range(offsets[example], offsets[example + 1]):
            feature = columns[entry]
            value = values[entry] if values.size else np.float32(1.0)
            for r in range(class_count):
                gradient[r] += value * weights[feature, r]
            if groups[feature] >= 0:
                gradient[copied[feature]] += value * shared[groups[feature]]
        for entry in range(other_offsets[example], other_offsets[example + 1]):
            gradient[others[entry]] = _MASKED  # masked: it is also true at that time
        softmax_gradient(gradient, labels[example])
        step_bias(bias, bias_sums, gradient, rate)
        # Backward: update only the rows of active features; the others cost nothing.
        for entry in range(offsets[example], offsets[example + 1]):
            feature = columns[entry]
            value = values[entry] if values.size else np.float32(1.0)
            shrinking = rate * decay[feature]
            for r in range(class_count):
                slope = value * gradient[r]
                square = sums[feature, r] + slope * slope
                sums[feature, r] = square
                root = np.sqrt(square)
                # The step and the shrinkage in one division; both are scaled by 1 / root.
                weights[feature, r] = (weights[feature, r] * root - rate * slope) / (
                    root + shrinking
                )
            if groups[feature] >= 0:
                slopes[groups[feature]] += value * gradient[copied[feature]]
        step_shared(shared, shared_sums, slopes, rate)


@fast
def _run_sparse_epoch(
    order: Ints, offsets: Longs, columns: Ints, values: Floats,
    labels: Ints, other_offsets: Longs, others: Ints, copied: Ints, groups: Ints,
    decay: Floats, starts: Longs, kept: Ints, weights: Floats, sums: Floats, bias: Floats,
    bias_sums: Floats, shared: Floats, shared_sums: Floats, learning_rate: float, step: int,
    total: int,
) -> None:  # fmt: skip
    """Run Adagrad where feature i has weights for kept[starts[i] : starts[i + 1]] only."""
    gradient = np.empty(bias.size, np.float32)
    slopes = np.zeros(shared.size, np.float32)
    for number in range(order.size):
        example = order[number]
        rate = np.float32(learning_rate * (1.0 - (step + number) / total))
        gradient[:] = bias
        for entry in range(offsets[example], offsets[example + 1]):
            feature = columns[entry]
            value = values[entry] if values.size else np.float32(1.0)
            for place in range(starts[feature], starts[feature + 1]):
                gradient[kept[place]] += value * weights[place]
            if groups[feature] >= 0:
                gradient[copied[feature]] += value * shared[groups[feature]]
        for entry in range(other_offsets[example], other_offsets[example + 1]):
            gradient[others[entry]] = _MASKED
        softmax_gradient(gradient, labels[example])
        step_bias(bias, bias_sums, gradient, rate)
        for entry in range(offsets[example], offsets[example + 1]):
            feature = columns[entry]
            value = values[entry] if values.size else np.float32(1.0)
            shrinking = rate * decay[feature]
            for place in range(starts[feature], starts[feature + 1]):
                slope = value * gradient[kept[place]]
                sums[place] += slope * slope
                root = np.sqrt(sums[place])
                weights[place] = (weights[place] * root - rate * slope) / (root + shrinking)
            if groups[feature] >= 0:
                slopes[groups[feature]] += value * gradient[copied[feature]]
        step_shared(shared, shared_sums, slopes, rate)


@fast
def step_bias(bias: Floats, sums: Floats, gradient: Floats, rate: np.float32) -> None:
    """Do one step of Adagrad for the bias."""
    for r in range(bias.size):
        sums[r] += gradient[r] * gradient[r]
        bias[r] -= rate * gradient[r] / np.sqrt(sums[r])


@fast
def step_shared(shared: Floats, sums: Floats, slopes: Floats, rate: np.float32) -> None:
    """Do one step of Adagrad for the copy weights, and clear the slopes."""
    for group in range(shared.size):
        sums[group] += slopes[group] * slopes[group]
        shared[group] -= rate * slopes[group] / np.sqrt(sums[group])
        slopes[group] = 0.0


@fast
def softmax_gradient(logits: Floats, label: int) -> None:
    """Turn logits into the gradient of -log p(label) by the logits: p, minus 1 at the label."""
    largest = logits.max()
    total = np.float32(0.0)
    for r in range(logits.size):
        logits[r] = np.exp(logits[r] - largest)
        total += logits[r]
    for r in range(logits.size):
        logits[r] /= total
    logits[label] -= np.float32(1.0)
