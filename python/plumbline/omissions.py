# SPDX-License-Identifier: BSD-3-Clause
"""Notes at a step's end what the trainer did not record."""

from __future__ import annotations

import math

from . import training
from .current_step import CurrentStep
from .events import Events


def updated(record: Events, now: CurrentStep) -> bool | None:
    """Whether an optimizer of this rank stepped; None if the record watches none, or the rank trains nothing."""
    watches = any(training.has_hooks(one) for one in record._optimizers)
    if not watches or not any(stage.trained for stage in record.stages):
        return None
    return now.stepped or now.other_optimizer is not None


def note_omissions(record: Events, now: CurrentStep, owns_loss: bool) -> None:
    """`owns_loss`: this rank holds the last stage."""
    not_recorded, microbatches = record._not_recorded, record.microbatches

    def require(what: str, there: bool, words: str) -> None:
        if not there and what not in not_recorded:
            not_recorded.add(what, f"step {now.number}: {words}")

    all_or_none = not now.losses or sorted(now.losses) == list(range(microbatches))
    require("losses", all_or_none, f"only microbatches {sorted(now.losses)} of {microbatches} have a loss")
    require("losses", bool(now.losses) or not owns_loss, "no loss was recorded; call record.loss(loss) for each microbatch")
    if not any(stage.trained for stage in record.stages):
        return
    for kind in ("actions", "boundaries"):
        called = record._calls is None or record._calls.step == now.number
        require(kind, called, "the model was not called with gradients; call it as a whole, not unit by unit")
    skipped, rated = updated(record, now) is False, now.learning_rate is not None
    by_another = bool(not rated and record._optimizers and now.other_optimizer)
    if by_another:
        words = f"{now.other_optimizer} stepped, which is none of the optimizers that the record was given: give that one as optimizer=, once it is made"
        not_recorded.add([kind for kind in ("gradients", "applied", "moments", "rates") if kind not in not_recorded], f"step {now.number}: {words}")
    if not now.gradients_taken and record._optimizers and not skipped:
        seen = not_recorded.attempt("gradients", lambda: any(stage.gradient(one) is not None for stage in record.stages for one in stage.trained))
        require("gradients", bool(seen), "no optimizer stepped, and the step ended without gradients; call record.gradients() when they are complete")
    if record._optimizers:
        not_recorded.attempt("gradients", record.gradients)  # also of optimizers that did not step
    there = record.clip_norm is None or bool(record._norms.calls) or skipped
    require("norm", there, f"clip_norm is {record.clip_norm}, but no norm was seen; call record.norm(total_norm)")
    if skipped:
        not_recorded.warn_once(f"step {now.number} ended without an optimizer step: it is recorded as skipped, with the rate that would have been applied")
    if not rated and record._optimizers and not by_another:
        for optimizer in record._optimizers:
            not_recorded.attempt("rates", now.apply_rates, optimizer)
    rate = now.learning_rate
    require("rates", rate is not None, "no optimizer stepped; call record.learning_rate(rate) if the optimizer is your own")
    require("rates", rate is None or math.isfinite(rate), f"the learning rate is {rate}")
