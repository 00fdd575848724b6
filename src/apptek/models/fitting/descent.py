"""Gradient descent of the linear softmax: per-example Adagrad, with shared copy weights.

The objective is the sum over examples of -log p(label), plus l2 / 2 * the sum of squared weights
(not of the bias). The other training predicates of the same (u, v, t) are masked in p's
denominator. Each example penalises only its active features, with l2 divided by the number of
examples in which the feature is active. Over an epoch this adds up to the full penalty, and
inactive features take no time.

Features that have a predicate may share *copy weights*: one number for a whole group of features.
Each feature adds this number to its weight for its own predicate, because past events tend to
repeat. Copy weights are learned together with the ordinary weights, but without a penalty. They are
added to the ordinary weights at the end of the fit.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from apptek.arrays import Floats, Ints, Longs
from apptek.compiling import fast
from apptek.config import ClassifierConfig
from apptek.features.history import Copies
from apptek.models.fitting.examples import Examples
from apptek.models.linear_softmax import LinearSoftmax, SparseWeights

Pass = list[tuple[int, Ints]]  # one epoch: the shards in order, each with the order of its examples
# Maximum number of weights in all fits that run at once. A fit that needs more only has weights for
# features and predicates that occurred together.
MOST_DENSE = 100_000_000
LEAST_TOGETHER = 3  # training queries with both a feature and a predicate, to have a weight
_MASKED = np.float32(-1e30)  # finite, so that differences are not NaN


def shuffled_pass(train: Sequence[Examples], rng: np.random.Generator) -> Pass:
    """Draw the shards in random order, and the examples within each shard in random order."""
    shards = rng.permutation(len(train)).tolist()
    return [(shard, rng.permutation(len(train[shard])).astype(np.int32)) for shard in shards]


def descend(
    train: Sequence[Examples],
    class_count: int,
    config: ClassifierConfig,
    l2: float,
    passes: Sequence[Pass],
    copies: Copies | None = None,
) -> LinearSoftmax:
    """Return the uncalibrated weights after these passes over the examples."""
    descent = Descent(train, class_count, config, l2, copies)
    for shuffled in passes:
        descent.run_epoch(shuffled)
    return descent.model()


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
        """Train on each example once, in this order."""
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
        weights[kept == self.copied[features]] += shared  # each feature has exactly one such weight
        return LinearSoftmax(SparseWeights(starts, kept, weights, len(self.bias)), self.bias.copy())


def seen_together(train: Sequence[Examples], class_count: int, copied: Ints) -> tuple[Longs, Ints]:
    """Return the predicates that occurred with each feature at least LEAST_TOGETHER times.

    They are returned as offsets (F + 1,) and predicates. A feature's own predicate is always
    included.
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
    """Run Adagrad example by example. The penalty is a proximal step, so it cannot overshoot."""
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
            gradient[others[entry]] = _MASKED  # masked, because it is also true at that time
        softmax_gradient(gradient, labels[example])
        step_bias(bias, bias_sums, gradient, rate)
        # Backward: update only the rows of active features. Other rows take no time.
        for entry in range(offsets[example], offsets[example + 1]):
            feature = columns[entry]
            value = values[entry] if values.size else np.float32(1.0)
            shrinking = rate * decay[feature]
            for r in range(class_count):
                slope = value * gradient[r]
                square = sums[feature, r] + slope * slope
                sums[feature, r] = square
                root = np.sqrt(square)
                # One division for the step and the shrinkage, because both are scaled by 1 / root.
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
    """Run Adagrad. Feature i only has weights for predicates kept[starts[i] : starts[i + 1]]."""
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
    """Take one Adagrad step for the bias."""
    for r in range(bias.size):
        sums[r] += gradient[r] * gradient[r]
        bias[r] -= rate * gradient[r] / np.sqrt(sums[r])


@fast
def step_shared(shared: Floats, sums: Floats, slopes: Floats, rate: np.float32) -> None:
    """Take one Adagrad step for the copy weights, and set the slopes to 0."""
    for group in range(shared.size):
        sums[group] += slopes[group] * slopes[group]
        shared[group] -= rate * slopes[group] / np.sqrt(sums[group])
        slopes[group] = 0.0


@fast
def softmax_gradient(logits: Floats, label: int) -> None:
    """Convert logits to the gradient of -log p(label) by the logits: p, minus 1 at the label."""
    largest = logits.max()
    total = np.float32(0.0)
    for r in range(logits.size):
        logits[r] = np.exp(logits[r] - largest)
        total += logits[r]
    for r in range(logits.size):
        logits[r] /= total
    logits[label] -= np.float32(1.0)
