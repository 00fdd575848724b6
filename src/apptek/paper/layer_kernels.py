"""Kernels of layers of a network, forward and backward, over blocks of examples.

A block is BLOCK examples side by side, (rows, BLOCK): row i of a layer's block is its output i. The
loops over a block have a fixed length, so that they become a few vector instructions. Four rows of
weights share what is loaded of a block, but each sum is added up in the order that is written.
"""

from collections.abc import Callable

import numpy as np

from apptek.arrays import Floats, Longs
from apptek.compiling import fast, leaf

Four = tuple[np.float32, np.float32, np.float32, np.float32]
Rows = tuple[int, int, int, int]
BLOCK = 64
LANES = 16  # inputs side by side, where the gradients of weights are added up


def _product_adder(lanes: int) -> Callable[..., None]:
    """A kernel that adds the products of four rows with a matrix whose rows are `lanes` long.

    Four rows share the loads of the matrix. `lanes` is fixed when the kernel is compiled: then one
    comparison shows that the results are not in the matrix, and the loop becomes vectors.
    """

    @leaf
    def add(left: Floats, rows: Rows, count: int, right: Floats, results: Floats) -> None:
        """Adds left[rows[k] : rows[k] + count] @ right, (count, lanes), to row k of the results."""
        whole = count - count % 4
        for i in range(0, whole, 4):
            w0, w1 = _four(left, rows[0] + i), _four(left, rows[1] + i)
            w2, w3 = _four(left, rows[2] + i), _four(left, rows[3] + i)
            given = right[i * lanes : (i + 4) * lanes]
            for r in range(lanes):
                x = given[r], given[lanes + r], given[2 * lanes + r], given[3 * lanes + r]
                results[r] += _dot(w0, x)
                results[lanes + r] += _dot(w1, x)
                results[2 * lanes + r] += _dot(w2, x)
                results[3 * lanes + r] += _dot(w3, x)
        for i in range(whole, count):
            given = right[i * lanes : (i + 1) * lanes]
            for k in range(4):
                weight, result = left[rows[k] + i], results[k * lanes : (k + 1) * lanes]
                for r in range(lanes):
                    result[r] += weight * given[r]

    return add


@leaf
def _four(values: Floats, first: int) -> Four:
    return values[first], values[first + 1], values[first + 2], values[first + 3]


@leaf
def _dot(w: Four, x: Four) -> np.float32:
    return (w[0] * x[0] + w[1] * x[1]) + (w[2] * x[2] + w[3] * x[3])


_add_to_block = _product_adder(BLOCK)
_add_to_lanes = _product_adder(LANES)


@fast
def new_parts(sizes: Longs) -> Floats:
    """A block for the inputs and one for the outputs of each layer, (layers + 1, rows, BLOCK).

    Three more rows: outputs come in fours. Inputs are 0 where a block is not filled up.
    """
    parts = np.empty((sizes.size, sizes.max() + 3, BLOCK), np.float32)
    parts[0] = 0.0
    return parts


@leaf
def block_forward(weights: Floats, start: int, sizes: Longs, parts: Floats, layers: int) -> int:
    """Fills parts[1 : layers + 1] from parts[0]: outputs of layers, after ReLU but for the last.

    The network, from sizes[0] inputs to sizes[-1] outputs, begins at weights[start]; returns where
    these layers of it end. parts is of `new_parts`.
    """
    flat = parts.reshape(parts.shape[0], -1)
    for layer in range(layers):
        inputs, outputs = sizes[layer], sizes[layer + 1]
        biases = start + inputs * outputs
        for j in range(0, outputs, 4):  # beyond the last output: the last one once more
            j1, j2, j3 = min(j + 1, outputs - 1), min(j + 2, outputs - 1), min(j + 3, outputs - 1)
            rows = start + j * inputs, start + j1 * inputs, start + j2 * inputs, start + j3 * inputs
            results = flat[layer + 1, j * BLOCK : (j + 4) * BLOCK]
            b0, b1 = weights[biases + j], weights[biases + j1]
            b2, b3 = weights[biases + j2], weights[biases + j3]
            for r in range(BLOCK):
                results[r], results[BLOCK + r] = b0, b1
                results[2 * BLOCK + r], results[3 * BLOCK + r] = b2, b3
            _add_to_block(weights, rows, inputs, flat[layer], results)
            if layer < sizes.size - 2:
                for r in range(4 * BLOCK):
                    results[r] = max(results[r], np.float32(0))
        start = biases + outputs
    return start


@leaf
def output_of(
    weights: Floats, row: int, bias: np.float32, given: Floats, example: int
) -> np.float32:
    """One output of one example, from inputs (inputs, BLOCK), as `block_forward` adds it up."""
    inputs, output = given.shape[0], bias
    whole = inputs - inputs % 4
    for i in range(0, whole, 4):
        x = given[i, example], given[i + 1, example], given[i + 2, example], given[i + 3, example]
        output += _dot(_four(weights, row + i), x)
    for i in range(whole, inputs):
        output += weights[row + i] * given[i, example]
    return output


@fast
def block_backward(
    weights: Floats, end: int, sizes: Longs, parts: Floats, slopes: Floats, gradients: Floats
) -> None:
    """Adds the gradients of the layers that end at weights[end], and fills slopes[:-1].

    parts is as `block_forward` left it; slopes, of the same shape, has the gradients of the outputs
    in slopes[-1], 0 for the examples that a block is filled up with. Rows of slopes[1:] are moved.
    """
    across = np.zeros((-(-sizes[:-1].max() // LANES), BLOCK * LANES), np.float32)
    sums = np.zeros(4 * LANES, np.float32)
    active = np.empty(sizes.max(), np.int64)
    flat = slopes.reshape(slopes.shape[0], -1)
    for layer in range(sizes.size - 2, -1, -1):
        inputs, outputs = sizes[layer], sizes[layer + 1]
        biases = end - outputs
        start = biases - inputs * outputs
        given, passed = parts[layer, :inputs], slopes[layer, :inputs]
        passed[:] = 0.0
        _lay_across(given, across)
        count = _move_active(slopes[layer + 1], outputs, active)
        for first in range(0, count, 4):
            rows = active[first : min(first + 4, count)]
            four = flat[layer + 1, first * BLOCK : (first + 4) * BLOCK]
            _add_bias_gradients(four, gradients[biases:], rows)
            _add_gradients(four, across, sums, gradients[start:biases], rows, inputs)
            _pass_back(four, weights[start:biases], rows, inputs, flat[layer])
        if layer:
            for i in range(inputs):
                for r in range(BLOCK):
                    passed[i, r] = passed[i, r] if given[i, r] > 0 else np.float32(0)
        end = start


@fast
def _move_active(slopes: Floats, outputs: int, active: Longs) -> int:
    """Moves the outputs that have a slope to the front, before three rows of zeros; their number.

    `active` lists them. They are few in the last layer, where one action was taken.
    """
    bits = slopes.view(np.int32)  # of integers the processor tests many at once
    count = 0
    for j in range(outputs):
        some = 0
        for r in range(BLOCK):
            some |= bits[j, r]
        if some:
            if count < j:
                for r in range(BLOCK):
                    slopes[count, r] = slopes[j, r]
            active[count] = j
            count += 1
    slopes[count : count + 3] = 0.0
    return count


@leaf
def _lay_across(given: Floats, across: Floats) -> None:
    """Fills across with the columns of given, (inputs, BLOCK), LANES inputs side by side."""
    for i in range(given.shape[0]):
        row, column = given[i], across[i // LANES, i % LANES :]
        for r in range(BLOCK):
            column[r * LANES] = row[r]


@leaf
def _add_bias_gradients(slopes: Floats, gradients: Floats, rows: Longs) -> None:
    """Adds the sums of the slopes of up to four outputs, `rows`, to the gradients of biases."""
    t0 = t1 = t2 = t3 = np.float32(0)
    for r in range(0, BLOCK, 4):  # four sums at once: each addition waits for the one before it
        t0 += _sum(_four(slopes, r))
        t1 += _sum(_four(slopes, BLOCK + r))
        t2 += _sum(_four(slopes, 2 * BLOCK + r))
        t3 += _sum(_four(slopes, 3 * BLOCK + r))
    totals = t0, t1, t2, t3
    for k in range(rows.size):
        gradients[rows[k]] += totals[k]


@leaf
def _sum(x: Four) -> np.float32:
    return (x[0] + x[1]) + (x[2] + x[3])


@leaf
def _add_gradients(
    slopes: Floats, across: Floats, sums: Floats, gradients: Floats, rows: Longs, inputs: int
) -> None:
    """Adds the gradients of the weights of up to four outputs; `sums` is room for four rows."""
    for first in range(0, inputs, LANES):
        lanes = min(LANES, inputs - first)
        for k in range(rows.size):
            _copy(gradients[rows[k] * inputs + first :], sums[k * LANES :], lanes)
        _add_to_lanes(slopes, (0, BLOCK, 2 * BLOCK, 3 * BLOCK), BLOCK, across[first // LANES], sums)
        for k in range(rows.size):
            _copy(sums[k * LANES :], gradients[rows[k] * inputs + first :], lanes)


@leaf
def _copy(source: Floats, target: Floats, count: int) -> None:
    """Copies `count` values, as one vector if they are LANES, as they nearly always are."""
    if count == LANES:
        for i in range(LANES):
            target[i] = source[i]
    else:
        for i in range(count):
            target[i] = source[i]


@leaf
def _pass_back(slopes: Floats, weights: Floats, rows: Longs, inputs: int, passed: Floats) -> None:
    """Adds what up to four outputs pass back to the gradients of the inputs, (inputs, BLOCK)."""
    last, whole = rows.size - 1, inputs - inputs % 4
    r0, r1 = rows[0] * inputs, rows[min(1, last)] * inputs
    r2, r3 = rows[min(2, last)] * inputs, rows[last] * inputs
    for i in range(0, whole, 4):
        w0, w1 = _four(weights, r0 + i), _four(weights, r1 + i)
        w2, w3 = _four(weights, r2 + i), _four(weights, r3 + i)
        into = passed[i * BLOCK : (i + 4) * BLOCK]
        for r in range(BLOCK):
            s = slopes[r], slopes[BLOCK + r], slopes[2 * BLOCK + r], slopes[3 * BLOCK + r]
            into[r] = _add_each(into[r], (w0[0], w1[0], w2[0], w3[0]), s)
            into[BLOCK + r] = _add_each(into[BLOCK + r], (w0[1], w1[1], w2[1], w3[1]), s)
            into[2 * BLOCK + r] = _add_each(into[2 * BLOCK + r], (w0[2], w1[2], w2[2], w3[2]), s)
            into[3 * BLOCK + r] = _add_each(into[3 * BLOCK + r], (w0[3], w1[3], w2[3], w3[3]), s)
    for i in range(whole, inputs):
        w = weights[r0 + i], weights[r1 + i], weights[r2 + i], weights[r3 + i]
        into = passed[i * BLOCK : (i + 1) * BLOCK]
        for r in range(BLOCK):
            s = slopes[r], slopes[BLOCK + r], slopes[2 * BLOCK + r], slopes[3 * BLOCK + r]
            into[r] = _add_each(into[r], w, s)


@leaf
def _add_each(total: np.float32, w: Four, x: Four) -> np.float32:
    """Adds w @ x to the total, one product after the other."""
    return (((total + w[0] * x[0]) + w[1] * x[1]) + w[2] * x[2]) + w[3] * x[3]
