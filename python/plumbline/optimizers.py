# SPDX-License-Identifier: BSD-3-Clause
"""Optimisers of torch are watched: the rates that are applied, the time that it takes, and where nothing is clipped, the gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .hooks import guarded
from .steps import apply_rates

if TYPE_CHECKING:
    from .record import Record

KINDS = ("gradients", "rates", "actions")


def watch(record: Record, optimizer: Any) -> None:
    if not hasattr(optimizer, "register_step_pre_hook"):
        return

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        now, lacks = record._now, record._lacks
        if now is None:
            return
        if not now.gradients_taken and record.clip_norm is not None and not {"gradients", "norm"} & lacks.kinds():
            words = (
                "the optimiser steps, and no gradients were seen before clipping: call record.gradients() and "
                "record.norm(total_norm), or clip with torch.nn.utils.clip_grad_norm_ by that name"
            )
            lacks.say(("gradients", "norm"), f"step {now.number}: {words}")
        lacks.attempt("gradients", record.gradients)
        lacks.attempt("rates", apply_rates, now, optimizer)
        if now.update is None:  # several optimisers: one STEP, from the first's begin to the last's end
            now.update = lacks.attempt("actions", record._begin_action, min((stage.number for stage in record.stages), default=0), "STEP")

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        if record._now is not None and record._now.update is not None:
            record._lacks.attempt("actions", record._end_action, record._now.update)

    for register, watching in ((optimizer.register_step_pre_hook, before), (optimizer.register_step_post_hook, after)):
        record._undo.append(register(guarded(record, KINDS, watching)).remove)
