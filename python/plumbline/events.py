# SPDX-License-Identifier: BSD-3-Clause
"""Records the events of a step: actions, boundary tensors, losses, gradients and their norm."""

from __future__ import annotations

import functools
import itertools
from typing import Any, Callable, Iterable

from . import clipping, manifest, meshes, training
from .current_step import CurrentStep
from .norms import Call
from .not_recorded import words_of
from .progress import ProgressPage
from .rows import Rows
from .settings import Settings
from .stages import TensorRow, require_updated, shaped_as

Taken = dict[tuple[int, str], tuple[Any, Any]]  # by stage and name: a gradient and its row


def recording(*kinds: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a method of Events that the trainer calls. If it raises, `kinds` are not recorded from then on, and the training continues.
    Outside of a step, and in a step that is not recorded, the method does nothing."""

    def decorate(method: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(method)
        def call(self: Events, *args: Any, **kwargs: Any) -> None:
            if self._now is not None:
                self._not_recorded.attempt(kinds, lambda: method(self, *args, **kwargs))
            elif not self._passed_over and not self._finished:
                self._not_recorded.warn_once(f"record.{method.__name__}() was called outside of `with record.step(...)` and is ignored")

        return call

    return decorate


class Events(Settings):
    _rows: Rows | None = None  # set by the first step, like the next three
    _progress: ProgressPage
    _on_rank: dict[int, int]  # by stage
    _boundary_before: dict[int, str | None]  # by stage: the name of the boundary before it
    _now: CurrentStep | None = None
    _run_step = 0
    _frozen: set[str] = set()  # names of this rank's parameters that no step has trained yet
    _calls: Any = None  # of a model on one device, by watch_model
    _passed_over = False  # within a step that is not recorded (every > 1)
    _finished = False

    @property
    def in_step(self) -> bool:
        return self._now is not None

    def _in_step(self, what: str) -> CurrentStep:
        if self._now is None:
            raise RuntimeError(f"record.{what}() must be called within `with record.step(...)`")
        return self._now

    def _counted(self, what: Any, microbatch: int | None, of_a_call: int | None = None) -> int:
        """The microbatch's number within the step. If the record was given the number of microbatches of one call, the first step determines how
        many there are in a step."""
        now = self._in_step("microbatch")
        number = now.counts.number(what, microbatch, of_a_call)
        if number >= self.microbatches:
            if now.number > 0 or number >= self.microbatches + self.microbatches_of_a_call:
                raise ValueError(f"step {now.number} has a microbatch {number}, but the record was made for {self.microbatches}")
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
        """The action's row, or None if it cannot be recorded."""
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
        if cut is not None:  # no unit follows, so nothing is sent
            direction = "forward" if to_stage > from_stage else "backward"
            self._boundary(microbatch, direction, cut, from_stage, to_stage, side, peer, tensor)

    def _boundary(self, microbatch: int, direction: str, *cells: Any) -> None:
        now = self._in_step("boundary")
        if self._rows is not None and cells[0] in self._chosen:
            self._rows.boundary(now.number, microbatch, direction, *cells)

    def _write_tensors(self, step: int, rows: Iterable[TensorRow], known: Iterable[Any] = itertools.repeat(None)) -> list[Any]:
        """Returns for each row what is known of its tensor; None if it is not recorded. `known`: for each row what is known of it already."""
        assert self._rows is not None
        chosen = [(row, self.parts.own(row[1], row[3]) if row[1] in self._chosen else None, same) for row, same in zip(rows, known)]
        measured = self._rows.measured([part for _, part, same in chosen if part is not None and same is None])
        found = []
        for (kind, name, stage, _, rate), part, same in chosen:
            found.append(None if part is None else self._rows.tensor(step, kind, name, stage, part, rate, next(measured) if same is None else same))
        return found

    def _set_loss(self, loss: Any, microbatch: int) -> None:
        loss = meshes.local(loss)
        self._in_step("loss").losses[microbatch] = float(loss.detach() if hasattr(loss, "detach") else loss)
        self._heartbeat(microbatch)

    def _set_fed(self, microbatch: int, place: int, tensor: Any) -> None:
        """`place`: 0: inputs, 1: labels."""
        self._in_step("fed").fed.setdefault(microbatch, [None, None])[place] = tensor

    def _attempt_labels(self, microbatch: int, found_in: Callable[..., Any], *call: Any) -> None:
        """Takes the labels that the model is called with, if found_in(*call) finds any."""

        def take() -> None:
            found = found_in(*call)
            if found is not None:
                self._in_step("labels").labels[microbatch] = found

        self._not_recorded.attempt("labels", take)

    @recording("gradients")
    def gradients(self) -> None:
        """Records all gradients. Call it when they are complete and not yet clipped; not needed if torch.nn.utils clips, or nothing does."""
        now = self._in_step("gradients")
        self._begin_gradients(now)
        for owner in list(now.untaken):
            self._take_gradients(now, owner)

    def _gradients_of(self, optimizer: Any) -> Taken:
        """Records the gradients that this optimizer is about to apply, and gradients that no optimizer has. Other optimizers' gradients may be incomplete: each parameter
        may have an optimizer that steps within the backward pass. Returns what was recorded now."""
        now = self._in_step("gradients")
        self._begin_gradients(now)
        return self._take_gradients(now, id(optimizer)) | self._take_gradients(now, id(None))

    def _applied_by(self, optimizer: Any, taken: Taken) -> None:
        """Records the gradients as this optimizer receives them. Of those in `taken` the digest is known."""
        now = self._in_step("applied")
        require_updated(self.stages, self._optimizers)
        updated = training.ids_of_parameters(optimizer)
        rows: list[TensorRow] = []
        known = []
        for stage in self.stages:
            for name, parameter in stage.parameters:
                gradient = stage.applied(parameter) if id(stage.master(parameter)) in updated and (stage.number, name) not in now.applied else None
                if gradient is not None:
                    now.applied.add((stage.number, name))
                    before, found = taken.get((stage.number, name), (None, None))
                    rows.append(("applied", name, stage.number, shaped_as(parameter, gradient), None))
                    known.append(found if before is gradient else None)
        self._write_tensors(now.number, rows, known)

    def _begin_gradients(self, now: CurrentStep) -> None:
        if now.gradients_taken:
            return
        now.gradients_taken = True
        self._notice_replaced(f"in step {now.number}")
        self._notice_unfrozen(now.number)
        owners = {key: id(one) for one in reversed(self._optimizers) for key in training.ids_of_parameters(one)}
        for stage in self.stages:
            for name, parameter in stage.parameters:
                owner = owners.get(id(stage.master(parameter)), id(None))
                now.untaken.setdefault(owner, []).append((stage, name, parameter))

    def _take_gradients(self, now: CurrentStep, owner: int) -> Taken:
        gradients = [(stage, name, parameter, stage.gradient(parameter)) for stage, name, parameter in now.untaken.pop(owner, ())]
        there = [(stage.number, name, parameter, gradient) for stage, name, parameter, gradient in gradients if gradient is not None]
        found = self._write_tensors(now.number, [("gradient", name, stage, shaped_as(parameter, one), None) for stage, name, parameter, one in there])
        return {(stage, name): (gradient, row) for (stage, name, _, gradient), row in zip(there, found)}

    def norm(self, norm: Any, coefficient: Any = None) -> Any:
        """Records the global norm and the factor of the gradients, each a number or a tensor of one element. Returns the norm to clip by: the one
        that was given, with Record(norms_from=) the other record's. Call it in each step in which you clip, after record.gradients() and before
        clipping. `coefficient` may be a function of the norm to clip by; default: what torch computes from it, 1 without clip_norm."""
        if self._norms.step is None:
            if not self._finished:
                self._not_recorded.warn_once("record.norm() was called outside of `with record.step(...)` and is ignored")
            return norm
        call = self._not_recorded.attempt("norm", self._clip, norm, coefficient)
        return norm if call is None else call.by

    def _clip(self, norm: Any, coefficient: Any = None) -> Call:
        if self._now is not None and not self._now.gradients_taken:
            raise RuntimeError("record.norm() was called before record.gradients(), which must be called before clipping")
        call = self._norms.clip(norm)
        if coefficient is None:
            limit = self.clip_norm
            coefficient = 1.0 if limit is None else clipping.coefficient(meshes.local(call.by), limit, self.clip_epsilon)
        call.coefficient = float(coefficient(call.by) if callable(coefficient) else coefficient)
        return call

    def _notice_replaced(self, when: str) -> None:
        """Notes parameters that the trainer replaced by other objects. The model's current ones are recorded; the optimizer may still hold the old."""
        for stage in self.stages:
            before = {name for name, _ in stage.parameters}
            if not self._not_recorded.attempt("parameters", stage.replaced):
                continue
            added = [name for name, _ in stage.parameters if name not in before]
            if added:
                words = "only parameters that a model has from the start on can be judged"
                self._not_recorded.note(f"{', '.join(added)} was added {when}: {words}")
            else:
                self._not_recorded.note(f"the parameter objects changed {when} (as load_state_dict(assign=True) does): an optimizer created before still holds the old ones")

    def _notice_unfrozen(self, step: int) -> None:
        """Removes parameters that were frozen when the record began, and are trained from this step on, from `frozen` of the manifest."""
        if not self._frozen:
            return
        names = [name for stage in self.stages for name, one in stage.parameters if name in self._frozen and getattr(one, "requires_grad", True)]
        if not names:
            return
        self._frozen = self._frozen - set(names)
        several = f"{names[0]} and {len(names) - 1} more are" if len(names) > 1 else f"{names[0]} is"
        try:
            manifest.unfreeze(self.folder, set(names))
            self._not_recorded.note(f"{several} trained from step {step} on, and not frozen as before")
        except Exception as error:
            self._not_recorded.note(f"{several} trained from step {step} on, but still frozen in manifest.json: {words_of(error)}")
