# SPDX-License-Identifier: BSD-3-Clause
"""Trains a small transformer with DeepSpeed's pipeline engine, a stage a rank, on a CPU over gloo: nothing of Plumbline.

    DS_ACCELERATOR=cpu DS_BUILD_OPS=0 torchrun --nproc-per-node=2 train.py
"""

import argparse
import os

import deepspeed
import torch
import torch.nn.functional as F
from deepspeed.pipe import LayerSpec, PipelineModule
from torch import nn

VOCABULARY, HIDDEN, HEADS, LAYERS, LENGTH = 96, 32, 4, 4, 12
MICROBATCHES, ROWS, STEPS = 4, 2, 3


class Block(nn.TransformerEncoderLayer):
    def __init__(self):
        super().__init__(HIDDEN, HEADS, 3 * HIDDEN, dropout=0.0, batch_first=True, norm_first=True, bias=False)


def loss_of(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def batches():
    """Next-token prediction on noise: ids and labels of each microbatch of each step."""
    draw = torch.Generator().manual_seed(7)
    for _ in range(STEPS):
        texts = [torch.randint(VOCABULARY, (ROWS, LENGTH + 1), generator=draw) for _ in range(MICROBATCHES)]
        yield [(text[:, :-1].contiguous(), text[:, 1:].contiguous()) for text in texts]


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--clip", type=float, default=0.5, help="limit of the gradient norm; 0: none")
    args = ask.parse_args()
    torch.set_num_threads(1)
    world = int(os.environ.get("WORLD_SIZE", "1"))
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # else it is compiled first, for minutes
    deepspeed.init_distributed("gloo")
    layers = [LayerSpec(nn.Embedding, VOCABULARY, HIDDEN), *(LayerSpec(Block) for _ in range(LAYERS))]
    layers.append(LayerSpec(nn.Linear, HIDDEN, VOCABULARY, bias=False))
    module = PipelineModule(layers, num_stages=world, loss_fn=loss_of, partition_method="uniform", seed_layers=True, base_seed=1)
    optimizer = torch.optim.AdamW(module.parameters(), lr=3e-3, weight_decay=0.1)
    config = {
        "train_micro_batch_size_per_gpu": ROWS,
        "gradient_accumulation_steps": MICROBATCHES,
        "gradient_clipping": args.clip,
        "steps_per_print": STEPS,
    }
    engine, *_ = deepspeed.initialize(model=module, optimizer=optimizer, config=config)
    for microbatches in batches():
        loss = engine.train_batch(iter(microbatches))
        print(f"loss {loss.item():.6f}", flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
