# SPDX-License-Identifier: BSD-3-Clause
"""torchtitan's own Trainer with a tiny llama3, on a CPU over gloo: one rank, or a pipeline of two. Nothing of Plumbline.

    torchrun --nproc-per-node=2 train.py --pp 2 --schedule 1F1B
"""

import argparse
import tempfile
import zlib
from dataclasses import dataclass

import torch

# CUDA: torchtitan asks torch for its accelerator, and for one's memory.
torch._utils._get_available_device_type = lambda: "cpu"
torch.cpu.get_device_name = lambda device: "cpu"
torch.cpu.get_device_properties = lambda device: argparse.Namespace(total_memory=1)
torch.cpu.memory_stats = lambda device: {}
torch.cpu.empty_cache = torch.cpu.reset_peak_memory_stats = lambda: None
torch.distributed.Backend.default_device_backend_map["cpu"] = "gloo"

from torchtitan.components.dataloader import BaseDataLoader  # noqa: E402
from torchtitan.components.loss import CrossEntropyLoss  # noqa: E402
from torchtitan.components.metrics import MetricsProcessor  # noqa: E402
from torchtitan.components.optimizer import LRSchedulersContainer, default_adamw  # noqa: E402
from torchtitan.components.tokenizer import BaseTokenizer  # noqa: E402
from torchtitan.config.configs import CommConfig, DebugConfig, ParallelismConfig, TrainingConfig  # noqa: E402
from torchtitan.distributed import utils as distributed  # noqa: E402
from torchtitan.models.common.attention import ScaledDotProductAttention  # noqa: E402
from torchtitan.models.llama3 import model_registry  # noqa: E402
from torchtitan.tools.logging import init_logger  # noqa: E402
from torchtitan.trainer import Trainer  # noqa: E402

distributed.set_pg_timeouts = lambda timeout, parallel_dims: None  # CUDA: its barrier names a device

LAYERS, LENGTH, MICROBATCHES, ROWS, STEPS, CLIP = 4, 16, 4, 2, 3, 7.2


class Noise(BaseDataLoader):
    """Next-token prediction on noise, some of it masked."""

    @dataclass(kw_only=True, slots=True)
    class Config(BaseDataLoader.Config):
        vocabulary: int

    def __init__(self, config, *, local_batch_size, seq_len, **others):
        self.shape, self.vocabulary = (local_batch_size, seq_len + 1), config.vocabulary

    def __iter__(self):
        draw = torch.Generator().manual_seed(7)
        while True:
            text = torch.randint(self.vocabulary, self.shape, generator=draw)
            labels = text[:, 1:].clone()
            labels[torch.rand(labels.shape, generator=draw) < 0.2] = -100
            yield {"input": text[:, :-1].contiguous()}, labels

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


class NoTokenizer(BaseTokenizer):
    @dataclass(kw_only=True, slots=True)
    class Config(BaseTokenizer.Config):
        pass

    def __init__(self, config, **others):
        super().__init__()

    def encode(self, *args, **kwargs):
        raise NotImplementedError

    decode = get_vocab_size = encode


def tiny_llama3():
    """The debugging model of torchtitan with fewer layers, and attention that a CPU has."""
    spec = model_registry("debugmodel")
    del spec.model.layers[LAYERS:]
    for layer in spec.model.layers:
        layer.attention.inner_attention = ScaledDotProductAttention.Config()
    return spec


def configuration(pp, schedule, dump):
    spec = tiny_llama3()
    return Trainer.Config(
        model_spec=spec,
        dump_folder=dump,
        loss=CrossEntropyLoss.Config(global_vocab_size=spec.model.vocab_size),
        optimizer=default_adamw(lr=8e-4),
        lr_scheduler=LRSchedulersContainer.Config(warmup_steps=2),
        training=TrainingConfig(
            local_batch_size=ROWS if pp == 1 else MICROBATCHES * ROWS,  # one device accumulates the gradients of as many microbatches
            global_batch_size=MICROBATCHES * ROWS,
            seq_len=LENGTH,
            steps=STEPS,
            max_norm=CLIP,
            mixed_precision_param="float32",
            disable_cuda_graphs=True,
        ),
        parallelism=ParallelismConfig(
            pipeline_parallel_degree=pp, pipeline_parallel_schedule=schedule, pipeline_parallel_microbatch_size=ROWS
        ),
        dataloader=Noise.Config(vocabulary=spec.model.vocab_size),
        tokenizer=NoTokenizer.Config(),
        metrics=MetricsProcessor.Config(log_freq=1),
        activation_checkpoint=None,
        comm=CommConfig(trace_buf_size=0),
        debug=DebugConfig(seed=1, enable_structured_logging=False),
    )


def start_alike(trainer):
    """torchtitan seeds each stage's rank with a number of its own; here a parameter is drawn from its name."""
    for part in trainer.model_parts:
        for name, parameter in part.named_parameters():
            draw = torch.Generator().manual_seed(zlib.crc32(name.encode()))
            local = parameter.detach().to_local() if hasattr(parameter, "to_local") else parameter.detach()
            if "norm" not in name:
                local.normal_(0, 0.05, generator=draw)


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--pp", type=int, choices=[1, 2], default=1)
    ask.add_argument("--schedule", default="1F1B")
    args = ask.parse_args()
    torch.set_num_threads(1)
    init_logger()
    with tempfile.TemporaryDirectory() as dump:
        trainer = configuration(args.pp, args.schedule, dump).build()
        start_alike(trainer)
        trainer.train()
        trainer.close()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
