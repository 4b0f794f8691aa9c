# SPDX-License-Identifier: BSD-3-Clause
"""Notes at a step's end what the trainer did not record."""

from __future__ import annotations

import math

from .current_step import CurrentStep
from .events import Events


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
    stepped = now.learning_rate is not None
    by_another = bool(not stepped and record._optimizers and now.other_optimizer)
    if by_another:
        words = f"{now.other_optimizer} stepped, which is none of the optimisers that the record was given: give that one as optimizer=, once it is made"
        not_recorded.add([kind for kind in ("gradients", "moments", "rates") if kind not in not_recorded], f"step {now.number}: {words}")
    if not now.gradients_taken and record._optimizers:
        seen = not_recorded.attempt("gradients", lambda: any(True for stage in record.stages for _ in stage.gradient_rows()))
        require("gradients", bool(seen), "no optimiser stepped, and there were no gradients at the step's end; call record.gradients() when they are complete")
    if record._optimizers:
        not_recorded.attempt("gradients", record.gradients)  # also those of optimisers that did not step
    require("norm", record.clip_norm is None or now.norm is not None, f"clip_norm is {record.clip_norm}, but no norm was seen; call record.norm(total_norm)")
    if not stepped and record._optimizers and not by_another:  # the optimiser skipped this step: parameters and moments show it
        not_recorded.warn_once("a step ended without an optimiser step: the recorded rate is what the optimiser would have applied")
        for optimizer in record._optimizers:
            not_recorded.attempt("rates", now.apply_rates, optimizer)
    rate = now.learning_rate
    require("rates", rate is not None, "no optimiser stepped; call record.learning_rate(rate) if the optimiser is your own")
    require("rates", rate is None or math.isfinite(rate), f"the learning rate is {rate}")
