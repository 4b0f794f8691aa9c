"""What torch's split backward pass makes of layers that use a weight several times; plain torch, one process.

Schedules that split it (InterleavedZeroBubble, ZBVZeroBubble, DualPipeV) compute gradients of inputs and of weights apart, by the two
functions called here. `python split_backward.py` prints, for each model, how far the weights' gradients are from those of
`loss.backward()`, and ends with 1 where that is not what docs/judge-your-trainer.md says of this version of torch.
"""

import sys

import torch
from torch.distributed.pipelining._backward import stage_backward_input, stage_backward_weight

SIZE = 4


class Twice(torch.nn.Linear):
    """One linear layer behind itself."""

    def forward(self, x):
        return super().forward(torch.tanh(super().forward(x)))


class Branches(torch.nn.Linear):
    """One linear layer on two branches of which neither feeds the other."""

    def forward(self, x):
        return super().forward(x) * torch.sigmoid(super().forward(-x))


class Recurrent(torch.nn.GRU):
    """Its weights are used at each position."""

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
    """A layer whose backward pass is written by hand, as fused kernels have it."""

    def forward(self, x):
        return LinearTanh.apply(x, self.weight)


MODELS = {  # and what becomes of it in torch 2.11.0
    "a linear layer": (lambda: torch.nn.Linear(SIZE, SIZE), "same bits"),
    "on two branches": (lambda: Branches(SIZE, SIZE), "same bits"),
    "called twice, one call behind the other": (lambda: Twice(SIZE, SIZE), "other gradients"),
    "recurrent (GRU)": (lambda: Recurrent(SIZE, SIZE, batch_first=True), "other gradients"),
    "fused, an autograd.Function": (lambda: Fused(SIZE, SIZE, bias=False), "RuntimeError"),
}


def whole(model, x):
    model(x).sum().backward()
    return [parameter.grad for parameter in model.parameters()]


def in_parts(model, x):
    loss = model(x).sum()
    _, groups = stage_backward_input([loss], None, [x], model.parameters())
    stage_backward_weight(model.parameters(), groups)
    return [parameter.grad for parameter in model.parameters()]


def outcome(make):
    gradients = []
    for way in (whole, in_parts):
        torch.manual_seed(1)
        model, x = make(), torch.randn(2, 3, SIZE).requires_grad_()
        try:
            gradients.append(way(model, x))
        except RuntimeError as error:
            return "RuntimeError", str(error).split(".")[0]
    if all(map(torch.equal, *gradients)):
        return "same bits", ""
    off = max(((part - one).abs().max() / one.abs().max()).item() for one, part in zip(*gradients))
    return "other gradients", f"off by up to {100 * off:.0f} % of the largest element"


def main():
    unlike = 0
    for name, (make, expected) in MODELS.items():
        found, words = outcome(make)
        unlike += found != expected
        print(f"{name}: {found}{', ' + words if words else ''}{'' if found == expected else f' (of torch 2.11.0: {expected})'}")
    return int(unlike > 0)


if __name__ == "__main__":
    sys.exit(main())
