# SPDX-License-Identifier: BSD-3-Clause
"""Small models in plain Python, with their backward passes by hand: lists of floats, rounded to the run's dtype after each operation."""

import math
import random
import struct


def rounded(values, dtype):
    if dtype == "float64":
        return values
    if dtype == "bfloat16":
        return [upper_half(value) for value in values]
    return list(struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values)))


def upper_half(value):
    """The nearest number whose float32 ends in 16 zero bits; a tie goes to the even one."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    bits += 0x7FFF + ((bits >> 16) & 1)
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0]


def added(values):
    """Adds from left to right; since Python 3.12 sum() of floats compensates for rounding."""
    total = 0.0
    for value in values:
        total += value
    return total


class Tensor:
    def __init__(self, shape, values, dtype):
        self.shape, self.dtype = tuple(shape), dtype
        self.values = rounded(values, dtype) if "float" in dtype else values

    def changed(self, values):
        return Tensor(self.shape, values, self.dtype)

    def zeros(self):
        return self.changed([0.0] * len(self.values))

    def plus(self, other):
        return self.changed([a + b for a, b in zip(self.values, other.values)])

    def times(self, factor):
        return self.changed([a * factor for a in self.values])

    def square_sum(self):
        return added(a * a for a in self.values)


def rows_of(tensor):
    width = tensor.shape[-1]
    return [tensor.values[i : i + width] for i in range(0, len(tensor.values), width)]


def product(left, right):
    """left [n x k] by right [m x k], transposed."""
    return [added(a * b for a, b in zip(one, other)) for one in left for other in right]


def transposed(rows):
    return [list(column) for column in zip(*rows)]


class Unit:
    """Parameters by their names within the unit; forward returns what backward needs."""

    def __init__(self, name, shapes, seed, dtype):
        draw = random.Random(f"{seed} {name}")
        self.name, self.dtype = name, dtype
        self.parameters = {}
        for kind, shape in shapes.items():
            middle = 1.0 if kind == "gain" else 0.0
            self.parameters[kind] = Tensor(shape, [middle + draw.uniform(-0.5, 0.5) for _ in range(math.prod(shape))], dtype)

    def tensor(self, shape, values):
        return Tensor(shape, values, self.dtype)


class Dense(Unit):
    """tanh(x W^T + b), or without tanh as a head."""

    def __init__(self, name, inner, outer, seed, dtype, head=False):
        shapes = {"weight": (outer, inner)} if head else {"weight": (outer, inner), "bias": (outer,)}
        super().__init__(name, shapes, seed, dtype)
        self.head = head

    def forward(self, x):
        weight = rows_of(self.parameters["weight"])
        out = product(rows_of(x), weight)
        if self.head:
            return self.tensor((x.shape[0], len(weight)), out), (x, None)
        bias = self.parameters["bias"].values
        out = self.tensor((x.shape[0], len(weight)), [math.tanh(value + bias[i % len(bias)]) for i, value in enumerate(out)])
        return out, (x, out)

    def backward(self, kept, above):
        x, out = kept
        if out is not None:
            above = above.changed([g * (1 - y * y) for g, y in zip(above.values, out.values)])
        columns = transposed(rows_of(above))
        gradients = {"weight": self.tensor(self.parameters["weight"].shape, product(columns, transposed(rows_of(x))))}
        if not self.head:
            gradients["bias"] = self.tensor((len(columns),), [added(column) for column in columns])
        below = product(rows_of(above), transposed(rows_of(self.parameters["weight"])))
        return self.tensor(x.shape, below), gradients


class Gain(Unit):
    """x times a gain for each column, as in a norm."""

    def __init__(self, name, width, seed, dtype):
        super().__init__(name, {"gain": (width,)}, seed, dtype)

    def forward(self, x):
        gain = self.parameters["gain"].values
        return x.changed([value * gain[i % len(gain)] for i, value in enumerate(x.values)]), x

    def backward(self, x, above):
        gain = self.parameters["gain"].values
        products = self.tensor(x.shape, [g * value for g, value in zip(above.values, x.values)])
        sums = [added(column) for column in transposed(rows_of(products))]
        return above.changed([g * gain[i % len(gain)] for i, g in enumerate(above.values)]), {"gain": self.tensor((len(gain),), sums)}


class Embedding(Unit):
    def __init__(self, name, vocabulary, width, seed, dtype):
        super().__init__(name, {"weight": (vocabulary, width)}, seed, dtype)

    def forward(self, ids):
        rows = rows_of(self.parameters["weight"])
        return self.tensor((len(ids.values), len(rows[0])), [value for i in ids.values for value in rows[i]]), ids

    def backward(self, ids, above):
        weight = self.parameters["weight"]
        rows = [[0.0] * weight.shape[1] for _ in range(weight.shape[0])]
        for i, gradient in zip(ids.values, rows_of(above)):
            rows[i] = [a + b for a, b in zip(rows[i], gradient)]
        return None, {"weight": self.tensor(weight.shape, [value for row in rows for value in row])}


def squared_loss(out, targets, count):
    """Half the squared distance, divided by the number of rows in the step; and its gradient, not divided."""
    distance = [a - b for a, b in zip(out.values, targets.values)]
    return added(0.5 * d * d for d in distance) / count, out.changed(distance)


def cross_entropy(logits, labels, count):
    """Summed over valid labels, divided by their number in the step; and its gradient, not divided."""
    total, gradient = 0.0, []
    for row, label in zip(rows_of(logits), labels.values):
        if label == -100:
            gradient += [0.0] * len(row)
            continue
        top = max(row)
        powers = [math.exp(value - top) for value in row]
        whole = added(powers)
        total += math.log(whole) - (row[label] - top)
        gradient += [power / whole - (1.0 if i == label else 0.0) for i, power in enumerate(powers)]
    return total / count, logits.changed(gradient)
