"""Kernels of an update of the Q-network: forward, backward and RMSprop over flat arrays.

The same mathematics as the modules of torch, without their cost per operation, which for networks
as small as the paper's is nearly all of the time. All weights are in one vector, in the order in
which torch lists them: psi, xi, the layers of the fingerprint, the layers of the Q-network; each
layer its weights (outputs, inputs) and then its biases. Sums are added up in the order that is
written, so that every processor learns the same.

A block is BLOCK examples side by side, (rows, BLOCK): row i of a layer's block is its output i. The
loops over a block have a fixed length, so that they become a few vector instructions.
"""

import numpy as np

from apptek.arrays import Floats, Ints, Longs
from apptek.compiling import fast

BLOCK = 64
SMOOTHING, TINY = 0.99, 1e-8  # alpha and eps of torch.optim.RMSprop


@fast
def block_forward(weights: Floats, start: int, sizes: Longs, parts: Floats) -> int:
    """Fills parts[1:] from parts[0]: the outputs of each layer, after ReLU but for the last.

    The layers, from sizes[0] inputs to sizes[-1] outputs, begin at weights[start]; returns where
    they end. parts is (layers + 1, rows, BLOCK).
    """
    for layer in range(sizes.size - 1):
        inputs, outputs = sizes[layer], sizes[layer + 1]
        given, biases = parts[layer], start + inputs * outputs
        for j in range(outputs):
            row, result = start + j * inputs, parts[layer + 1, j]
            for r in range(BLOCK):
                result[r] = weights[biases + j]
            whole = inputs - inputs % 4
            for i in range(0, whole, 4):  # four at a time: fewer loads and stores of the result
                w0, w1, w2, w3 = (
                    weights[row + i], weights[row + i + 1], weights[row + i + 2],
                    weights[row + i + 3],
                )  # fmt: skip
                x0, x1, x2, x3 = given[i], given[i + 1], given[i + 2], given[i + 3]
                for r in range(BLOCK):
                    result[r] += (w0 * x0[r] + w1 * x1[r]) + (w2 * x2[r] + w3 * x3[r])
            for i in range(whole, inputs):
                w0, x0 = weights[row + i], given[i]
                for r in range(BLOCK):
                    result[r] += w0 * x0[r]
            if layer < sizes.size - 2:
                for r in range(BLOCK):
                    result[r] = max(result[r], np.float32(0))
        start = biases + outputs
    return start


@fast
def block_backward(
    weights: Floats, end: int, sizes: Longs, parts: Floats, slopes: Floats, gradients: Floats
) -> None:
    """Adds the gradients of the layers that end at weights[end], and fills slopes[:-1].

    parts is as `block_forward` left it; slopes, of the same shape, has the gradients of the outputs
    in slopes[-1], 0 for the examples that a block is filled up with.
    """
    across = np.empty((BLOCK, parts.shape[1]), np.float32)
    for layer in range(sizes.size - 2, -1, -1):
        inputs, outputs = sizes[layer], sizes[layer + 1]
        biases = end - outputs
        start = biases - inputs * outputs
        given, passed = parts[layer, :inputs], slopes[layer, :inputs]
        passed[:] = 0.0
        across[:, :inputs] = given.T
        for j in range(outputs):
            slope = slopes[layer + 1, j]
            if not slope.any():  # nearly all outputs of the last layer: one action was taken
                continue
            row = slice(start + j * inputs, start + (j + 1) * inputs)
            gradients[biases + j] += _add_gradients(slope, across, gradients[row])
            for i in range(inputs):
                weight, into = weights[row.start + i], passed[i]
                for r in range(BLOCK):
                    into[r] += weight * slope[r]
        if layer:
            for i in range(inputs):
                for r in range(BLOCK):
                    passed[i, r] = passed[i, r] if given[i, r] > 0 else np.float32(0)
        end = start


@fast
def _add_gradients(slope: Floats, across: Floats, gradients: Floats) -> np.float32:
    """Adds the gradients of one output's weights; returns that of its bias."""
    total = np.float32(0)
    for r in range(0, BLOCK, 4):
        s0, s1, s2, s3 = slope[r], slope[r + 1], slope[r + 2], slope[r + 3]
        x0, x1, x2, x3 = across[r], across[r + 1], across[r + 2], across[r + 3]
        total += (s0 + s1) + (s2 + s3)
        for i in range(gradients.size):
            gradients[i] += (s0 * x0[i] + s1 * x1[i]) + (s2 * x2[i] + s3 * x3[i])
    return total


@fast
def _embed(weights: Floats, shape: Longs, columns: Ints, members: Ints, block: Floats) -> None:
    """Fills a block with the embedded predicate and times of up to BLOCK members, and marks."""
    predicate_size, time_size, times, marks = shape[0], shape[1], shape[2], shape[4]
    starts = np.zeros(BLOCK, np.int64)  # where the embeddings of one column begin
    first = 0
    for column in range(columns.shape[0]):
        size = time_size if column else predicate_size
        for r in range(members.size):
            starts[r] = columns[column, members[r] // marks] * size + (times if column else 0)
        for i in range(size):
            for r in range(BLOCK):
                block[first + i, r] = weights[starts[r] + i]
        first += size
    if marks > 1:
        block[first : first + marks] = 0.0
        for r in range(members.size):
            block[first + members[r] % marks, r] = 1.0


@fast
def encode_members(
    weights: Floats, shape: Longs, sizes: Longs, columns: Ints, members: Ints
) -> Floats:
    """Each member before the maximum, (members, d_f). `shape` is of `Layout`."""
    size = sizes[-1]
    encoded = np.empty((members.size, size), np.float32)
    parts = np.zeros((sizes.size, sizes.max(), BLOCK), np.float32)
    for first in range(0, members.size, BLOCK):
        block = members[first : first + BLOCK]
        _embed(weights, shape, columns, block, parts[0])
        block_forward(weights, shape[3], sizes, parts)
        for r in range(block.size):
            for i in range(size):
                encoded[first + r, i] = parts[-1, i, r]
    return encoded


@fast
def learn_encoding(
    weights: Floats, shape: Longs, sizes: Longs, columns: Ints, members: Ints, slopes_of: Floats,
    gradients: Floats,
) -> None:  # fmt: skip
    """Adds the gradients of embeddings and layers from those of the encoded members, slopes_of."""
    predicate_size, time_size, times = shape[0], shape[1], shape[2]
    parts = np.zeros((sizes.size, sizes.max(), BLOCK), np.float32)
    slopes = np.zeros((sizes.size, sizes.max(), BLOCK), np.float32)
    for first in range(0, members.size, BLOCK):
        block = members[first : first + BLOCK]
        _embed(weights, shape, columns, block, parts[0])
        end = block_forward(weights, shape[3], sizes, parts)
        slopes[-1] = 0.0
        for r in range(block.size):
            for i in range(sizes[-1]):
                slopes[-1, i, r] = slopes_of[first + r, i]
        block_backward(weights, end, sizes, parts, slopes, gradients)
        for r in range(block.size):
            pair = block[r] // shape[4]
            row = columns[0, pair] * predicate_size
            for i in range(predicate_size):
                gradients[row + i] += slopes[0, i, r]
            for column in range(1, columns.shape[0]):
                row = times + columns[column, pair] * time_size
                offset = predicate_size + (column - 1) * time_size
                for i in range(time_size):
                    gradients[row + i] += slopes[0, offset + i, r]


@fast
def value_fingerprints(weights: Floats, start: int, sizes: Longs, both: Floats) -> Floats:
    """The values of all actions, (B, actions), from the fingerprints of both sides, (B, 2 d_f)."""
    values = np.empty((len(both), sizes[-1]), np.float32)
    parts = np.zeros((sizes.size, sizes.max(), BLOCK), np.float32)
    for first in range(0, len(both), BLOCK):
        block = both[first : first + BLOCK]
        for r in range(len(block)):
            for i in range(sizes[0]):
                parts[0, i, r] = block[r, i]
        block_forward(weights, start, sizes, parts)
        for r in range(len(block)):
            for i in range(sizes[-1]):
                values[first + r, i] = parts[-1, i, r]
    return values


@fast
def learn_values(
    weights: Floats, start: int, sizes: Longs, both: Floats, actions: Ints, targets: Floats,
    gradients: Floats,
) -> tuple[float, Floats]:  # fmt: skip
    """Adds the gradients of the mean squared error of the actions' values.

    Returns the error, and its gradients by the fingerprints of both sides, (B, 2 d_f).
    """
    passed = np.empty_like(both)
    parts = np.zeros((sizes.size, sizes.max(), BLOCK), np.float32)
    slopes = np.zeros((sizes.size, sizes.max(), BLOCK), np.float32)
    loss = 0.0
    for first in range(0, len(both), BLOCK):
        block = both[first : first + BLOCK]
        for r in range(len(block)):
            for i in range(sizes[0]):
                parts[0, i, r] = block[r, i]
        end = block_forward(weights, start, sizes, parts)
        slopes[-1] = 0.0
        for r in range(len(block)):
            action = actions[first + r]
            error = parts[-1, action, r] - targets[first + r]
            slopes[-1, action, r] = error * np.float32(2 / len(both))
            loss += error * error
        block_backward(weights, end, sizes, parts, slopes, gradients)
        for r in range(len(block)):
            for i in range(sizes[0]):
                passed[first + r, i] = slopes[0, i, r]
    return loss / len(both), passed


@fast
def rmsprop(
    weights: Floats, gradients: Floats, squares: Floats, learning_rate: float, weight_decay: float
) -> None:
    """One step of torch's RMSprop on flat vectors; weights and squares are changed in place."""
    rate, decay = np.float32(learning_rate), np.float32(weight_decay)
    kept, added, tiny = np.float32(SMOOTHING), np.float32(1 - SMOOTHING), np.float32(TINY)
    for i in range(weights.size):
        gradient = gradients[i] + decay * weights[i]
        squares[i] = kept * squares[i] + added * gradient * gradient
        weights[i] -= rate * (gradient / (np.sqrt(squares[i]) + tiny))
