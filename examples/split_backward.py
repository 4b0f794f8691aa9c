# SPDX-License-Identifier: BSD-3-Clause
"""Tests torch's split backward pass with layers that use a weight several times, and with frozen first stages; plain torch, one process.

Schedules that split it (InterleavedZeroBubble, ZBVZeroBubble, DualPipeV) compute the gradients of inputs and of weights separately.
`python split_backward.py` runs InterleavedZeroBubble over four stages in this process, and prints for each model how far the weights'
gradients are from those of `loss.backward()`. Ends with 1 if that is not what docs/found.md says of this version of torch;
of a newer version it prints the results only.
"""

import copy
import logging
import os
import sys
import tempfile

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import ScheduleInterleavedZeroBubble

SIZE, STAGES, MICROBATCHES = 4, 4, 4
SAME, OTHER, NONE, ERROR = "same bits", "other gradients", "no gradients", "an error"


class Twice(torch.nn.Linear):
    """One linear layer, called twice in sequence."""

    def forward(self, x):
        return super().forward(torch.tanh(super().forward(x)))


class Branches(torch.nn.Linear):
    """One linear layer on two parallel branches."""

    def forward(self, x):
        return super().forward(x) * torch.sigmoid(super().forward(-x))


class Recurrent(torch.nn.GRU):
    """A GRU, whose weights are used at each position."""

    def forward(self, x):
        return super().forward(x)[0]


class LinearTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        y = torch.tanh(x @ weight.t())
        ctx.save_for_backward(x, weight, y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, weight, y = ctx.saved_tensors
        inner = (gradient * (1 - y * y)).flatten(0, -2)
        return (inner @ weight).view_as(x), inner.t() @ x.flatten(0, -2)


class Fused(torch.nn.Linear):
    """A layer with a backward pass of its own, as fused kernels have."""

    def forward(self, x):
        return LinearTanh.apply(x, self.weight)


# Expected results with torch 2.10 and 2.11, 2.12, and 2.13 to 2.15.
MODELS = {
    "a linear layer": (lambda: torch.nn.Linear(SIZE, SIZE), (SAME, SAME, SAME)),
    "on two branches": (lambda: Branches(SIZE, SIZE), (SAME, SAME, SAME)),
    "called twice, one call behind the other": (lambda: Twice(SIZE, SIZE), (OTHER, OTHER, SAME)),
    "recurrent (GRU)": (lambda: Recurrent(SIZE, SIZE, batch_first=True), (OTHER, OTHER, SAME)),
    "fused, an autograd.Function": (lambda: Fused(SIZE, SIZE, bias=False), (ERROR, ERROR, SAME)),
}
FROZEN = ("stages 0 and 1 frozen", (SAME, NONE, NONE))
OF_MINOR = {10: 0, 11: 0, 12: 1, 13: 2, 14: 2, 15: 2}


def loss_of(output, target):
    return (output - target).pow(2).mean()


def whole(layers, x, y):
    for inputs, targets in zip(x.chunk(MICROBATCHES), y.chunk(MICROBATCHES)):
        loss_of(torch.nn.Sequential(*layers)(inputs), targets).backward()


def in_parts(layers, x, y):
    stages = [PipelineStage(layer, number, STAGES, torch.device("cpu")) for number, layer in enumerate(layers)]
    for stage in stages:  # torch 2.10 and 2.11 open connections by a message to each neighbor; gloo has none to the rank itself
        stage._get_init_p2p_neighbors_ops = list
    ScheduleInterleavedZeroBubble(stages, MICROBATCHES, loss_of, scale_grads=False).step(x, target=y)


def outcome(make, frozen=0):
    torch.manual_seed(1)
    one = [torch.nn.Sequential(make(), torch.nn.Tanh()) for _ in range(STAGES)]  # torch up to 2.14 accepts no view as a stage's output
    for layer in one[:frozen]:
        layer.requires_grad_(False)
    two = copy.deepcopy(one)
    x, y = torch.randn(2, MICROBATCHES, 3, SIZE)
    whole(one, x, y)
    try:
        in_parts(two, x, y)
    except Exception as error:
        return ERROR, f"{type(error).__name__}: {str(error.__cause__ or error).strip()[:100]}"
    gradients = [[parameter.grad for layer in layers for parameter in layer.parameters() if parameter.requires_grad] for layers in (one, two)]
    if any(gradient is None for gradient in gradients[1]):
        return NONE, f"of {sum(gradient is None for gradient in gradients[1])} of {len(gradients[1])} parameters"
    if all(map(torch.equal, *gradients)):
        return SAME, ""
    off = max(((part - one).abs().max() / one.abs().max()).item() for one, part in zip(*gradients))
    return OTHER, f"off by up to {100 * off:.0f} % of the largest element"


def main():
    logging.disable()  # torch prints the whole schedule with an error
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method=f"file://{os.path.join(folder, 'store')}", rank=0, world_size=1)
        major, minor = map(int, torch.__version__.split(".")[:2])
        column = OF_MINOR.get(minor) if major == 2 else None
        found = {name: (*outcome(make), expected) for name, (make, expected) in MODELS.items()}
        found[FROZEN[0]] = (*outcome(lambda: torch.nn.Linear(SIZE, SIZE), frozen=2), FROZEN[1])
        dist.destroy_process_group()
    unlike = 0
    for name, (what, words, expected) in found.items():
        note = "" if column is None or what == expected[column] else f" (docs/found.md says: {expected[column]})"
        unlike += bool(note)
        print(f"{name}: {what}{', ' + words if words else ''}{note}")
    if column is None:
        print(f"torch {torch.__version__} was not tested (2.10 to 2.15 were)")
    return int(unlike > 0)


if __name__ == "__main__":
    sys.exit(main())
