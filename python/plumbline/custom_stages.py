# SPDX-License-Identifier: BSD-3-Clause
"""Records stages that are not torch's: any objects with a method for the forward and one for the backward pass of a microbatch."""

from __future__ import annotations

import functools
from typing import Any, Callable, Sequence

import torch

from .hooks import guarded, hook
from .modules import Names, as_one, labels_in, tensors_in, watch_stage
from .pipelining import microbatch_of
from .record import Record


def watch_stages(
    record: Record,
    stages: Sequence[Any],
    forward: str = "forward_one_chunk",
    backward: str = "backward_one_chunk",
    number: str = "stage_index",
    module: str = "submod",
    loss: Callable[[Any], Any] | None = None,
    units: Callable[[int], Sequence[str]] | None = None,
    names: Names | None = None,
    gradient_of: Callable[[Any], Any] | None = None,
    master_of: Callable[[Any], Any] | None = None,
) -> None:
    """Records this rank's stages of a schedule of your own (OLMo-core's, say). Each has the methods `forward` and `backward`, whose first argument is
    the microbatch's number, and the attributes `number`, counted over all ranks, and `module`. A call of `forward` calls the module once: its
    first arguments are what the stage receives, its result is what it sends, and their gradients in the backward pass go the other way.

    `loss(output)` returns a microbatch's loss from the last stage's output; without it give each to record.loss. Give Record(schedule=) the
    schedule's name. units, names, gradient_of, master_of: see watch_pipelining. Raises AttributeError for a stage without one of these."""
    here = {int(getattr(stage, number)) for stage in stages}
    record.chunks_per_rank = max(1, len(stages))
    for stage in stages:
        at, submodule = int(getattr(stage, number)), getattr(stage, module)
        getattr(stage, forward), getattr(stage, backward)
        watch_stage(record, at, submodule, units(at) if units else None, names, gradient_of, master_of)
        _CustomStage(record, at, submodule, here, loss).watch(stage, forward, backward)


class _CustomStage:
    def __init__(self, record: Record, number: int, module: torch.nn.Module, here: set[int], loss: Callable[[Any], Any] | None) -> None:
        self.record, self.number, self.module, self.here, self.loss = record, number, module, here, loss
        self.attempt = record._not_recorded.attempt
        self.microbatch: int | None = None  # of the forward pass that is running

    def watch(self, stage: Any, forward: str, backward: str) -> None:
        kinds = ("actions", "sends", "receives", "inputs", "labels", "losses")
        hook(self.record, stage, forward, kinds, self.begin_forward, self.end_forward)
        hook(self.record, stage, backward, "actions", functools.partial(self.begin, "B"), self.end)
        before = self.module.register_forward_pre_hook(guarded(self.record, kinds, self.called), with_kwargs=True)
        after = self.module.register_forward_hook(guarded(self.record, kinds, self.returned))
        self.record._undo += [before.remove, after.remove]

    def begin(self, kind: str, args: Any, kwargs: Any) -> tuple[int, Any] | None:
        if not self.record.in_step or not torch.is_grad_enabled():
            return None
        microbatch = self.record._counted((self.number, kind), microbatch_of(args, kwargs), self.record.microbatches_of_a_call)
        return microbatch, self.record._attempt_begin(self.number, kind, microbatch)

    def begin_forward(self, args: Any, kwargs: Any) -> tuple[int, Any] | None:
        begun = self.begin("F", args, kwargs)
        self.microbatch = None if begun is None else begun[0]
        return begun

    def end(self, begun: tuple[int, Any], result: Any, args: Any, kwargs: Any) -> None:
        self.record._attempt_end(begun[1])

    def end_forward(self, begun: tuple[int, Any], result: Any, args: Any, kwargs: Any) -> None:
        self.microbatch = None
        self.end(begun, result, args, kwargs)

    def called(self, module: Any, args: Any, kwargs: Any) -> None:
        microbatch = self.microbatch
        if microbatch is None:
            return
        if self.is_last():
            self.record._attempt_labels(microbatch, labels_in, module, args, kwargs)
        tensors = list(tensors_in(args)) or list(tensors_in(kwargs))
        if self.number == 0:
            self.attempt("inputs", self.record._set_fed, microbatch, 0, tensors[0])
            return
        carried = [tensor for tensor in tensors if tensor.requires_grad] or tensors[:1]
        self.take(self.number - 1, microbatch, carried)
        if self.number - 1 not in self.here:
            self.when_known([one for one in carried if one.requires_grad], functools.partial(self.give, self.number - 1, microbatch))

    def returned(self, module: Any, args: Any, output: Any) -> None:
        microbatch = self.microbatch
        if microbatch is None:
            return
        if self.is_last():
            if self.loss is not None:
                self.attempt("losses", lambda: self.record._set_loss(self.loss(output), microbatch))
            return
        tensors = list(tensors_in(output))
        if self.number + 1 not in self.here:
            self.give(self.number + 1, microbatch, tensors)
        self.when_known([one for one in tensors if one.requires_grad], functools.partial(self.take, self.number + 1, microbatch))

    def is_last(self) -> bool:
        return self.number == max(self.record._on_rank)

    def when_known(self, tensors: list[torch.Tensor], record_gradients: Callable[[Any], None]) -> None:
        """Calls record_gradients once the backward pass has the gradients of all tensors. A multi-gradient hook of torch's is not called for the
        tensors that a backward pass begins with."""
        known: dict[int, torch.Tensor] = {}

        def one_known(place: int, gradient: torch.Tensor) -> None:
            known[place] = gradient
            if len(known) == len(tensors):
                record_gradients([known[number] for number in range(len(tensors))])

        for place, tensor in enumerate(tensors):
            tensor.register_hook(guarded(self.record, "boundaries", functools.partial(one_known, place)))

    def give(self, other: int, microbatch: int, tensors: Any) -> None:
        self.attempt("sends", lambda: self.record._crossed(self.number, other, microbatch, as_one(tensors), "send"))

    def take(self, other: int, microbatch: int, tensors: Any) -> None:
        side = "local" if other in self.here else "receive"
        self.attempt("receives", lambda: self.record._crossed(other, self.number, microbatch, as_one(tensors), side))
