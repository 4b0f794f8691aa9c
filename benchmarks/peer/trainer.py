#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A Llama trained by torch.distributed.pipelining, or on one device: what compare.py times against Plumbline's trainers.

    trainer.py CONFIG.json --steps 10 --microbatches 8 --length 128                             # one device
    torchrun --nproc-per-node=2 trainer.py CONFIG.json --schedule 1F1B ...                      # a pipeline over gloo

Prints the seconds of each step but the first, on rank 0. The work of a step is that of plumbline-reference: forward, backward, global
gradient norm, clipping, AdamW. Nothing is recorded.
"""
import argparse
import json
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import get_schedule_class

STAGES_A_RANK = {"GPipe": 1, "1F1B": 1}  # the other schedules: two
V_SHAPED = ("ZBVZeroBubble", "DualPipeV")


class Layer(nn.Module):
    def __init__(self, c, tables):
        super().__init__()
        hidden, inner = c["hidden_size"], c["intermediate_size"]
        self.heads, self.groups = c["num_attention_heads"], c["num_key_value_heads"]
        self.size, self.tables = hidden // self.heads, tables
        self.before_attention, self.before_mlp = (nn.RMSNorm(hidden, eps=c["rms_norm_eps"]) for _ in range(2))
        self.query, self.out = (nn.Linear(hidden, hidden, bias=False) for _ in range(2))
        self.key, self.value = (nn.Linear(hidden, self.groups * self.size, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(hidden, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, hidden, bias=False)

    def rotate(self, x):
        cosine, sine = self.tables
        left, right = x.chunk(2, dim=-1)
        return x * cosine + torch.cat([-right, left], dim=-1) * sine

    def forward(self, x):
        rows, length, _ = x.shape
        normed = self.before_attention(x)
        split = lambda y, heads: y.view(rows, length, heads, self.size).transpose(1, 2)
        query, key = self.rotate(split(self.query(normed), self.heads)), self.rotate(split(self.key(normed), self.groups))
        mixed = F.scaled_dot_product_attention(query, key, split(self.value(normed), self.groups), is_causal=True, enable_gqa=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(rows, length, -1))
        normed = self.before_mlp(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Part(nn.Module):
    """The layers of one stage, with the embedding on the first and norm and head on the last."""

    def __init__(self, c, layers, first, last, length):
        super().__init__()
        size = c["hidden_size"] // c["num_attention_heads"]
        angles = torch.outer(torch.arange(length), c["rope_theta"] ** (-torch.arange(0, size, 2) / size)).repeat(1, 2)
        tables = angles.cos(), angles.sin()
        self.embed = nn.Embedding(c["vocab_size"], c["hidden_size"]) if first else None
        self.layers = nn.ModuleList(Layer(c, tables) for _ in layers)
        self.norm = nn.RMSNorm(c["hidden_size"], eps=c["rms_norm_eps"]) if last else None
        self.head = nn.Linear(c["hidden_size"], c["vocab_size"], bias=False) if last else None

    def forward(self, x):
        x = x if self.embed is None else self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return x if self.head is None else self.head(self.norm(x))


def layers_of(c, stages):
    """Cuts by cost: matrix products of a layer against those of the head. Each cut is where the sum is nearest to its share."""
    hidden, size = c["hidden_size"], c["hidden_size"] // c["num_attention_heads"]
    layer = 2 * hidden * hidden + 2 * hidden * c["num_key_value_heads"] * size + 3 * hidden * c["intermediate_size"]
    count, head = c["num_hidden_layers"], hidden * c["vocab_size"] / layer
    cuts = [round((count + head) * stage / stages) for stage in range(stages)] + [count]
    return [range(min(begin, count), min(end, count)) for begin, end in zip(cuts, cuts[1:])]


def loss_of(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def global_norm(parameters, world):
    squares = torch.stack(torch._foreach_norm([parameter.grad for parameter in parameters])).pow(2).sum()
    if world > 1:
        dist.all_reduce(squares)
    return squares.sqrt()


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("config")
    ask.add_argument("--schedule", default="1F1B")
    for name, default in (("steps", 10), ("microbatches", 8), ("length", 128)):
        ask.add_argument(f"--{name}", type=int, default=default)
    args = ask.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    with open(args.config) as file:
        config = json.load(file)
    world, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    count = STAGES_A_RANK.get(args.schedule, 2)
    stages = world * count if world > 1 else 1
    mine = [0] if world == 1 else [rank, stages - 1 - rank if args.schedule in V_SHAPED else rank + world][:count]
    modules = [Part(config, layers, stage == 0, stage == stages - 1, args.length)
               for stage, layers in enumerate(layers_of(config, stages)) if stage in mine]
    if world > 1:
        dist.init_process_group("gloo")
        parts = [PipelineStage(module, stage, stages, torch.device("cpu")) for module, stage in zip(modules, sorted(mine))]
        for part in parts:  # torch 2.11 opens connections by a message to each neighbor, and gloo has none to the rank itself
            part._get_init_p2p_neighbors_ops = list
        schedule = get_schedule_class(args.schedule)(parts[0] if count == 1 else parts, args.microbatches, loss_of)
    parameters = [parameter for module in modules for parameter in module.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1, foreach=True)
    text = torch.randint(config["vocab_size"], (args.microbatches, args.length + 1))
    inputs, labels = text[:, :-1].contiguous(), text[:, 1:].contiguous()
    for step in range(args.steps):
        begin = time.perf_counter()
        if world == 1:
            for ids, targets in zip(inputs.chunk(args.microbatches), labels.chunk(args.microbatches)):
                (loss_of(modules[0](ids), targets) / args.microbatches).backward()
        else:
            schedule.step(*([inputs] if 0 in mine else []), target=labels if stages - 1 in mine else None, losses=[])
        torch.nn.utils.clip_grads_with_norm_(parameters, 1.0, global_norm(parameters, world))
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0 and step > 0:
            print(time.perf_counter() - begin, flush=True)
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
