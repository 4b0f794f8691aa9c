# SPDX-License-Identifier: BSD-3-Clause
"""Records a run with float32 sums of gradients (`main_grad`) and float32 masters of bfloat16 parameters, as in Megatron, twice on one device, right and with a fault,
and compares the two.

    python examples/main_grad.py FOLDER        # needs plumbline (pip install ./python) and torch
"""

import pathlib
import sys

import plumbline
import torch

STEPS, MICROBATCHES = 3, 4


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


def train(folder, forget_copies=False):
    model = Model().to(torch.bfloat16)
    masters = {}
    for parameter in model.parameters():
        parameter.main_grad = torch.zeros(parameter.shape)
        masters[parameter] = parameter.detach().float().requires_grad_()

        def add(parameter):  # .grad is None after the backward pass
            parameter.main_grad += parameter.grad
            parameter.grad = None

        parameter.register_post_accumulate_grad_hook(add)
    optimizer = torch.optim.AdamW(masters.values(), lr=1e-2)
    record = plumbline.Record(folder, model={"layers": 3}, steps=STEPS, microbatches=MICROBATCHES, optimizer=optimizer)
    plumbline.torch.watch_model(record, model, master_of=masters.get)  # main_grad is found
    for step in range(STEPS):
        inputs = torch.randn(8, 8, generator=torch.Generator().manual_seed(step)).to(torch.bfloat16)
        with record.step(inputs):
            for x in inputs.chunk(MICROBATCHES):
                loss = model(x).float().square().mean() / MICROBATCHES
                record.loss(loss)
                loss.backward()
            for parameter, master in masters.items():
                master.grad = parameter.main_grad.clone()
            optimizer.step()
            with torch.no_grad():
                for parameter, master in masters.items():
                    parameter.main_grad.zero_()
                    if not (forget_copies and parameter.dim() == 1):
                        parameter.copy_(master)
    return folder


def main():
    folder = pathlib.Path(sys.argv[1])
    one, right, wrong = (train(folder / name, name == "wrong") for name in ("one", "right", "wrong"))
    for candidate in (right, wrong):
        found = plumbline.compare(one, candidate)
        print(f"{candidate.name}: {'holds' if found else found.first_divergence['words']}")


if __name__ == "__main__":
    main()
