# SPDX-License-Identifier: BSD-3-Clause
"""What happens within a step: actions, tensors at stage boundaries, losses, gradients and their norm, counted and written."""

from __future__ import annotations

import functools
from typing import Any, Callable, Iterable

from . import clipping, meshes
from .current_step import CurrentStep
from .progress import ProgressPage
from .rows import Rows
from .settings import Settings
from .stages import TensorRow


def recording(*kinds: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Of a method of Events that the trainer calls: what it raises ends no training, these kinds are then not recorded. Outside of a step,
    and in one that is not recorded, it does nothing."""

    def decorate(method: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(method)
        def call(self: Events, *args: Any, **kwargs: Any) -> None:
            if self._now is not None:
                self._not_recorded.attempt(kinds, lambda: method(self, *args, **kwargs))
            elif not self._passed_over and not self._finished:
                self._not_recorded.warn_once(f"record.{method.__name__}() counts only within `with record.step(...)`, and was called outside of it")

        return call

    return decorate


class Events(Settings):
    _rows: Rows | None = None  # from the first step on, as are these three:
    _progress: ProgressPage
    _on_rank: dict[int, int]  # stage: its rank
    _boundary_before: dict[int, str | None]  # stage: the name of the boundary before it
    _now: CurrentStep | None = None
    _run_step = 0
    _passed_over = False  # within a step of the run that is not recorded
    _finished = False

    @property
    def in_step(self) -> bool:
        return self._now is not None

    def _in_step(self, what: str) -> CurrentStep:
        if self._now is None:
            raise RuntimeError(f"record.{what}() is called within `with record.step(...)`")
        return self._now

    def _counted(self, what: Any, microbatch: int | None, of_a_call: int | None = None) -> int:
        """The number within the step. A record that was given the microbatches of one call learns in its first step how many there are."""
        now = self._in_step("microbatch")
        number = now.counts.number(what, microbatch, of_a_call)
        if number >= self.microbatches:
            if now.number > 0 or number >= self.microbatches + self.microbatches_of_a_call:
                raise ValueError(f"step {now.number} has a microbatch {number}, and the record was made for {self.microbatches}")
            self.microbatches += self.microbatches_of_a_call
        return number

    def _heartbeat(self, microbatch: int = -1, peer: int = -1) -> None:
        if self._now is not None and self._rows is not None:
            self._progress.write(self._run_step, self._now.index, self._rows.last_action, peer, microbatch)

    # -- actions --------------------------------------------------------------------------------------------------

    def _begin_counted_action(self, stage: int, kind: str, microbatch: int | None, peer: int) -> list[Any]:
        number = None if microbatch is None else self._counted((stage, kind), microbatch)
        return self._begin_action(stage, kind, number, peer)

    def _begin_action(self, stage: int, kind: str, microbatch: int | None = None, peer: int = -1) -> list[Any]:
        now = self._in_step("action")
        assert self._rows is not None
        name = f"{stage}{kind}{'' if microbatch is None else microbatch}"
        self._progress.write(self._run_step, now.index, name, peer, -1 if microbatch is None else microbatch)
        row = self._rows.begin_action(now.number, now.index, name, stage, microbatch)
        now.index += 1
        return row

    def _end_action(self, row: list[Any], waited: bool = False) -> None:
        assert self._rows is not None
        self._rows.end_action(row, waited)

    def _attempt_begin(self, stage: int, kind: str, microbatch: int | None = None) -> Any:
        """Its row, or None where it cannot be recorded."""
        return self._not_recorded.attempt("actions", self._begin_action, stage, kind, microbatch)

    def _attempt_end(self, row: list[Any] | None, waited: bool = False) -> None:
        if row is not None:
            self._not_recorded.attempt("actions", self._end_action, row, waited)

    # -- tensors --------------------------------------------------------------------------------------------------

    def _counted_crossing(self, from_stage: int, to_stage: int, microbatch: Any, tensor: Any, side: str) -> None:
        if tensor is None:
            microbatch, tensor = None, microbatch
        number = self._counted((side, from_stage, to_stage), microbatch)
        self._crossed(from_stage, to_stage, number, tensor, side)
        self._heartbeat(number)

    def _crossed(self, from_stage: int, to_stage: int, microbatch: int, tensor: Any, side: str) -> None:
        cut = self._boundary_before[max(from_stage, to_stage)]
        peer = self._on_rank[to_stage if side == "send" else from_stage]
        if cut is not None:  # after the last unit nothing is sent on
            direction = "forward" if to_stage > from_stage else "backward"
            self._boundary(microbatch, direction, cut, from_stage, to_stage, side, peer, tensor)

    def _boundary(self, microbatch: int, direction: str, *cells: Any) -> None:
        now = self._in_step("boundary")
        if self._rows is not None:
            self._rows.boundary(now.number, microbatch, direction, *cells)

    def _write_tensors(self, step: int, rows: Iterable[TensorRow]) -> None:
        for kind, name, stage, tensor, rate in rows:
            part = self.shards.own_part(name, tensor)
            if part is not None and self._rows is not None:
                self._rows.tensor(step, kind, self.shards.name_of(name), stage, part, rate)

    def _set_loss(self, loss: Any, microbatch: int) -> None:
        loss = meshes.local(loss)
        self._in_step("loss").losses[microbatch] = float(loss.detach() if hasattr(loss, "detach") else loss)
        self._heartbeat(microbatch)

    def _set_fed(self, microbatch: int, place: int, tensor: Any) -> None:
        """`place`: 0 for inputs, 1 for labels."""
        self._in_step("fed").fed.setdefault(microbatch, [None, None])[place] = tensor

    @recording("gradients")
    def gradients(self) -> None:
        """Call it where all gradients are complete and none is clipped. It is not needed where torch.nn.utils clips, or nothing does."""
        now = self._in_step("gradients")
        if now.gradients_taken:
            return
        now.gradients_taken = True
        self._notice_replaced(f"in step {now.number}")
        for stage in self.stages:
            self._write_tensors(now.number, stage.gradient_rows())

    @recording("norm")
    def norm(self, norm: Any, coefficient: Any = None) -> None:
        """The global norm and what gradients are multiplied by, each a number or a tensor of one element. Without the coefficient, what
        torch computes from the norm."""
        now = self._in_step("norm")
        if not now.gradients_taken:
            raise RuntimeError("record.norm() came before record.gradients(), which is called before anything is clipped")
        norm = meshes.local(norm)
        now.norm = float(norm)
        if coefficient is None and self.clip_norm is not None:
            coefficient = clipping.coefficient(norm, self.clip_norm, self.clip_epsilon)
        now.coefficient = None if coefficient is None else float(coefficient)

    def _notice_replaced(self, when: str) -> None:
        """What is recorded is what the model computes with; whether the optimiser holds the same is the trainer's matter."""
        for stage in self.stages:
            if self._not_recorded.attempt("parameters", stage.replaced):
                self._not_recorded.note(f"the parameter objects changed {when} (as load_state_dict(assign=True) does): an optimiser made before holds the old ones")
