# SPDX-License-Identifier: BSD-3-Clause
"""The record of one rank: the interface for the trainer (docs/record-format.md describes the files)."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from . import meshes
from .blocks import ActionBlock, StepBlock, WaitingBlock
from .events import recording
from .hooks import if_offered
from .stages import Named, Stage
from .steps import Steps


class Record(Steps):
    """The record of one rank. plumbline.torch.watch_model, watch_stage and watch_pipelining call most methods, the trainer the others.
    Arguments: help(plumbline.Record.__init__).

    `with plumbline.Record(...) as record:` removes all hooks at its end, as record.finish() does.
    """

    def __enter__(self) -> Record:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None:
            self._guarded(self._failed, error)
        elif not self._finished:
            self.finish("error", 1, f"the record's block ended after {self._run_step} of {self.run_steps} steps")

    def stage(
        self,
        number: int,
        units: Sequence[str],
        parameters: Sequence[tuple[str, Any]] | dict[str, Any],
        gradient_of: Callable[[Any], Any] | None = None,
        master_of: Callable[[Any], Any] | None = None,
        again: Callable[[], Named] | None = None,
        buffers: Callable[[], Named] | Named | dict[str, Any] = (),
    ) -> None:
        """Adds a stage of this rank: its units in the model's order, its parameters by the model's names. Call it before the first step.
        `gradient_of(parameter)` returns the gradient if it is not in .grad, `master_of(parameter)` the tensor that the optimizer updates
        instead of the parameter; `again()` the current parameters, if their objects may be replaced. `buffers`: the persistent buffers of its
        modules by the model's names, or a function that returns the current ones. Raises ValueError for a part of a parameter whose place in the
        whole is unknown, or of a master, RuntimeError after the first step has begun."""
        if self._rows is not None:
            raise RuntimeError("record.stage() must be called before the first step")
        named = list(parameters.items()) if isinstance(parameters, dict) else list(parameters)
        if master_of is not None:
            meshes.refuse_parts_of_masters(named, master_of)
        ranks = sum(map(len, self._mesh["replicas"])) if self._mesh else self.world_size
        if_offered(self, ("parameters", "gradients", "moments"), self.parts.add, named, ranks)

        def current() -> Named:
            return list(buffers.items() if isinstance(buffers, dict) else buffers() if callable(buffers) else buffers)

        self.stages.append(Stage(number, list(units), named, gradient_of, master_of, again, current))

    def step(self, inputs: Any, targets: Any = None) -> StepBlock:
        """A training step, for `with`. `inputs` and `targets`: the whole batch, a numpy array or torch tensor [rows, ...], which is split as
        torch.distributed.pipelining does, or a list with a tensor for each microbatch: give lists if rows are not the first dimension, as in a batch
        [length, rows]. Ids and labels are int64, of equal shape."""
        return StepBlock(self, inputs, targets)

    @recording("losses")
    def loss(self, loss: Any, microbatch: int | None = None) -> None:
        """Records a microbatch's loss, a number or a tensor of one element. Default of `microbatch`: the next one."""
        self._set_loss(loss, self._counted("loss", microbatch))

    @recording("inputs", "labels")
    def fed(self, microbatch: int, inputs: Any = None, targets: Any = None) -> None:
        """Records the inputs and labels of this rank, if they may differ from those that record.step was given."""
        for what, place, tensor in (("inputs", 0, inputs), ("targets", 1, targets)):
            if tensor is not None:
                self._set_fed(self._counted(what, microbatch), place, tensor)

    @recording("sends")
    def sent(self, stage: int, to_stage: int, microbatch: Any = None, tensor: Any = None) -> None:
        """Records a tensor that a hand-written pipeline gives to the transport: an activation if to_stage is the later stage, else a
        gradient. record.sent(stage, to_stage, tensor), without a number, is of the next microbatch."""
        self._counted_crossing(stage, to_stage, microbatch, tensor, "send")

    @recording("receives")
    def received(self, stage: int, from_stage: int, microbatch: Any = None, tensor: Any = None) -> None:
        """Records a received tensor. Call it when the tensor's consumer starts, not when the transfer ends."""
        self._counted_crossing(from_stage, stage, microbatch, tensor, "receive")

    @recording("receives")
    def handed_over(self, from_stage: int, to_stage: int, microbatch: Any = None, tensor: Any = None) -> None:
        """Records a tensor passed between two stages of this rank. Call it when the consumer starts."""
        self._counted_crossing(from_stage, to_stage, microbatch, tensor, "local")

    @recording("boundaries")
    def computed(self, cut: str, direction: str, microbatch: int, tensor: Any) -> None:
        """Records, on one device, the tensor at the boundary before the unit `cut` (direction "forward"), or its gradient ("backward")."""
        self._boundary(microbatch, direction, cut, None, None, "computed", None, tensor)

    @recording("rates")
    def learning_rate(self, rate: float) -> None:
        """Records the rate of this step. Not needed with an optimizer of torch."""
        self._in_step("learning_rate").learning_rate = float(rate)

    def action(self, stage: int, kind: str, microbatch: int | None = None, peer: int = -1) -> ActionBlock:
        """An action, for `with`. `kind`: F, B, I, W, SEND_F, RECV_F, SEND_B, RECV_B, REDUCE or STEP."""
        return ActionBlock(self, stage, kind, microbatch, peer)

    def waiting(self, peer: int) -> WaitingBlock:
        """A wait for a message from or to the rank `peer`, for `with`: if the run hangs, the heartbeat shows which rank it waited for."""
        return WaitingBlock(self, peer)
