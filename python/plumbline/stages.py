# SPDX-License-Identifier: BSD-3-Clause
"""The stages of a rank, and their tensors as rows of tensors.csv."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Iterator

from . import training
from .elements import dtype_name

Named = list[tuple[str, Any]]
TensorRow = tuple[str, str, int, Any, float | None]  # kind, name, stage, tensor, learning rate


def shaped_as(parameter: Any, tensor: Any) -> Any:
    """The tensor; in the parameter's shape if it is flat, as masters of a distributed optimizer are, and has as many elements."""
    shape = getattr(parameter, "shape", ())
    flat = len(shape) != 1 and tuple(getattr(tensor, "shape", ())) == (math.prod(shape),)
    return tensor.reshape(shape) if flat else tensor


def identities(parameters: Named) -> list[tuple[str, int]]:
    return [(name, id(one)) for name, one in parameters]


@dataclass
class Stage:
    """A stage of this rank."""

    number: int
    units: list[str]
    parameters: Named  # by their names in the whole model
    gradient_of: Callable[[Any], Any] | None = None
    master_of: Callable[[Any], Any] | None = None
    again: Callable[[], Named] | None = None  # returns the current parameters
    buffers: Callable[[], Named] | None = None  # returns the current persistent buffers, by their names in the whole model

    def __post_init__(self) -> None:
        self.known = identities(self.parameters)

    @property
    def trained(self) -> list[Any]:
        return [parameter for _, parameter in self.parameters if getattr(parameter, "requires_grad", True)]

    def master(self, parameter: Any) -> Any:
        """The tensor that the optimizer updates: the master of the parameter, or the parameter itself."""
        master = self.master_of(parameter) if self.master_of else None
        return parameter if master is None else master

    def gradient(self, parameter: Any) -> Any:
        if self.gradient_of:  # a frozen parameter may lack this attribute
            return self.gradient_of(parameter) if getattr(parameter, "requires_grad", True) else None
        if not getattr(parameter, "requires_grad", True):
            return getattr(parameter, "grad", None)
        places = ((parameter, "grad"), (parameter, "main_grad"), (self.master(parameter), "grad"))  # main_grad: Megatron's
        return next((found for one, name in places if (found := getattr(one, name, None)) is not None), None)

    def applied(self, parameter: Any) -> Any:
        """The gradient as its optimizer receives it: the gradient of the tensor that the optimizer has."""
        gradient = getattr(self.master(parameter), "grad", None)
        return self.gradient(parameter) if gradient is None else gradient

    def has_copy(self, parameter: Any) -> bool:
        """Whether the parameter is a copy in 16 bits of a float32 master (mixed precision)."""
        master = self.master(parameter)
        return master is not parameter and dtype_name(master) == "float32" and dtype_name(parameter) in ("bfloat16", "float16")

    def replaced(self) -> bool:
        """Whether the trainer has replaced parameters by other objects, which are recorded from then on."""
        if not self.again:
            return False
        now = self.again()
        if identities(now) == self.known:  # a list that the trainer has set itself stays
            return False
        self.parameters, self.known = now, identities(now)
        return True

    def parameter_rows(self, rates: dict[int, float]) -> Iterator[TensorRow]:
        """`rates`: learning rates by the id of the parameter in its optimizer."""
        for name, parameter in self.parameters:
            master = self.master(parameter)
            yield "parameter", name, self.number, shaped_as(parameter, master), rates.get(id(master))
            if self.has_copy(parameter):
                yield "copy", name, self.number, parameter, None

    def buffer_rows(self) -> Iterator[TensorRow]:
        for name, buffer in self.buffers() if self.buffers else ():
            yield "buffer", name, self.number, buffer, None

    def moment_rows(self, optimizers: list[Any]) -> Iterator[TensorRow]:
        for name, parameter in self.parameters:
            for kind, moment in training.moments_of(optimizers, self.master(parameter)):
                yield kind, name, self.number, shaped_as(parameter, moment), None


def require_updated(stages: list[Stage], optimizers: list[Any]) -> None:
    """Raises LookupError if the optimizers update none of the recorded tensors."""
    optimized = set().union(*map(training.ids_of_parameters, optimizers))
    updated = {id(stage.master(parameter)) for stage in stages for parameter in stage.trained}
    if optimized and updated and not optimized & updated:
        raise LookupError("no optimizer holds a parameter of this rank; if it updates other tensors instead, give master_of=")


def tied_in(named: Named) -> list[list[str]]:
    """Groups of names that are one parameter."""
    names: dict[int, list[str]] = {}
    for name, parameter in named:
        names.setdefault(id(parameter), []).append(name)
    return [group for group in names.values() if len(group) > 1]
