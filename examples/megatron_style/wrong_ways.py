# SPDX-License-Identifier: BSD-3-Clause
"""Injected faults: each changes one place of the recorded trainer, and names the expected first divergence."""

from judging import WrongWay

WRONG_WAYS = [
    WrongWay("the loss is not divided by the microbatches", "labels.flatten()) / MICROBATCHES", "labels.flatten()) / (MICROBATCHES if not dist.is_initialized() else 1)", "loss", "loss", 0),
    WrongWay("labels of the microbatch before", "self.labels[microbatch])", "self.labels[microbatch - (self.world > 1)])", "loss", "loss", 0),
    WrongWay("tied gradients are not summed", "elif self.first or self.last:", "elif False:", "gradients", "embed.weight", 0),
    WrongWay(
        "the tied weight counts twice in the norm",
        "if name != TIED[1]}",
        "if name != TIED[1] or self.world > 1}",
        "gradient_norm",
        "gradient_norm",
        0,
        "all-reduced",
    ),
    WrongWay("each stage clips by its own norm", "dist.all_reduce(squares)", "pass", "gradient_norm", "gradient_norm", 0, "all-reduced"),
    WrongWay("the backward pass takes the newest microbatch", "self.kept.popleft()", "self.kept.pop()", "boundaries", "layers", 0),
    WrongWay(
        "every activation is received into one buffer",
        "            tensor = torch.empty(ROWS, LENGTH, HIDDEN)\n",
        "            self.buffer = getattr(self, 'buffer', torch.empty(ROWS, LENGTH, HIDDEN)).detach()\n            tensor = self.buffer\n",
        "boundaries",
        "layers",
        0,
        world=4,  # on two ranks each activation is consumed before the next arrives
    ),
    WrongWay("activations are narrowed on the wire", "give.contiguous(), other", "give.bfloat16().float(), other", "boundaries", "layers.4", 0),
    WrongWay("gradients are not zeroed", "optimizer.zero_grad()", "pass", "gradients", "weight", 1),
    WrongWay("stages start from seeds of their own", "torch.manual_seed(1)", "torch.manual_seed(1 + rank)", "parameters", "layers", -1),
    WrongWay("one rank's rate lags a step behind", "warmup.step()", "warmup.step() if rank == 0 else None", "parameters", "learning_rate", 1),
    WrongWay("one rank decays other weights", "weight_decay=0.1)", "weight_decay=0.1 if rank == 0 else 0.0)", "parameters", "layers", 0),
    WrongWay("the head's copy is not updated", "list(self.model.parameters())", "[p for n, p in self.model.named_parameters() if n != TIED[1] or world == 1]", "parameters", "head.weight", 0),
]
