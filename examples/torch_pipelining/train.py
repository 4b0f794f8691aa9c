# SPDX-License-Identifier: BSD-3-Clause
"""Trains a small Llama on one device, or as a pipeline of torch.distributed.pipelining: plain torch, nothing of Plumbline.

    python train.py                                              # one device
    torchrun --nproc-per-node=2 train.py --schedule 1F1B         # two ranks
"""

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import get_schedule_class

VOCABULARY, HIDDEN, HEADS, LAYERS, LENGTH = 96, 32, 4, 8, 12
MICROBATCHES, ROWS, STEPS = 8, 2, 3
V_SHAPED = ("ZBVZeroBubble", "DualPipeV")
ONE_STAGE_A_RANK = ("GPipe", "1F1B")


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


def rotate(x):
    """RoPE over the whole head."""
    length, size = x.shape[-2], x.shape[-1]
    angles = torch.outer(torch.arange(length), 1e4 ** (-torch.arange(0, size, 2) / size))
    cosine, sine = angles.cos(), angles.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.cat([even * cosine - odd * sine, even * sine + odd * cosine], dim=-1)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_mlp = RMSNorm(), RMSNorm()
        self.query, self.key, self.value, self.out = (nn.Linear(HIDDEN, HIDDEN, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(HIDDEN, 3 * HIDDEN, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * HIDDEN, HIDDEN, bias=False)

    def forward(self, x):
        normed = self.before_attention(x)
        heads = [p(normed).unflatten(-1, (-1, HIDDEN // HEADS)).transpose(1, 2) for p in (self.query, self.key, self.value)]
        mixed = F.scaled_dot_product_attention(rotate(heads[0]), rotate(heads[1]), heads[2], is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        normed = self.before_mlp(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Llama(nn.Module):
    """The whole model, or the part that a stage keeps."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, HIDDEN)
        self.layers = nn.ModuleDict({str(i): Layer() for i in range(LAYERS)})
        self.norm = RMSNorm()
        self.head = nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def forward(self, x):
        x = self.embed(x) if self.embed is not None else x
        for layer in self.layers.values():
            x = layer(x)
        return self.head(self.norm(x)) if self.head is not None else x

    def keep(self, stage, stages):
        """Drops what other stages hold."""
        mine = range(stage * LAYERS // stages, (stage + 1) * LAYERS // stages)
        for i in set(range(LAYERS)) - set(mine):
            del self.layers[str(i)]
        if stage > 0:
            self.embed = None
        if stage < stages - 1:
            self.norm = self.head = None
        return self


def loss_of(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)


def batches():
    """Next-token prediction on noise, some of it masked: ids and labels of each step."""
    draw = torch.Generator().manual_seed(7)
    for _ in range(STEPS):
        text = torch.randint(VOCABULARY, (MICROBATCHES * ROWS, LENGTH + 1), generator=draw)
        labels = text[:, 1:].clone()
        labels[torch.rand(labels.shape, generator=draw) < 0.2] = -100
        yield text[:, :-1].contiguous(), labels


def norm_of(parameters, how):
    """The global norm: gathered, each parameter's in the model's order, or as most trainers have it, all-reduced."""
    norms = {name: torch.linalg.vector_norm(parameter.grad) for name, parameter in parameters}
    if not dist.is_initialized():
        return torch.linalg.vector_norm(torch.stack(list(norms.values())))
    if how == "gathered":
        everyone = [None] * dist.get_world_size()
        dist.all_gather_object(everyone, norms)
        whole = {name: norm for one in everyone for name, norm in one.items()}
        with torch.device("meta"):
            order = [name for name, _ in Llama().named_parameters()]
        return torch.linalg.vector_norm(torch.stack([whole[name] for name in order]))
    squares = torch.stack(list(norms.values())).pow(2).sum()
    dist.all_reduce(squares)
    return squares.sqrt()


def stages_of(schedule, rank, world):
    """Numbers of this rank's stages, and how many there are."""
    if schedule in ONE_STAGE_A_RANK:
        return [rank], world
    return ([rank, 2 * world - 1 - rank] if schedule in V_SHAPED else [rank, rank + world]), 2 * world


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--schedule", default="1F1B")
    ask.add_argument("--norm", choices=["gathered", "all-reduced"], default="gathered")
    ask.add_argument("--clip", type=float, default=0.67)
    ask.add_argument("--order", choices=["ascending", "descending"], default="ascending", help="of one device's backward passes")
    args = ask.parse_args()
    torch.set_num_threads(1)
    world = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))

    torch.manual_seed(1)
    if world == 1:
        model = Llama()
        modules = [model]
    else:
        dist.init_process_group("gloo")
        mine, stages = stages_of(args.schedule, rank, world)
        whole = Llama().state_dict()
        modules = [Llama().keep(stage, stages) for stage in mine]
        for module in modules:
            module.load_state_dict({name: whole[name] for name in module.state_dict()})
        parts = [PipelineStage(module, stage, stages, torch.device("cpu")) for module, stage in zip(modules, mine)]
        for part in parts:  # torch 2.11 opens connections by a message to each neighbor, and gloo has none to the rank itself
            part._get_init_p2p_neighbors_ops = list
        kind = get_schedule_class(args.schedule)
        schedule = kind(parts[0] if args.schedule in ONE_STAGE_A_RANK else parts, MICROBATCHES, loss_of)
    named = [pair for module in modules for pair in module.named_parameters()]
    parameters = [parameter for _, parameter in named]
    optimizer = torch.optim.AdamW(parameters, lr=3e-3, weight_decay=0.1)
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 2))

    def train_step(inputs, labels):
        losses = []
        if world == 1:
            for ids, targets in zip(inputs.chunk(MICROBATCHES), labels.chunk(MICROBATCHES)):
                losses.append(loss_of(model(ids), targets))
            for loss in losses if args.order == "ascending" else reversed(losses):
                loss.backward()
            for parameter in parameters:
                parameter.grad.div_(MICROBATCHES)
        else:
            first = [inputs] if 0 in mine else []
            schedule.step(*first, target=labels if stages - 1 in mine else None, losses=losses)
        norm = norm_of(named, args.norm)
        torch.nn.utils.clip_grads_with_norm_(parameters, args.clip, norm)
        optimizer.step()
        warmup.step()
        optimizer.zero_grad()
        if losses:
            print(f"loss {sum(losses) / MICROBATCHES:.5f}, norm {norm:.5f}", flush=True)

    for inputs, labels in batches():
        train_step(inputs, labels)
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
