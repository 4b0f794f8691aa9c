# SPDX-License-Identifier: BSD-3-Clause
"""The Llama of torch_pipelining with FSDP2 over `dp` and a pipeline over `pp`, as torchtitan lays them out: plain torch.

    torchrun --nproc-per-node=4 train.py --pp 2                  # two replicas of two stages
    torchrun --nproc-per-node=2 train.py --pp 1                  # its reference: two replicas of the whole model
"""

import argparse
import os
import pathlib
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import get_schedule_class

sys.path.insert(0, os.environ.get("TORCH_PIPELINING", str(pathlib.Path(__file__).resolve().parent.parent / "torch_pipelining")))
from train import HIDDEN, LENGTH, MICROBATCHES, ROWS, STEPS, VOCABULARY, Llama, loss_of  # noqa: E402


def batches(replica):
    """Next-token prediction on noise; each replica has data of its own."""
    draw = torch.Generator().manual_seed(7 + replica)
    for _ in range(STEPS):
        text = torch.randint(VOCABULARY, (MICROBATCHES * ROWS, LENGTH + 1), generator=draw)
        yield text[:, :-1].contiguous(), text[:, 1:].contiguous()


def sharded(model, mesh):
    for layer in model.layers.values():
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def norm_of(parameters, stages):
    """The global norm, as torchtitan takes it: torch's of this stage's shards over dp, and the squares all-reduced over pp."""
    norm = torch.nn.utils.get_total_norm([parameter.grad for parameter in parameters]).full_tensor()
    squares = norm.pow(2)
    dist.all_reduce(squares, group=stages)
    return squares.sqrt()


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--schedule", default="1F1B")
    ask.add_argument("--pp", type=int, default=2)
    ask.add_argument("--clip", type=float, default=0.67)
    args = ask.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size() // args.pp, args.pp), mesh_dim_names=("dp", "pp"))
    replica, stage = mesh.get_local_rank("dp"), mesh.get_local_rank("pp")

    torch.manual_seed(1)
    whole = Llama()
    model = Llama().keep(stage, args.pp)
    model.load_state_dict({name: value for name, value in whole.state_dict().items() if name in model.state_dict()})
    sharded(model, mesh["dp"])
    if args.pp > 1:
        part = PipelineStage(model, stage, args.pp, torch.device("cpu"), group=mesh.get_group("pp"))
        schedule = get_schedule_class(args.schedule)(part, MICROBATCHES, loss_of)
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=3e-3, weight_decay=0.1)

    def train_step(inputs, labels):
        losses = []
        if args.pp == 1:
            for number, (ids, targets) in enumerate(zip(inputs.chunk(MICROBATCHES), labels.chunk(MICROBATCHES))):
                last = number == MICROBATCHES - 1  # gradients are reduced once, as a stage does
                model.set_requires_gradient_sync(last)
                losses.append(loss_of(model(ids), targets))
                losses[-1].backward()
            for parameter in parameters:
                parameter.grad.div_(MICROBATCHES)
        else:
            schedule.step(*([inputs] if stage == 0 else []), target=labels if stage == args.pp - 1 else None, losses=losses)
        norm = norm_of(parameters, mesh.get_group("pp"))
        torch.nn.utils.clip_grads_with_norm_(parameters, args.clip, norm)
        optimizer.step()
        optimizer.zero_grad()
        if losses and replica == 0:
            print(f"loss {sum(losses) / MICROBATCHES:.5f}, norm {norm:.5f}", flush=True)

    for inputs, labels in batches(replica):
        train_step(inputs, labels)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
