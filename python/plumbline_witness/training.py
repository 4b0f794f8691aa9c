# SPDX-License-Identifier: BSD-3-Clause
"""The end of a step: norm, clipping, rate, update (docs/exactness.md)."""

import math

import numpy
import torch

NORM_PIECE = 2**21  # elements

def gradient_norm(counted):
    """The global norm in double precision; squares are added from left to right in the order of `counted`, (name, parameter) pairs."""
    total = 0.0
    for _, parameter in counted:
        norms = [torch.linalg.vector_norm(piece, 2, dtype=torch.float64).item() for piece in parameter.grad.reshape(-1).split(NORM_PIECE)]
        total += (norms[0] if len(norms) == 1 else root_of_squares(norms)) ** 2
    return math.sqrt(total)


def root_of_squares(norms):
    total = 0.0
    for norm in norms:
        total += norm * norm
    return math.sqrt(total)


def clip_coefficient(norm, limit):
    if limit is None:
        return 1.0
    return norm if math.isnan(norm) else min(1.0, limit / norm)


def to_bfloat16(values):
    """float64 to the nearest bfloat16, ties to even, in one rounding; torch's conversion rounds twice, through float32."""
    numbers = values.numpy()
    bits = numbers.view(numpy.int64)
    dropped = 52 - 7  # of float64's 52 bits of fraction bfloat16 keeps 7
    half = (1 << (dropped - 1)) - 1 + (bits >> dropped & 1)
    rounded = (bits + half >> dropped << dropped).view(numpy.float64)
    quantum = 2.0**-133  # between two of bfloat16's smallest numbers
    small = numpy.rint(numbers / quantum) * quantum
    result = numpy.where(numpy.abs(numbers) < 2.0**-126, small, rounded)
    return torch.from_numpy(numpy.where(numpy.isfinite(numbers), result, numbers)).to(torch.bfloat16)


def scale_gradients(named, coefficient):
    if coefficient == 1.0:
        return
    for _, parameter in named:
        exact = parameter.grad.double() * coefficient
        parameter.grad.copy_(to_bfloat16(exact) if parameter.grad.dtype == torch.bfloat16 else exact)


def learning_rate(run, step):
    rate, warmup = run.optimizer["learning_rate"], run.warmup_steps
    if step < warmup:
        return rate * (run.start_factor + (1.0 - run.start_factor) * step / warmup)
    if run.curve == "constant" or run.curve == "wsd" and step < run.steps - run.decay_steps:
        return rate
    done = (step - warmup) / (run.steps - warmup)
    if run.curve == "cosine":
        height = (1.0 + math.cos(math.pi * done)) / 2.0
    else:
        height = 1.0 - done if run.curve == "linear" else (run.steps - step) / run.decay_steps
    return rate * (run.final_factor + (1.0 - run.final_factor) * height)


def make_optimizer(run, parameters):
    given = run.optimizer
    if given["decay"] == "matrices":
        parameters = [
            {"params": [parameter for parameter in parameters if parameter.dim() >= 2]},
            {"params": [parameter for parameter in parameters if parameter.dim() < 2], "weight_decay": 0.0},
        ]
    if given["name"] == "adamw":
        return torch.optim.AdamW(
            parameters,
            lr=given["learning_rate"],
            betas=(given["beta1"], given["beta2"]),
            eps=given["eps"],
            weight_decay=given["weight_decay"],
            fused=True,
        )
    return torch.optim.SGD(
        parameters,
        lr=given["learning_rate"],
        momentum=given["momentum"],
        weight_decay=given["weight_decay"],
        foreach=False,
        fused=False,
    )


def update(run, step, optimizer):
    """Makes the optimizer step and returns its rate."""
    rate = learning_rate(run, step)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    return rate


MOMENTS = {"exp_avg": "moment1", "momentum_buffer": "moment1", "exp_avg_sq": "moment2"}


def moments(optimizer, named):
    """(kind, name, tensor) of each parameter's moments, in order."""
    for name, parameter in named:
        for key, kind in MOMENTS.items():
            value = optimizer.state[parameter].get(key)
            if value is not None:
                yield kind, name, value
