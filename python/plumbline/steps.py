"""A step while it is under way, and what it must have been told by its end."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable

from . import data

if TYPE_CHECKING:
    from .lacks import Lacks
    from .record import Record


@dataclass
class StepInHand:
    number: int
    began: float
    microbatches: list[data.Microbatch]
    losses: dict[int, Any] = field(default_factory=dict)
    gradients_taken: bool = False
    norm: float | None = None
    coefficient: float | None = None
    learning_rate: float | None = None
    index: int = 0  # of the next action
    update: list[Any] | None = None  # the row of its STEP, where an optimiser is watched
    fed: dict[int, list[Any]] = field(default_factory=dict)


def within_a_recorded_step(tell: Callable[..., None]) -> Callable[..., None]:
    """What is told in a step that is passed over is not looked at."""

    @functools.wraps(tell)
    def told(self: Record, *args: Any, **kwargs: Any) -> None:
        if not self._passed_over:
            tell(self, *args, **kwargs)

    return told


def demand_all(now: StepInHand, microbatches: int, owns_loss: bool, clip_norm: float | None, lacks: Lacks) -> None:
    """In the first step RuntimeError says what the trainer's own lines forgot, and how it is told. Later on no training is ended for that:
    the record lacks it. So it does from the beginning where a hook has said so."""

    def demand(what: str, there: bool, words: str) -> None:
        if there or what in lacks:
            return
        if now.number == 0 and what not in lacks.watched:
            raise RuntimeError(f"step {now.number}: {words}")
        lacks.say(what, f"step {now.number}: {words}")

    all_or_none = not now.losses or sorted(now.losses) == list(range(microbatches))
    demand("losses", all_or_none, f"losses of microbatches {sorted(now.losses)}, of {microbatches} that there are")
    demand("losses", bool(now.losses) or not owns_loss, "no loss was told; call record.loss(loss) after each microbatch's")
    demand("norm", clip_norm is None or now.norm is not None, f"clip_norm is {clip_norm}, yet no norm was seen; call record.norm(total_norm)")
    rate = now.learning_rate
    demand("rates", rate is not None, "no optimiser stepped; call record.learning_rate(rate) for one of your own")
    demand("rates", rate is None or math.isfinite(rate), f"the learning rate is {rate}")
