# SPDX-License-Identifier: BSD-3-Clause
"""Injected faults: each changes one line of the recorded trainer, and names the expected first divergence."""

from judging import WrongWay

WRONG_WAYS = [
    WrongWay("a scale is missing", "MICROBATCHES, loss_of)", "MICROBATCHES, loss_of, scale_grads=False)", "gradients", "weight", 0),
    WrongWay("labels of the next microbatch", "target=labels if", "target=labels.roll(ROWS, 0) if", "data", "data", 0),
    WrongWay("inputs in another order", "first = [inputs]", "first = [inputs.flip(0)]", "data", "data", 0),
    WrongWay("each stage clips by its own norm", "dist.all_reduce(squares)", "pass", "gradient_norm", "gradient_norm", 0, "all-reduced"),
    WrongWay("gradients are not zeroed", "optimizer.zero_grad()", "pass", "gradients", "weight", 1),
    WrongWay("one rank's rate lags a step behind", "warmup.step()", "warmup.step() if rank == 0 else None", "parameters", "learning_rate", 1),
    WrongWay("one rank decays other weights", "weight_decay=0.1)", "weight_decay=0.1 if rank == 0 else 0.0)", "parameters", "layers", 0),
    WrongWay(
        "activations are narrowed on the wire",
        "return self.head(self.norm(x)) if self.head is not None else x",
        "return self.head(self.norm(x)) if self.head is not None else x.bfloat16().float()",
        "boundaries",
        "layers.4",
        0,
    ),
    WrongWay("stages start from seeds of their own", "torch.manual_seed(1)", "torch.manual_seed(1 + rank)", "parameters", "layers", -1),
    WrongWay(
        "a layer is left out",
        "        if stage > 0:\n",
        "        if stage == stages - 1:\n            del self.layers['6']\n        if stage > 0:\n",
        "census",
        "layers.6",
        -1,
        "all-reduced",
    ),
    WrongWay(
        "one rank stretches its positions",
        "torch.outer(torch.arange(length),",
        "torch.outer(torch.arange(length) * (1 + (dist.is_initialized() and dist.get_rank() > 0)),",
        "loss",
        "loss",
        0,
    ),
    WrongWay("one rank's rate is zero", "lr=3e-3,", "lr=3e-3 if rank == 0 else 0.0,", "parameters", "learning_rate", 0),
]
