"""A step while it is under way, and what it must have been told by its end."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable

from . import data

if TYPE_CHECKING:
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


def demand_all(now: StepInHand, microbatches: int, owns_loss: bool, clip_norm: float | None) -> None:
    """RuntimeError says what was forgotten, and how it is told."""
    if now.losses and sorted(now.losses) != list(range(microbatches)):
        raise RuntimeError(f"step {now.number}: losses of microbatches {sorted(now.losses)}, of {microbatches} that there are")
    if not now.losses and owns_loss:
        raise RuntimeError(f"step {now.number}: no loss was told; call record.loss(loss) after each microbatch's")
    if clip_norm is not None and now.norm is None:
        raise RuntimeError(f"step {now.number}: clip_norm is {clip_norm}, yet no norm was seen; call record.norm(total_norm)")
    if now.learning_rate is None:
        raise RuntimeError(f"step {now.number}: no optimiser stepped; call record.learning_rate(rate) for one of your own")
    if not math.isfinite(now.learning_rate):
        raise RuntimeError(f"step {now.number}: the learning rate is {now.learning_rate}")
