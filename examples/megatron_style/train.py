# SPDX-License-Identifier: BSD-3-Clause
"""Trains a small Llama with tied embeddings, as a pipeline written by hand: 1F1B over send and recv, nothing of Plumbline.

    python train.py                          # one device
    torchrun --nproc-per-node=2 train.py     # two ranks

The first and the last stage keep a copy of the embedding each, whose gradients are summed at the end of a step, as Megatron does.
One device keeps the same two copies.
"""

import argparse
import os
from collections import deque

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

VOCABULARY, HIDDEN, HEADS, LAYERS, LENGTH = 96, 32, 4, 8, 12
MICROBATCHES, ROWS, STEPS = 8, 2, 3
TIED = ("embed.weight", "head.weight")


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_mlp = RMSNorm(), RMSNorm()
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.gate, self.up = (nn.Linear(HIDDEN, 3 * HIDDEN, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * HIDDEN, HIDDEN, bias=False)

    def forward(self, x):
        rows, length, _ = x.shape
        heads = self.qkv(self.before_attention(x)).view(rows, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(rows, length, HIDDEN))
        normed = self.before_mlp(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Llama(nn.Module):
    """The whole model, or the part that a stage keeps."""

    def __init__(self, stage=0, stages=1):
        super().__init__()
        first, last = stage == 0, stage == stages - 1
        self.embed = nn.Embedding(VOCABULARY, HIDDEN) if first else None
        self.layers = nn.ModuleDict({str(i): Layer() for i in range(stage * LAYERS // stages, (stage + 1) * LAYERS // stages)})
        self.norm = RMSNorm() if last else None
        self.head = nn.Linear(HIDDEN, VOCABULARY, bias=False) if last else None

    def forward(self, x):
        x = self.embed(x) if self.embed is not None else x
        for layer in self.layers.values():
            x = layer(x)
        return self.head(self.norm(x)) if self.head is not None else x


def loss_of(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten()) / MICROBATCHES


def batches():
    draw = torch.Generator().manual_seed(7)
    for _ in range(STEPS):
        text = torch.randint(VOCABULARY, (MICROBATCHES * ROWS, LENGTH + 1), generator=draw)
        yield text[:, :-1].contiguous(), text[:, 1:].contiguous()


class Pipeline:
    """One rank's part of 1F1B."""

    def __init__(self, rank, world):
        torch.manual_seed(1)
        whole = Llama().state_dict()
        whole["head.weight"] = whole["embed.weight"]
        self.rank, self.world = rank, world
        self.first, self.last = rank == 0, rank == world - 1
        self.model = Llama(rank, world)
        self.model.load_state_dict({name: whole[name] for name in self.model.state_dict()})
        self.parameters = list(self.model.parameters())
        self.names = list(whole)  # of all parameters, in the model's order
        self.embedding_group = dist.new_group([0, world - 1]) if world > 1 else None
        self.kept = deque()  # what went into a stage and came out of it, until its backward pass
        self.losses = []

    def talk(self, other, microbatch=None, give=None, take=False):
        """Sends to a neighbor and receives from it at once, so that neither waits for the other."""
        works, tensor = [], None
        if give is not None:
            works.append(dist.isend(give.contiguous(), other))
        if take:
            tensor = torch.empty(ROWS, LENGTH, HIDDEN)
            works.append(dist.irecv(tensor, other))
        for work in works:
            work.wait()
        return tensor

    def forward(self, microbatch, x):
        if not self.first:
            x.requires_grad_()
        output = self.model(self.inputs[microbatch] if self.first else x)
        if self.last:
            output = loss_of(output, self.labels[microbatch])
            self.losses.append(output.detach())
        self.kept.append((microbatch, x, output))
        return None if self.last else output.detach()

    def backward(self, gradient):
        microbatch, x, output = self.kept.popleft()
        torch.autograd.backward(output, None if self.last else gradient)
        return microbatch, None if self.first else x.grad

    def step(self, inputs, labels):
        self.inputs, self.labels, self.losses = inputs.chunk(MICROBATCHES), labels.chunk(MICROBATCHES), []
        warmup = min(self.world - 1 - self.rank, MICROBATCHES)
        before, behind = self.rank - 1, self.rank + 1
        for m in range(warmup):
            x = None if self.first else self.talk(before, take=True)
            self.talk(behind, m, give=self.forward(m, x))
        x = None if self.first else self.talk(before, take=True)
        for m in range(warmup, MICROBATCHES):
            output = self.forward(m, x)
            gradient = None if self.last else self.talk(behind, m, give=output, take=True)
            done, gradient = self.backward(gradient)
            more = m + 1 < MICROBATCHES
            x = None if self.first else self.talk(before, done, give=gradient, take=more)
        for _ in range(warmup):
            done, gradient = self.backward(self.talk(behind, take=True))
            if not self.first:
                self.talk(before, done, give=gradient)
        self.sum_tied()

    def sum_tied(self):
        """Each copy of the embedding gets the sum of both gradients."""
        if self.world == 1:
            both = self.model.embed.weight.grad + self.model.head.weight.grad
            self.model.embed.weight.grad, self.model.head.weight.grad = both, both.clone()
        elif self.first or self.last:
            dist.all_reduce((self.model.embed if self.first else self.model.head).weight.grad, group=self.embedding_group)

    def norm(self, how):
        """Of all gradients, the tied one once: gathered, in the model's order, or summed by rank."""
        norms = {name: torch.linalg.vector_norm(parameter.grad) for name, parameter in self.model.named_parameters() if name != TIED[1]}
        if how == "gathered":
            everyone = [norms]
            if self.world > 1:
                everyone = [None] * self.world
                dist.all_gather_object(everyone, norms)
            whole = {name: norm for one in everyone for name, norm in one.items()}
            return torch.linalg.vector_norm(torch.stack([whole[name] for name in self.names if name in whole]))
        squares = torch.stack(list(norms.values())).pow(2).sum()
        if self.world > 1:
            dist.all_reduce(squares)
        return squares.sqrt()


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--norm", choices=["gathered", "all-reduced"], default="gathered")
    ask.add_argument("--clip", type=float, default=0.6)
    args = ask.parse_args()
    torch.set_num_threads(1)
    world, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    if world > 1:
        dist.init_process_group("gloo")
    pipeline = Pipeline(rank, world)
    optimizer = torch.optim.AdamW(pipeline.parameters, lr=3e-3, weight_decay=0.1)
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 2))

    def train_step(inputs, labels):
        pipeline.step(inputs, labels)
        norm = pipeline.norm(args.norm)
        torch.nn.utils.clip_grads_with_norm_(pipeline.parameters, args.clip, norm)
        optimizer.step()
        warmup.step()
        optimizer.zero_grad()
        if pipeline.last:
            print(f"loss {sum(pipeline.losses):.5f}, norm {norm:.5f}", flush=True)

    for inputs, labels in batches():
        train_step(inputs, labels)
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
