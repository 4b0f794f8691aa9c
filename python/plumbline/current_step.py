# SPDX-License-Identifier: BSD-3-Clause
"""What is known of a step while it runs."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from . import data, training
from .counts import Counts


@dataclass
class CurrentStep:
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
    fed: dict[int, list[Any]] = field(default_factory=dict)  # inputs and labels that a rank was seen to compute with
    counts: Counts = field(default_factory=Counts)
    thread: int = field(default_factory=threading.get_ident)

    def feed(self, microbatches: int, of_a_call: int) -> None:
        self.given = data.parts(self.inputs, self.targets, microbatches, of_a_call)
        self.microbatches = [data.microbatch(*pair) for pair in self.given]  # now, since a batch may be written over

    def microbatch(self, number: int) -> data.Microbatch:
        return self.microbatches[number] if number < len(self.microbatches) else data.UNKNOWN

    def really_fed(self, number: int) -> data.Microbatch | None:
        if number not in self.fed:
            return None
        given = self.given[number] if number < len(self.given) else (None, None)
        inputs, targets = (theirs if mine is None else mine for mine, theirs in zip(self.fed[number], given))
        return data.microbatch(inputs, targets)

    def apply_rates(self, optimizer: Any) -> None:
        """The step's rate is the largest of its groups'."""
        self.rates |= training.rates_of(optimizer)
        self.learning_rate = max(self.rates.values(), default=None)
