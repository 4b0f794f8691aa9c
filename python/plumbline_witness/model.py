# SPDX-License-Identifier: BSD-3-Clause
"""The model of transformers, with the differences that docs/exactness.md requires (python/README.md lists them)."""

import functools

import torch
import transformers
from safetensors.torch import load_file

from .hashes import hash64
from .run_file import InputError

EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"


def set_deterministic(threads):
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    # One attention kernel, without a fallback.
    torch.backends.cuda.enable_flash_sdp(True)
    torch.backends.cuda.enable_math_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)


class Model:
    def __init__(self, run):
        self.tied = bool(run.config.get("tie_word_embeddings", False))
        config = transformers.CONFIG_MAPPING[run.config["model_type"]].from_dict(run.config)
        # A leaf for each use of a tied weight: a single leaf, as in transformers, would add both uses microbatch by microbatch.
        config.tie_word_embeddings = False
        self.config = config
        self.module = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").train()
        self.mixed = run.dtype == "mixed"
        dtype = torch.bfloat16 if self.mixed else getattr(torch, run.dtype)
        if dtype == torch.float64:
            raise InputError("float64 is not cross-checked: transformers computes its norms in float32")
        for parameter in self.module.parameters():
            # Not module.to(dtype), which would round RoPE's frequencies as well.
            parameter.data = parameter.data.to(dtype)
        # Every parameter in canonical order (transformers' own), including a tied head; in mixed precision the masters.
        self.named = self.copies
        if self.mixed:
            self.named = [(name, torch.nn.Parameter(copy.detach().float())) for name, copy in self.copies]
        for _, parameter in self.named:
            parameter.grad = torch.zeros_like(parameter)
        if run.recompute == "layer":
            self.module.activation_checkpointing_enable(activation_checkpointing_kwargs={"use_reentrant": False})

    @property
    def copies(self):
        """The parameters of the computation: in mixed precision the bfloat16 copies."""
        return list(self.module.named_parameters())

    def round_masters(self):
        """Rounds the masters into their copies (docs/exactness.md, "Mixed precision", 4)."""
        if self.mixed:
            for (_, copy), (_, master) in zip(self.copies, self.named):
                copy.data.copy_(master.data)

    def collect_gradients(self):
        """Adds one microbatch's gradients, widened, to the masters' (docs/exactness.md, "Mixed precision", 1)."""
        if self.mixed:
            for (_, copy), (_, master) in zip(self.copies, self.named):
                master.grad.add_(copy.grad.float())
                copy.grad = None

    @property
    def counted(self):
        """All parameters, a tied weight once."""
        return [(name, parameter) for name, parameter in self.named if not (self.tied and name == HEAD)]

    @property
    def units(self):
        return ["embed_tokens", *(f"layers.{layer}" for layer in range(self.config.num_hidden_layers)), "norm", "lm_head"]

    def start_from(self, path):
        # A folder is loaded as users load a checkpoint.
        stored = transformers.AutoModelForCausalLM.from_pretrained(path).state_dict() if path.is_dir() else load_file(path)
        for name, parameter in self.named:
            key = EMBEDDING if self.tied and name == HEAD else name
            if key not in stored or stored[key].shape != parameter.shape:
                raise InputError(f"{path}: {key} is missing or of another shape than {tuple(parameter.shape)}")
            parameter.data.copy_(stored[key])
        self.round_masters()

    def draw(self, seed):
        """Draws all parameters in float32, each from its own generator (docs/exactness.md, "Initial values")."""
        for name, parameter in self.named:
            stream = EMBEDDING if self.tied and name == HEAD else name
            value = torch.empty(parameter.shape)
            if value.dim() == 2:
                generator = torch.Generator().manual_seed(hash64(f"{seed}/{stream}"))
                value.normal_(0, self.config.initializer_range, generator=generator)
            else:
                value.fill_(0 if name.endswith(".bias") else 1)
            parameter.data.copy_(value)
        self.round_masters()

    def watch_cuts(self, observe):
        """Calls observe(direction, cut, tensor) for each boundary tensor. A boundary has the name of the unit after it."""
        body = self.module.model

        def see(tensor, cut):
            if not torch.is_grad_enabled():  # an evaluation
                return
            observe("forward", cut, tensor)
            tensor.register_hook(lambda gradient: observe("backward", cut, gradient))

        def passed(module, inputs, output, cut):
            see(output[0] if isinstance(output, tuple) else output, cut)

        for module, cut in zip([body.embed_tokens, *body.layers, body.norm], self.units[1:]):
            module.register_forward_hook(functools.partial(passed, cut=cut))

    def loss(self, microbatch, valid_tokens_of_step):
        """Cross-entropy in float32, summed over the microbatch, divided by the valid tokens of the whole step."""
        logits = self.module(input_ids=microbatch.ids, use_cache=False).logits.float()
        total = torch.nn.functional.cross_entropy(
            logits.view(-1, logits.size(-1)), microbatch.labels.view(-1), ignore_index=-100, reduction="sum"
        )
        return total / valid_tokens_of_step

    def zero_gradients(self):
        for _, parameter in self.named:
            parameter.grad.zero_()

    def add_tied_uses(self):
        if not self.tied:
            return
        gradients = {name: parameter.grad for name, parameter in self.named}
        embedding, head = gradients[EMBEDDING], gradients[HEAD]
        embedding.add_(head)
        head.copy_(embedding)
