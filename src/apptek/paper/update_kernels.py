"""Kernels for an update of the Q-network: forward, backward and RMSprop over flat arrays.

The mathematics is identical to the torch modules. With networks as small as the paper's, torch
spends nearly all the time on per-operation overhead. The kernels avoid this overhead. All weights
are in one vector, in torch's order: psi, xi, the fingerprint's layers, the Q-network's layers. Each
layer stores its weights (outputs, inputs) and then its biases. Sums are added in the written order,
so that the result is the same on every processor.

Layers process blocks of BLOCK examples: row i of a block, (rows, BLOCK), is a layer's output i.
The compiler vectorises the loops over a block.
"""

import numpy as np

from apptek.arrays import Bools, Floats, Ints, Longs
from apptek.compiling import fast, leaf

BLOCK = 64
SMOOTHING, TINY = 0.99, 1e-8  # alpha and eps of torch.optim.RMSprop


@leaf
def _add_to_block(left: Floats, right: Floats, results: Floats) -> None:
    """Add left @ right, (n,) times (n, BLOCK), to the results: four products at a time."""
    whole = left.size - left.size % 4
    for i in range(0, whole, 4):
        a, b, c, d = left[i], left[i + 1], left[i + 2], left[i + 3]
        w, x, y, z = right[i], right[i + 1], right[i + 2], right[i + 3]
        for r in range(BLOCK):
            results[r] += (a * w[r] + b * x[r]) + (c * y[r] + d * z[r])
    for i in range(whole, left.size):
        for r in range(BLOCK):
            results[r] += left[i] * right[i, r]


@leaf
def _add_gradients(slope: Floats, across: Floats, gradients: Floats) -> None:
    """Add slope @ across, (BLOCK,) times (BLOCK, inputs), to the gradients of weights."""
    for r in range(0, BLOCK, 4):
        a, b, c, d = slope[r], slope[r + 1], slope[r + 2], slope[r + 3]
        w, x, y, z = across[r], across[r + 1], across[r + 2], across[r + 3]
        for i in range(gradients.size):
            gradients[i] += (a * w[i] + b * x[i]) + (c * y[i] + d * z[i])


@fast
def _new_parts(sizes: Longs) -> Floats:
    """Return zeroed blocks for the inputs and for each layer's outputs, (layers + 1, rows, BLOCK).

    They start at 0 because the kernels also compute the unused columns in an incomplete block.
    """
    return np.zeros((sizes.size, sizes.max(), BLOCK), np.float32)


@leaf
def _forward(weights: Floats, start: int, sizes: Longs, parts: Floats, layers: int) -> int:
    """Fill parts[1 : layers + 1] from parts[0] with the layers' outputs; ReLU on all but the last.

    The layers start at weights[start]; return the offset where they end. `parts` comes from
    `_new_parts`.
    """
    for layer in range(layers):
        inputs, outputs = sizes[layer], sizes[layer + 1]
        biases = start + inputs * outputs
        for j in range(outputs):
            results, row = parts[layer + 1, j], start + j * inputs
            results[:] = weights[biases + j]
            _add_to_block(weights[row : row + inputs], parts[layer], results)
            if layer < sizes.size - 2:
                for r in range(BLOCK):
                    results[r] = max(results[r], np.float32(0))
        start = biases + outputs
    return start


@leaf
def _output(row: Floats, bias: np.float32, given: Floats, example: int) -> np.float32:
    """Return one output for one example, summed in the same order as in `_forward`."""
    output, whole = bias, row.size - row.size % 4
    for i in range(0, whole, 4):
        one = row[i] * given[i, example] + row[i + 1] * given[i + 1, example]
        output += one + (row[i + 2] * given[i + 2, example] + row[i + 3] * given[i + 3, example])
    for i in range(whole, row.size):
        output += row[i] * given[i, example]
    return output


@fast
def _backward(
    weights: Floats, end: int, sizes: Longs, parts: Floats, slopes: Floats, gradients: Floats
) -> None:
    """Add the gradients of the layers that end at weights[end], and fill slopes[:-1].

    `parts` is the result of `_forward`. `slopes` has the same shape; slopes[-1] contains the
    gradients of the outputs, with 0 in the unused columns of a block.
    """
    for layer in range(sizes.size - 2, -1, -1):
        inputs, outputs = sizes[layer], sizes[layer + 1]
        biases = end - outputs
        start = biases - inputs * outputs
        given, passed = parts[layer, :inputs], slopes[layer, :inputs]
        passed[:] = 0.0
        across = np.ascontiguousarray(given.T)  # (BLOCK, inputs)
        for j in range(outputs):
            slope, row = slopes[layer + 1, j], start + j * inputs
            if not slope.any():  # most rows of the last layer: an example has one action
                continue
            total = np.float32(0)
            for r in range(0, BLOCK, 4):
                total += (slope[r] + slope[r + 1]) + (slope[r + 2] + slope[r + 3])
            gradients[biases + j] += total
            _add_gradients(slope, across, gradients[row : row + inputs])
            for i in range(inputs):
                weight, into = weights[row + i], passed[i]
                for r in range(BLOCK):
                    into[r] += weight * slope[r]
        if layer:
            for i in range(inputs):
                for r in range(BLOCK):
                    passed[i, r] = passed[i, r] if given[i, r] > 0 else np.float32(0)
        end = start


@fast
def _embed(weights: Floats, shape: Longs, columns: Ints, members: Ints, block: Floats) -> None:
    """Fill a block with the predicate and time embeddings and marks of up to BLOCK members."""
    predicate_size, time_size, times, marks = shape[0], shape[1], shape[2], shape[4]
    starts = np.zeros(BLOCK, np.uint64)  # offsets of one column; unsigned: no negative indices
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
    """Return the encoding of each member, (members, d_f). `shape` comes from `dqn._layout`."""
    size = sizes[-1]
    encoded = np.empty((members.size, size), np.float32)
    parts = _new_parts(sizes)
    for first in range(0, members.size, BLOCK):
        block = members[first : first + BLOCK]
        _embed(weights, shape, columns, block, parts[0])
        _forward(weights, shape[3], sizes, parts, sizes.size - 1)
        encoded[first : first + BLOCK] = parts[-1, :size, : block.size].T
    return encoded


@fast
def learn_encoding(
    weights: Floats, shape: Longs, sizes: Longs, columns: Ints, members: Ints, slopes_of: Floats,
    gradients: Floats,
) -> None:  # fmt: skip
    """Add the gradients of embeddings and layers; slopes_of: gradients of the encoded members."""
    parts = _new_parts(sizes)
    slopes = _new_parts(sizes)
    for first in range(0, members.size, BLOCK):
        block = members[first : first + BLOCK]
        _embed(weights, shape, columns, block, parts[0])
        end = _forward(weights, shape[3], sizes, parts, sizes.size - 1)
        slopes[-1] = 0.0
        slopes[-1, : sizes[-1], : block.size] = slopes_of[first : first + BLOCK].T
        _backward(weights, end, sizes, parts, slopes, gradients)
        _add_embedding_gradients(slopes[0], shape, columns, block, gradients)


@leaf
def _add_embedding_gradients(
    slopes: Floats, shape: Longs, columns: Ints, members: Ints, gradients: Floats
) -> None:
    """Add the slopes of a block from `_embed` to the gradients of the embeddings."""
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
    """Return the highest Q-value of a legal action, (B,); minus infinity if none is legal.

    `both` contains the fingerprints of both sides, (B, 2 d_f).
    """
    values = np.empty(len(both), np.float32)
    listed = np.empty(sizes[-1], np.int64)  # the legal actions for one example
    parts = _new_parts(sizes)
    for first in range(0, len(both), BLOCK):
        block = both[first : first + BLOCK]
        parts[0, : sizes[0], : len(block)] = block.T
        _forward(weights, start, sizes, parts, sizes.size - 1)
        for r in range(len(block)):
            count = 0
            for action in range(sizes[-1]):  # branch-free: a branch would be hard to predict
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
    """Add the gradients of the mean squared error of the actions' Q-values.

    Return the error, and its gradients with respect to both fingerprints, (B, 2 d_f).
    """
    passed = np.empty_like(both)
    parts = _new_parts(sizes)
    slopes = _new_parts(sizes)
    loss, inputs = 0.0, sizes[-2]  # of the last layer
    for first in range(0, len(both), BLOCK):
        block = both[first : first + BLOCK]
        parts[0, : sizes[0], : len(block)] = block.T
        last = _forward(weights, start, sizes, parts, sizes.size - 2)
        biases = last + inputs * sizes[-1]
        slopes[-1] = 0.0
        for r in range(len(block)):
            action = actions[first + r]
            row = weights[last + action * inputs : last + (action + 1) * inputs]
            error = _output(row, weights[biases + action], parts[-2], r) - targets[first + r]
            slopes[-1, action, r] = error * np.float32(2 / len(both))
            loss += error * error
        _backward(weights, biases + sizes[-1], sizes, parts, slopes, gradients)
        passed[first : first + BLOCK] = slopes[0, : sizes[0], : len(block)].T
    return loss / len(both), passed


@fast
def rmsprop(
    weights: Floats, gradients: Floats, squares: Floats, learning_rate: float, weight_decay: float
) -> None:
    """Perform one step of torch's RMSprop on flat vectors; update weights and squares in place."""
    rate, decay = np.float32(learning_rate), np.float32(weight_decay)
    kept, added, tiny = np.float32(SMOOTHING), np.float32(1 - SMOOTHING), np.float32(TINY)
    for i in range(weights.size):
        gradient = gradients[i] + decay * weights[i]
        squares[i] = kept * squares[i] + added * gradient * gradient
        weights[i] -= rate * (gradient / (np.sqrt(squares[i]) + tiny))
