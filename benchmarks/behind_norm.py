#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How far two equal trainings drift apart if their clip coefficients differ in every step as roundings of a norm do.

    python3 benchmarks/behind_norm.py

For float32 and autocast (one rounding) and bfloat16 (1 %), AdamW and SGD, it prints the largest relative difference of any tensor's l2, and of the loss,
within the first 1, 3, 10 and 50 steps: the reason for the judge's limits behind a norm summed by rank (docs/exactness.md). Needs torch.
"""

import math

import torch
from torch import nn

VOCABULARY, LIMIT, SEEDS, STEPS = 64, 0.5, 3, (1, 3, 10, 50)


def model(hidden: int) -> nn.Module:
    layers = (nn.TransformerEncoderLayer(hidden, 2, 2 * hidden, dropout=0, batch_first=True, norm_first=True) for _ in range(4))
    return nn.Sequential(nn.Embedding(VOCABULARY, hidden), *layers, nn.LayerNorm(hidden), nn.Linear(hidden, VOCABULARY, bias=False))


def training(hidden: int, dtype: str, name: str, rate: float, seed: int, relative: float):
    """Of each step, by kind: l2 and number of elements of each tensor."""
    torch.manual_seed(seed)
    net = model(hidden).to(torch.bfloat16 if dtype == "bfloat16" else torch.float32)
    draw = torch.Generator().manual_seed(seed)
    parameters = list(net.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=rate) if name == "adamw" else torch.optim.SGD(parameters, lr=rate, momentum=0.9)
    for step in range(STEPS[-1]):
        tokens = torch.randint(0, VOCABULARY, (8, 9), generator=draw)
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "autocast"):
            logits = net(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        rows = {"gradients": [parameter.grad.clone() for parameter in parameters]}
        norm = sum(parameter.grad.double().square().sum() for parameter in parameters).sqrt().item()
        for parameter in parameters:
            parameter.grad.mul_(min(1, LIMIT / norm) * (1 + (relative if step % 2 else -relative)))
        optimizer.step()
        rows["parameters"] = [parameter.detach() for parameter in parameters]
        for key in next(iter(optimizer.state.values())).keys() - {"step"}:
            rows[key] = [optimizer.state[parameter][key] for parameter in parameters]
        yield {"losses": [(loss.item(), 1)]} | {kind: [(row.double().norm().item(), row.numel()) for row in of_kind] for kind, of_kind in rows.items()}


def difference(one: list[tuple[float, int]], other: list[tuple[float, int]]) -> float:
    """The largest of any tensor, relative to its l2 or to that of as many average elements."""
    mean = sum(l2**2 for l2, _ in one) / sum(elements for _, elements in one)
    return max(abs(a - b) / max(a, b, math.sqrt(mean * elements)) for (a, elements), (b, _) in zip(one, other))


def largest_differences(hidden: int, dtype: str, name: str, rate: float, relative: float) -> list[dict[str, float]]:
    """For each of STEPS, by kind."""
    found: list[dict[str, float]] = [{} for _ in STEPS]
    for seed in range(SEEDS):
        pairs = zip(training(hidden, dtype, name, rate, seed, 0), training(hidden, dtype, name, rate, seed, relative))
        for step, (one, other) in enumerate(pairs):
            for kind in one:
                for within, largest in zip(STEPS, found):
                    if step < within:
                        largest[kind] = max(largest.get(kind, 0), difference(one[kind], other[kind]))
    return found


def main() -> None:
    torch.set_num_threads(1)
    for hidden in (16, 64):
        for dtype, relative in (("float32", 2**-23), ("autocast", 2**-23), ("bfloat16", 0.01)):
            for name, rate in (("adamw", 1e-3), ("adamw", 1e-2), ("sgd", 0.1)):
                for within, largest in zip(STEPS, largest_differences(hidden, dtype, name, rate, relative)):
                    print(f"hidden {hidden}, {dtype}, {name} at {rate}, {within} steps:", ", ".join(f"{kind} {largest[kind]:.1e}" for kind in sorted(largest)), flush=True)


if __name__ == "__main__":
    main()
