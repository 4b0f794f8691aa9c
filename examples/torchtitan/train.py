# SPDX-License-Identifier: BSD-3-Clause
"""torchtitan's own Trainer with a tiny llama3, on a CPU over gloo: one rank, or a pipeline of two, with FSDP2 and tensor parallelism. It does not use Plumbline.

    torchrun --nproc-per-node=2 train.py --pp 2 --schedule 1F1B
    torchrun --nproc-per-node=8 train.py --pp 2 --dp-shard 2 --tp 2      # its reference: 4 ranks, --pp 1 --dp-shard 2 --tp 2
"""

import argparse
import itertools
import tempfile
import zlib
from dataclasses import dataclass

import torch
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor, distribute_tensor

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

    def __init__(self, config, *, dp_rank, local_batch_size, seq_len, **others):
        self.shape, self.vocabulary, self.seed = (local_batch_size, seq_len + 1), config.vocabulary, 7 + dp_rank

    def __iter__(self):
        draw = torch.Generator().manual_seed(self.seed)
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


def configuration(sizes, schedule, dump):
    spec = tiny_llama3()
    return Trainer.Config(
        model_spec=spec,
        dump_folder=dump,
        loss=CrossEntropyLoss.Config(global_vocab_size=spec.model.vocab_size),
        optimizer=default_adamw(lr=8e-4),
        lr_scheduler=LRSchedulersContainer.Config(warmup_steps=2),
        training=TrainingConfig(
            local_batch_size=ROWS if sizes["pp"] == 1 else MICROBATCHES * ROWS,  # one device accumulates the gradients of as many microbatches
            global_batch_size=sizes["dp_shard"] * MICROBATCHES * ROWS,
            seq_len=LENGTH,
            steps=STEPS,
            max_norm=CLIP / sizes["dp_shard"] ** 0.5,
            mixed_precision_param="float32",
            disable_cuda_graphs=True,
        ),
        parallelism=ParallelismConfig(
            pipeline_parallel_degree=sizes["pp"],
            pipeline_parallel_schedule=schedule,
            pipeline_parallel_microbatch_size=ROWS,
            data_parallel_shard_degree=sizes["dp_shard"],
            tensor_parallel_degree=sizes["tp"],
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
            if "norm" not in name:
                whole = torch.empty(parameter.shape).normal_(0, 0.05, generator=draw)
                with torch.no_grad():
                    parameter.copy_(distribute_tensor(whole, parameter.device_mesh, parameter.placements) if isinstance(parameter, DTensor) else whole)


def reduce_once(trainer):
    """Without stages torchtitan reduces the shards' gradients of each microbatch; the stages of a pipeline reduce their sum, which rounds differently."""
    forward_and_backward, (model,), numbers = trainer.fwd_bwd_fn, trainer.model_parts, itertools.count(1)

    def reducing_last(*given):
        model.set_requires_gradient_sync(next(numbers) % MICROBATCHES == 0)
        return forward_and_backward(*given)

    trainer.fwd_bwd_fn = reducing_last


def over_gloo(trainer):
    """gloo has no reduction with a factor, which FSDP2 divides by, and refuses tensors that are not contiguous, as the parts of a sequence that stages send."""

    def of_gradient(module, fed):
        for one in fed:
            if one.requires_grad:
                one.register_hook(torch.Tensor.contiguous)

    for part in trainer.model_parts:
        for module in part.modules():
            if isinstance(module, FSDPModule):
                module.set_force_sum_reduction_for_comms(True)
        if trainer.parallel_dims.pp_enabled:
            part.register_forward_pre_hook(of_gradient)
            part.register_forward_hook(lambda module, fed, output: output.contiguous())


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--pp", "--dp-shard", "--tp"):
        ask.add_argument(name, type=int, choices=[1, 2], default=1)
    ask.add_argument("--schedule", default="1F1B")
    args = ask.parse_args()
    torch.set_num_threads(1)
    init_logger()
    with tempfile.TemporaryDirectory() as dump:
        sizes = {"pp": args.pp, "dp_shard": args.dp_shard, "tp": args.tp}
        trainer = configuration(sizes, args.schedule, dump).build()
        start_alike(trainer)
        over_gloo(trainer)
        if args.pp == 1:
            reduce_once(trainer)
        trainer.train()
        trainer.close()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
