"""Fitting the linear softmax: per-example Adagrad; L2, stopping and temperature by valid.

The objective is the sum over examples of -log p(label), where the other training predicates of the
same (u, v, t) are left out of p's denominator, plus l2 / 2 * the sum of squared weights (not of the
bias). An example sees l2 divided by the number of examples in which a feature is active, for its
active features alone: over an epoch this is the whole penalty, and idle features cost nothing.

Features that speak of a predicate may share *copy weights*: one number for a whole group of them,
which each adds to the weight for its own predicate ("what happened happens again"). They are
learned beside the weights, without penalty, and are part of the weights when the fit is done.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from apptek.arrays import Floats, Ints, Longs, Matrix
from apptek.compiling import fast, in_threads
from apptek.config import ClassifierConfig
from apptek.errors import ApptekError, DataError
from apptek.evaluation.calibration import (
    Calibration,
    balance_calibration,
    expected_calibration_error,
    fit_calibration,
    softmax,
    top_predictions,
)
from apptek.evaluation.ranking import filtered_mrr
from apptek.features.copies import Copies
from apptek.memory import available_memory
from apptek.models.fitting.examples import Examples, sizes_of
from apptek.models.linear_softmax import LinearSoftmax
from apptek.ragged import Ragged

Pass = list[tuple[int, Ints]]  # one epoch: shards, and the order of the examples in each
_MASKED = np.float32(-1e30)  # finite: differences of it are numbers


@dataclass(frozen=True, slots=True)
class EpochReport:
    """The filtered MRR on valid after an epoch with this regularisation."""

    l2: float
    epoch: int  # from 1
    valid_mrr: float


@dataclass(frozen=True, slots=True)
class FitReport:
    """What was chosen on valid, and everything that was tried; None where there was no valid."""

    l2: float
    epoch: int
    valid_mrr: float | None
    temperature: float
    tilt: float  # of the temperature, see Calibration
    bend: float
    twist: float
    ece_before: float | None  # on valid, at temperature 1
    ece_after: float | None
    tried: tuple[EpochReport, ...]


def shuffled_pass(sizes: Sequence[int], rng: np.random.Generator) -> Pass:
    """Every example once: the shards in a random order, and so the examples within each."""
    shards = rng.permutation(len(sizes)).tolist()
    return [(shard, rng.permutation(sizes[shard]).astype(np.int32)) for shard in shards]


def fit_linear_softmax(
    train: Sequence[Examples],
    valid: Examples | None,
    *,
    class_count: int,
    config: ClassifierConfig,
    rng: np.random.Generator,
    copies: Copies | None = None,
) -> tuple[LinearSoftmax, FitReport]:
    """The classifier that ranks valid best, calibrated there, and how it was found.

    The training examples come in shards, of which one at a time is looked at. Values of l2 are
    tried in threads, all in the same order of examples: the same seed gives the same bytes. Without
    valid nothing is chosen: all epochs with the first l2, at temperature 1.
    """
    feature_count = train[0].rows.width
    if valid is not None:
        _check(valid, "valid", feature_count, class_count)
    copies = copies or Copies.nothing(feature_count)
    _check_copies(copies, feature_count, class_count)
    threads = fits_at_once(feature_count, class_count, 0 if valid is None else len(valid))
    passes = [shuffled_pass(sizes_of(train), rng) for _ in range(config.epochs)]
    if valid is None:
        return _all_epochs(Descent(train, class_count, config, config.l2[0], copies), passes)

    def fit(number: int) -> tuple[LinearSoftmax, EpochReport, list[EpochReport]]:
        descent = Descent(train, class_count, config, config.l2[number], copies)
        return _best_epoch(descent, valid, passes, config.patience)

    fits = in_threads(fit, range(len(config.l2)), threads)
    model, best, _ = max(fits, key=lambda fit: fit[1].valid_mrr)
    calibration, before, after = calibrate(model.scores(valid.rows), valid.labels, valid.others)
    report = FitReport(
        l2=best.l2,
        epoch=best.epoch,
        valid_mrr=best.valid_mrr,
        **asdict(calibration),
        ece_before=before,
        ece_after=after,
        tried=tuple(epoch for _, _, epochs in fits for epoch in epochs),
    )
    return LinearSoftmax(model.weights, model.bias, calibration), report


def refit_linear_softmax(
    train: Sequence[Examples],
    chosen: LinearSoftmax,
    report: FitReport,
    *,
    config: ClassifierConfig,
    rng: np.random.Generator,
    copies: Copies | None = None,
) -> LinearSoftmax:
    """The classifier fitted on more examples, with the settings and the calibration chosen."""
    descent = Descent(train, len(chosen.bias), config, report.l2, copies)
    for _ in range(report.epoch):
        descent.run_epoch(shuffled_pass(sizes_of(train), rng))
    return replace(descent.model(), calibration=chosen.calibration)


def fits_at_once(feature_count: int, class_count: int, tuning_count: int) -> int | None:
    """Return how many values of l2 can be tried at once; None: memory sets no limit.

    Raises an ApptekError if there is too little memory for one. Each needs its weights, their sums
    of squares, the best weights so far and those of the last epoch, and the scores of valid.
    """
    needed = 4 * class_count * (4 * feature_count + 2 * tuning_count)
    available = available_memory()
    if available is None:
        return None
    if needed > available:
        raise ApptekError(
            f"the fit needs {_gigabytes(needed)} of memory for {feature_count:,} features x "
            f"{class_count:,} predicates, and {_gigabytes(available)} is free: merge rare "
            "predicates, or use fewer features, such as --set 'history.kernels=[\"ever\"]'"
        )
    at_once = available // max(needed, 1)
    return at_once if at_once < (os.cpu_count() or 1) else None


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:,.1f} GB"


def _all_epochs(descent: "Descent", passes: list[Pass]) -> tuple[LinearSoftmax, FitReport]:
    """The weights after all epochs, not calibrated."""
    for shuffled in passes:
        descent.run_epoch(shuffled)
    report = FitReport(
        l2=descent.l2,
        epoch=len(passes),
        valid_mrr=None,
        **asdict(Calibration()),
        ece_before=None,
        ece_after=None,
        tried=(),
    )
    return descent.model(), report


def _best_epoch(
    descent: "Descent", valid: Examples, passes: list[Pass], patience: int
) -> tuple[LinearSoftmax, EpochReport, list[EpochReport]]:
    """The weights of the epoch that ranks valid best, its report, and those of all epochs."""
    kept, best = descent.model(), EpochReport(descent.l2, 0, 0.0)
    epochs: list[EpochReport] = []
    for epoch, shuffled in enumerate(passes, start=1):
        descent.run_epoch(shuffled)
        model = descent.model()
        mrr = filtered_mrr(model.scores(valid.rows), valid.labels, valid.others)
        epochs.append(EpochReport(descent.l2, epoch, mrr))
        if mrr > best.valid_mrr:
            kept, best = model, epochs[-1]
        if epoch - best.epoch >= patience:
            break
    return kept, best, epochs


def _check(examples: Examples, name: str, feature_count: int, class_count: int) -> None:
    if not len(examples):
        raise DataError(f"there are no {name} queries to fit the classifier with")
    if examples.rows.width != feature_count:
        raise ValueError("training and valid rows have different features")
    for predicates in (examples.labels, examples.others.columns):
        if predicates.dtype != np.int32 or predicates.min(initial=0) < 0:
            raise ValueError("predicates are int32, from 0")
        if predicates.max(initial=-1) >= class_count:
            raise ValueError(f"a predicate is not among the {class_count} classes")


def _check_copies(copies: Copies, feature_count: int, class_count: int) -> None:
    if len(copies.predicates) != feature_count:
        raise ValueError("the copies are of another number of features")
    if copies.predicates.max(initial=-1) >= class_count:
        raise ValueError(f"a copied predicate is not among the {class_count} classes")


def calibrate(
    scores: Matrix, labels: Ints, others: Ragged, *, balanced: bool = False
) -> tuple[Calibration, float, float]:
    """The calibration for these scores, and the calibration error without and with it.

    balanced  whether it is the one that is right on average, not the likeliest one
    """
    best, before = top_predictions(softmax(scores))
    correct = (best == labels) | others.contains(best)
    calibration = fit_calibration(scores, correct)
    if balanced:
        calibration = balance_calibration(scores, correct, calibration)
    _, after = top_predictions(calibration.probabilities(scores))
    error_before = expected_calibration_error(before, correct)
    return calibration, error_before, expected_calibration_error(after, correct)


class Descent:
    """Weights while they are learned, with each weight's sum of squared gradients."""

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
        shared = copies if copies and config.copies else None
        self.copies = shared or Copies.nothing(feature_count)
        self.weights = np.zeros((feature_count, class_count), np.float32)
        self.sums = np.full_like(self.weights, config.accumulator)
        self.bias = np.zeros(class_count, np.float32)
        self.bias_sums = np.full_like(self.bias, config.accumulator)
        self.shared = np.zeros(1 + int(self.copies.groups.max(initial=-1)), np.float32)
        self.shared_sums = np.full_like(self.shared, config.accumulator)
        self.decay = np.zeros(feature_count, np.float32)
        if l2:
            counts = sum(_active_counts(shard) for shard in train)
            self.decay[:] = l2 / np.maximum(counts, 1)

    def run_epoch(self, shuffled: Pass) -> None:
        """Learns from each example once, in this order."""
        total = self.config.epochs * sum(len(order) for _, order in shuffled)
        for shard, order in shuffled:
            train = self.train[shard]
            _check(train, "training", len(self.weights), len(self.bias))
            _run_epoch(
                order, train.rows.offsets, train.rows.columns, train.rows.flat_values,
                train.labels, train.others.offsets, train.others.columns,
                self.copies.predicates, self.copies.groups, self.decay, self.weights, self.sums,
                self.bias, self.bias_sums, self.shared, self.shared_sums,
                self.config.learning_rate, self.step, total,
            )  # fmt: skip
            self.step += len(order)

    def model(self) -> LinearSoftmax:
        """The weights as they are now, the copy weights among them."""
        weights, copying = self.weights.copy(), np.flatnonzero(self.copies.groups >= 0)
        predicates, groups = self.copies.predicates[copying], self.copies.groups[copying]
        weights[copying, predicates] += self.shared[groups]
        return LinearSoftmax(weights, self.bias.copy())


def _active_counts(examples: Examples) -> Longs:
    """In how many examples each feature is active."""
    rows = examples.rows
    return np.bincount(rows.flat_columns, minlength=rows.width)


@fast
def _run_epoch(
    order: Ints, offsets: Longs, columns: Ints, values: Floats,
    labels: Ints, other_offsets: Longs, others: Ints, copied: Ints, groups: Ints,
    decay: Floats, weights: Floats, sums: Floats, bias: Floats, bias_sums: Floats,
    shared: Floats, shared_sums: Floats, learning_rate: float, step: int, total: int,
) -> None:  # fmt: skip
    """Adagrad, example by example; the penalty as a proximal step, which cannot overshoot."""
    class_count = bias.size
    gradient = np.empty(class_count, np.float32)
    slopes = np.zeros(shared.size, np.float32)
    for number in range(order.size):
        example = order[number]
        rate = np.float32(learning_rate * (1.0 - (step + number) / total))
        # Forward: `gradient` first holds the logits, to spare a second array in the cache.
        gradient[:] = bias
        for entry in range(offsets[example], offsets[example + 1]):
            feature = columns[entry]
            value = values[entry] if values.size else np.float32(1.0)
            for r in range(class_count):
                gradient[r] += value * weights[feature, r]
            if groups[feature] >= 0:
                gradient[copied[feature]] += value * shared[groups[feature]]
        for entry in range(other_offsets[example], other_offsets[example + 1]):
            gradient[others[entry]] = _MASKED  # no mistake: it holds at that time, too
        softmax_gradient(gradient, labels[example])
        step_bias(bias, bias_sums, gradient, rate)
        # Backward: only the rows of active features are touched, so that idle ones cost nothing.
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
def step_bias(bias: Floats, sums: Floats, gradient: Floats, rate: np.float32) -> None:
    """One step of Adagrad for the bias."""
    for r in range(bias.size):
        sums[r] += gradient[r] * gradient[r]
        bias[r] -= rate * gradient[r] / np.sqrt(sums[r])


@fast
def step_shared(shared: Floats, sums: Floats, slopes: Floats, rate: np.float32) -> None:
    """One step of Adagrad for the copy weights; clears the slopes."""
    for group in range(shared.size):
        sums[group] += slopes[group] * slopes[group]
        shared[group] -= rate * slopes[group] / np.sqrt(sums[group])
        slopes[group] = 0.0


@fast
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
