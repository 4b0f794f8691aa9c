# SPDX-License-Identifier: BSD-3-Clause
"""The state of a step while it runs."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from . import data, training
from .counts import Counts
from .stages import Stage


@dataclass
class CurrentStep:
    number: int
    began: float
    inputs: Any
    targets: Any
    given: list[tuple[Any, Any]] = field(default_factory=list)  # inputs and targets given to the step, by microbatch
    microbatches: list[data.Microbatch] = field(default_factory=list)
    losses: dict[int, Any] = field(default_factory=dict)
    gradients_taken: bool = False
    untaken: dict[int, list[tuple[Stage, str, Any]]] = field(default_factory=dict)  # by its optimizer's id: a parameter whose gradient follows
    applied: set[tuple[int, str]] = field(default_factory=set)  # stage and name of each parameter whose gradient an optimizer has received
    stepped: bool = False  # an optimizer that is watched
    learning_rate: float | None = None
    other_optimizer: str | None = None  # the class of one that was not given to the record
    rates: dict[int, float] = field(default_factory=dict)  # of each parameter in an optimizer, by its id
    index: int = 0  # of the next action
    update: list[Any] | None = None  # the row of STEP, if an optimizer is watched
    fed: dict[int, list[Any]] = field(default_factory=dict)  # by microbatch, observed inputs and labels
    labels: dict[int, tuple[str, Any]] = field(default_factory=dict)  # by microbatch, those that the model was given, and their keyword
    counts: Counts = field(default_factory=Counts)
    thread: int = field(default_factory=threading.get_ident)

    def feed(self, microbatches: int, of_a_call: int) -> None:
        self.given = data.parts(self.inputs, self.targets, microbatches, of_a_call)
        self.microbatches = [data.microbatch(*pair) for pair in self.given]  # now, since the trainer may overwrite the batch

    def microbatch(self, number: int) -> data.Microbatch:
        return self.microbatches[number] if number < len(self.microbatches) else data.UNKNOWN

    def really_fed(self, number: int) -> data.Microbatch | None:
        if number not in self.fed:
            return None
        given = self.given[number] if number < len(self.given) else (None, None)
        inputs, targets = (of_step if seen is None else seen for seen, of_step in zip(self.fed[number], given))
        return data.microbatch(inputs, targets)

    def feed_labels(self) -> None:
        """The labels given to a model that computes its own loss must be the ones it was fed. Raises ValueError if they are not comparable."""
        for number, (name, labels) in self.labels.items():
            targets = self.given[number][1] if number < len(self.given) else None
            if targets is None or tuple(targets.shape) != tuple(labels.shape):
                given = "no targets" if targets is None else f"targets of shape {tuple(targets.shape)}"
                raise ValueError(f"the model is called with {name}= of shape {tuple(labels.shape)}, but record.step was given {given}, so labels are not compared")
            self.fed.setdefault(number, [None, None])[1] = labels

    def apply_rates(self, optimizer: Any) -> None:
        """Sets the step's rate to the largest of all parameter groups."""
        self.rates |= training.rates_of(optimizer)
        self.learning_rate = max(self.rates.values(), default=None)
