# SPDX-License-Identifier: BSD-3-Clause
"""Records schedules of torch.distributed.pipelining, of torch 2.10 to 2.15. No code depends on the version.

Hooks are on functions of the stage and the schedule (python/README.md, "Versions of torch"). What a torch version lacks is listed in
`not_recorded`, and the training continues.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch

from . import waits
from .hooks import argument, first_argument, hook, missing
from .modules import ALL_KINDS, Names, as_one, labels_in, tensors_in, watch_stage
from .record import Record
from .schedules import compute_rows, declare_accumulation

# By hooks; parameters, gradients and moments are a stage's own.
HOOKED = tuple(kind for kind in ALL_KINDS if kind not in ("parameters", "buffers", "gradients", "applied", "moments"))


def watch_pipelining(
    record: Record,
    schedule: Any,
    units: Callable[[int], Sequence[str]] | None = None,
    names: Names | None = None,
    gradient_of: Callable[[Any], Any] | None = None,
    master_of: Callable[[Any], Any] | None = None,
) -> None:
    """Records every boundary tensor, loss and action of this rank's stages, of any schedule of torch.distributed.pipelining.

    `units(stage)` returns a stage's units, if they are not its module's children; `names(stage, name)` the whole model's name of a stage's
    parameter. gradient_of, master_of: see watch_model.

    A schedule may be called several times for one optimizer step; Record(microbatches=) is then the number of all calls, or of one. Raises
    ValueError if it is no multiple of the schedule's microbatches, RuntimeError if torch has no torch.distributed.
    """
    if not torch.distributed.is_available():
        raise RuntimeError("this torch was built without torch.distributed and its pipelines; use watch_model or watch_stage")
    microbatches = getattr(schedule, "_n_microbatches", record.microbatches)
    if record.microbatches % microbatches:
        raise ValueError(f"the schedule has {microbatches} microbatches a call, but the record {record.microbatches} a step, which is not a multiple")
    record.microbatches_of_a_call = microbatches
    record.schedule_name = type(schedule).__name__.removeprefix("Schedule")
    if getattr(schedule, "scale_grads", False) and record.microbatches > 1:
        record.loss_scaling = "after"
    stages = stages_of(schedule)
    unknown = _lacking(stages, "stage_index", "submod") if stages else f"{missing(schedule, '_stages')} and no _stage"
    if unknown:
        record._not_recorded.add(ALL_KINDS, unknown)
        return
    for stage in stages:
        number = stage.stage_index
        watch_stage(record, number, stage.submod, units(number) if units else None, names, gradient_of, master_of)
    unplaced = _lacking(stages, "num_stages", "group_size", "is_first", "is_last")
    if unplaced:
        record._not_recorded.add(HOOKED, unplaced)
    else:
        record._not_recorded.attempt(HOOKED, _watch_schedule, record, schedule, stages)


def _lacking(stages: list[Any], *names: str) -> str | None:
    """The first of these attributes that a stage does not have, in words."""
    return next((missing(stage, name) for stage in stages for name in names if not hasattr(stage, name)), None)


def _watch_schedule(record: Record, schedule: Any, stages: list[Any]) -> None:
    record.chunks_per_rank = max(1, -(-stages[0].num_stages // stages[0].group_size))
    record.schedule_rows = record._not_recorded.attempt("schedule", compute_rows, schedule, stages[0].group_size)
    loss = WatchedLoss(record, schedule)
    here = {stage.stage_index for stage in stages}
    for stage in stages:
        WatchedStage(record, stage, here, loss)
    if any(stage.is_last for stage in stages):
        loss.watch()
    declare_accumulation(record)
    waits.watch(record, getattr(stages[0], "group", None))


def stages_of(schedule: Any) -> list[Any]:
    """This rank's stages; if the schedule keeps them under an unknown name, found by their attributes."""
    for name in ("_stages", "_stage"):
        found = getattr(schedule, name, None)
        if found is not None:
            return list(found) if isinstance(found, (list, tuple)) else [found]
    for found in vars(schedule).values():
        several = list(found) if isinstance(found, (list, tuple)) else [found]
        if several and all(hasattr(one, "stage_index") and hasattr(one, "submod") for one in several):
            return several
    return []


def microbatch_of(args: Any, kwargs: Any) -> int:
    """The microbatch's number within the call: the first argument of each function of a stage, under various names."""
    return int(args[0] if args else next(value for name, value in kwargs.items() if name.endswith(("chunk_id", "mb_index", "microbatch_index"))))


class WatchedLoss:
    """Records the results of the schedule's loss function. A call counts only right after a forward of the last stage, because torch also calls
    the function to infer shapes."""

    def __init__(self, record: Record, schedule: Any) -> None:
        self.record, self.schedule = record, schedule
        self.microbatch: int | None = None  # whose forward has just run on the last stage
        self.watched: Any = None

    def watch(self) -> None:
        """Hooks the loss function. Called before each forward of the last stage, because the trainer may replace the function."""
        if not hasattr(self.schedule, "_loss_fn"):
            self.record._not_recorded.add("labels", missing(self.schedule, "_loss_fn"))
        elif self.schedule._loss_fn is not None and self.schedule._loss_fn is not self.watched:
            hook(self.record, self.schedule, "_loss_fn", ("losses", "labels"), after=self.computed)
            self.watched = self.schedule._loss_fn

    def computed(self, begun: Any, loss: Any, args: Any, kwargs: Any) -> None:
        microbatch, self.microbatch = self.microbatch, None
        if microbatch is None or not self.record.in_step:
            return
        self.record._not_recorded.attempt("losses", self.record._set_loss, loss, microbatch)
        target = next(iter(tensors_in(argument(args, kwargs, 1, "target"))), None)
        if target is not None:
            self.record._not_recorded.attempt("labels", self.record._set_fed, microbatch, 1, target)

    def given(self, loss: Any, microbatch: int) -> None:
        """Takes the loss that the last stage's backward is given, if the call of the loss function was not seen."""
        now = self.record._now
        if loss is not None and now is not None and microbatch not in now.losses:
            self.record._set_loss(loss, microbatch)


class WatchedStage:
    """Records one stage of this rank: its actions, and the tensors that it sends and receives."""

    def __init__(self, record: Record, stage: Any, here: set[int], loss: WatchedLoss) -> None:
        self.record, self.stage, self.loss, self.number = record, stage, loss, stage.stage_index
        self.attempt = record._not_recorded.attempt
        self.receives: dict[tuple[str, int], tuple[list[Any] | None, list[torch.Tensor]]] = {}  # pending receives: the action's row, tensors
        before, after = self.number - 1, self.number + 1
        self.local = {other for other in (before, after) if other in here}
        self.ran = False  # whether a forward ran within a recorded step
        forward_kinds = ("actions", "receives", *(("inputs",) if stage.is_first else ()), *(("labels",) if stage.is_last else ()))
        backward_kinds = ("actions", "receives", *(("losses",) if stage.is_last else ()))
        hook(record, stage, "forward_one_chunk", forward_kinds, self.forward, self.forwarded)
        hook(record, stage, "backward_one_chunk", backward_kinds, self.backward, self.ended)
        hook(record, stage, "backward_weight_one_chunk", "actions", self.weights, self.ended)

        def exchanges(other: int, with_this_rank: bool) -> Callable[[], bool]:
            there = 0 <= other < stage.num_stages and (other in here) == with_this_rank
            return lambda: self.ran and there and record._next_step > 0  # of a run that crashed before, torch may not have come to it

        for name, kind, other in (("get_fwd_send_ops", "SEND_F", after), ("get_bwd_send_ops", "SEND_B", before)):
            hook(record, stage, name, "sends", self.recording, self.sending(kind, other), exchanges(other, False))
        for name, kind, other in (("get_fwd_recv_ops", "RECV_F", before), ("get_bwd_recv_ops", "RECV_B", after)):
            hook(record, stage, name, "receives", self.recording, self.receiving(kind, other), exchanges(other, False))
        for name, kind, other in (("set_local_fwd_input", "RECV_F", before), ("set_local_bwd_input", "RECV_B", after)):
            if other in here:
                hook(record, stage, name, "receives", self.recording, self.taking_over(kind), exchanges(other, True))

    def recording(self, *call: Any) -> bool | None:
        """True within a step, except in an evaluation (which has no backward); else None."""
        return True if self.record.in_step and getattr(self.stage, "has_backward", True) else None

    def counted(self, kind: str, args: Any, kwargs: Any) -> int:
        """The microbatch's number within the step; torch counts from 0 in each call of the schedule."""
        return self.record._counted((self.number, kind), microbatch_of(args, kwargs), self.record.microbatches_of_a_call)

    def begin(self, kind: str, microbatch: int) -> tuple[int, list[Any] | None]:
        return microbatch, self.record._attempt_begin(self.number, kind, microbatch)

    def ended(self, begun: tuple[int, list[Any] | None], result: Any, args: Any, kwargs: Any) -> None:
        self.record._attempt_end(begun[1])

    def forward(self, args: Any, kwargs: Any) -> tuple[int, list[Any] | None] | None:
        if not self.recording():
            self.loss.microbatch = None
            return None
        microbatch = self.counted("F", args, kwargs)
        self.ran = True
        self.consume("RECV_F", microbatch, self.number - 1)
        if self.stage.is_first:
            self.attempt("inputs", self.feed, microbatch, argument(args, kwargs, 1, "args"))
        if self.stage.is_last:
            self.attempt("labels", self.loss.watch)
            self.record._attempt_labels(microbatch, labels_in, self.stage.submod, (), argument(args, kwargs, 2, "kwargs") or {})
            self.loss.microbatch = None
        return self.begin("F", microbatch)

    def forwarded(self, begun: tuple[int, list[Any] | None], result: Any, args: Any, kwargs: Any) -> None:
        self.ended(begun, result, args, kwargs)
        if self.stage.is_last:
            self.loss.microbatch = begun[0]

    def feed(self, microbatch: int, inputs: Any) -> None:
        first = next(iter(tensors_in(inputs)), None)
        if first is not None:
            self.record._set_fed(microbatch, 0, first)

    def backward(self, args: Any, kwargs: Any) -> tuple[int, list[Any] | None] | None:
        if not self.recording():
            return None
        microbatch = self.counted("B", args, kwargs)
        if self.stage.is_last:
            self.attempt("losses", self.loss.given, argument(args, kwargs, 1, "loss"), microbatch)
        self.consume("RECV_B", microbatch, self.number + 1)
        whole = args[2] if len(args) > 2 else kwargs.get("full_backward", True)
        return self.begin("B" if whole else "I", microbatch)

    def weights(self, args: Any, kwargs: Any) -> tuple[int, list[Any] | None] | None:
        return self.begin("W", self.counted("W", args, kwargs)) if self.recording() else None

    def sending(self, kind: str, other: int) -> Callable[..., None]:
        def sent(begun: Any, ops: Any, args: Any, kwargs: Any) -> None:
            if not ops or self.skips(ops, other):
                return
            microbatch = self.counted(kind, args, kwargs)
            self.record._crossed(self.number, other, microbatch, as_one([op.tensor for op in ops]), "send")
            self.record._attempt_end(self.record._attempt_begin(self.number, kind, microbatch))  # the wait for it is not part of the action

        return sent

    def receiving(self, kind: str, other: int) -> Callable[..., None]:
        def receives(begun: Any, ops: Any, args: Any, kwargs: Any) -> None:
            if not ops or self.skips(ops, other):
                return
            microbatch = self.counted(kind, args, kwargs)
            _, row = self.begin(kind, microbatch)
            self.receives[kind, microbatch] = (row, [op.tensor for op in ops])

        return receives

    def skips(self, ops: Any, other: int) -> bool:
        """True if a traced model sends tensors past a stage: a reference records no such tensor at the boundaries in between."""
        to = {waits.rank_of(op.peer, getattr(self.stage, "group", None)) for op in ops}
        neighbor = self.record._on_rank.get(other)
        if to <= {neighbor}:
            return False
        ranks = ", ".join(str(rank) for rank in sorted(to - {neighbor}))
        words = f"stage {self.number} exchanges tensors with rank {ranks}, past its neighbor (a skip connection), which no reference records at a stage boundary"
        self.record._not_recorded.add(("sends", "receives", "boundaries"), words)
        return True

    def taking_over(self, kind: str) -> Callable[..., None]:
        """Hook on a function that takes (tensors, microbatch) from another stage of this rank."""

        def taken_over(begun: Any, result: Any, args: Any, kwargs: Any) -> None:
            tensors = list(tensors_in(first_argument(args, kwargs)))
            if tensors:
                microbatch = self.record._counted((self.number, kind), int(argument(args, kwargs, 1, "mb_index")), self.record.microbatches_of_a_call)
                self.receives[kind, microbatch] = (None, tensors)

        return taken_over

    def consume(self, kind: str, microbatch: int, other: int) -> None:
        """Records a receive, at the start of its consumer."""
        row, tensors = self.receives.pop((kind, microbatch), (None, []))
        self.record._attempt_end(row, waited=True)
        if tensors:
            side = "local" if other in self.local else "receive"
            self.attempt("receives", lambda: self.record._crossed(other, self.number, microbatch, as_one(tensors), side))
