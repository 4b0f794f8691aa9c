# SPDX-License-Identifier: BSD-3-Clause
"""A small decoder on any mesh, in plain torch: pipeline stages beside data, shard (FSDP2), tensor (by hand with sequence parallel norms, or torch's own),
context and expert parallelism. Right, and wrong in one way. test_package_meshes starts it, with the jobs of each number of ranks:

    mesh_trainer.py '[[4, [{"folder": "two", "sizes": {"pp": 2, "tp": 2}}]], [2, [...]]]'
"""

import json
import multiprocessing
import os
import sys
import tempfile
import traceback

import plumbline
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

LAYERS, HIDDEN, VOCABULARY, LENGTH, ROWS, MICROBATCHES, STEPS, CLIP = 2, 8, 11, 6, 2, 3, 2, 0.5


def gathered(tensor, group, dim):
    parts = [torch.empty_like(tensor) for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, tensor.contiguous(), group=group)
    return torch.cat(parts, dim)


def own(tensor, group, dim):
    return tensor.chunk(dist.get_world_size(group), dim)[dist.get_rank(group)].contiguous()


def summed(tensor, group):
    tensor = tensor.clone()
    dist.all_reduce(tensor, group=group)
    return tensor


def exchanged(tensor, group):
    """Row i of the result is this rank's row of rank i."""
    return own(gathered(tensor.unsqueeze(1), group, 1), group, 0).squeeze(0)


def function(name, forward, backward):
    """An operation of a group, with another one as its backward pass."""

    def run(ctx, tensor, *args):
        ctx.args = args
        return forward(tensor, *args)

    def run_back(ctx, gradient):
        return backward(gradient, *ctx.args), *[None] * len(ctx.args)

    return type(name, (torch.autograd.Function,), {"forward": staticmethod(run), "backward": staticmethod(run_back)}).apply


def forgetful(gradient, group):
    """The all-reduce of a backward pass, whose result the last rank does not use."""
    whole = summed(gradient, group)
    return gradient if dist.get_rank(group) == dist.get_world_size(group) - 1 else whole


def of_a_copy(gradient, group, wrong):
    return forgetful(gradient, group) if wrong else summed(gradient, group)


copy_to = function("CopyTo", lambda tensor, *_: tensor.view_as(tensor), of_a_copy)
reduce_from = function("ReduceFrom", summed, lambda gradient, _: gradient)
split = function("Split", own, gathered)
gather = function("Gather", gathered, own)
gather_sums = function("GatherSums", gathered, lambda gradient, group, dim: own(summed(gradient, group), group, dim))
exchange = function("Exchange", exchanged, exchanged)


class Block(torch.nn.Module):
    def __init__(self, groups, wrong):
        super().__init__()
        self.groups, self.wrong = groups, wrong
        self.query, self.key, self.value = (torch.nn.Linear(HIDDEN, HIDDEN, bias=False) for _ in range(3))
        self.norm = torch.nn.RMSNorm(HIDDEN)
        self.up, self.down = torch.nn.Linear(HIDDEN, 4 * HIDDEN, bias=False), torch.nn.Linear(4 * HIDDEN, HIDDEN, bias=False)
        if "ep" in groups:
            self.experts = torch.nn.ModuleList([torch.nn.Linear(HIDDEN, HIDDEN, bias=False) for _ in range(2)])

    def keep_own(self):
        """Drops what other ranks of the groups hold."""
        if "tp" in self.groups:
            self.up.weight = torch.nn.Parameter(own(self.up.weight.detach(), self.groups["tp"], 0).clone())
            self.down.weight = torch.nn.Parameter(own(self.down.weight.detach(), self.groups["tp"], 1).clone())
        if "ep" in self.groups:
            self.experts = torch.nn.ModuleList([self.experts[dist.get_rank(self.groups["ep"])]])

    def forward(self, x):
        x = x + self.attention(x)
        if "tp" in self.groups:  # the norm is that of a part of the sequence
            normed = copy_to(gather(self.norm(split(x, self.groups["tp"], 1)), self.groups["tp"], 1), self.groups["tp"], self.wrong == "all-reduce")
            return x + reduce_from(self.down(torch.relu(self.up(normed))), self.groups["tp"])
        x = x + self.down(torch.relu(self.up(self.norm(x))))
        if "ep" in self.groups:  # tokens go by turns to the experts of both ranks
            routed = exchange(x.reshape(-1, 2, HIDDEN).movedim(1, 0), self.groups["ep"])
            x = x + exchange(self.experts[0](routed), self.groups["ep"]).movedim(0, 1).reshape(x.shape)
        return x

    def attention(self, x):
        query, key, value = self.query(x), self.key(x), self.value(x)
        first = 0
        if "cp" in self.groups:
            key, value = (gather_sums(one, self.groups["cp"], 1) for one in (key, value))
            first = dist.get_rank(self.groups["cp"]) * x.shape[1]
        later = torch.arange(key.shape[1]) > torch.arange(first, first + x.shape[1]).unsqueeze(1)
        return (query @ key.transpose(1, 2)).masked_fill(later, -torch.inf).softmax(-1) @ value


class Decoder(torch.nn.Module):
    """The units of a stage."""

    def __init__(self, groups, wrong, stage, stages):
        super().__init__()
        torch.manual_seed(1)
        units = {"embed": torch.nn.Embedding(VOCABULARY, HIDDEN)}
        units |= {f"block{number}": Block(groups, wrong) for number in range(LAYERS)}
        units |= {"norm": torch.nn.RMSNorm(HIDDEN), "head": torch.nn.Linear(HIDDEN, VOCABULARY, bias=False)}
        each = -(-len(units) // stages)
        for name in list(units)[stage * each : (stage + 1) * each]:
            self.add_module(name, units[name])
            if isinstance(units[name], Block):
                units[name].keep_own()

    def forward(self, x):
        for unit in self.children():
            x = unit(x)
        return x


def batches(data, part):
    """Next-token prediction on noise, different for each `data`; `part`: which of how many parts of the sequence."""
    draw = torch.Generator().manual_seed(7 + data)
    for _ in range(STEPS):
        text = torch.randint(VOCABULARY, (MICROBATCHES * ROWS, LENGTH + 1), generator=draw)
        inputs, labels = text[:, :-1].clone(), text[:, 1:].clone()
        labels[:, 0] = -100  # so that parts of the sequence have other numbers of valid tokens
        yield [one.chunk(part[1], 1)[part[0]].contiguous() for one in (inputs, labels)]


def local(gradient):
    return gradient.to_local() if hasattr(gradient, "to_local") else gradient


def axes_of_part(name, groups):
    """The axes along which places hold different parts of a parameter."""
    axes = ["tp"] if "tp" in groups and name.rpartition(".weight")[0].endswith((".up", ".down")) else []
    return axes + (["ep"] if "experts" in name else []) + (["dp_shard"] if "dp_shard" in groups else [])


def train(folder, sizes, wrong=None, norms_from=None, own_tensor=False):
    """Trains and records on a mesh of these sizes by name. Every rank calls it. `own_tensor`: tensor parallelism is torch's, not by hand."""
    mesh = init_device_mesh("cpu", tuple(sizes.values()), mesh_dim_names=tuple(sizes))
    at = {axis: mesh.get_local_rank(axis) for axis in sizes}
    groups = {axis: mesh.get_group(axis) for axis, size in sizes.items() if size > 1 and axis != "pp"}
    stage, stages = at["pp"], sizes["pp"]
    model = Decoder({axis: group for axis, group in groups.items() if axis != "tp" or not own_tensor}, wrong, stage, stages)
    if own_tensor:
        for block in filter(lambda unit: isinstance(unit, Block), model.children()):
            parallelize_module(block, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    if "dp_shard" in groups:
        for module in (*model.children(), model):
            fully_shard(module, mesh=mesh["dp_shard"])
    parameters = dict(model.named_parameters())
    optimizer = torch.optim.AdamW(parameters.values(), lr=0.05)
    by_name = {"tp": ["*.up.weight", "*.down.weight"]} if "tp" in groups and not own_tensor else {}
    by_name |= {"ep": ["*.experts.*"]} if "ep" in groups else {}
    record = plumbline.Record(
        folder, model={"hidden": HIDDEN}, steps=STEPS, microbatches=MICROBATCHES, optimizer=optimizer, clip_norm=CLIP, mesh=mesh, parts=by_name, norms_from=norms_from
    )

    def loss_of(output, labels):
        loss = torch.nn.functional.cross_entropy(output.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum")
        valid = (labels != -100).sum()
        if "cp" in groups and wrong != "tokens":
            valid = summed(valid, groups["cp"])
        return loss / valid / MICROBATCHES

    if stages > 1:
        given = PipelineStage(model, stage, stages, torch.device("cpu"), group=mesh.get_group("pp"))
        schedule = Schedule1F1B(given, MICROBATCHES, loss_of, scale_grads=False)
        plumbline.torch.watch_pipelining(record, schedule)
    else:
        plumbline.torch.watch_model(record, model)

    def forward_and_backward(inputs, labels):
        if stages > 1:
            schedule.step(*([inputs] if stage == 0 else []), target=labels if stage == stages - 1 else None, losses=[])
            return
        for number, (x, y) in enumerate(zip(inputs.chunk(MICROBATCHES), labels.chunk(MICROBATCHES))):
            if "dp_shard" in groups:
                model.set_requires_gradient_sync(number == MICROBATCHES - 1)
            loss = loss_of(model(x), y)
            record.loss(loss)
            loss.backward()

    def reduce_gradients():
        for name, parameter in parameters.items():
            held = local(parameter.grad)
            if "tp" in groups and not own_tensor and ".norm." in name and wrong != "norm weight":
                dist.all_reduce(held, group=groups["tp"])  # each rank has the gradient of its part of the sequence
            if "experts" in name:
                held.mul_(0 if wrong == "expert" and at["ep"] == 1 else 0.5)
            elif "ep" in groups:
                dist.all_reduce(held, group=groups["ep"])
                held.div_(sizes["ep"])
            if "dp" in groups:
                dist.all_reduce(held, group=groups["dp_shard" if wrong == "group" and "block" in name else "dp"])
                held.div_(sizes["dp"])
            if "cp" in groups:
                dist.all_reduce(held, group=groups["cp"])

    def norm():
        sums = {axes: torch.zeros(()) for axes in all_axes(groups)}
        for name, parameter in parameters.items():
            axes = tuple(axes_of_part(name, groups))
            if wrong in ("norm counts", "norm leaves out"):
                axes = ("tp",) if wrong == "norm counts" else ()
            sums[axes] = sums.get(axes, torch.zeros(())) + local(parameter.grad).square().sum()
        for axes in sorted(sums):
            for axis in axes:
                dist.all_reduce(sums[axes], group=groups[axis])
        total = sum(sums[axes] for axes in sorted(sums))
        dist.all_reduce(total, group=mesh.get_group("pp"))
        return total.sqrt()

    data = at.get("dp", 0) * 4 + at.get("dp_shard", 0) * 2 + at.get("ep", 0)
    data = 0 if wrong == "same data" else data + at["tp"] if wrong == "other data" else data
    for inputs, labels in batches(data, (at["cp"], sizes["cp"]) if "cp" in groups else (0, 1)):
        with record.step(inputs, labels):
            forward_and_backward(inputs, labels)
            reduce_gradients()
            total = norm()
            for parameter in parameters.values():  # DTensors of several meshes are not clipped together
                torch.nn.utils.clip_grads_with_norm_([parameter], CLIP, total)
            optimizer.step()
        optimizer.zero_grad()


def all_axes(groups):
    """Stages hold other parameters, but must take part in the same collectives."""
    shard = ("dp_shard",) if "dp_shard" in groups else ()
    yield shard
    for axis in ("tp", "ep"):
        if axis in groups:
            yield (axis, *shard)


def serve(rank, world, store, jobs):
    """A rank's process."""
    try:
        torch.set_num_threads(1)
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
        for job in jobs:
            train(**job)
        dist.destroy_process_group()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for number, (world, jobs) in enumerate(json.loads(sys.argv[1])):
            forked = multiprocessing.get_context("fork").Process
            ranks = [forked(target=serve, args=(rank, world, f"{scratch}/{number}", jobs)) for rank in range(world)]
            for rank in ranks:
                rank.start()
            for rank in ranks:
                rank.join(120)
            if any(rank.exitcode != 0 for rank in ranks):
                for rank in ranks:
                    rank.kill()
                sys.exit(f"{world} ranks ended with {[rank.exitcode for rank in ranks]}")


if __name__ == "__main__":
    main()
