# SPDX-License-Identifier: BSD-3-Clause
"""A step while it is under way, and what it must have been told by its end."""

from __future__ import annotations

import functools
import math
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable

from . import data, training
from .counts import Counts

if TYPE_CHECKING:
    from .record import Record


@dataclass
class StepInHand:
    number: int
    began: float
    inputs: Any
    targets: Any
    given: list[tuple[Any, Any]] = field(default_factory=list)  # to the step, by microbatch
    microbatches: list[data.Microbatch] = field(default_factory=list)
    losses: dict[int, Any] = field(default_factory=dict)
    gradients_taken: bool = False
    norm: float | None = None
    coefficient: float | None = None
    learning_rate: float | None = None
    rates: dict[int, float] = field(default_factory=dict)  # of each parameter that an optimiser holds, by its id
    index: int = 0  # of the next action
    update: list[Any] | None = None  # the row of its STEP, where an optimiser is watched
    fed: dict[int, list[Any]] = field(default_factory=dict)  # inputs and targets that a rank was seen to be fed
    counts: Counts = field(default_factory=Counts)
    thread: int = field(default_factory=threading.get_ident)

    def microbatch(self, number: int) -> data.Microbatch:
        return self.microbatches[number] if number < len(self.microbatches) else data.UNKNOWN

    def really_fed(self, number: int) -> data.Microbatch | None:
        if number not in self.fed:
            return None
        given = self.given[number] if number < len(self.given) else (None, None)
        inputs, targets = (theirs if mine is None else mine for mine, theirs in zip(self.fed[number], given))
        return data.microbatch(inputs, targets)


def told(*kinds: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """What a trainer tells its record ends no training: what cannot be written the record lacks. Outside of a step, and in one that is
    passed over, nothing is looked at."""

    def decorate(tell: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(tell)
        def telling(self: Record, *args: Any, **kwargs: Any) -> None:
            if self._now is not None:
                self._lacks.attempt(kinds, lambda: tell(self, *args, **kwargs))
            elif not self._passed_over and not self._finished:
                self._lacks.tell_once(f"record.{tell.__name__}() counts within `with record.step(...)` alone, and was called outside of it")

        return telling

    return decorate


def say_what_is_missing(record: Record, now: StepInHand, owns_loss: bool) -> None:
    """What the trainer's own lines forgot, and how it is told. No training is ended for it: the record lacks it."""
    lacks, microbatches = record._lacks, record.microbatches

    def demand(what: str, there: bool, words: str) -> None:
        if not there and what not in lacks:
            lacks.say(what, f"step {now.number}: {words}")

    all_or_none = not now.losses or sorted(now.losses) == list(range(microbatches))
    demand("losses", all_or_none, f"losses of microbatches {sorted(now.losses)}, of {microbatches} that there are")
    demand("losses", bool(now.losses) or not owns_loss, "no loss was told; call record.loss(loss) after each microbatch's")
    trained = [pair for stage in record.stages for pair in stage.parameters if getattr(pair[1], "requires_grad", True)]
    if not trained:
        return
    stepped = now.learning_rate is not None
    if not now.gradients_taken and record._optimizers:
        seen = any(stage.gradient(parameter) is not None for stage in record.stages for _, parameter in stage.parameters)
        demand("gradients", seen, "no optimiser stepped, and at the step's end there were no gradients; call record.gradients() where they are complete")
        lacks.attempt("gradients", record.gradients)
    demand("norm", record.clip_norm is None or now.norm is not None, f"clip_norm is {record.clip_norm}, yet no norm was seen; call record.norm(total_norm)")
    if not stepped and record._optimizers:  # left out in this step: what parameters and moments do shows it
        lacks.tell_once("a step ended without a step of its optimiser: the rate is written that the optimiser would have applied")
        for optimizer in record._optimizers:
            lacks.attempt("rates", apply_rates, now, optimizer)
    rate = now.learning_rate
    demand("rates", rate is not None, "no optimiser stepped; call record.learning_rate(rate) for one of your own")
    demand("rates", rate is None or math.isfinite(rate), f"the learning rate is {rate}")


def apply_rates(now: StepInHand, optimizer: Any) -> None:
    """The step's rate is the largest of its groups'."""
    rates = training.rates_of(optimizer)
    now.rates |= rates
    now.learning_rate = max(now.rates.values(), default=None)
