# SPDX-License-Identifier: BSD-3-Clause
"""The `with` blocks of a record. During the training they raise no error of their own; the trainer's exceptions pass through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .steps import Steps


class StepBlock:
    """A training step. The first one raises errors of the set-up."""

    def __init__(self, record: Steps, inputs: Any, targets: Any) -> None:
        self.record, self.inputs, self.targets = record, inputs, targets
        self.entered = False

    def __enter__(self) -> None:
        if self.record._rows is None and not self.record._finished:
            self.record._begin()
        self.entered = self.record._guarded(self.record._enter, self.inputs, self.targets) is True

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if not self.entered:
            return
        if error is None:
            self.record._guarded(self.record._leave)
        else:
            self.record._guarded(self.record._failed, error)


class ActionBlock:
    def __init__(self, record: Steps, stage: int, kind: str, microbatch: int | None, peer: int) -> None:
        self.record, self.action, self.row = record, (stage, kind, microbatch, peer), None

    def __enter__(self) -> None:
        if self.record.in_step:
            self.row = self.record._not_recorded.attempt("actions", self.record._begin_counted_action, *self.action)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None:
            self.record._attempt_end(self.row)


class WaitingBlock:
    def __init__(self, record: Steps, peer: int | None) -> None:
        self.record, self.peer = record, -1 if peer is None else peer

    def __enter__(self) -> None:
        self._report(self.peer)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._report(-1)

    def _report(self, peer: int) -> None:
        self.record._not_recorded.attempt("waits", self._write, peer)

    def _write(self, peer: int) -> None:
        if self.record.in_step and self.peer >= 0:
            self.record._heartbeat(-1, peer)
