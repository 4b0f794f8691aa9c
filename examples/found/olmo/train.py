# SPDX-License-Identifier: BSD-3-Clause
"""Trains a small OLMo with OLMo-core's train modules, a stage a rank, on a CPU over gloo: nothing of Plumbline.

    torchrun --nproc-per-node=2 train.py
"""

import argparse
import os
import types

import torch
import torch.distributed as dist
from olmo_core.distributed.parallel import DataParallelType, PipelineScheduleType
from olmo_core.nn.transformer import TransformerConfig
from olmo_core.optim import AdamWConfig
from olmo_core.train.train_module.transformer import TransformerPipelineTrainModule, TransformerTrainModule
from olmo_core.train.train_module.transformer.config import TransformerDataParallelConfig, TransformerPipelineParallelConfig

VOCABULARY, HIDDEN, HEADS, LAYERS, LENGTH = 96, 32, 4, 4, 12
MICROBATCHES, ROWS, STEPS = 4, 2, 3


def batches():
    """Next-token prediction on noise: ids and labels of each step."""
    draw = torch.Generator().manual_seed(7)
    for _ in range(STEPS):
        text = torch.randint(VOCABULARY, (MICROBATCHES * ROWS, LENGTH + 1), generator=draw)
        yield text[:, :-1].contiguous(), text[:, 1:].contiguous()


def train_module(world, clip):
    model = TransformerConfig.llama_like(d_model=HIDDEN, vocab_size=VOCABULARY, n_layers=LAYERS, n_heads=HEADS).build(init_device="cpu")
    draw = torch.Generator().manual_seed(1)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.1, generator=draw)
    settings = {
        "optim": AdamWConfig(lr=3e-3, weight_decay=0.1),
        "rank_microbatch_size": ROWS * LENGTH,
        "max_sequence_length": LENGTH,
        "max_grad_norm": clip or None,
        "device": torch.device("cpu"),
    }
    start = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    if world == 1:
        module = TransformerTrainModule(model, **settings)
    else:
        pipeline = TransformerPipelineParallelConfig(degree=world, schedule=PipelineScheduleType("1F1B"))
        data = TransformerDataParallelConfig(name=DataParallelType("fsdp"))
        module = TransformerPipelineTrainModule(model, pp_config=pipeline, dp_config=data, **settings)
    for part in parts_of(module):  # the modules draw parameters of their own
        for name, parameter in part.named_parameters():
            local_tensor_of(parameter).copy_(start[name])
    return module


@torch.no_grad()
def local_tensor_of(parameter):
    return parameter.detach().to_local() if hasattr(parameter, "to_local") else parameter.detach()


def parts_of(module):
    return module.model_parts if hasattr(module, "model_parts") else [module.model]


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--clip", type=float, default=1.0, help="limit of the gradient norm; 0: none")
    args = ask.parse_args()
    torch.set_num_threads(1)
    world = int(os.environ.get("WORLD_SIZE", "1"))
    dist.init_process_group("gloo")
    module = train_module(world, args.clip)
    module._trainer = types.SimpleNamespace(  # as much of OLMo-core's trainer as a step uses
        global_batch_size=MICROBATCHES * ROWS * LENGTH,
        dp_process_group=dist.new_group([dist.get_rank()], use_local_synchronization=True),
        record_metric=lambda name, value, *_, **__: print(name, float(value), flush=True) if name == "total grad norm" else None,
        record_ce_loss=lambda *_, **__: None,
    )
    module.pre_train()
    for inputs, labels in batches():
        module.train_batch({"input_ids": inputs, "labels": labels})
        module.optim_step()
        module.zero_grads()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
