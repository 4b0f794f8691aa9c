# SPDX-License-Identifier: BSD-3-Clause
"""The record of one rank, as its trainer sees it (docs/record-format.md says what is written)."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from . import meshes
from .blocks import ActionBlock, StepBlock, WaitingBlock
from .events import recording
from .stages import Named, Stage
from .steps import Steps


class Record(Steps):
    """What a trainer records of one rank. plumbline.torch.watch_model, watch_stage and watch_pipelining call most of its methods, the trainer
    the others. What the arguments are: help(plumbline.Record.__init__).

    `with plumbline.Record(...) as record:` undoes at its end all that watches the trainer, as record.finish() does.
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
    ) -> None:
        """A stage that this rank holds: its units in the model's order and its parameters by the model's names. Called before the first step.
        `gradient_of(parameter)` gives a gradient that lies elsewhere than in .grad, `master_of(parameter)` what the optimiser updates in
        the parameter's place; `again()` the parameters as they are now, where their objects may be replaced. Raises ValueError for a part of
        a parameter that cannot be placed in the whole, RuntimeError after the first step has begun."""
        if self._rows is not None:
            raise RuntimeError("record.stage() is called before the first step")
        named = list(parameters.items()) if isinstance(parameters, dict) else list(parameters)
        meshes.refuse_marked(named, self.world_size)
        self.shards.add(named)
        self.stages.append(Stage(number, list(units), named, gradient_of, master_of, again))

    def step(self, inputs: Any, targets: Any = None) -> StepBlock:
        """One training step. `inputs` and `targets`: the whole batch, a tensor of numpy or torch [rows, ...], which is split as
        torch.distributed.pipelining splits it, or a list with a tensor for each microbatch. Ids and labels are int64, of one shape."""
        return StepBlock(self, inputs, targets)

    @recording("losses")
    def loss(self, loss: Any, microbatch: int | None = None) -> None:
        """Of a microbatch, a number or a tensor of one element; without its number, of the next microbatch."""
        self._set_loss(loss, self._counted("loss", microbatch))

    @recording("inputs", "labels")
    def fed(self, microbatch: int, inputs: Any = None, targets: Any = None) -> None:
        """What this rank really computed with, where that may differ from what the step was given."""
        for what, place, tensor in (("inputs", 0, inputs), ("targets", 1, targets)):
            if tensor is not None:
                self._set_fed(self._counted(what, microbatch), place, tensor)

    @recording("sends")
    def sent(self, stage: int, to_stage: int, microbatch: Any = None, tensor: Any = None) -> None:
        """Of a hand-written pipeline: the tensor that was given to the transport, an activation where to_stage is the later stage, else a
        gradient. Without a number, record.sent(stage, to_stage, tensor), it is the next microbatch's."""
        self._counted_crossing(stage, to_stage, microbatch, tensor, "send")

    @recording("receives")
    def received(self, stage: int, from_stage: int, microbatch: Any = None, tensor: Any = None) -> None:
        """The same at the other end. Call it when the tensor's consumer starts, not when the transfer ends."""
        self._counted_crossing(from_stage, stage, microbatch, tensor, "receive")

    @recording("receives")
    def handed_over(self, from_stage: int, to_stage: int, microbatch: Any = None, tensor: Any = None) -> None:
        """Between two stages of this rank. Call it when the consumer starts."""
        self._counted_crossing(from_stage, to_stage, microbatch, tensor, "local")

    @recording("boundaries")
    def computed(self, cut: str, direction: str, microbatch: int, tensor: Any) -> None:
        """Of a run on one device: the tensor at the boundary before the unit `cut` (direction "forward"), or its gradient ("backward")."""
        self._boundary(microbatch, direction, cut, None, None, "computed", None, tensor)

    @recording("rates")
    def learning_rate(self, rate: float) -> None:
        """The rate that this step applies. It is not needed with an optimiser of torch."""
        self._in_step("learning_rate").learning_rate = float(rate)

    def action(self, stage: int, kind: str, microbatch: int | None = None, peer: int = -1) -> ActionBlock:
        """One of F, B, I, W, SEND_F, RECV_F, SEND_B, RECV_B, REDUCE, STEP."""
        return ActionBlock(self, stage, kind, microbatch, peer)

    def waiting(self, peer: int) -> WaitingBlock:
        """While this rank waits for a message from or to the rank `peer`: where a run hangs, the heartbeat shows whom it
        waited for."""
        return WaitingBlock(self, peer)
