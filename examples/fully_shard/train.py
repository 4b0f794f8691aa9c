# SPDX-License-Identifier: BSD-3-Clause
"""The Llama of torch_pipelining with FSDP2 over `dp`, a pipeline over `pp` and tensor parallelism over `tp`, as torchtitan lays them out: plain torch.

    torchrun --nproc-per-node=4 train.py --pp 2                  # two replicas of two stages
    torchrun --nproc-per-node=2 train.py --pp 1                  # its reference: two replicas of the whole model
    torchrun --nproc-per-node=8 train.py --pp 2 --tp 2           # dp 2 x pp 2 x tp 2; its reference: 4 processes, --pp 1 --tp 2
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
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module

sys.path.insert(0, os.environ.get("TORCH_PIPELINING", str(pathlib.Path(__file__).resolve().parent.parent / "torch_pipelining")))
from train import HIDDEN, LENGTH, MICROBATCHES, ROWS, STEPS, VOCABULARY, Llama, loss_of  # noqa: E402


def batches(replica):
    """Next-token prediction on noise; each replica has data of its own."""
    draw = torch.Generator().manual_seed(7 + replica)
    for _ in range(STEPS):
        text = torch.randint(VOCABULARY, (MICROBATCHES * ROWS, LENGTH + 1), generator=draw)
        yield text[:, :-1].contiguous(), text[:, 1:].contiguous()


def tensor_parallel(model, mesh):
    """Norms and what stages send are parts of the sequence."""
    column, row, norm = ColwiseParallel(input_layouts=Shard(1)), RowwiseParallel(output_layouts=Shard(1)), SequenceParallel()
    plan = {"before_attention": norm, "before_mlp": norm, "out": row, "down": row, **dict.fromkeys(("query", "key", "value", "gate", "up"), column)}
    for layer in model.layers.values():
        parallelize_module(layer, mesh, plan)
    if model.embed is not None:
        parallelize_module(model, mesh, {"embed": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1))})
    if model.head is not None:
        parallelize_module(model, mesh, {"norm": norm, "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())})


def sharded(model, mesh):
    for layer in model.layers.values():
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def norm_of(parameters, stages):
    """The global norm, as torchtitan takes it: torch's of this stage's shards over dp and tp, and the squares all-reduced over pp."""
    norm = torch.nn.utils.get_total_norm([parameter.grad for parameter in parameters]).full_tensor()
    squares = norm.pow(2)
    dist.all_reduce(squares, group=stages)
    return squares.sqrt()


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--schedule", default="1F1B")
    ask.add_argument("--pp", type=int, default=2)
    ask.add_argument("--tp", type=int, default=1)
    ask.add_argument("--clip", type=float, default=0.67)
    args = ask.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    sizes = (dist.get_world_size() // (args.pp * args.tp), args.pp, args.tp)
    mesh = init_device_mesh("cpu", sizes, mesh_dim_names=("dp", "pp", "tp"))
    replica, stage = mesh.get_local_rank("dp"), mesh.get_local_rank("pp")

    torch.manual_seed(1)
    whole = Llama()
    model = Llama().keep(stage, args.pp)
    model.load_state_dict({name: value for name, value in whole.state_dict().items() if name in model.state_dict()})
    if args.tp > 1:
        tensor_parallel(model, mesh["tp"])
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
        if losses and replica == 0 and mesh.get_local_rank("tp") == 0:
            print(f"loss {sum(losses) / MICROBATCHES:.5f}, norm {norm:.5f}", flush=True)

    for inputs, labels in batches(replica):
        train_step(inputs, labels)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
