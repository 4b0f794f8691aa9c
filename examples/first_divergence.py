# SPDX-License-Identifier: BSD-3-Clause
"""Trains and records twice, and prints where the second run first diverges from the first.

    pip install build/wheel/plumbline-*.whl torch && python examples/first_divergence.py
"""

import sys
import tempfile

import plumbline
import torch

STEPS, MICROBATCHES = 3, 4


def train(folder, zero_gradients):
    torch.manual_seed(1)
    model = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(4)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    record = plumbline.Record(folder, model={"layers": 4}, steps=STEPS, microbatches=MICROBATCHES, optimizer=optimizer)
    plumbline.torch.watch_model(record, model)
    for step in range(STEPS):
        inputs, targets = torch.randn(2, 8, 8, generator=torch.Generator().manual_seed(step))
        with record.step(inputs, targets):
            for x, y in zip(inputs.chunk(MICROBATCHES), targets.chunk(MICROBATCHES)):
                loss = (model(x) - y).square().mean() / MICROBATCHES
                record.loss(loss)
                loss.backward()
            optimizer.step()
            if zero_gradients:
                optimizer.zero_grad()
    return folder


with tempfile.TemporaryDirectory() as folder:
    found = plumbline.compare(train(folder + "/right", True), train(folder + "/forgetful", False))
    print(found.first_divergence["words"] if found.first_divergence else "the same bits throughout")
    sys.exit(0 if found else 1)
