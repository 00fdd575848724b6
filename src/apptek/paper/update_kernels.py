"""Kernels of an update of the Q-network: forward, backward and RMSprop over flat arrays.

The same mathematics as the modules of torch, without their cost per operation, which for networks
as small as the paper's is nearly all of the time. All weights are in one vector, in the order in
which torch lists them: psi, xi, the layers of the fingerprint, the layers of the Q-network; each
layer its weights (outputs, inputs) and then its biases. Sums are added up in the order that is
written, so that every processor learns the same.
"""

import numpy as np

from apptek.arrays import Bools, Floats, Ints, Longs
from apptek.compiling import fast, leaf
from apptek.paper.layer_kernels import (
    BLOCK,
    block_backward,
    block_forward,
    new_parts,
    output_of,
)

SMOOTHING, TINY = 0.99, 1e-8  # alpha and eps of torch.optim.RMSprop


@fast
def _embed(weights: Floats, shape: Longs, columns: Ints, members: Ints, block: Floats) -> None:
    """Fills a block with the embedded predicate and times of up to BLOCK members, and marks."""
    predicate_size, time_size, times, marks = shape[0], shape[1], shape[2], shape[4]
    starts = np.zeros(BLOCK, np.uint64)  # of one column's embeddings; unsigned: never from the end
    first = 0
    for column in range(columns.shape[0]):
        size, begin = (time_size, times) if column else (predicate_size, 0)
        for r in range(members.size):
            pair = members[r] // marks if marks > 1 else members[r]
            starts[r] = begin + columns[column, pair] * size
        for i in range(size):
            into, embedded = block[first + i], weights[i:]
            for r in range(BLOCK):
                into[r] = embedded[starts[r]]
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
    parts = new_parts(sizes)
    for first in range(0, members.size, BLOCK):
        block = members[first : first + BLOCK]
        _embed(weights, shape, columns, block, parts[0])
        block_forward(weights, shape[3], sizes, parts, sizes.size - 1)
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
    parts = new_parts(sizes)
    slopes = new_parts(sizes)
    for first in range(0, members.size, BLOCK):
        block = members[first : first + BLOCK]
        _embed(weights, shape, columns, block, parts[0])
        end = block_forward(weights, shape[3], sizes, parts, sizes.size - 1)
        slopes[-1] = 0.0
        for r in range(block.size):
            for i in range(sizes[-1]):
                slopes[-1, i, r] = slopes_of[first + r, i]
        block_backward(weights, end, sizes, parts, slopes, gradients)
        _add_embedding_gradients(slopes[0], shape, columns, block, gradients)


@leaf
def _add_embedding_gradients(
    slopes: Floats, shape: Longs, columns: Ints, members: Ints, gradients: Floats
) -> None:
    """Adds the slopes of a block that `_embed` filled to the gradients of the embeddings."""
    predicate_size, time_size, times, marks = shape[0], shape[1], shape[2], shape[4]
    for r in range(members.size):
        pair = members[r] // marks if marks > 1 else members[r]
        first = 0
        for column in range(columns.shape[0]):
            size, begin = (time_size, times) if column else (predicate_size, 0)
            row = begin + columns[column, pair] * size
            into, added = gradients[row : row + size], slopes[first : first + size]
            for i in range(size):
                into[i] += added[i, r]
            first += size


@fast
def best_values(weights: Floats, start: int, sizes: Longs, both: Floats, legal: Bools) -> Floats:
    """The highest value of a legal action by example, (B,); minus infinity if none is legal.

    `both` are the fingerprints of both sides, (B, 2 d_f).
    """
    values = np.empty(len(both), np.float32)
    listed = np.empty(sizes[-1], np.int64)  # the legal actions of one example
    parts = new_parts(sizes)
    for first in range(0, len(both), BLOCK):
        block = both[first : first + BLOCK]
        parts[0, : sizes[0], : len(block)] = block.T
        block_forward(weights, start, sizes, parts, sizes.size - 1)
        for r in range(len(block)):
            count = 0
            for action in range(sizes[-1]):  # without a branch, which would be hard to foresee
                listed[count] = action
                count += legal[first + r, action]
            best = np.float32(-np.inf)
            for action in listed[:count]:
                best = max(best, parts[-1, action, r])
            values[first + r] = best
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
    parts = new_parts(sizes)
    slopes = new_parts(sizes)
    loss, inputs = 0.0, sizes[-2]  # of the last layer
    for first in range(0, len(both), BLOCK):
        block = both[first : first + BLOCK]
        for r in range(len(block)):
            for i in range(sizes[0]):
                parts[0, i, r] = block[r, i]
        last = block_forward(weights, start, sizes, parts, sizes.size - 2)
        biases = last + inputs * sizes[-1]
        slopes[-1] = 0.0
        for r in range(len(block)):
            action = actions[first + r]
            row, bias = last + action * inputs, weights[biases + action]
            error = output_of(weights, row, bias, parts[-2, :inputs], r) - targets[first + r]
            slopes[-1, action, r] = error * np.float32(2 / len(both))
            loss += error * error
        block_backward(weights, biases + sizes[-1], sizes, parts, slopes, gradients)
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
